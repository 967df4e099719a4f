"""The experiments, a file each: endpoint, tool, grid, what is checked, and
the figures that were published. A new file here is a new experiment.
"""

import http.client
import importlib
import math
import pkgutil
import re
from contextlib import nullcontext
from dataclasses import dataclass, field

ORDER = ("guestbook", "answer", "hello", "redirect", "echo")

# Connections to one address of the server, from one process of the load tool.
# connect(2) looks for a local port among half of them first, those of one
# parity: 14,000 by default. When most are taken, the tool's core does little
# else than look, and what it could not open in time seems lost by the server.
A_CLIENT = 7000


class WrongAnswer(Exception):
    """A server does not answer as it should; the text says what came."""


class NotPossible(Exception):
    """A cell cannot be measured here; the text says why."""


@dataclass(frozen=True, eq=False)
class Variant:
    """One way to run an experiment, such as with and without keep-alive; of a
    study, one of its loads. What is empty is as the experiment has it."""

    name: str
    keep_alive: bool = True
    many_workers: bool = False
    quick: tuple = ()           # the x of a quick run, and with FULL=1
    full: tuple = ()
    path: str = ""
    servers: tuple = ()         # names of those that take part, () for all
    baseline: str = ""          # the one that the others are compared with
    options: dict = field(default_factory=dict)     # {server: (word, ...)}
    script: str = None          # a Lua file for wrk
    redis: str = ""             # "none" or "tcp"


@dataclass(frozen=True)
class Published:
    """The figures of the publication that the experiment replays."""

    where: str                  # machine and load, in a sentence
    series: dict = field(default_factory=dict)  # {system: {x: requests/s}}
    best: dict = field(default_factory=dict)    # or one figure a system
    rough: dict = field(default_factory=dict)   # {system: (x with "~", ...)}
    notes: tuple = ()


def addresses(live, path, clients):
    """Return the URLs among which so many clients are shared out, each of
    another address of 127/8."""
    return tuple(live.url(path, f"127.0.0.{number + 1}")
                 for number in range(math.ceil(clients / A_CLIENT)))


def heard(server, clients):
    """Raise NotPossible when so many clients need more addresses than the
    one on which a peer listens that cannot be told another."""
    if clients > A_CLIENT and server.kind != "architecture" \
            and not server.any_host:
        raise NotPossible("it listens on one address, which has too few "
                          "ports for so many clients")


class Experiment:
    """What all experiments share; each file makes one of these its own. A
    study has the same attributes and methods (studies/study.py)."""

    name = title = question = path = ""
    tools = ("wrk",)            # the first is used unless TOOL= says other
    open_loop = False           # x is a rate of requests, not of clients
    x_title = "concurrent clients"
    x_short = "clients"
    unit = "requests/s"
    needs_redis = False
    holds_connections = False   # x connections shall be open at once
    host = "127.0.0.1"
    variants = (Variant(""),)
    baseline = "epoll"          # the server that the others are compared with
    rounds = None               # so many; None: until all is settled
    counts_calls = True         # whether system calls are counted
    seconds_full = 3.0
    reference = 100             # the x of the cost table, where there
    calls_at = 20               # clients when system calls are counted
    weight = 1.0                # of its cells in the time of a quick run
    published = None

    def path_of(self, variant):
        """Return the path that the clients of `variant` ask for."""
        return variant.path or self.path

    def applies(self, server, variant):
        """Return whether `server` can take part in `variant`."""
        if variant.servers and server.name not in variant.servers:
            return False
        if self.path_of(variant).partition("?")[0] not in server.endpoints:
            return False
        if variant.many_workers and not server.has_workers:
            return False
        return server.keep_alive in (None, variant.keep_alive) or \
            server.kind == "architecture"

    def workers(self, server, variant, x, machine):
        """Return --workers for a cell, None for the server's default."""
        if not server.has_workers:
            return None
        return len(machine.all_cores) if variant.many_workers else 1

    def cores(self, variant, machine):
        """Return the cores for the server in a cell."""
        return machine.all_cores if variant.many_workers \
            else machine.server_cores

    def possible(self, server, x, machine):
        """Raise NotPossible when the cell is beyond the machine's limits."""
        need = x + 100
        if need > machine.descriptors:
            raise NotPossible(f"{x:,} connections need more descriptors than "
                              f"a process may have ({machine.descriptors:,})")

    def lasts(self, x, seconds):
        """Return how long the load of a cell takes that gets `seconds`."""
        return seconds

    def job(self, live, variant, x, seconds, machine, full):
        """Return the load.Job of a cell."""
        raise NotImplementedError

    def check(self, get):
        """Raise WrongAnswer unless the server answers as it should.

        `get(path)` returns (status, headers in lower case, body).
        """
        raise NotImplementedError

    def beside(self, cell, live, number):
        """Return a context manager around the load of a cell in the round
        `number`. It yields a list, to which the load.Result is added."""
        return nullcontext([])

    def finish(self, folder, summary):
        """Called when all is measured, with the path of the results and their
        summary; return lines that are printed."""
        return []


def client(port):
    """Return the `get` for Experiment.check."""
    def get(path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", path, headers={"Connection": "close"})
            response = connection.getresponse()
            headers = {k.lower(): v for k, v in response.getheaders()}
            return response.status, headers, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise WrongAnswer(f"GET {path}: {error!r}") from error
        finally:
            connection.close()
    return get


def expect(answer, path, status, kind, body):
    """Raise WrongAnswer unless `answer` has this status, media type and a
    body that is `body` (bytes) or matches it (a compiled pattern)."""
    got, headers, content = answer
    media = headers.get("content-type", "").partition(";")[0]
    if got != status:
        raise WrongAnswer(f"GET {path}: status {got}, not {status}")
    if kind and media != kind:
        raise WrongAnswer(f"GET {path}: Content-Type {media!r}, not {kind}")
    same = body.search(content) if isinstance(body, re.Pattern) \
        else content == body
    if not same:
        raise WrongAnswer(f"GET {path}: unexpected body {content[:60]!r}")


def all_experiments():
    """Return the Experiments: the five in their order, then any others."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        one = importlib.import_module(f"{__name__}.{module.name}")
        found[module.name] = one.EXPERIMENT
    rest = sorted(set(found) - set(ORDER))
    return [found[name] for name in (*ORDER, *rest) if name in found]
