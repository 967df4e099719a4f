"""What would spoil the figures of this machine? And what is missing?

    python3 -m bench doctor         (make doctor; needs nothing that is built)

A session looks at the first part before it measures. The doctor looks at
everything, and ends with "ready" or with the three things to do first.
"""

import os
import platform
import re
import resource
import socket
import subprocess
from dataclasses import dataclass

from bench import load
from bench.machine import facts
from bench.machine import quiet
from bench.meter import calibration
from bench.meter import procfs
from bench.run import netns
from bench.run import servers

STOPS, SPOILS, LESS = 3, 2, 1       # how much a finding matters
GROUPS = ("build", "run", "test", "browser", "tidy", "compare", "fuzz")


@dataclass(frozen=True)
class Finding:
    """One thing looked at; `remedy` is empty when it is as it should be."""

    what: str
    value: str
    remedy: str = ""
    weight: int = SPOILS

    @property
    def ok(self):
        """Whether nothing has to be done."""
        return not self.remedy

    def __str__(self):
        word = "OK" if self.ok else {STOPS: "MISSING", SPOILS: "WARNING",
                                     LESS: "note"}[self.weight]
        return f"{word:8} {self.what}: {self.value}" + (
            f"\n{'':8} -> {self.remedy}" if self.remedy else "")


def look(machine, tools, most_clients, no_network):
    """Return the Findings for a run with `tools` (names) that opens at most
    `most_clients` connections together; `no_network` says why it has no
    network of its own, "" when it has."""
    return [
        descriptors(machine, most_clients), network(no_network),
        load_average(), cores(machine), halves(machine),
        core_speed(min(machine.server_cores)), governor(), idle_cores(),
        *(Finding(name, "not installed", f"{load.TOOLS[name].remedy}; what "
                  "needs it is left out")
          for name in tools if load.missing(name))]


def descriptors(machine, most):
    """A connection takes one here, and one in the load tool."""
    need = most + 100
    remedy = "" if machine.descriptors >= need else (
        "cells beyond it are left out, or divided over processes: "
        f"`ulimit -n {need}` as root first")
    return Finding("descriptor limit", f"{machine.descriptors:,}", remedy)


def network(problem):
    """Without one, the kernel's own limits decide."""
    if not problem:
        return Finding("network of its own", f"queues for {netns.QUEUE:,} "
                       f"clients, {facts.congestion() or 'default'} "
                       "congestion control")
    return Finding(
        "network of its own", f"not allowed ({problem}), so the machine's "
        f"limits hold: somaxconn "
        f"{procfs.read('/proc/sys/net/core/somaxconn').strip() or '?'}, SYN "
        "backlog "
        f"{procfs.read('/proc/sys/net/ipv4/tcp_max_syn_backlog').strip()}, "
        f"ports {'-'.join(map(str, facts.port_range()))}, "
        f"{facts.congestion()}",
        "measure as root, or allow it: "
        "sysctl -w kernel.unprivileged_userns_clone=1")


def load_average():
    """What else runs."""
    now = os.getloadavg()[0]
    return Finding("load average", f"{now:.2f}",
                   "something else is running: end it, or wait"
                   if now > 0.3 * os.cpu_count() else "")


def cores(machine):
    """Server and load need cores of their own."""
    def listed(some):
        return ",".join(map(str, sorted(some)))
    remedy = "" if not machine.server_cores & machine.load_cores else (
        "server and load share cores, so requests/s say little; CPU a request "
        "still holds: use a machine with two cores, or fewer SERVER_CPUS")
    return Finding("cores", f"{len(machine.all_cores)}: server on "
                   f"{listed(machine.server_cores)}, load and Redis on "
                   f"{listed(machine.load_cores)}", remedy)


def halves(machine):
    """Two that the system calls cores can be the halves of one. layout()
    gives such a half to the load only where nothing else is left."""
    pairs = [f"{mine} and {other}" for mine in sorted(machine.server_cores)
             for other in sorted(facts.siblings(mine)
                                 & machine.load_cores - {mine})]
    return Finding(
        "physical cores", "; ".join(f"{pair} are one" for pair in pairs)
        or "server and load share none, as far as the machine shows",
        "server and load slow each other there: choose SERVER_CPUS and "
        "LOAD_CPUS apart, or use a machine with two whole cores"
        if pairs else "")


def core_speed(core):
    """Look at the server's core for a quarter of a second or so."""
    times = [calibration.measure(core) for _ in range(40)]
    slower = 100 * (max(times) / min(times) - 1)
    return Finding(
        "speed of the server's core",
        f"at its slowest {slower:.0f} % slower than at its best",
        "others use the other half of this core, or its clock changes: more "
        "rounds make up for some of it, a machine of your own for all"
        if slower > quiet.SLOWER else "")


def governor():
    """A clock that changes makes figures differ."""
    name = facts.governor()
    return Finding("frequency governor", name or "not visible",
                   "the clock changes meanwhile: cpupower frequency-set "
                   "-g performance" if name not in ("", "performance") else "")


def idle_cores():
    """A guest that halts an idle core leaves it to the host, and waits until
    it gets it back: each wait for Redis is longer by that."""
    polled = facts.halt_poll_ns()
    return Finding(
        "idle cores", "not visible" if polled is None else
        f"poll for up to {polled / 1000:.0f} us before they halt",
        "a virtual machine wakes them late, so servers that wait look slow, "
        f"and runs differ more: echo 200000 >{facts.HALT_POLL}"
        if polled == 0 else "")


def doctor():
    """Return all Findings, of building and testing too."""
    release = platform.release()
    kernel = tuple(map(int, re.findall(r"\d+", release)[:2]))
    linux = platform.system() == "Linux"
    found = [Finding("kernel", f"{platform.system()} {release}",
                     "use Linux: epoll, sendfile and accept4 are its own"
                     if not linux else "it has no openat2: each path is "
                     "checked more slowly; 5.6 or newer has it"
                     if kernel < (5, 6) else "", LESS if linux else STOPS)]
    found += look(facts.layout(), (), 15000, netns.problem())
    children = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    found.append(Finding(
        "processes", f"{children:,}" if children > 0 else "unlimited",
        "too few for the children of forking: raise nproc in "
        "/etc/security/limits.conf" if 0 <= children < 1000 else ""))
    free = re.search(r"^MemAvailable:\s*(\d+)", procfs.read("/proc/meminfo"),
                     re.MULTILINE)
    free = int(free.group(1)) // 1024 if free else 0
    found.append(Finding("memory", f"{free:,} MiB free",
                         "thousands of processes and threads need room: end "
                         "other programs" if free < 1000 else ""))
    with socket.socket() as probe:
        taken = probe.connect_ex(("127.0.0.1", 8000)) == 0
    found.append(Finding("port 8000", "taken" if taken else "free",
                         "make run-07 ARGS='--port 8080'" if taken else "",
                         LESS))
    return found + [packages(group) for group in GROUPS] + programs()


def packages(group):
    """Return what scripts/deps.sh says of a group of packages."""
    done = subprocess.run(
        [os.path.join(servers.TOP, "scripts", "deps.sh"), group],
        env={**os.environ, "NO_INSTALL": "1"}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False)
    said = done.stdout.strip().splitlines() or ["?"]
    return Finding(f"packages: {group}", "some are missing" if done.returncode
                   else "all that is needed is installed",
                   said[-1].strip() if done.returncode else "",
                   STOPS if group in ("build", "run") else LESS)


def programs():
    """Return a Finding for each compiler, and for Redis."""
    known = facts.versions()
    return [Finding(name, known[name]) for name in
            ("gcc", "clang", "redis-server", "python") if known.get(name)]


def main(_words):
    """Print what the head of this file says; return 1 when something does
    not work at all, else 0."""
    found = doctor()
    print("\n".join(map(str, found)))
    todo = sorted((one for one in found if not one.ok and one.weight > LESS),
                  key=lambda one: -one.weight)
    if todo:
        print("\nDo first:" if len(todo) > 1 else "\nDo this first:")
        for number, one in enumerate(todo[:3], 1):
            print(f"{number}. {one.what}: {one.remedy}")
    else:
        print("\nready")
    return int(any(one.weight == STOPS for one in todo))
