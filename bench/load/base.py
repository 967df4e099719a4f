"""What every load tool shares: the job, the result, and reading numbers."""

import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

PATH = f"{os.environ['PATH']}:{Path(__file__).parents[2]}/build/tools/bin"
UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6}    # in ms
LAG = 2.0               # percent behind the demanded rate that get a note


class LoadError(Exception):
    """The tool is missing, or its output is not a report."""


@dataclass(frozen=True)
class Job:
    """The load to make. One process of the tool runs for each URL and gets
    its share of `connections` and `requests`."""

    urls: tuple
    connections: int = 1        # at a time; in open loops: in all
    seconds: float = 1.0        # how long; an upper bound with `requests`
    requests: int = None        # end after this number (ab, h2load)
    rate: float = None          # new connections a second (open loops)
    calls: int = 1              # requests on each connection (open loops)
    keep_alive: bool = True
    threads: int = 1            # of the tool (wrk, h2load, oha)
    timeout: float = 5.0        # seconds a client waits (open loops)
    script: str = None          # a Lua file (wrk)

    @property
    def asked(self):
        """How many requests have to be answered: of a closed loop with a time
        only, one for each client."""
        if self.rate:
            return self.connections * self.calls
        return self.requests or self.connections

    @property
    def port(self):
        """The server's port."""
        return int(re.search(r":(\d+)/", self.urls[0])[1])

    @property
    def deadline(self):
        """Seconds after which the tool counts as hung."""
        waits = self.timeout if self.rate else 0
        return self.seconds + waits + 5 + self.connections / 2000


@dataclass
class Result:
    """What one run of a tool found. Latencies are in milliseconds and mean
    what the tool's `latency` says; None is what the tool does not measure.

    `good` is None when the tool left no report; then no count is known.
    """

    good: int = 0               # requests with a correct answer
    failed: int = 0             # errors, resets, refusals, wrong status
    timeouts: int = 0           # of the failed: the client gave up waiting
    unfinished: int = 0         # asked for, but unanswered when the tool ended
    seconds: float = 0.0
    mean: float = None
    p50: float = None
    p99: float = None
    max: float = None
    sent_rate: float = None     # requests a second that an open loop sent
    lag_percent: float = None   # how far it stayed behind what was demanded
    cpu: float = 0.0            # seconds the tool used
    own_cpu: float = 0.0        # seconds this program used
    wall: float = 0.0           # seconds the tool ran
    hung: bool = False          # it had to be interrupted or killed
    notes: list = field(default_factory=list)
    commands: list = field(default_factory=list)
    output: str = ""

    @property
    def reported(self):
        """Whether the tool left a report."""
        return self.good is not None

    @property
    def rate(self):
        """Good answers a second; None without a report."""
        if not self.reported:
            return None
        return self.good / self.seconds if self.seconds else 0.0

    @property
    def failed_percent(self):
        """Failed and unfinished requests as a share of all; None without a
        report."""
        if not self.reported:
            return None
        lost = self.failed + self.unfinished
        return 100.0 * lost / (self.good + lost) if lost else 0.0


class Tool:
    """A load tool. A subclass adds `command(job, folder)`, which returns
    argv, and `parse(text, job, folder)`, which returns a Result; `folder` is a
    scratch folder of that one process."""

    name = ""
    remedy = ""             # the command that installs it
    latency = ""            # what its percentiles measure, in a sentence
    open_loop = False       # its clients arrive at a rate of their own
    busy_waits = False      # its core is busy whatever the load
    whole_seconds = False   # it cannot run for half a second

    def path(self):
        """Return the program's path, None when it is not installed."""
        return shutil.which(self.name, path=PATH)

    def read(self, text, job, folder):
        """Return the Result of what the tool printed. Raises LoadError."""
        result = self.parse(text, job, folder)
        result.unfinished = max(0, job.asked - result.good - result.failed)
        return result

    def find(self, pattern, text):
        """Return the groups of `pattern`, which every report contains. Raises
        LoadError."""
        found = re.search(pattern, text, re.MULTILINE)
        if not found:
            raise LoadError(f"no report from {self.name}: {last_line(text)}")
        return found.groups()

    def paced(self, result, job, requests, seconds):
        """Note in `result` the rate of an open loop that sent `requests` and
        took at least `seconds` for that, and by how much that is late."""
        demanded = job.connections / job.rate
        seconds = max(demanded, seconds)
        result.sent_rate = requests / seconds
        result.lag_percent = 100 * (1 - demanded / seconds)
        if result.lag_percent > LAG:
            result.notes.append(f"{self.name} lagged: its rate was "
                                f"{result.lag_percent:.0f} % below the "
                                "demanded one")


def number(pattern, text, otherwise=None, convert=float):
    """Return the first group of `pattern` in `text` as a number."""
    found = re.search(pattern, text, re.MULTILINE)
    return convert(found.group(1)) if found else otherwise


def milliseconds(word):
    """Return "659.61us" or "1.02s" as milliseconds."""
    value, unit = re.fullmatch(r"([\d.]+)(\w+)", word).groups()
    return float(value) * UNITS[unit]


def last_line(text):
    """Return the last line that is not blank."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "(nothing was printed)"
