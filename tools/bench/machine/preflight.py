"""What would spoil the figures of this machine? And what is missing?

    python3 -m tools.bench doctor         (make doctor; needs nothing that is built)

A session looks at the first part before it measures. The doctor looks at
everything, and ends with "ready" or with at most three things to do first.
"""

import os
import platform
import re
import subprocess
from dataclasses import dataclass

from tools.bench.machine import facts, quiet
from tools.kit import TOP, netns, procfs, sockets

STOPS, SPOILS, LESS = 3, 2, 1       # how much a finding matters
WORDS = {STOPS: "MISSING", SPOILS: "WARNING", LESS: "note"}
GROUPS = ("run", "test", "browser", "tidy", "compare", "exact", "fuzz")


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
        line = f"{'OK' if self.ok else WORDS[self.weight]:8} {self.what}: {self.value}"
        return line if self.ok else f"{line}\n{'':8} -> {self.remedy}"


def look(machine, most_clients, no_network):
    """Return the Findings for a run with at most `most_clients` connections together;
    `no_network` says why it has no network of its own, "" when it has."""
    known, need = facts.facts(), most_clients + 100
    limits, load = known["limits"], os.getloadavg()[0]
    polled, clock = known["halt_poll_ns"], known["governor"]
    times = [quiet.measure(min(machine.server_cores)) for _ in range(40)]
    slower = 100 * (max(times) / min(times) - 1)
    return [
        Finding("descriptor limit", f"{machine.descriptors:,}",
                "cells beyond it are left out, or divided among processes: "
                f"`ulimit -n {need}` as root first" if machine.descriptors < need else ""),
        Finding("network of its own",
                f"not allowed ({no_network}), so the machine's limits hold: somaxconn "
                f"{limits['somaxconn']}, ports {'-'.join(map(str, limits['port_range']))}, "
                f"{known['congestion']}" if no_network else f"queues for {netns.QUEUE:,} clients",
                "measure as root, or allow it: sysctl -w kernel.unprivileged_userns_clone=1"
                if no_network else ""),
        Finding("load average", f"{load:.2f}",
                "something else is running: end it, or wait"
                if load > 0.3 * os.cpu_count() else ""),
        cores(machine),
        Finding("speed of the server's core",
                f"at its slowest {slower:.0f} % slower than at its best",
                "others use the other half of this core, or its clock changes: more rounds help a "
                "little, a machine of your own helps more" if slower > quiet.SLOWER else ""),
        Finding("frequency governor", clock or "not visible",
                "the clock changes while measuring: cpupower frequency-set -g performance"
                if clock not in ("", "performance") else ""),
        # A core that halts runs again when the host gives it back, which
        # makes each wait for Redis longer.
        Finding("idle cores", "not visible" if polled is None else
                f"poll for up to {polled / 1000:.0f} us before they halt",
                "a virtual machine wakes them late, so servers that wait look slow, and runs "
                f"differ more: echo 200000 >{facts.HALT_POLL}" if polled == 0 else "")]


def cores(machine):
    """Return the Finding about cores: server and load need cores of their own;
    two that the system calls cores can be the halves of one."""
    mine, others = (",".join(map(str, sorted(some)))
                    for some in (machine.server_cores, machine.load_cores))
    pairs = [f"{one} and {other}" for one in sorted(machine.server_cores)
             for other in sorted(facts.siblings(one) & machine.load_cores - {one})]
    remedy = ""
    if machine.server_cores & machine.load_cores:
        remedy = ("server and load share cores, so requests/s mean little; CPU time a request "
                  "still holds: use a machine with two cores, or fewer SERVER_CPUS")
    elif pairs:
        remedy = (f"{', '.join(pairs)} are halves of one core, so server and load slow each other: "
                  "choose other SERVER_CPUS and LOAD_CPUS, or use a machine with two whole cores")
    return Finding("cores", f"{len(machine.all_cores)}: server on {mine}, "
                   f"load and Redis on {others}", remedy)


def doctor():
    """Return all Findings, of building and testing too."""
    free = int(procfs.find(r"^MemAvailable:\s*(\d+)", "/proc/meminfo")) // 1024
    taken = sockets.accepts(8000)
    return [
        Finding("kernel", f"{platform.system()} {platform.release()}"),
        *look(facts.layout(), 15000, netns.problem()),
        Finding("memory", f"{free:,} MiB free",
                "thousands of processes and threads need more: end other programs"
                if free < 1000 else ""),
        Finding("port 8000", "taken" if taken else "free",
                "make run-07 ARGS='--port 8080'" if taken else "", LESS), *map(packages, GROUPS),
        *(Finding(name, said) for name, said in facts.versions().items()
          if name in ("gcc", "clang", "redis-server", "python"))]


def packages(group):
    """Return what scripts/deps.sh says of a group of packages."""
    done = subprocess.run(
        [os.path.join(TOP, "scripts", "deps.sh"), group],
        env={**os.environ, "NO_INSTALL": "1"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False)
    if not done.returncode:
        return Finding(f"packages: {group}", "all that is needed is there")
    names = re.findall(r"^  (\S+)  .*", done.stdout, re.MULTILINE)
    remedy = f"`scripts/deps.sh {group}` fetches {' '.join(names)}" if names else \
        "docs/howto/install.md: " + " ".join(done.stdout.splitlines()[:1])  # too old
    return Finding(f"packages: {group}", "some are missing" if names else "of no use here",
                   remedy, STOPS if group == "run" else LESS)


def main(_words):
    """Print what the head of this file says; return 1 when something does not work at
    all, else 0."""
    found = doctor()
    todo = sorted((one for one in found if not one.ok and one.weight > LESS),
                  key=lambda one: -one.weight)
    first = [f"{number}. {one.what}: {one.remedy}" for number, one in enumerate(todo[:3], 1)]
    print(*found, "", *(["Do first:", *first] if todo else ["ready"]), sep="\n")
    return int(any(one.weight == STOPS for one in todo))
