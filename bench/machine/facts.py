"""The machine: its cores and limits, and what env.json tells of it."""

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass

from bench.meter import procfs
from bench.run import servers

HALT_POLL = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
CONGESTION = "/proc/sys/net/ipv4/tcp_congestion_control"
IDLE_GOVERNOR = "/sys/devices/system/cpu/cpuidle/current_governor"


@dataclass(frozen=True)
class Machine:
    """What a plan has to know."""

    server_cores: frozenset
    load_cores: frozenset
    all_cores: frozenset
    descriptors: int        # that one process may have


def layout(server_cores=None, load_cores=None):
    """Return the Machine. The server gets `server_cores`, the first core
    without them; the load and Redis get `load_cores`, without them all cores
    that share nothing with the server's. Where no such core is left, they get
    the other halves of its cores, and where there are none, its own."""
    everything = frozenset(os.sched_getaffinity(0))
    mine = server_cores or frozenset({min(everything)})
    halves = frozenset().union(*(siblings(core) for core in mine))
    return Machine(server_cores=mine,
                   load_cores=(load_cores or (everything - mine - halves)
                               or (everything - mine) or everything),
                   all_cores=everything,
                   descriptors=servers.raise_descriptor_limit())


def cores(text):
    """Return the set of cores that "0,2-3" names. Raises ValueError."""
    found = set()
    for word in re.split(r"[,\s]+", text.strip()):
        if word:
            first, _, last = word.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def facts():
    """Return a dict of what the machine is, for env.json."""
    cpu = re.search(r"^model name\s*:\s*(.*)$", procfs.read("/proc/cpuinfo"),
                    re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+)", procfs.read("/proc/meminfo"),
                       re.MULTILINE)
    system = re.search(r'^PRETTY_NAME="?([^"\n]*)',
                       procfs.read("/etc/os-release"), re.MULTILINE)
    return {
        "cpu": cpu.group(1) if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "memory_mib": int(memory.group(1)) // 1024 if memory else None,
        "system": system.group(1) if system else platform.system(),
        "kernel": platform.release(),
        "governor": governor(),
        "halt_poll_ns": halt_poll_ns(),
        "congestion": congestion(),
        "limits": {
            "descriptors": procfs.descriptor_limit(),
            "somaxconn": procfs.read_int("/proc/sys/net/core/somaxconn"),
            "syn_backlog":
                procfs.read_int("/proc/sys/net/ipv4/tcp_max_syn_backlog"),
            "port_range": port_range(),
            "tw_reuse": procfs.read_int("/proc/sys/net/ipv4/tcp_tw_reuse"),
        },
    }


def siblings(core):
    """Return the cores that are the same physical core as `core`, itself
    included, as far as a (virtual) machine shows it."""
    return cores(procfs.read(f"/sys/devices/system/cpu/cpu{core}/"
                             "topology/thread_siblings_list"))


def halt_poll_ns():
    """Return for how many nanoseconds at most an idle core of this guest looks
    around before it halts, None where that is not visible. (Other governors
    than haltpoll do not mind the figure, though it may be there.)"""
    if procfs.read(IDLE_GOVERNOR).strip() != "haltpoll":
        return None
    return procfs.read_int(HALT_POLL, None)


def congestion():
    """Return the default congestion control of new sockets, such as "cubic";
    "" if unknown."""
    return procfs.read(CONGESTION).strip()


def governor():
    """Return the frequency governor of the first core, "" if unknown (as in
    most virtual machines)."""
    return procfs.read("/sys/devices/system/cpu/cpu0/cpufreq/"
                       "scaling_governor").strip()


def port_range():
    """Return [first, last] of the ports that clients get."""
    text = procfs.read("/proc/sys/net/ipv4/ip_local_port_range")
    return [int(word) for word in text.split()] or [32768, 60999]


VERSIONS = {
    "ab": ["ab", "-V"], "wrk": ["wrk", "-v"],
    "h2load": ["h2load", "--version"],
    "httperf": ["httperf", "--version"],
    "redis-server": ["redis-server", "--version"],
    "gcc": ["gcc", "--version"], "clang": ["clang", "--version"],
    "perf": ["perf", "--version"],
}


def versions():
    """Return {program: first line of what it says its version is}."""
    found = {"python": platform.python_version()}
    for name, argv in VERSIONS.items():
        if shutil.which(argv[0]):
            done = subprocess.run(argv, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True,
                                  errors="replace", check=False)
            lines = [line for line in done.stdout.splitlines() if "ersion" in
                     line or re.search(r"\d+\.\d+", line)]
            found[name] = lines[0].strip() if lines else "?"
    return found


def commit():
    """Return {"commit": hash, "changed": bool} of the sources, {} without
    git. `changed` says that the work tree differs from the commit."""
    def git(*words):
        done = subprocess.run(["git", "-C", servers.TOP, *words],
                              capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    if not shutil.which("git") or not git("rev-parse", "HEAD"):
        return {}
    changed = git("status", "--porcelain", "--untracked-files=no")
    return {"commit": git("rev-parse", "HEAD"), "changed": bool(changed)}
