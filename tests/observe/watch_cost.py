"""What watching costs the watched server.

    python -m tests.observe.watch_cost [SERVER [SECONDS [kept]]]

SERVER is prethreaded or preforking, and the default is 60 s of /guestbook with new
connections, where the server is the limit. On kept connections, the load tool and Redis
need more than their core, and watch takes CPU time from them.

Starts `watch SERVER` with 100 workers in a terminal of 130 x 50, at 10 samples a second,
and loads the server with wrk. Watch stands still (SIGSTOP) in half of all stretches of
0.2 s, in the order A B B A. Neighbouring stretches are compared, because the speed of a
machine changes: how many TCP segments were sent (the rate), and the CPU time of the
server for each. The server has core 0 to itself, as in every measurement here; with
CORES=shared it shares all cores with watch and wrk. Prints medians of the ratios with
their intervals. It is no test: run it on a quiet machine. It needs wrk.

The terminal is a pseudo-terminal of our own, as tmux lets a stopped program go on.
"""

import fcntl
import os
import pty
import re
import signal
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

from tools.stats import stats

TOP = Path(__file__).resolve().parents[2]
STRETCH = 0.2


class Terminal:
    """A program in a terminal of 130 x 50; what it writes is thrown away, but the
    first address, which is `url`."""

    def __init__(self, argv):
        self.url = None
        self.pid, self._screen = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 50, 130, 0, 0))
            os.environ["TERM"] = "xterm-256color"
            os.execv(argv[0], argv)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        text = b""
        while True:
            try:
                text = text[-200:] + os.read(self._screen, 1 << 16)
            except OSError:     # it has ended
                return
            found = re.search(rb"http://[\d.:]+/", text)
            self.url = self.url or found and found[0].decode("ascii")

    def end(self):
        """End the program."""
        os.kill(self.pid, signal.SIGCONT)
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


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


def measure(watch, server, wrk, seconds):
    """Return [((rate, cost) without watch, (rate, cost) with it)] while `wrk` runs."""
    load = subprocess.Popen(wrk, stdout=subprocess.DEVNULL)
    pairs, ends = [], time.monotonic() + seconds - 1
    time.sleep(1)
    while time.monotonic() < ends:
        works = len(pairs) % 2 == 1
        pair = {one: stretch(watch, server, one) for one in (works, not works)}
        pairs.append((pair[False], pair[True]))
    load.wait()
    return pairs


def main(server="prethreaded", seconds=60, kept=""):
    """Run the command."""
    workers = "--threads" if server == "prethreaded" else "--workers"
    os.chdir(TOP)
    terminal = Terminal(["/usr/bin/python3", "-m", "tools.observe", "watch", server,
                         "--rate", "10", "--", workers, "100"])
    watch = terminal.pid
    try:
        while not terminal.url:
            os.kill(watch, 0)
            time.sleep(0.2)
        [first] = [pid for pid in family(watch)
                   if Path(f"/proc/{pid}/comm").read_text("ascii").strip() == server
                   and os.getsid(pid) == pid]
        wrk = []
        header = [] if kept else ["-H", "Connection: close"]
        if os.environ.get("CORES") != "shared":
            others = os.sched_getaffinity(0) - {0}
            for task in (one for pid in family(first)
                         for one in os.listdir(f"/proc/{pid}/task")):
                os.sched_setaffinity(int(task), {0})
            for task in os.listdir(f"/proc/{watch}/task"):
                os.sched_setaffinity(int(task), others)
            wrk = ["taskset", "-c", ",".join(map(str, others))]
        wrk += ["wrk", "-t1", "-c100", f"-d{seconds}", *header,
                terminal.url + "guestbook"]
        used = cpu_time([watch])
        pairs = measure(watch, family(first), wrk, int(seconds))
        used = cpu_time([watch]) - used
    finally:
        terminal.end()
    for place, what in enumerate(("rate", "server's CPU time of a request")):
        changes = [100 * (on[place] / off[place] - 1) for off, on in pairs]
        low, high = stats.interval(changes)
        print(f"with watch, the {what} changes by {statistics.median(changes):+.1f} % "
              f"({low:+.1f} to {high:+.1f}; {len(pairs)} pairs)")
    print(f"watch uses {100 * used / (len(pairs) * STRETCH):.1f} % of a CPU while it works")


if __name__ == "__main__":
    main(*sys.argv[1:])
