"""What the user asks for: environment variables, each also an option."""

import argparse
import os
import re
import sys
import tempfile
from dataclasses import dataclass

from bench import experiments
from bench import load
from bench import peers
from bench.run import servers

OPTIONS = (
    # name, what follows, help
    ("EXPERIMENT", "NAMES", "guestbook, answer, hello, redirect, echo "
                            "(default: all five)"),
    ("FULL", "1", "the published grid instead of the quick one"),
    ("SERVERS", "NAMES", "which of the seven, by name or number: epoll,06"),
    ("PEERS", "NAMES", "other servers beside them: nginx,go or all"),
    ("CONCURRENCY", "NUMBERS", "these points instead of the grid's; for "
                               "echo: demanded requests/s"),
    ("REPEAT", "N", "runs of each cell (default: 3 or more)"),
    ("SECONDS", "S", "time for each run (default: fitted to 5 minutes, or "
                     "what the full grid needs)"),
    ("BACKLOG", "N", "length of the accept queue (default 4096; the "
                     "article's servers had 10)"),
    ("SERVER_CPUS", "LIST", "cores for the server, 0 or 0,2-3 (default: the "
                            "first); the rest is for the load"),
    ("TOOL", "NAME", "another load tool where an experiment has two: h2load "
                     "(answer), oha (echo)"),
    ("OUT", "FOLDER", "where results go (default: results)"),
    ("SEED", "N", "order of the cells (default: by chance, and recorded)"),
)


SECONDS_MAX = 3600      # of one run


class SettingsError(Exception):
    """Something was asked for that there is not; the text says what."""


@dataclass(frozen=True)
class Settings:
    """What a run shall do."""

    experiments: tuple
    servers: tuple
    full: bool
    points: tuple           # () for the grid's own
    repeat: int             # None for the experiment's own
    seconds: float          # None: the plan fits it
    backlog: int
    server_cores: frozenset
    tool: str
    out: str
    seed: int


def words(text):
    """Return the words of a list with commas or spaces."""
    return [word for word in re.split(r"[,\s]+", text or "") if word]


def cores(text):
    """Return the set of cores that "0,2-3" names. Raises ValueError."""
    found = set()
    for word in words(text):
        first, _, last = word.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


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
        raise SettingsError(f"{name}={text}: a number above 0 is needed, and "
                            f"{most:,} at most")
    return value


def switch(name, text):
    """Return whether `text` means yes. Raises SettingsError when it means
    neither that nor no: hours may hang on it."""
    if text.lower() in ("", "0", "no", "off", "false", "n"):
        return False
    if text.lower() in ("1", "yes", "on", "true", "y"):
        return True
    raise SettingsError(f"{name}={text}: it is 1 or 0")


def check_out(out):
    """Raise SettingsError unless results can be written below `out`, which
    is made: better to know before the first hour than after it."""
    try:
        os.makedirs(out, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out):
            pass
    except OSError as error:
        raise SettingsError(f"OUT={out}: {error.strerror}; it has to be a "
                            "folder that you may write to") from error


def parse(argv, environment):
    """Return the Settings from options, which win, and the environment.

    Raises SettingsError. Exits by itself on --help and unknown options.
    """
    parser = argparse.ArgumentParser(
        description="Measure the servers, print, draw and explain. Each "
                    "option is also an environment variable: FULL=1.")
    for name, value, text in OPTIONS:
        option = "--" + name.lower().replace("_", "-")
        if name == "FULL":
            parser.add_argument(option, action="store_const", const="1",
                                help=text)
        else:
            parser.add_argument(option, metavar=value, help=text)
    given = vars(parser.parse_args(argv))
    ask = {name: given[name.lower()] if given[name.lower()] is not None
           else environment.get(name, "") for name, _, _ in OPTIONS}

    seed = positive("SEED", ask["SEED"])
    return Settings(
        experiments=_experiments(ask["EXPERIMENT"]),
        servers=_servers(ask["SERVERS"], ask["PEERS"]),
        full=switch("FULL", ask["FULL"]),
        points=tuple(positive("CONCURRENCY", w)
                     for w in words(ask["CONCURRENCY"])),
        repeat=positive("REPEAT", ask["REPEAT"], most=1000),
        seconds=positive("SECONDS", ask["SECONDS"], float, most=SECONDS_MAX),
        backlog=positive("BACKLOG", ask["BACKLOG"]) or 4096,
        server_cores=_server_cores(ask["SERVER_CPUS"]),
        tool=_tool(ask["TOOL"]),
        out=ask["OUT"] or os.path.join(servers.TOP, "results"),
        seed=seed if seed else int.from_bytes(os.urandom(3), "big") + 1)


def _experiments(text):
    known = {one.name: one for one in experiments.all_experiments()}
    wanted = words(text)
    for name in wanted:
        if name not in known and name != "all":
            raise SettingsError(f"EXPERIMENT={name}: there are "
                                + ", ".join(known))
    return tuple(one for one in known.values()
                 if not wanted or "all" in wanted or one.name in wanted)


def _servers(text, peer_text):
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


def _server_cores(text):
    allowed = os.sched_getaffinity(0)
    if not text:
        return frozenset({min(allowed)})
    try:
        wanted = cores(text)
    except ValueError as error:
        raise SettingsError(f"SERVER_CPUS={text}: cores are written "
                            "like 0,2-3") from error
    if not wanted or not wanted <= allowed:
        raise SettingsError(f"SERVER_CPUS={text}: this machine has cores "
                            + ",".join(map(str, sorted(allowed))))
    return wanted


def _tool(name):
    if name and name not in load.TOOLS:
        raise SettingsError(f"TOOL={name}: there are "
                            + ", ".join(load.TOOLS))
    return name


def main():
    """Say what is wrong with the settings in the environment, before
    anything is built for them; return the exit status, 0 or 2."""
    try:
        check_out(parse([], os.environ).out)
    except SettingsError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
