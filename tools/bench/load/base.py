"""What every load tool shares: the job, the result, and reading numbers."""

import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

PATH = f"{os.environ['PATH']}:{Path(__file__).parents[3]}/build/tools/bin"
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
LAG = 1.0               # percent behind the demanded rate that get a note
FASTEST = 25_000        # new connections a second that a tool makes, at most
SHARERS = 100           # clients that share the requests of an open loop: of oha always, of
                        # h2load-rate on kept connections (it opens new ones without a limit)


class LoadError(Exception):
    """The tool is missing, or its output is not a report."""


@dataclass(frozen=True)
class Job:
    """The load to make. ab, wrk, h2load and httperf open `connections`; with httperf, each of them
    has `calls` requests. oha has at most `sharers` open, h2load-rate as many if they are kept, and
    these share all requests."""

    url: str
    connections: int = 1        # at a time; in open loops in all: the number of requests
                                # divided by `calls` (though `sharers` may share them)
    seconds: float = 1.0        # how long; an upper bound with `requests`
    requests: int = None        # end after this number (ab)
    rate: float = None          # of `connections` a second (open loops)
    calls: int = 1              # requests on each connection (open loops)
    keep_alive: bool = True
    threads: int = 1            # of the tool (wrk, oha, h2load)
    timeout: float = 5.0        # seconds a client waits (open loops)
    sharers: int = SHARERS      # clients that take turns (oha; h2load-rate if it keeps connections)
    opening: float = 0.0        # of `seconds`, those planned for opening all connections; if that
                                # takes longer, so does the load (wrk, ab). 0: does not matter
    script: str = None          # a Lua file (wrk)
    pause: float = 0.0          # seconds between two requests of a client (wrk)
    keep_times: bool = False    # of each answer, where the tool can (ab, oha, h2load-rate)
    other: str = ""             # the path of the other kind of request (arrivals)
    share: float = 0.0          # of the requests that are of that kind (arrivals)
    seed: int = 0               # of what is drawn by chance (arrivals)

    @property
    def asked(self):
        """How many requests have to be answered: None in a closed loop that
        ends by time, where each client always has one under way."""
        return self.connections * self.calls if self.rate else self.requests

    @property
    def due_a_second(self):
        """How many requests are due in a second of an open loop."""
        return self.rate * self.calls

    @property
    def port(self):
        """The server's port."""
        return int(re.search(r":(\d+)/", self.url)[1])

    @property
    def least_seconds(self):
        """How long it lasts at least; with `requests`, it may last longer."""
        return min(self.seconds, self.requests / FASTEST) if self.requests else self.seconds

    @property
    def deadline(self):
        """Seconds after which the tool is interrupted at the latest."""
        waits = self.timeout if self.rate else 0
        return self.seconds + waits + 5 + self.connections / 2000


@dataclass
class Result:
    """What one run of a tool found. Latencies are in milliseconds and mean what the tool's
    `latency` says; None is what the tool does not measure."""

    good: int = 0               # requests with a correct answer
    failed: int = 0             # errors, resets, refusals, wrong status
    timeouts: int = 0           # of the failed: the client gave up waiting
    unfinished: int = 0         # asked for, and never answered
    opens: int = 0              # connections that the tool opens in all, if it keeps them (closed
                                # loops)
    seconds: float = 0.0
    mean: float = None
    p50: float = None
    p99: float = None
    max: float = None
    sent_rate: float = None     # requests a second that an open loop sent
    lag_percent: float = None   # how far it stayed behind what was demanded
    cpu: float = 0.0            # seconds the tool used
    wall: float = 0.0           # seconds the tool ran
    notes: list = field(default_factory=list)
    command: str = ""
    output: str = ""
    began: float = 0.0          # time.monotonic() when its process ran
    times: dict = None          # {microseconds: answers}, with keep_times
    queue: dict = field(default_factory=dict)   # what a queue predicts, {figure: ms} (arrivals)
    extra: dict = field(default_factory=dict)   # columns that only a fleet has

    @property
    def rate(self):
        """Good answers a second."""
        return self.good / self.seconds if self.seconds else 0.0

    @property
    def failed_percent(self):
        """Failed and unfinished requests as a share of all."""
        lost = self.failed + self.unfinished
        return 100.0 * lost / ((self.good + lost) or 1)


class Tool:
    """A load tool. A subclass adds `command(job, folder)`, which returns argv, and `parse(text,
    job, folder)`, which returns a Result; `folder` is a scratch folder of that one process."""

    name = ""
    remedy = ""             # how to get it
    latency = ""            # what its percentiles measure, in a sentence
    open_loop = False       # its clients arrive at a rate of their own
    busy_waits = False      # its core is busy whatever the load
    whole_seconds = False   # it knows no others; what is too long is cut off
    ends_by_number = False  # it can end after a number of requests
    threaded = False        # it can use several cores
    needs_kept = False      # it keeps no rate if the server closes connections that are to be kept
    hides_lag = False       # it does not say when it sent what: see load._Sending

    def opens(self, job):
        """Return how many connections it opens for a job that keeps them."""
        return job.connections

    def path(self):
        """Return the program's path, None when it is not installed."""
        return shutil.which(self.name, path=PATH)

    def read(self, text, job, folder):
        """Return the Result of what the tool printed. Raises LoadError. A run that ends by time
        cuts off a request of each client. These are not lost, unless no client had any answer."""
        result = self.parse(text, job, folder)
        done = result.good + result.failed
        asked = job.asked or (0 if done else job.connections)
        result.unfinished = max(0, asked - done)
        return result

    def find(self, pattern, text):
        """Return the groups of `pattern`, which every report contains. Raises LoadError."""
        found = re.search(pattern, text, re.MULTILINE)
        if not found:
            raise LoadError(f"no report from {self.name}: {last_line(text)}")
        return found.groups()

    def paced(self, result, job, requests, seconds):
        """Note in `result` the rate of an open loop that sent `requests` and
        took at least `seconds` for that, and how far it is below the demanded
        one: because sending took longer, or because not all were sent."""
        seconds = max(job.connections / job.rate, seconds)
        result.sent_rate = requests / seconds
        result.lag_percent = max(0.0, 100 * (1 - result.sent_rate / job.due_a_second))
        said = f"{self.name} lagged: "
        result.notes = [one for one in result.notes if not one.startswith(said)]
        if result.lag_percent > LAG:
            result.notes.append(f"{said}its rate was {result.lag_percent:.0f} % below the "
                                "demanded one")


def behind(late):
    """Return by how many seconds more the last requests were late than the first ones; `late` has
    for each, in the order in which they were due, the seconds from then until it was sent. Of the
    first twentieth, and of the last, only the one counts that was least late: so a single late
    request at an end does not look like a lower rate."""
    some = max(1, len(late) // 20)
    return min(late[-some:]) - min(late[:some])


def numbers(pattern, text):
    """Return the groups of `pattern` in `text` as numbers, zeros where it does not match."""
    found = re.search(pattern, text, re.MULTILINE)
    words = found.groups() if found else "0" * re.compile(pattern).groups
    return [int(word) if word.isdigit() else float(word) for word in words]


def percentile(values, percent):
    """Return the smallest of the sorted `values` that at least `percent` of them do not exceed;
    None of no values."""
    return values[max(0, -(-len(values) * percent // 100) - 1)] if values else None


def in_seconds(word):
    """Return the seconds of a time such as "1.17ms"."""
    value, unit = re.fullmatch(r"([\d.]+)(\w+)", word).groups()
    return float(value) * UNITS[unit]


def last_line(text):
    """Return the last line that is not blank."""
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "(nothing was printed)"
