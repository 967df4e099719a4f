"""The machine: its cores and limits, and what env.json tells of it."""

import os
import platform
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass

from tools.bench.load.base import PATH
from tools.kit import TOP, process, procfs, sources

HALT_POLL = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
CPUS = "/sys/devices/system/cpu"
NET = "/proc/sys/net"


@dataclass(frozen=True)
class Machine:
    """What a plan has to know."""

    server_cores: frozenset
    load_cores: frozenset
    all_cores: frozenset
    descriptors: int        # that one process may have
    load_hosts: int = 1     # among which the connections are shared


def layout(server_cores=None, load_cores=None):
    """Return the Machine, and raise the limit of descriptors to the hard one. The server gets
    `server_cores` (None: the first core). The load and Redis get `load_cores` (None: all cores that
    share nothing with the server's; without such cores their other halves; without these the
    server's own)."""
    everything = frozenset(os.sched_getaffinity(0))
    mine = server_cores or frozenset({min(everything)})
    halves = frozenset().union(*(siblings(core) for core in mine))
    return Machine(mine, load_cores or everything - mine - halves or everything - mine
                   or everything, all_cores=everything,
                   descriptors=process.allow_descriptors())


def cores(text):
    """Return the set of cores that "0,2-3" names. Raises ValueError."""
    found = set()
    for word in text.replace(",", " ").split():
        first, _, last = word.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def facts():
    """Return a dict of what the machine is, for env.json. What a (virtual)
    machine does not show is "" or None."""
    caches = [procfs.read_int(f"{CPUS}/cpu0/cache/index{number}/size") for number in range(5)]
    # Governors other than haltpoll ignore its parameter.
    polls = procfs.read(f"{CPUS}/cpuidle/current_governor").strip() == "haltpoll"
    ports = procfs.read(f"{NET}/ipv4/ip_local_port_range")
    return {
        "cpu": procfs.find(r"^model name\s*:\s*(.*)$", "/proc/cpuinfo") or platform.machine(),
        "cores": os.cpu_count(),
        "memory_mib": int(procfs.find(r"^MemTotal:\s*(\d+)", "/proc/meminfo")) // 1024,
        "system": procfs.find(r'^PRETTY_NAME="?([^"\n]*)', "/etc/os-release"),
        "kernel": platform.release(),
        "cache_kib": max(caches) or None,       # the largest of the first core
        "governor": procfs.read(f"{CPUS}/cpu0/cpufreq/scaling_governor").strip(),
        # for how long an idle core of a guest polls before it halts
        "halt_poll_ns": procfs.read_int(HALT_POLL, None) if polls else None,
        "congestion": procfs.read(f"{NET}/ipv4/tcp_congestion_control").strip(),
        "limits": {
            "descriptors": procfs.descriptor_limit(),
            "somaxconn": procfs.read_int(f"{NET}/core/somaxconn"),
            "syn_backlog": procfs.read_int(f"{NET}/ipv4/tcp_max_syn_backlog"),
            "port_range": list(map(int, ports.split())),
            "tw_reuse": procfs.read_int(f"{NET}/ipv4/tcp_tw_reuse"),
        },
    }


def siblings(core):
    """Return the cores that are the same physical core as `core`, itself
    included; the empty set where the (virtual) machine does not show it."""
    return cores(procfs.read(f"{CPUS}/cpu{core}/topology/thread_siblings_list"))


def versions():
    """Return {program: first line of what it says its version is}."""
    found = {"python": platform.python_version()}
    for name in ("ab", "wrk", "httperf", "h2load", "oha", "redis-server", "gcc", "clang", "perf"):
        program = shutil.which(name, path=PATH)
        if program:
            option = {"ab": "-V", "wrk": "-v"}.get(name, "--version")
            said = subprocess.getoutput(f"{shlex.quote(program)} {option}", errors="replace")
            line = re.search(r"^.*(?:ersion|\d+\.\d+).*$", said, re.MULTILINE)
            found[name] = line.group().strip() if line else "?"
    return found


def commit():
    """Return {"hash": of the C sources, "commit", "changed": whether the work
    tree differs from the commit}; without git only the hash."""
    def git(*words):
        return subprocess.run(["git", "-C", TOP, *words], capture_output=True, text=True,
                              check=False).stdout.strip()

    found = {"hash": sources.hashed()}
    head = shutil.which("git") and git("rev-parse", "HEAD")
    if head:
        changes = git("status", "--porcelain", "--untracked-files=no")
        found.update(commit=head, changed=bool(changes))
    return found
