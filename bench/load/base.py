"""What every load tool shares: the job, the result, and reading numbers."""

import re
import shutil
from dataclasses import dataclass, field

UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6}    # in ms
LAG = 2.0               # per cent behind the demanded rate that get a note


class LoadError(Exception):
    """The tool is missing, or its output is not a report."""


@dataclass(frozen=True)
class Job:
    """The load to make. One process of the tool runs for each URL and gets
    its share of `connections` and `requests`."""

    urls: tuple
    connections: int = 1        # at a time; httperf: in all
    seconds: float = 1.0        # how long; an upper bound with `requests`
    requests: int = None        # end after this number (ab, h2load)
    rate: float = None          # new connections a second (open loops)
    calls: int = 1              # requests on each connection (open loops)
    keep_alive: bool = True
    threads: int = 1            # of the tool (wrk, h2load, oha)
    timeout: float = 5.0        # seconds a client waits (open loops)
    script: str = None          # a Lua file (wrk)

    @property
    def port(self):
        """The server's port."""
        return int(re.search(r":(\d+)/", self.urls[0]).group(1))

    @property
    def deadline(self):
        """Seconds after which the tool counts as hung."""
        waits = self.timeout if self.rate else 0
        return self.seconds + waits + 5 + self.connections / 2000


@dataclass
class Result:
    """What one run of a tool found. Latencies are in milliseconds and mean
    what the tool's `latency` says.

    All four counts are None when the tool left no report. `unfinished` alone
    is None when neither the tool nor the kernel knows it, and `timeouts` alone
    when the tool counts them among other failures.
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
    own_cpu: float = 0.0        # seconds this program used meanwhile
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
        """Failed and unfinished requests as a share of all. Unknown counts
        are left out; None when no loss is known but some is possible."""
        lost = (self.failed or 0) + (self.unfinished or 0)
        if not lost and None in (self.failed, self.unfinished):
            return None
        asked = self.good + lost
        return 100.0 * lost / asked if asked else 100.0


class Tool:
    """A load tool. A subclass adds `command(job, folder)`, which returns
    argv, and `parse(text, job, folder)`, which returns a Result or raises
    LoadError; `folder` is a scratch folder of that one process."""

    name = package = ""
    latency = ""            # what its percentiles measure, in a sentence
    open_loop = False       # its clients arrive at a rate of their own
    busy_waits = False      # its core is busy whatever the load
    whole_seconds = False   # it cannot run for half a second

    def path(self):
        """Return the program's path, None when it is not installed."""
        return shutil.which(self.name)

    @property
    def remedy(self):
        """The command that installs it."""
        return f"apt-get install {self.package}"

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
