"""A study: a question in a TOML file, which a session measures like an
experiment.

    make study NAME=floors SERVERS=epoll REPEAT=6 SECONDS=1

The file says `title` and `question`, and has one or more [[load]]: what clients
ask for, how many there are, and of which servers. It may have [[server]], with
the words of a peer.json, and [way.NAME]: each server of a load is then started
in each way, as "SERVER, WAY". Any key of Load at the top of the file is the
default of all loads. A table with `for = [names]` is repeated for each name,
which replaces {server}; {OTHER} is replaced from the environment.
bench/README.md has an example.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import shlex
import statistics
import tomllib

from bench import experiments, load as loads, peers
from bench.experiments import Experiment, Variant, addresses
from bench.run import netns, servers
from bench.store import rundir
from bench.studies import hooks

FOLDER = pathlib.Path(__file__).parent
SEVEN = [one.name for one in servers.ARCHITECTURES]
GROUPS = {"seven": SEVEN,
          "peers": ["nginx", "lighttpd", "h2o", "haproxy", "libmicrohttpd",
                    "libevent", "hyper", "go", "node"]}
A_SECOND = 1000         # connections that a tool opens in a second, at least
PER_CLIENT = 20000      # requests of a run with `requests_each`, at least


class StudyError(ValueError):
    """A study cannot be read; the text says why in a sentence."""


@dataclasses.dataclass(frozen=True, eq=False)
class Load(Variant):
    """What clients ask of some servers."""

    clients: tuple = (100,)     # the grid: its x
    tool: str = "wrk"
    cores: str = "one"          # of the server; or two, all
    requests_each: int = 0      # a run ends after so many for each client
    busy: int = 0               # so many ask, while x others are idle
    ways: tuple = ()            # of the study; the first is the baseline


class Program(peers.Peer):
    """A server that only this study has; {dir} is the folder of studies."""

    folder = title = published_as = note = ""
    kind, keep_alive, has_workers, any_host = "peer", None, False, False
    warm_up, start_seconds = 0.0, 10.0
    dir, build_folder, template = FOLDER, pathlib.Path(hooks.BUILD), None

    def __init__(self, table):
        self.name, self.told = table["name"], {"check": "gcc", **table}


class Started:
    """A server as a study starts it, in one of its ways; otherwise it is that
    server."""

    def __init__(self, server, name, way):
        self.server, self.name, self.way = server, name, way

    def __getattr__(self, name):
        return getattr(self.server, name)

    def command(self, start, port, folder):
        """Return (argv, folder to run it in); set what the kernel shall do
        in this way. Raises OSError."""
        netns.set_limits(self.way.get("sysctl", {}))
        if self.way.get("redis") == "unix":
            start = dataclasses.replace(start,
                                        redis=hooks.unix_socket(start.redis))
        argv, folder = self.server.command(dataclasses.replace(
            start, public=hooks.site() + "/public",
            backlog=self.way.get("backlog", start.backlog),
            extra=(*start.extra, *self.way.get("options", ()))), port, folder)
        program = self.way.get("program", "").replace("{server}",
                                                      self.server.name)
        return [os.path.join(servers.TOP, program) if program else argv[0],
                *argv[1:]], folder


class Study(Experiment):
    """What a session knows of a study, see Experiment."""

    def __init__(self, name, told, variants, members):
        self.name, self.title = name, told["title"]
        self.question = told["question"]
        self.variants, self.servers = variants, members
        self.metrics = told.get("metrics", [])
        self.counts_calls = "calls" in self.metrics
        self.seconds_full = float(told.get("seconds", 2))
        self.rounds = told.get("rounds", 6)
        self.x_title = self.x_short = told.get("x", "clients")
        self.path = variants[0].path
        self.tools = tuple(dict.fromkeys(one.tool for one in variants))
        self.reference = max(variants[0].clients)
        most = max(max(one.clients) for one in variants)
        self.host = "0.0.0.0" if most > experiments.A_CLIENT else "127.0.0.1"
        self.extra = {}         # {(variant, server, x, figure): [value]}

    def chosen(self, names):
        """Return the servers that go by one of `names` (all without a name),
        and those that they are compared with."""
        mine = {one.name for one in self.servers if not names
                or names & {one.name, one.server.name}}
        mine |= {one.baseline for one in self.variants
                 if mine & set(one.servers)}
        return [one for one in self.servers if one.name in mine]

    def applies(self, server, variant):
        """A load names its servers."""
        return server.name in variant.servers

    def workers(self, server, variant, x, machine):
        """Whatever the options say."""
        return None

    def cores(self, variant, machine):
        """One, two (of which the load has one, too), or all."""
        return {"one": machine.server_cores, "all": machine.all_cores,
                "two": machine.server_cores | {min(machine.load_cores)}}[
                    variant.cores]

    def check(self, get):
        """Nothing: job() checks our servers, the load tool the others."""

    def job(self, live, variant, x, seconds, machine, full):
        """Return the load.Job of a cell. Raises WrongAnswer."""
        for one in experiments.all_experiments():
            if one.path == variant.path and live.server.kind == "architecture":
                one.check(experiments.client(live.port))
        clients = variant.busy or x
        least = 60.0 if variant.requests_each else clients / A_SECOND
        return loads.Job(
            addresses(live, variant.path, clients), connections=clients,
            seconds=max(seconds, least), keep_alive=variant.keep_alive,
            threads=len(machine.load_cores), script=variant.script,
            requests=max(PER_CLIENT, variant.requests_each * x)
            if variant.requests_each else None)

    @contextlib.contextmanager
    def beside(self, cell, live, number):
        """Do and count, while the block lasts, what this study does beside
        the load of a cell. Yields a list that gets the load.Result."""
        seen, told = [], {}
        each = ["idle"] * bool(cell.variant.busy) + self.metrics
        with contextlib.ExitStack() as stack:
            for one in each:
                if one in hooks.BESIDE:
                    stack.enter_context(
                        hooks.BESIDE[one](live, cell.x, seen, told))
            yield seen
        self.note(cell.variant.name, cell.server.name, cell.x, told)

    def note(self, variant, server, x, told):
        """Keep {figure: value} of a run."""
        for figure, value in told.items():
            self.extra.setdefault((variant, server, x, figure), []).append(value)

    def finish(self, folder, summary):
        """Put what only this study measures into its part of `summary`, and
        of summary.json in `folder`. Return lines that tell the medians, and
        name each floor that costs more than its server."""
        for one in self.metrics:
            hooks.AFTER.get(one, lambda study: None)(self)
        mine = summary["experiments"][0]
        mine["extra"] = [dict(zip(("variant", "server", "x", "figure"), key),
                              median=statistics.median(values), values=values)
                         for key, values in self.extra.items()]
        rundir.write_json(os.path.join(folder, "summary.json"), summary)
        return [f"{one['variant']:30} {one['server']:20} {one['x']:>7,} "
                f"{one['median']:12,.2f} {one['figure']}"
                for one in mine["extra"]] + defects(mine["comparisons"])


def defects(comparisons):
    """Return a sentence for each server that costs less than its own floor,
    given the rows of analyse.comparisons."""
    return [f"{one['server']} ({one['variant']}) costs less than its floor: "
            f"{one['ratio']:.2f}, {one['low']:.2f} to {one['high']:.2f}. This "
            f"is a defect of {one['base']}."
            for one in comparisons
            if one["metric"] == "cpu_us" and (one["high"] or 1) < 1
            and one["base"].startswith(f"floor-{one['server']}")]


# ------------------------------------------------------------ reading a file

TOP_KEYS = ("title", "question", "seconds", "rounds", "x", "metrics", "only", "way",
            "load", "server")
DEFAULTS = vars(Load("", quick=(), full=()))    # a load's keys, and their types


def names():
    """Return the names of all studies."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name, environment=None):
    """Return the Study of studies/NAME.toml. Raises StudyError."""
    if name not in names():
        raise StudyError(f"there is no such study; there are {', '.join(names())}")
    try:
        told = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
        words = os.environ if environment is None else environment
        return make(name, told, {name: text for name, text in words.items()
                                 if name.isupper()})
    except (tomllib.TOMLDecodeError, StudyError, peers.PeerError) as error:
        raise StudyError(f"studies/{name}.toml: {error}") from error


def make(name, told, environment):
    """Return the Study of a TOML table. Raises StudyError and PeerError."""
    told = filled(told, environment)
    known(told, [*TOP_KEYS, *DEFAULTS], "at its top")
    for key in ("title", "question", "load"):
        if not told.get(key):
            raise StudyError(f"it has no {key}")
    known(told.get("metrics", ()), ["calls", *hooks.BESIDE, *hooks.AFTER],
          "in metrics")
    ways = told.get("way", {})
    for way, keys in ways.items():
        known(keys, ("options", "redis", "backlog", "sysctl", "program"),
              f"in way {way}")
    defaults = {key: told[key] for key in told if key in DEFAULTS}
    variants = tuple(one_load({"ways": list(ways), **defaults, **table}, ways)
                     for table in repeated(told["load"])
                     if table["name"].startswith(told.get("only", "")))
    if not variants:
        raise StudyError(f"no load begins with {told['only']!r}")
    own = {one["name"]: Program(one)
           for one in repeated(told.get("server", []))}
    wanted = dict.fromkeys(server for one in variants for server in one.servers)
    return Study(name, told, variants,
                 tuple(find(server, own, ways) for server in wanted))


def known(keys, there, where):
    """Raise StudyError when one of `keys` is none of those that are there."""
    for key in keys:
        if key not in there:
            raise StudyError(f"{key!r} {where} is unknown; there are "
                             + ", ".join(sorted(there)))


def repeated(tables):
    """Yield each table once for each name of its `for`, as {server}."""
    for table in tables:
        each = grouped(table.get("for", ["-"]))
        rest = {key: value for key, value in table.items() if key != "for"}
        yield from (filled(rest, {"server": name}) for name in each)


def filled(value, words):
    """Return a value of a TOML file with {name} replaced in all of its texts.
    Raises StudyError for a name in capitals that is not in `words`."""
    if isinstance(value, dict):
        return {filled(key, words): filled(one, words)
                for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, words) for one in value]
    if not isinstance(value, str):
        return value
    for name in re.findall(r"\{(\w+)\}", value):
        if name.isupper() and name not in words:
            raise StudyError(f"it needs the environment variable {name}")
        value = value.replace(f"{{{name}}}", words.get(name, f"{{{name}}}"))
    return value


def grouped(value):
    """Return the names of a list or a text, with GROUPS spelled out."""
    value = value.split() if isinstance(value, str) else value
    return [name for one in value for name in GROUPS.get(one, [one])]


def one_load(table, ways):
    """Return the Load of a table. Raises StudyError."""
    where = f"in load {table.get('name', '')!r}"
    known(table, DEFAULTS, where)
    mine = grouped(table.get("servers", []))
    if not table.get("name") or not mine:
        raise StudyError("a load needs a name, and servers")
    first = table.get("baseline") or ("epoll" if "epoll" in mine else mine[0])
    known(table["ways"], ways, where)
    if table["ways"]:
        first = f"{first}, {table['ways'][0]}"
        mine = [f"{one}, {way}" for one in mine for way in table["ways"]]
    options = shlex.split(table.get("options", ""))
    if table.get("path") in hooks.FILES:
        options += ["--root", hooks.site()]
    if table.get("script", "").endswith(".lua"):
        table["script"] = str(FOLDER / table["script"])
    table = {"path": "/answer", "redis": "none", **table, "servers": mine,
             "baseline": first, "options": dict.fromkeys(mine, options)}
    table = {key: tuple(value) if isinstance(value, list) else value
             for key, value in table.items()}
    for key, value in table.items():
        if DEFAULTS[key] is not None \
                and not isinstance(value, type(DEFAULTS[key])):
            raise StudyError(f"{key} = {value!r} {where} is of a wrong type")
    known([first], mine, where)
    known([table.get("tool", "wrk")], loads.TOOLS, where)
    known([table.get("cores", "one")], ("one", "two", "all"), where)
    known([table["redis"]], ("none", "tcp"), where)
    grid = table.get("clients", Load.clients)
    return Load(quick=grid, full=grid, **table)


def find(name, own, ways):
    """Return the Started server called `name`. Raises PeerError."""
    bare, _, way = name.rpartition(", ")
    bare, way = (bare, ways[way]) if way in ways else (name, {})
    return Started(own.get(bare) or (servers.named(bare) if bare in SEVEN
                                     else peers.Peer(bare)), name, way)
