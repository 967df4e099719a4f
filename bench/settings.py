"""What the user asks for: environment variables, each also an option."""

import argparse
import os
import re
from dataclasses import dataclass

import experiments
import load
import peers
import servers

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
    ("TOOL", "NAME", "another load tool where an experiment has two: h2load"),
    ("OUT", "FOLDER", "where results go (default: results)"),
    ("SEED", "N", "order of the cells (default: by chance, and recorded)"),
)


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


def positive(name, text, convert=int):
    """Return `text` as a number above 0, None if it is empty."""
    if not text:
        return None
    try:
        value = convert(text)
    except ValueError:
        value = 0
    if not value > 0:
        raise SettingsError(f"{name}={text}: a number above 0 is needed")
    return value


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
        full=ask["FULL"] not in ("", "0", "no"),
        points=tuple(positive("CONCURRENCY", w)
                     for w in words(ask["CONCURRENCY"])),
        repeat=positive("REPEAT", ask["REPEAT"]),
        seconds=positive("SECONDS", ask["SECONDS"], float),
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
