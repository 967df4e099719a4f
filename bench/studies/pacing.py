#!/usr/bin/env python3
"""What a large file costs where the kernel paces what it sends, and where not.

    make bench-pacing                          all, medians of REPEAT

Congestion control decides when TCP sends what it has been given. CUBIC sends
as much as the window allows. BBR keeps to a rate, and with no fq queue on the
device (lo has none) each pause is a timer of the socket: to set it and to be
interrupted by it is work, in a virtual machine several times that of sending
64 KiB.

The same servers send the same file of 1 MiB under both, in a network of its own
(own_network.py) whose default is changed; the machine's stays. Timers are
counted by perf, all of the server's core.

Writes docs/results/cost/pacing.json, from which docs/performance.md is filled.
"""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.studies import committed
from bench.studies import cost
from bench import load
from bench.run import netns as own_network
from bench import peers
from bench.run import servers

CONTROLS = ("cubic", "bbr")
SETTING = Path("/proc/sys/net/ipv4/tcp_congestion_control")
NAMES = ("epoll", "poll", "prethreaded") + cost.STATIC_PEERS
SCENARIO = next(one for one in cost.SCENARIOS if one.name == "file-1m")


class Timers:
    """Counts the timers that expire on some cores while the block runs."""

    def __init__(self, cores):
        self.argv = ["perf", "stat", "-x", ",", "-e",
                     "timer:hrtimer_expire_entry", "-C",
                     ",".join(map(str, sorted(cores)))]
        self.count = None       # unless perf can count them

    def __enter__(self):
        try:
            self.perf = subprocess.Popen(self.argv, stdout=subprocess.DEVNULL,
                                         stderr=subprocess.PIPE, text=True)
        except OSError:
            self.perf = None
        return self

    def __exit__(self, *_):
        if self.perf is None:
            return
        self.perf.send_signal(signal.SIGINT)
        self.count = count_of(self.perf.communicate()[1])


def count_of(report):
    """Return the count in what `perf stat -x,` wrote, None without one."""
    for line in report.splitlines():
        first = line.split(",")[0]
        if "hrtimer_expire_entry" in line and first.isdigit():
            return int(first)
    return None


def measure(control, server, folder, seconds):
    """Return one run: CPU microseconds of the server and timers of its core
    for each file (None where they cannot be counted), and files a second."""
    SETTING.write_text(control)
    with Timers(cost.SERVER_CORES) as timers:
        row = cost.measure(SCENARIO, server, folder, None, seconds)
    return {"us": row["us"], "rps": row["rps"],
            "timers": None if timers.count is None
            else timers.count / row["good"]}


def run_all(ways, repeat, seconds, folder):
    """Measure all `ways` ({name: server}) under each control, in rounds,
    shuffled; return {name: {control: rows}}."""
    found = committed.in_rounds(
        [(name, control) for name in ways for control in CONTROLS], repeat,
        lambda name, control: measure(control, ways[name], folder, seconds),
        lambda row: f"{row['us']:7.1f} us {row['rps']:7.0f}/s")
    return {name: {control: found[name, control] for control in CONTROLS}
            for name in ways}


def told(rows):
    """Return the medians of `rows`, and the range of the costs."""
    counted = [row for row in rows if row["timers"] is not None]
    if len(counted) < len(rows):
        rows = [{key: row[key] for key in ("us", "rps")} for row in rows]
    return committed.medians(rows) | {"min": min(row["us"] for row in rows),
                                      "max": max(row["us"] for row in rows)}


def main():
    options = committed.parser(__doc__, "pacing.json", repeat=9,
                               seconds=0.7).parse_args()
    try:
        own_network.enter(servers.Start().backlog)
    except OSError as error:
        sys.exit(f"pacing.py: no network of its own ({error}), whose "
                 "congestion control can be changed: run it as root, or allow "
                 "user namespaces")
    usual = SETTING.read_text()
    for control in CONTROLS:
        try:
            SETTING.write_text(control)
        except OSError:
            sys.exit(f"pacing.py: this kernel has no {control}: "
                     f"`modprobe tcp_{control}` as root")
    servers.raise_descriptor_limit()
    ways = {name: name for name in NAMES if not cost.usable(name)}
    with tempfile.TemporaryDirectory(prefix="bench-pacing-") as folder:
        cost.site_with_files(folder)
        found = run_all(ways, options.repeat, options.seconds, folder)
    SETTING.write_text(usual)       # which committed.write() tells
    committed.write(options, "make bench-pacing", servers={
        name: {control: told(rows) for control, rows in controls.items()}
        for name, controls in found.items()})


if __name__ == "__main__":
    try:
        main()
    except (load.LoadError, peers.PeerError, servers.ServerError) as error:
        sys.exit(f"pacing.py: {error}")
