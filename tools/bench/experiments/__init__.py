"""The experiments: a TOML file each. Five are published, and have the figures of the publication.

What no file can say, such as that a counter grows, is in five.py. An experiment with an
`equal_rate` is measured in two ways: as it was published, for its curve, and at that rate, for what
a request costs (equal.py).
"""

import functools
import pathlib
import re
import tomllib
import types
from contextlib import nullcontext
from dataclasses import dataclass, field

from tools.bench import load
from tools.kit import client as http
from tools.kit.servers import ARCHITECTURES

FOLDER = pathlib.Path(__file__).parent
ORDER = ("guestbook", "answer", "hello", "redirect", "echo")    # the published ones, E1 to E5

# connect(2) first tries the local ports of one parity. When all 32,256 of them are taken, it
# looks at each of them before it tries the others. Then ten connections take a second, the
# load tool's thread does nothing else, and it looks as if the server lost its clients.
PORTS = 32_000      # clients of a load host at most (kit/netns.py sets the range of ports)
SPARE = 100         # descriptors of a process that are no connections
OPENED_A_SECOND = 20_000    # connections by wrk, before its first request, or by load/idle.py


class WrongAnswer(Exception):
    """A server does not answer as it should; the text says how."""


@dataclass(frozen=True, eq=False)
class Variant:
    """One way to run an experiment, for example without keep-alive; in a study, one of its
    loads. An empty attribute is the experiment's."""

    name: str = ""
    keep_alive: bool = True
    many_workers: bool = False
    quick: tuple = ()           # the x of a quick run; (): not measured there
    full: tuple = ()            # and with FULL=1
    path: str = ""
    servers: tuple = ()         # names of those that take part, () for all
    baseline: str = ""          # the one that the others are compared with
    options: dict = field(default_factory=dict)     # {server: (word, ...)}
    script: str = None          # a Lua file for wrk
    pause: float = 0.0          # seconds between two requests of a client (wrk)
    fleet: bool = False         # whether it takes the hosts of a fleet
    redis: str = ""             # "none" or "tcp"
    tool: str = ""              # a key of load.TOOLS
    requests_each: int = 0      # each client ends its run after this number, each connection in
                                # an open loop
    requests: int = 0           # the run ends after this number, or one of each client
    busy: int = 0               # clients that ask, where those of x are idle
    idle: int = 0               # connections that ask for nothing while the load runs
    other: str = ""             # path of other requests, where x is their share in per cent
    rate: float = 0.0           # requests a second, where x is such a share
    exact: str = ""             # the cell of docs/results/exact that counts this request


class Experiment:
    """What all experiments share; these attributes are the keys of a TOML file, and [check] has
    the `status`, the `type` and a `pattern` of the body of a right answer. A study has the same
    attributes and methods (studies/study.py). `published`, of those that are, has `where` (machine
    and load, in a sentence), `notes`, `best` {system: requests/s}, `series` {system: {x:
    requests/s}}, `source` (author, title, address ...), `wide` {system: x without a figure},
    `elsewhere` [{"where", "best"}] of other machines, and `tables` as they were printed."""

    name = title = question = path = ""
    body = ""                   # of the right answer, where it is always the same text
    tools = ("ab", "wrk")       # the first is the default for TOOL
    open_loop = False           # x is a rate of requests, not of clients
    x_title = "concurrent clients"
    x_short = "clients"
    unit = "requests/s"
    leads = "cpu_us"            # what has to be known well; "rate" or "answered" (per cent) also
    needs_redis = False
    holds_connections = False   # x connections are open together
    variants = (Variant(),)
    baseline = "epoll"          # the server that the others are compared with
    rounds = None               # None: until all comparisons are settled
    counts_calls = True         # whether system calls are counted
    seconds_full = 3.0          # of load for a cell of weight 1, with FULL=1
    reference = 100             # the x of the cost table
    calls_at = 20               # x when system calls are counted
    weight = 1.0                # its cells last this many times as long
    equal_rate = 0              # requests a second that all servers can answer; 0: none
    of = None                   # the experiment whose requests these are, and under whose load
                                # their system calls are counted (equal.py)
    published = None

    def __init__(self, name, folder=FOLDER):
        told = tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))
        self.right = {"status": 200, "type": "text/plain", **told.pop("check", {})}
        old = told.pop("published", None)
        vars(self).update(told, name=name, variants=[Variant(**one) for one in told["variants"]])
        self.published = old and types.SimpleNamespace(**{
            "best": {}, "wide": {}, "elsewhere": [], "tables": [], **old,
            "series": {system: dict(zip(old["x"], rates))
                       for system, rates in old.get("series", {}).items()}})

    def equipped(self, lacking, asked):     # pylint: disable=unused-argument
        """Return the experiment for a machine where the load tools are missing for which lacking()
        is true, with the tool that was `asked` for, if it knows that."""
        return self

    def left_out(self, some):
        """Return a list of sentences: which of the servers `some` it leaves out, and why."""
        return []

    def path_of(self, variant):
        """Return the path that the clients of `variant` ask for."""
        return variant.path or self.path

    def applies(self, server, variant):
        """Return whether `server` can take part in `variant`."""
        ours = server.kind == "architecture"
        return (server.name in (variant.servers or [server.name])
                and (ours or self.path_of(variant).partition("?")[0] in server.endpoints)
                and (server.has_loops or not variant.many_workers)
                and (ours or server.keep_alive in (None, variant.keep_alive)))

    def baseline_of(self, variant, names):
        """Return which of the servers of these `names` the others are compared with: the one that
        the variant or the experiment names, else the first of the seven, else the first by name."""
        wanted = variant.baseline or self.baseline
        ours = [one.name for one in ARCHITECTURES if one.name in names]
        return wanted if wanted in names else [*ours, *sorted(names)][0]

    def workers(self, server, variant, machine, x):
        """Return how many loops --workers asks for in a cell of x clients; None for a server that
        has no loops."""
        return (len(machine.all_cores) if variant.many_workers else 1) if server.has_loops else None

    def obstacle(self, server, x, machine):
        """Return why a cell is beyond the machine's limits, "" when it is not: each
        connection needs a port, and a descriptor of the load tool."""
        alone = machine.load_hosts == 1 or not server.has_loops
        if alone and x + SPARE > machine.descriptors:
            return (f"{x:,} connections need more descriptors than a process may have "
                    f"({machine.descriptors:,})")
        return f"one address has too few ports for {x:,} connections" \
            if x > PORTS * machine.load_hosts else ""

    def lasts(self, x, seconds):
        """Return how many seconds the load of a cell takes that is planned for `seconds`: those,
        and the time for opening connections that are held."""
        return seconds + self.opening(x)

    def opening(self, x):
        """Return how many seconds are planned for opening x connections; 0 where they need not all
        be open together."""
        return x / OPENED_A_SECOND if self.holds_connections else 0.0

    def job(self, live, variant, x, seconds, machine, full):
        """Return the load.Job of a cell: here, a closed loop of x clients. `full` says whether it
        is the published one (FULL=1)."""
        return load.Job(live.url(self.path_of(variant)), connections=x,
                        seconds=self.lasts(x, seconds), opening=self.opening(x),
                        keep_alive=variant.keep_alive, pause=variant.pause,
                        threads=len(machine.load_cores))

    def check(self, get):
        """Raise WrongAnswer unless the server answers as it should; `get` is what client()
        returns."""
        body = self.body.encode()
        if "pattern" in self.right:
            body = re.compile(self.right["pattern"].encode(), re.DOTALL)
        expect(get(self.path), self.path, self.right["status"], self.right["type"], body)

    def beside(self, cell, live, told):
        """Return a context manager around the load of a cell. It yields a list that gets the
        load.Result, and puts what it counted into `told`, {figure: value}."""
        return nullcontext([])

    def finish(self, folder):
        """Return lines to print. Called with `folder`, the path of the results, when all is
        measured and nothing is summed up yet."""
        return []


def client(port):
    """Return the `get` for Experiment.check: get(path) returns (status, headers in lower case,
    body)."""
    def get(path):
        try:
            answer = http.get(("127.0.0.1", port), path)
            return answer.status, answer.headers, answer.body
        except OSError as error:
            raise WrongAnswer(f"GET {path}: {error!r}") from error
    return get


def expect(answer, path, status, kind, body):
    """Raise WrongAnswer unless `answer` has this status, media type ("": any) and a body that is
    `body` (bytes) or matches it (a compiled pattern)."""
    got, headers, content = answer
    media = headers.get("content-type", "").partition(";")[0]
    if got != status:
        raise WrongAnswer(f"GET {path}: status {got}, not {status}")
    if kind and media != kind:
        raise WrongAnswer(f"GET {path}: Content-Type {media!r}, not {kind}")
    if not (body.search(content) if isinstance(body, re.Pattern) else content == body):
        raise WrongAnswer(f"GET {path}: unexpected body {content[:60]!r}")


@functools.cache
def all_experiments(folder=FOLDER):
    """Return the Experiments: the published ones in their ORDER, then the others by name. Before
    each that has an equal rate stands the one that measures it."""
    # pylint: disable=import-outside-toplevel
    from tools.bench.experiments.equal import EqualRate
    from tools.bench.experiments.five import OWN
    more = sorted({path.stem for path in folder.glob("*.toml")}.difference(ORDER))
    found = [OWN.get(name, Experiment)(name, folder) for name in (*ORDER, *more)]
    return tuple(one for each in found
                 for one in ([EqualRate(each)] if each.equal_rate else []) + [each])
