"""A study: one question in a TOML file, measured like an experiment.

    make study NAME=floors SERVERS=epoll REPEAT=24 SECONDS=2
    make study NAME=some/folder/mine.toml

The file has a title, a question and one or more [[load]]. KEYS lists what a load may say; at
the top of the file the same keys are defaults of all loads. The first server of a load is the
one that its others are compared with.

[ways] starts every server in several ways. Each server then has a load of its own, where its
ways are compared with the first. A way is a line of words: options of the server, kernel
settings (net.NAME=VALUE), a folder (with / at its end) whose executables are started
instead of the plain ones, core=load (the server runs where the load does), policy=batch (no worker
takes the core from another, sched(7)), and neighbour=NAME and first=RATE, which are for
hooks.neighbour() and hooks.first(). A load may have ways of its own. `floor = true` compares each
server with the floor of its design, likewise. [check] is for self_check.py, and a cell is noisy
where the figure that `leads` is not known well, see stats/summary.py.

`rounds` (12) and `seconds` (1.0) of load hold without REPEAT and SECONDS. Six rounds of twice the
length last as long but leave more cells noisy: with six, one wild round is an end of the interval.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import shlex
import tomllib

from tools.bench import experiments, load as loads, peers
from tools.bench.load import idle
from tools.bench.studies import hooks, self_check
from tools.kit import TOP, netns, servers
from tools.results import rundir
from tools.stats.steady import steadied
from tools.stats.summary import LEADS

TOP_KEYS = ("title", "question", "count", "load", "rounds", "seconds", "check", "leads")
KEYS = {                    # of a load, with their defaults
    "name": "",
    "servers": [],          # names; GROUPS may be among them
    "clients": [100],       # how many there are, with an open loop (oha, httperf ...): how many
                            # requests are due in a second; each number is a cell
    "path": "/answer",      # "/guestbook" starts the server with Redis
    "keep_alive": True,
    "tool": "",             # of load.TOOLS; else wrk, for new connections ab
    "script": "",           # a Lua file for wrk
    "options": "",          # of our servers; a table: {server: its own}
    "ways": {},             # {name: words}
    "requests_each": 0,     # each client ends its run after this number; with httperf, each
                            # connection has as many
    "requests": 0,          # the run ends after this number, or one of each client if they are more
    "busy": 0,              # clients that ask; those of `clients` are idle
    "idle": 0,              # connections that ask for nothing while the load runs
    "other": "",            # a path; `clients` are the per cent of requests that ask for it
    "rate": 0,              # requests a second, with `other`: an open loop
    "redis_ms": 0,          # how much longer each reply of Redis takes
    "all_cores": False,     # whether the server may run on the load's, too
    "floor": False,         # whether to compare with the server's floor
}
GROUPS = {"seven": [one.name for one in servers.ARCHITECTURES],
          "peers": sorted(name for name, told in peers.found().items()
                          if told["kind"] not in ("floor", "variant"))}
SLOW = "slow Redis "    # followed by milliseconds: an address that studies.hooks makes
A_SECOND = 1000         # connections that a tool opens in a second, at least
AT_LEAST = 20000        # requests of a run with `requests_each`


class Started:
    """The server of a study called "SERVER" or "SERVER, WAY"; all that the way does not say is as
    the server has it."""

    def __init__(self, name, ways):
        """Raises PeerError."""
        bare, _, way = name.partition(", ")
        own = hooks.FOLDER.parent       # the peer.json of studies/
        self.server = servers.named(bare) if bare in GROUPS["seven"] else peers.Peer(
            bare, own if bare in peers.found(own) else peers.FOLDER)
        self.name, self.way = name, shlex.split(ways.get(way, ""))

    def __getattr__(self, name):
        return getattr(self.server, name)

    def command(self, start, port, folder):
        """Make the kernel settings of this way; return (argv, folder to run it in). Raises
        OSError."""
        argv, folder = self.server.command(dataclasses.replace(
            start, public=hooks.site() + "/public"), port, folder)
        argv = [hooks.slow_redis(start.redis, float(word[len(SLOW):])) if word.startswith(SLOW)
                else word for word in argv]
        for word in self.way:
            limit = re.fullmatch(r"net\.(\S+)=(\S+)", word)
            if limit:
                netns.set_limits({limit[1].replace(".", "/"): limit[2]})
            elif word == "core=load":
                others = sorted(os.sched_getaffinity(0) - start.cores) or sorted(start.cores)
                argv = ["taskset", "-c", ",".join(map(str, others)), *argv]
            elif word == "policy=batch":
                argv = ["chrt", "--batch", "0", *argv]
            elif word.startswith(("neighbour=", "first=")):
                pass
            elif word.endswith("/"):
                argv[0] = os.path.join(TOP, word, self.server.name)
            else:
                argv.append(hooks.unix_socket(start.redis) if word == "SOCKET" else word)
        return argv, folder


class Study(experiments.Experiment):
    """What a session knows of a study, see Experiment."""

    def __init__(self, name, told, variants, members):
        self.name, self.title, self.question = name, told["title"], told["question"]
        self.variants, self.servers = variants, members
        self.count = told.get("count", [])
        self.rounds, self.seconds_full = told.get("rounds", 12), told.get("seconds", 1.0)
        self.leads = told.get("leads", "cpu_us")
        self.told = told.get("check")    # the servers of self_check.tell()
        self.counts_calls = "calls" in self.count
        first = variants[0]
        self.path, self.tools, self.reference = first.path, [first.tool], max(first.full)
        if first.busy:
            self.x_title = self.x_short = "idle connections"
        if loads.TOOLS[first.tool].open_loop:
            self.open_loop, self.unit = True, "answers/s"
            self.x_title = self.x_short = \
                "% slow requests" if first.other else "requests/s demanded"

    def chosen(self, names):
        """Return the servers that go by one of `names` (all without a name), and those that they
        are compared with. Raises ValueError when there is none."""
        mine = {one.name for one in self.servers if not names
                or names & {one.name, one.server.name}}
        if not mine:
            raise ValueError("this study has " + ", ".join(one.name for one in self.servers))
        mine |= {one.baseline for one in self.variants if mine & set(one.servers)}
        return [one for one in self.servers if one.name in mine]

    def applies(self, server, variant):
        return server.name in variant.servers

    def obstacle(self, server, x, machine):
        """As everywhere; but a rate is no number of connections."""
        return "" if self.open_loop else super().obstacle(server, x, machine)

    def check(self, get):
        """Nothing: job() checks our servers, the load tool the others."""

    def job(self, live, variant, x, seconds, machine, full):
        """Return the load.Job of a cell. Raises WrongAnswer."""
        for one in experiments.all_experiments():
            if one.path == variant.path and live.server.kind == "architecture":
                one.check(experiments.client(live.port))
        if self.open_loop:
            calls = variant.requests_each or 1
            return loads.demanded(
                live.url(variant.path), (variant.rate or x) / calls, seconds, calls=calls,
                keep_alive=variant.keep_alive and not variant.other,
                other=variant.other, share=x / 100 if variant.other else 0.0)
        clients = variant.busy or x
        requests = None
        if variant.requests:
            requests = max(variant.requests, x)
        elif variant.requests_each:
            requests = max(AT_LEAST, variant.requests_each * x)
        least = 60.0 if requests else clients / A_SECOND
        return loads.Job(
            live.url(variant.path), connections=clients, seconds=max(seconds, least),
            requests=requests,
            keep_alive=variant.keep_alive, threads=len(machine.load_cores), script=variant.script)

    @contextlib.contextmanager
    def beside(self, cell, live, told):
        """Count what this study counts while a cell is measured."""
        seen = []
        with contextlib.ExitStack() as stack:
            if cell.variant.idle:
                stack.enter_context(idle.held(live.port, cell.variant.idle))
            for name in self.count + (["idle"] if cell.variant.busy else []):
                if name in hooks.HOOKS:
                    stack.enter_context(hooks.HOOKS[name](cell, live, seen, told))
            yield seen

    def finish(self, folder):
        """Return what the self-check finds in the rows of `folder`; nothing in other studies."""
        if not self.told:
            return []
        rows = rundir.read_rows(os.path.join(folder, "samples.csv"))
        return self_check.tell(steadied(rows)[0], self.servers[0].name, **self.told)


def names():
    """Return the names of all studies."""
    return sorted(path.stem for path in hooks.FOLDER.glob("*.toml"))


def load(name):
    """Return the Study called `name`, or that in the file `name` if it ends with .toml. Raises
    ValueError."""
    path = pathlib.Path(name)
    if path.suffix != ".toml":
        known([name], names(), "as a study")
        path = hooks.FOLDER / f"{name}.toml"
    try:
        return make(path.stem, tomllib.loads(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path.name}: {error}") from error


def main(_):
    """Print the names and titles of the studies; return 0."""
    print("make study NAME=... measures one of these:")
    for name in names():
        print(f"  {name:16} {load(name).title}")
    return 0


def make(name, told):
    """Return the Study of a TOML table. Raises ValueError."""
    known(told, (*TOP_KEYS, *KEYS), "at its top")
    for key in ("title", "question", "load"):
        if not told.get(key):
            raise ValueError(f"it has no {key}")
    known([told.get("leads", "cpu_us")], LEADS, "as what leads")
    known(told.get("count", ()), ("calls", *hooks.HOOKS), "in count")
    defaults = {key: told.get(key, value) for key, value in KEYS.items()}
    tables = [defaults | table for table in told["load"]]
    variants = [one for table in tables for one in read_load(table)]
    members = dict.fromkeys(one for each in variants for one in each.servers)
    ways = {}
    for table in tables:
        for way, words in table["ways"].items():
            if ways.setdefault(way, words) != words:
                raise ValueError(f"two loads have a way {way!r}, with other words")
    return Study(name, told, variants, [Started(one, ways) for one in members])


def known(keys, there, where):
    """Raise ValueError when one of `keys` is none of those that are there."""
    for key in keys:
        if key not in there:
            raise ValueError(f"{key!r} {where} is unknown; there are " + ", ".join(sorted(there)))


def read_load(table):
    """Return the Variants of a table: one, or where servers are compared with themselves or
    their floors one for each. The first server is the baseline. Raises ValueError."""
    name, where = table["name"], f"in load {table['name']!r}"
    known(table, KEYS, where)
    for key, value in table.items():
        both = (str, dict) if key == "options" else type(KEYS[key])
        if not isinstance(value, both):
            raise ValueError(f"{key} = {value!r} {where} is of a wrong type")
    tool = table["tool"] or ("wrk" if table["keep_alive"] else "ab")
    known([tool], loads.TOOLS, where)
    if loads.TOOLS[tool].open_loop and (
            table["requests"] or table["requests_each"] and tool != "httperf"):
        raise ValueError(f"{tool} {where} takes neither `requests` nor `requests_each`")
    members = list(dict.fromkeys(server for one in table["servers"]
                                 for server in GROUPS.get(one, [one])))
    if not name or not members:
        raise ValueError("a load needs a name, and servers")
    each, ways = {name: members}, table["ways"]
    if ways or table["floor"]:
        kept = "-kept" if table["keep_alive"] else ""
        # A new server has no floor yet.
        floors = {one for one in members if table["floor"] and f"floor-{one}" in peers.found()}
        each = {f"{name}, {one}": ([f"floor-{one}{kept}"] if one in floors else [])
                + ([f"{one}, {way}" for way in ways] or [one]) for one in members}
    if bool(table["other"]) != bool(table["rate"]) or table["other"] and tool != "arrivals":
        raise ValueError(f'`other`, `rate` and tool = "arrivals" need each other {where}')
    own = table["options"] if isinstance(table["options"], dict) else {}
    known(own, members, f"in options {where}")
    words = [] if own else shlex.split(table["options"] or "")
    if table["other"].startswith("/compute"):
        words.append("--compute")
    if table["redis_ms"]:
        words += ["--redis", f"{SLOW}{table['redis_ms']}"]
    if table["path"] in hooks.FILES:
        words += ["--root", hooks.site()]
    return [experiments.Variant(
        label, servers=some, baseline=some[0], tool=tool,
        quick=table["clients"], full=table["clients"],
        options={one: words + shlex.split(own.get(one, "")) for one in some},
        many_workers=table["all_cores"],
        redis="tcp" if "/guestbook" in (table["path"], table["other"]) else "none",
        script=table["script"] and str(hooks.FOLDER / table["script"]),
        **{key: table[key] for key in ("path", "keep_alive", "requests_each", "requests", "busy",
                                       "idle", "other", "rate")})
            for label, some in each.items()]
