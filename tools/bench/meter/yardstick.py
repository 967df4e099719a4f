"""How fast were the cores while the load ran? yardstick.c says what it does and why.

    with yardstick.running(machine):
        ...                         cells with costs.CostMeter
"""

import contextlib
import os
import subprocess
from pathlib import Path

from tools.bench.meter import Metric
from tools.stats.steady import PIECES

SOURCE = Path(__file__).with_suffix(".c")
PROGRAM = SOURCE.parents[3] / "build/yardstick"
ENOUGH = 10         # visits in a load, for a mean
_running = []       # the program, while it runs


def build():
    """Compile the program if that has to be done. Return why it cannot be, "" when it is there."""
    if PROGRAM.exists() and PROGRAM.stat().st_mtime > SOURCE.stat().st_mtime:
        return ""
    PROGRAM.parent.mkdir(exist_ok=True)
    try:
        done = subprocess.run(["cc", "-O2", "-pthread", "-o", PROGRAM, SOURCE], check=False,
                              stderr=subprocess.PIPE, text=True)
    except OSError as error:
        return f"cc: {error.strerror}"
    return done.stderr.strip()


@contextlib.contextmanager
def running(machine):
    """Measure a core of the server and one of the load until the block ends. `machine` is a
    facts.Machine. Without the program the metric has no figures."""
    server = min(machine.server_cores)
    others = sorted(machine.load_cores - {server})
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            process = stack.enter_context(subprocess.Popen(
                [PROGRAM, str(server), *map(str, others[:1])], bufsize=0, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, {server})))
            _running.append(process)
            stack.callback(_running.clear)
            stack.callback(process.stdin.close)     # which ends it
        yield


def ask():
    """Return [visits, mean of each of PIECES (ns)] since the last time, [] if nothing runs."""
    for process in _running:
        with contextlib.suppress(OSError):
            process.stdin.write(b"\n")
            return [int(word) for word in process.stdout.readline().split()]
    return []


class Yardstick(Metric):
    """What ask() says for the time of the load."""

    found = ()

    def begin(self, meter):
        ask()

    def end(self, meter):
        self.found = ask()

    def finish(self, meter):
        visits, *means = self.found or [0]
        return dict(zip(PIECES, (mean or None for mean in means))) if visits >= ENOUGH else {}
