"""What the user asks for: environment variables, each also an option."""

import argparse
import contextlib
import os
import re
import sys
from dataclasses import dataclass

from tools.bench import experiments, peers, plan
from tools.bench.machine import facts
from tools.bench.studies import study as studies
from tools.kit import TOP, netns, servers


class SettingsError(Exception):
    """A setting is wrong; the text says what is right."""


@dataclass(frozen=True)
class Settings:
    """What a run is to do."""

    experiments: tuple      # or one study
    servers: tuple
    full: bool
    points: tuple           # () for the grid's own
    repeat: int             # how many rounds; None: until all is settled
    seconds: float          # None: the plan fits it
    backlog: int
    server_cores: frozenset     # None for the first core
    load_cores: frozenset       # None for what is left
    tool: str
    out: str
    seed: int
    awake: bool     # a program of low priority keeps each core from sleeping
    wide: bool
    commit: bool
    label: str = ""         # the name of a study
    fleet: str = ""         # an inventory; "": all on this machine


# -------------------------------------------------------------------- readers
#
# Each returns the value of a setting that was given as `text`, "" when it was
# not given. It raises ValueError with what would be right.

def words(text):
    """Return the words of a list with commas or spaces."""
    return re.findall(r"[^,\s]+", text)


def number(least, most, convert=int, otherwise=None):
    """Return the reader of a number from `least` to `most`; `otherwise` when it is not given."""
    def read(text):
        if not text:
            return otherwise
        with contextlib.suppress(ValueError):
            if least <= (value := convert(text)) <= most:
                return value
        kind = "whole number" if convert is int else "number"
        raise ValueError(f"it has to be a {kind} from {least} to {most:,}")
    return read


def switch(text):
    """Return whether `text` means yes. A word that means neither yes nor no
    is refused: it may decide about hours of measuring."""
    yes = text.lower() in ("1", "yes", "on", "true")
    if not yes and text.lower() not in ("", "0", "no", "off", "false"):
        raise ValueError("it is 1 or 0")
    return yes


def among(known, wanted):
    """Return `wanted`, names that are all in `known`."""
    if set(wanted) - set(known):
        raise ValueError("there are " + ", ".join(known))
    return wanted


def cores(text):
    """Return a set of cores, None when it is not given."""
    allowed, wanted = os.sched_getaffinity(0), frozenset()
    with contextlib.suppress(ValueError):
        wanted = facts.cores(text)
    if text and not (wanted and wanted <= allowed):
        raise ValueError("cores are written like 0,2-3, and this machine has "
                         + ",".join(map(str, sorted(allowed))))
    return wanted or None


NAMES = [one.name for one in experiments.all_experiments() if not one.of]


def some_experiments(text):
    """Return those of the experiments that `text` names, at an equal rate, too; all without a
    name."""
    wanted = among(NAMES, words(text)) or NAMES
    return [one for one in experiments.all_experiments() if (one.of or one).name in wanted]


def server_names(text):
    """Return the names of servers as a set, of ours also for "07"."""
    return {servers.NAMES[word].name if word in servers.NAMES else word for word in words(text)}


def architectures(text):
    """Return those of the seven that `text` names; all without a name."""
    ours = {one.name: one for one in servers.ARCHITECTURES}
    wanted = among([*ours, "none"], server_names(text)) or ours
    return [one for name, one in ours.items() if name in wanted]


def load_tool(text):
    """Return the name of a load tool, "" when it is not given."""
    named = among(TOOLS, words(text))
    if len(named) > 1:
        raise ValueError("name one tool only")
    return "".join(named)


MOST = 10**9       # of anything
MOST_CLIENTS = 10**6    # or requests a second: more than a machine has descriptors for
TOOLS = list(dict.fromkeys(tool for one in experiments.all_experiments() for tool in one.tools))
OPTIONS = (
    # name, its reader, help
    ("EXPERIMENT", some_experiments,
     ", ".join(NAMES) + " (default: all)"),
    ("FULL", switch, "the published grid, in as many rounds as settle it (hours)"),
    ("SERVERS", architectures, "which of the seven, by name or number: epoll,06"),
    ("PEERS", peers.chosen, "other servers too: nginx,go or all"),
    ("CONCURRENCY", lambda text: tuple(map(number(1, MOST_CLIENTS), words(text))),
     "these points instead of the grid's; for echo: demanded requests/s"),
    ("REPEAT", number(1, 1000),
     "number of rounds (default: until all is settled, or the time is over)"),
    ("SECONDS", number(0.001, 3600, float),
     f"seconds of load for most cells (default: {plan.QUICK_CELL}, or what the full grid needs)"),
    ("BACKLOG", number(1, MOST, otherwise=netns.QUEUE),
     f"length of the accept queue (default {netns.QUEUE}; the article's servers had 10)"),
    ("SERVER_CPUS", cores, "cores for the server, 0 or 0,2-3 (default: the first)"),
    ("LOAD_CPUS", cores, "cores for the load and Redis (default: all others that share nothing "
     "with the server's)"),
    ("TOOL", load_tool,
     "another load tool where an experiment has two: wrk (guestbook, answer), ab (hello), "
     "oha (echo); oha or h2load-rate (all equal rates)"),
    ("OUT", lambda text: text or os.path.join(TOP, "results"),
     "folder for the results (default: results)"),
    ("SEED", lambda text: number(1, MOST)(text) or int.from_bytes(os.urandom(3), "big") + 1,
     "order of the cells (default: random, and recorded)"),
    ("AWAKE", switch, "no core falls asleep: a program that yields to all others runs on each"),
    ("WIDE", switch, "print the tables of tables.txt, too"),
    ("FLEET", str, "an Ansible inventory with the groups server, redis and load: measure with "
     "these hosts (default: this machine alone)"),
    ("COMMIT", switch, "also copy the results into docs/results, if they are good enough"),
)


# ------------------------------------------------------------------- settings

def ask(parser, options, argv, environment):
    """Return {name: value} of `options`, each (name, reader, help): an option of `parser`, which
    wins, and a variable of the environment. Raises SettingsError; exits as argparse does."""
    for name, reader, text in options:
        how = {"action": "store_const", "const": "1"} if reader is switch else {"metavar": name}
        parser.add_argument("--" + name.lower().replace("_", "-"), help=text,
                            default=environment.get(name, ""), **how)
    given, asked = vars(parser.parse_args(argv)), {}
    for name, reader, _ in options:
        text = given[name.lower()]
        try:
            asked[name.lower()] = reader(text)
        except ValueError as error:
            raise SettingsError(f"{name}={text}: {error}") from error
    return asked


def parse(argv, environment, study=None):
    """Return the Settings for `study` or the published experiments, as ask() does."""
    readers = {} if not study else {
        "SERVERS": lambda text: study.chosen(server_names(text)),
        "PEERS": lambda _: [], "EXPERIMENT": lambda _: [study]}
    asked = ask(argparse.ArgumentParser(
        prog="bench", description="Measure servers, print, draw and explain. "
        "Each option is also an environment variable: FULL=1."),
        [(name, readers.get(name, reader), text) for name, reader, text in OPTIONS],
        argv, environment)
    asked["full"] |= bool(study)
    chosen = asked.pop("servers") + asked.pop("peers")
    if not chosen:
        raise SettingsError("SERVERS=none and no PEERS: nothing to measure")
    return Settings(
        experiments=tuple(asked.pop("experiment")), servers=tuple(chosen),
        points=asked.pop("concurrency"), server_cores=asked.pop("server_cpus"),
        load_cores=asked.pop("load_cpus"), label=study.name if study else "", **asked)


def read(command, argv, environment):
    """Return the Settings of the command "run", or of "study", whose name is
    the first of `argv`, or NAME. Makes the folder OUT. Raises SettingsError,
    also when OUT cannot be written to, or COMMIT=1 meets changed sources."""
    study = None
    if command == "study":
        name = environment.get("NAME", "")
        if argv and not argv[0].startswith("-"):
            name, *argv = argv
        try:
            study = studies.load(name)
        except ValueError as error:
            raise SettingsError(f"NAME={name}: {error}") from error
    settings = parse(argv, environment, study)
    if settings.fleet and (study or settings.awake):
        what = "a study is measured" if study else "AWAKE=1 measures"
        raise SettingsError(f"FLEET={settings.fleet}: {what} on one machine")
    with contextlib.suppress(OSError):
        os.makedirs(settings.out)
    if not os.access(os.path.join(settings.out, ""), os.W_OK):
        raise SettingsError(f"OUT={settings.out}: it has to be a folder that you can write to")
    if settings.commit and facts.commit().get("changed", True):
        raise SettingsError("COMMIT=1: the work tree has changes that are not committed (git "
                            "status), so the measurement could not be repeated")
    return settings


def main(argv):
    """Print what is wrong with the settings of a command (default: "run"),
    before anything is built; return the exit status, 0 or 2."""
    try:
        read(*(argv[:1] or ["run"]), argv[1:], os.environ)
    except SettingsError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    return 0
