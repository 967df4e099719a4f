#!/usr/bin/env python3
"""What each trick is worth: the server with it and without it, side by side.

    make bench-tricks                          all, the quickest of REPEAT
    make bench-tricks TRICKS=no-pool,lto REPEAT=5 SECONDS=1

Each tricks/NAME.patch changes one thing in the sources: it undoes a trick
("Kind: undo"), or does what seems a good idea and is not in the code ("Kind:
try"). Its first lines say what it is, and on which servers and loads of
cost.py it is measured. FLAGS below are other ways to build the same sources.

The sources are copied to build/tricks/NAME, patched and built there. In each
round every build gets every load once, in an order by chance. What counts are
the quickest runs of each: whatever disturbs makes a run dearer, never cheaper,
so many short rounds find more than a few long ones. User instructions per
request are counted by callgrind.

Writes docs/results/cost/tricks.json, from which docs/performance.md is filled.
Where only some TRICKS are measured, the others' rows stay.
"""

import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import committed
import cost
import load
import machine
import servers
from redis_server import RedisServer

TOP = Path(servers.TOP)
PATCHES = TOP / "bench" / "tricks"
BUILDS = TOP / "build" / "tricks"
SOURCES = ("Makefile", "common", "scripts", "0[1-7]_*")
BASE = "as-it-is"

sys.path.insert(0, str(TOP / "tests" / "cost"))
import instructions  # noqa: E402


@dataclass(frozen=True)
class Trick:
    """One change to the sources or to the way they are built."""

    name: str
    title: str
    kind: str               # "undo", "try", "build"; "apart": see about
    measured: tuple = ()    # of (server, name of a cost.Scenario)
    about: str = ""
    patch: Path = None
    flags: tuple = ()       # variables for make


# A pool that serves one client at a time warms up one worker after the other,
# which would be counted as a cost of the requests.
ONE_WORKER = {"preforking": ["--workers", "1"],
              "prethreaded": ["--threads", "1"]}
BUILD_LOADS = (("epoll", "keep-alive-100"), ("epoll", "one-shot-100"))
FLAGS = (
    Trick("static", "-static-pie", "build", (("forking", "guestbook"),),
          "Without shared libraries: 13 mappings instead of 30, which each "
          "fork copies and each exit takes down.",
          flags=("LDFLAGS=-static-pie",)),
    Trick("no-hardening", "hardening", "build", BUILD_LOADS,
          "Without stack protector, fortified functions, position-independent "
          "code and immediate binding.",
          flags=("HARDEN_CC=", "HARDEN_LD=")),
    Trick("o3", "-O3", "build", BUILD_LOADS, "-O3 instead of -O2.",
          flags=("CFLAGS=-O3 -g",)),
    Trick("lto", "link-time optimization", "build", BUILD_LOADS,
          "All modules are optimized together.",
          flags=("CFLAGS=-O2 -g -flto -ffat-lto-objects",)),
    Trick("native", "-march=native", "build", BUILD_LOADS,
          "For this very processor.", flags=("CFLAGS=-O2 -g -march=native",)),
)


@dataclass(frozen=True)
class Variant(servers.Server):
    """A server of the collection, built elsewhere."""

    tree: str = ""

    def problem(self):
        """Return why it cannot be started, or ""."""
        return "" if os.access(os.path.join(self.tree, self.name), os.X_OK) \
            else f"{self.tree}/{self.name} is not built"

    def command(self, start, port, folder):
        """Return (argv, folder to run it in)."""
        argv, cwd = super().command(start, port, folder)
        return [os.path.join(self.tree, self.name), *argv[1:]], cwd


class TrickError(Exception):
    """A patch is malformed, does not apply or does not build."""


def read_patch(path):
    """Return the Trick that a patch file describes. Raises TrickError."""
    head, _, _ = path.read_text().partition("\n--- a/")
    found = dict(re.findall(r"^(Trick|Kind|Measured): (.*)$", head,
                            re.MULTILINE))
    about = " ".join(head.partition("\n\n")[2].split())
    if not found.get("Trick") or not found.get("Kind") or not about:
        raise TrickError(f"{path.name}: needs lines Trick: and Kind:, and "
                         "after an empty line what it does")
    loads = tuple(tuple(one.split()) for one in
                  found.get("Measured", "").split(", ") if one)
    known = {scenario.name for scenario in cost.SCENARIOS}
    for one in loads:
        if len(one) != 2 or one[0] not in cost.ALL or one[1] not in known:
            raise TrickError(f"{path.name}: Measured: {' '.join(one)}: no "
                             "such server or scenario of cost.py")
    return Trick(path.stem, found["Trick"], found["Kind"], loads, about, path)


def all_tricks():
    """Return every Trick: the patches by name, then the builds."""
    return [read_patch(path) for path in sorted(PATCHES.glob("*.patch"))] + \
        list(FLAGS)


def applies(trick, tree=TOP):
    """Return "" when the trick's patch applies to the sources in `tree`,
    otherwise what git says."""
    done = subprocess.run(
        ["git", "apply", "--check", str(trick.patch)], cwd=tree, text=True,
        capture_output=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip()


def build(name, names, trick=None):
    """Build the servers `names` with `trick` (None: as they are, which comes
    first) below build/tricks/NAME; return that folder. Raises TrickError."""
    tree = BUILDS / name
    shutil.rmtree(tree, ignore_errors=True)
    if trick and trick.patch:
        # What the patch does not touch need not be compiled again.
        shutil.copytree(BUILDS / BASE, tree)
        # --directory: git looks for the files from the top of its checkout.
        run(["git", "apply", f"--directory={tree.relative_to(TOP)}",
             str(trick.patch)], TOP, name)
    else:
        tree.mkdir(parents=True)
        for pattern in SOURCES:
            for source in TOP.glob(pattern):
                (shutil.copytree if source.is_dir() else shutil.copy2)(
                    source, tree / source.name)
    run(["make", f"-j{os.cpu_count()}", *(trick.flags if trick else ()),
         *(f"./{one}" for one in names)], tree, name)
    return str(tree)


def run(argv, folder, name):
    """Run a command. Raises TrickError with the end of what it printed."""
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(argv, cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    if done.returncode:
        raise TrickError(f"{name}: `{argv[0]}` failed:\n{done.stdout[-2000:]}")


def variant(name, tree):
    """Return the server `name` as it was built in `tree`."""
    known = servers.named(name)
    return Variant(name, known.folder, known.title,
                   has_workers=known.has_workers, tree=tree)


def talk_of(scenario):
    """Return what one client of `scenario` says, for callgrind."""
    return instructions.Talk(scenario.path, scenario.keep_alive,
                             16 if scenario.script else 1)


def instructions_of(tree, server, scenario, root, redis):
    """Return user instructions per request of a build; None where they
    cannot be counted: valgrind does not know every instruction that
    -march=native may use, and what runs slowly may wait too long for Redis."""
    options = ["--root", root] if scenario.path in ("/10k", "/1m") else []
    options += ONE_WORKER.get(server, [])
    if scenario.redis:
        options += ["--redis", redis.address]
    few, many = (160, 960) if scenario.path != "/1m" else (20, 60)
    if server == "forking":         # valgrind takes long to fork
        few, many = 20, 70
    try:
        return round(instructions.per_request(
            os.path.join(tree, server), options, talk_of(scenario), few, many))
    except RuntimeError as error:
        print(f"not counted: {error}", flush=True)
        return None


def compare(base, own):
    """Return what a trick shows under a load, as a dict; `base`, `own`: rows
    without and with the change, at least two of each.

    `ratio` is that of the quickest runs. `ratio_min` and `ratio_max` also
    look at the second quickest: on which side of 1 they agree is no chance.
    """
    before, after = (sorted(row["us"] for row in rows) for rows in (base, own))
    ratios = [other / one for one, other in zip(before[:2], after[:2])]
    return {"base_us": before[0], "us": after[0], "ratio": ratios[0],
            "ratio_min": min(ratios), "ratio_max": max(ratios),
            "failed": sum(row["failed"] for row in base + own),
            "runs": len(own)}


def others(path, names):
    """Return the rows of the file at `path` that are of none of these tricks
    (a set of names); [] where there is no such file. Each says how many runs
    it is of and on which CPU, and has its own base beside it."""
    path = Path(path)
    if not path.is_file():
        return []
    data = json.loads(path.read_text())
    return [{"cpu": data["machine"]["cpu"], **row} for row in data["tricks"]
            if row["name"] not in names]


def main():
    parser = committed.parser(__doc__, "tricks.json", repeat=12, seconds=0.5)
    parser.add_argument("--tricks", default=os.environ.get("TRICKS", ""))
    options = parser.parse_args()
    chosen = [word for word in options.tricks.split(",") if word]
    tricks = [one for one in all_tricks() if one.measured
              and (not chosen or one.name in chosen)]
    loads = sorted({load for one in tricks for load in one.measured})
    scenarios = {one.name: one for one in cost.SCENARIOS}
    servers.raise_descriptor_limit()

    trees = {BASE: build(BASE, sorted({server for server, _ in loads}))}
    for trick in tricks:
        print(f"building {trick.name}", flush=True)
        trees[trick.name] = build(
            trick.name, sorted({server for server, _ in trick.measured}),
            trick)
    cells = [(BASE, *one) for one in loads] + [
        (trick.name, *one) for trick in tricks for one in trick.measured]
    rows = {cell: [] for cell in cells}
    counts = {}
    with tempfile.TemporaryDirectory(prefix="bench-tricks-") as folder, \
            RedisServer(cost.LOAD_CORES) as redis:
        root = cost.site_with_files(folder)
        for number in range(options.repeat):
            random.shuffle(cells)
            for tree, server, name in cells:
                row = cost.measure(scenarios[name],
                                   variant(server, trees[tree]), root, redis,
                                   options.seconds)
                rows[tree, server, name].append(row)
                print(f"{number + 1}/{options.repeat} {tree:20} {server:12} "
                      f"{name:16} {row['us']:8.2f} us", flush=True)
        for tree, server, name in cells:
            count = instructions_of(trees[tree], server, scenarios[name],
                                    root, redis)
            counts[tree, server, name] = count
            print(f"{tree:20} {server:12} {name:16} {count} instructions",
                  flush=True)

    found = [{"name": trick.name, "title": trick.title, "kind": trick.kind,
              "patch": bool(trick.patch), "about": trick.about,
              "server": server, "scenario": name,
              "cpu": machine.facts()["cpu"],
              **compare(rows[BASE, server, name],
                        rows[trick.name, server, name]),
              "base_instructions": counts[BASE, server, name],
              "instructions": counts[trick.name, server, name]}
             for trick in tricks for server, name in trick.measured]
    kept = others(options.out, {one.name for one in tricks}) if chosen else []
    committed.write(options, "make bench-tricks", tricks=kept + found)


if __name__ == "__main__":
    try:
        main()
    except (TrickError, load.LoadError, servers.ServerError) as error:
        sys.exit(f"tricks.py: {error}")
