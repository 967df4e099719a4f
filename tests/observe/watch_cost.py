#!/usr/bin/python3
"""What watching costs the watched server.

    tests/observe/watch_cost.py [SERVER [SECONDS]]      prethreaded or preforking; 60 s

Starts `watch SERVER` with 100 workers in a terminal of 130 x 50, at 10 samples a second,
and loads the server with wrk. Watch stands still (SIGSTOP) in half of all stretches of
0.2 s, in the order A B B A. Neighbouring stretches are compared, because the speed of a
machine changes: how many TCP segments were sent (the rate), and the CPU time of the
server for each. The server has core 0 to itself, as in every measurement here; with
CORES=shared it shares all cores with watch and wrk. Prints medians of the ratios with
their intervals. It is no test: run it on a quiet machine. It needs tmux and wrk.
"""

import os
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from bench.analyse import stats                                  # noqa: E402

STRETCH = 0.2


def tmux(*words):
    """Run a command of a tmux server of our own; return its output."""
    return subprocess.run(["tmux", "-L", f"watch-cost-{os.getpid()}", *words], text=True,
                          check=False, capture_output=True).stdout


def family(pid):
    """Return a process and those below it."""
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    return [pid, *(one for child in below for one in family(int(child)))]


def segments():
    """Return how many TCP segments this machine has sent."""
    names, values = re.findall(r"^Tcp: (.*)$", Path("/proc/net/snmp").read_text("ascii"), re.M)
    return int(dict(zip(names.split(), values.split()))["OutSegs"])


def cpu_time(pids):
    """Return the CPU seconds of processes; their clocks count nanoseconds:
    clock_getcpuclockid(3)."""
    return sum(time.clock_gettime(~pid << 3 | 2) for pid in pids)


def stretch(watch, server, works):
    """Return (segments a second, CPU us of the server for each)."""
    os.kill(watch, signal.SIGCONT if works else signal.SIGSTOP)
    begun, sent, used = time.monotonic(), segments(), cpu_time(server)
    time.sleep(STRETCH)
    sent, used = segments() - sent, cpu_time(server) - used
    return sent / (time.monotonic() - begun), 1e6 * used / sent


def measure(watch, server, url, wrk, seconds):
    """Return [((rate, cost) without watch, (rate, cost) with it)]."""
    load = subprocess.Popen([*wrk, "wrk", "-t1", "-c100", f"-d{seconds}", url + "answer"],
                            stdout=subprocess.DEVNULL)
    pairs = []
    time.sleep(1)
    while load.poll() is None:
        works = len(pairs) % 2 == 1
        pair = {one: stretch(watch, server, one) for one in (works, not works)}
        pairs.append((pair[False], pair[True]))
    return pairs[:-1]           # wrk has ended within the last one


def main(server="prethreaded", seconds="60"):
    """Run the command."""
    workers = "--threads" if server == "prethreaded" else "--workers"
    os.chdir(TOP)
    tmux("new-session", "-d", "-x130", "-y50", "exec /usr/bin/python3 -m observe watch "
         f"{server} --rate 10 -- {workers} 100")
    watch = int(tmux("display-message", "-p", "#{pane_pid}"))
    try:
        while not (url := re.search(r"http://\S*/", tmux("capture-pane", "-p"))):
            os.kill(watch, 0)
            time.sleep(0.2)
        [first] = [pid for pid in family(watch)
                   if Path(f"/proc/{pid}/comm").read_text("ascii").strip() == server
                   and os.getsid(pid) == pid]
        wrk = []
        if os.environ.get("CORES") != "shared":
            others = os.sched_getaffinity(0) - {0}
            for task in (one for pid in family(first)
                         for one in os.listdir(f"/proc/{pid}/task")):
                os.sched_setaffinity(int(task), {0})
            for task in os.listdir(f"/proc/{watch}/task"):
                os.sched_setaffinity(int(task), others)
            wrk = ["taskset", "-c", ",".join(map(str, others))]
        used = cpu_time([watch])
        pairs = measure(watch, family(first), url[0], wrk, seconds)
        used = cpu_time([watch]) - used
    finally:
        os.kill(watch, signal.SIGCONT)
        tmux("kill-server")
    for place, what in enumerate(("rate", "server's CPU time of a request")):
        changes = [100 * (on[place] / off[place] - 1) for off, on in pairs]
        low, high = stats.interval(changes)
        print(f"with watch, the {what} changes by {statistics.median(changes):+.1f} % "
              f"({low:+.1f} to {high:+.1f}; {len(pairs)} pairs)")
    print(f"watch uses {100 * used / (len(pairs) * STRETCH):.1f} % of a CPU while it works")


if __name__ == "__main__":
    main(*sys.argv[1:])
