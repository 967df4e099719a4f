"""What the user asks for: environment variables, each also an option."""

import argparse
import os
import re
import sys
import tempfile
from dataclasses import dataclass

from bench import experiments, load, peers
from bench.machine import facts
from bench.run import netns, servers

OPTIONS = (
    # name, what follows, help
    ("EXPERIMENT", "NAMES", "guestbook, answer, hello, redirect, echo "
                            "(default: all five)"),
    ("FULL", "1", "the published grid, in as many rounds as settle it "
                  "(hours)"),
    ("SERVERS", "NAMES", "which of the seven, by name or number: epoll,06"),
    ("PEERS", "NAMES", "other servers too: nginx,go or all"),
    ("CONCURRENCY", "NUMBERS", "these points instead of the grid's; for "
                               "echo: demanded requests/s"),
    ("REPEAT", "N", "number of rounds (default: until all is settled, or "
                    "the time is over)"),
    ("SECONDS", "S", "time for each run (default: fitted to 5 minutes, or "
                     "what the full grid needs)"),
    ("BACKLOG", "N", f"length of the accept queue (default {netns.QUEUE}; "
                     "the article's servers had 10)"),
    ("SERVER_CPUS", "LIST", "cores for the server, 0 or 0,2-3 (default: the "
                            "first)"),
    ("LOAD_CPUS", "LIST", "cores for the load and Redis (default: all others "
                          "that share nothing with the server's)"),
    ("TOOL", "NAME", "another load tool where an experiment has two: h2load "
                     "(answer), oha (echo)"),
    ("OUT", "FOLDER", "where results go (default: results)"),
    ("SEED", "N", "order of the cells (default: random, and recorded)"),
    ("WIDE", "1", "print every column of the tables"),
    ("COMMIT", "1", "also copy the results into docs/results, if they are "
                    "good enough"),
)
SWITCHES = ("FULL", "WIDE", "COMMIT")
SECONDS_MAX = 3600      # of one run


class SettingsError(Exception):
    """A setting is wrong; the text says what is right."""


@dataclass(frozen=True)
class Settings:
    """What a run is to do."""

    experiments: tuple      # or one study
    servers: tuple
    full: bool
    points: tuple           # () for the grid's own
    repeat: int             # None: until all is settled
    seconds: float          # None: the plan fits it
    backlog: int
    server_cores: frozenset     # None for the first core
    load_cores: frozenset       # None for what is left
    tool: str
    out: str
    seed: int
    wide: bool
    commit: bool
    label: str = ""         # the name of a study


def words(text):
    """Return the words of a list with commas or spaces."""
    return [word for word in re.split(r"[,\s]+", text or "") if word]


def positive(name, text, convert=int, most=10**9):
    """Return `text` as a number above 0 and at most `most`, None if it is
    empty. Raises SettingsError."""
    if not text:
        return None
    try:
        value = convert(text)
    except ValueError:
        value = 0
    if not 0 < value <= most:
        raise SettingsError(f"{name}={text}: it has to be a number above 0, "
                            f"at most {most:,}")
    return value


def switch(name, text):
    """Return whether `text` means yes. Raises SettingsError when it means
    neither yes nor no: it may decide about hours of measuring."""
    if text.lower() in ("", "0", "no", "off", "false", "n"):
        return False
    if text.lower() in ("1", "yes", "on", "true", "y"):
        return True
    raise SettingsError(f"{name}={text}: it is 1 or 0")


def check(settings):
    """Raise SettingsError unless results can be written to OUT, which is
    made, and with COMMIT=1 the sources are those of a commit."""
    try:
        os.makedirs(settings.out, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=settings.out):
            pass
    except OSError as error:
        raise SettingsError(f"OUT={settings.out}: {error.strerror}; it has "
                            "to be a folder that you can write to") from error
    if settings.commit and facts.commit().get("changed", True):
        raise SettingsError("COMMIT=1: the work tree has changes that are "
                            "not committed (git status), so the measurement "
                            "could not be repeated")


def read(command, argv, environment):
    """Return the Settings of the command "run", or of "study", whose name is
    the first of `argv`, or NAME. Raises SettingsError."""
    study = None
    if command == "study":
        # pylint: disable-next=import-outside-toplevel
        from bench.studies import study as studies
        name = environment.get("NAME", "")
        if argv and not argv[0].startswith("-"):
            name, *argv = argv
        try:
            study = studies.load(name)
        except ValueError as error:
            raise SettingsError(f"NAME={name}: {error}") from error
    settings = parse(argv, environment, study)
    check(settings)
    return settings


def parse(argv, environment, study=None):
    """Return the Settings from options, which win, and the environment, for
    `study` or the published experiments.

    Raises SettingsError. Exits on --help and unknown options.
    """
    parser = argparse.ArgumentParser(
        prog="bench", description="Measure servers, print, draw and explain. "
        "Each option is also an environment variable: FULL=1.")
    for name, value, text in OPTIONS:
        option = "--" + name.lower().replace("_", "-")
        how = {"action": "store_const", "const": "1"} if name in SWITCHES \
            else {"metavar": value}
        parser.add_argument(option, help=text, **how)
    given = vars(parser.parse_args(argv))
    ask = {name: given[name.lower()] if given[name.lower()] is not None
           else environment.get(name, "") for name, _, _ in OPTIONS}
    known = [study] if study else experiments.all_experiments()
    return Settings(
        experiments=tuple(known) if study else tuple(
            _named("EXPERIMENT", ask["EXPERIMENT"], known)),
        servers=_of_study(study, ask["SERVERS"]) if study
        else _servers(ask["SERVERS"], ask["PEERS"]),
        full=bool(study) or switch("FULL", ask["FULL"]),
        points=tuple(positive("CONCURRENCY", w)
                     for w in words(ask["CONCURRENCY"])),
        repeat=positive("REPEAT", ask["REPEAT"], most=1000),
        seconds=positive("SECONDS", ask["SECONDS"], float, most=SECONDS_MAX),
        backlog=positive("BACKLOG", ask["BACKLOG"]) or netns.QUEUE,
        server_cores=_cores("SERVER_CPUS", ask["SERVER_CPUS"]),
        load_cores=_cores("LOAD_CPUS", ask["LOAD_CPUS"]),
        tool=ask["TOOL"] and _named("TOOL", ask["TOOL"],
                                    load.TOOLS.values())[0].name,
        out=ask["OUT"] or os.path.join(servers.TOP, "results"),
        seed=positive("SEED", ask["SEED"])
        or int.from_bytes(os.urandom(3), "big") + 1,
        wide=switch("WIDE", ask["WIDE"]),
        commit=switch("COMMIT", ask["COMMIT"]),
        label=study.name if study else "")


def _named(variable, text, known):
    """Return those of `known` whose names are in `text`, all if it is empty.
    Raises SettingsError for another name."""
    wanted, names = words(text), [one.name for one in known]
    for name in wanted:
        if name not in names:
            raise SettingsError(f"{variable}={name}: there are "
                                + ", ".join(names))
    return [one for one in known if not wanted or one.name in wanted]


def _servers(text, peer_text):
    """Return the architectures and peers of SERVERS and PEERS."""
    wanted = words(text)
    try:
        ours = {servers.named(name) for name in wanted if name != "none"}
    except KeyError as error:
        raise SettingsError(
            f"SERVERS={error.args[0]}: there are "
            + ", ".join(s.name for s in servers.ARCHITECTURES)
            + "; or none") from error
    try:
        others = peers.chosen(peer_text)
    except peers.PeerError as error:
        raise SettingsError(f"PEERS: {error}") from error
    chosen = tuple(s for s in servers.ARCHITECTURES
                   if not wanted or s in ours) + tuple(others)
    if not chosen:
        raise SettingsError("SERVERS=none and no PEERS: nothing to measure")
    return chosen


def _of_study(study, text):
    """Return the servers of a study that `text` picks: ours by name or
    number, others by name."""
    chosen = tuple(study.chosen({_name_of(word) for word in words(text)}))
    if not chosen:
        raise SettingsError(f"SERVERS={text}: this study has "
                            + ", ".join(one.name for one in study.servers))
    return chosen


def _name_of(word):
    try:
        return servers.named(word).name
    except KeyError:
        return word


def _cores(name, text):
    """Return the set of cores that a variable names, None if it is empty."""
    if not text:
        return None
    try:
        wanted = facts.cores(text)
    except ValueError as error:
        raise SettingsError(f"{name}={text}: cores are written like "
                            "0,2-3") from error
    allowed = os.sched_getaffinity(0)
    if not wanted or not wanted <= allowed:
        raise SettingsError(f"{name}={text}: this machine has cores "
                            + ",".join(map(str, sorted(allowed))))
    return wanted


def main(argv):
    """Print what is wrong with the settings of a command (default: "run"),
    before anything is built; return the exit status, 0 or 2."""
    try:
        read(*(argv[:1] or ["run"]), argv[1:], os.environ)
    except SettingsError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    return 0
