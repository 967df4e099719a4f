#!/usr/bin/env python3
"""Guards what a request costs, in user mode and in the kernel, on the exact machine.

The machine of tools/exact/ counts the same instructions each time, however busy this one is. What
is left is dependence on what ran before: a window differs from the next by up to 3 %, the mean of
all by less than 1 %. So a count may differ from the table in exact.json by 1 % either way, and by
2 % for 02, unless the table is changed in the same commit:

    python3 -m tests.cost.exact --update

Another compiler, library or kernel makes other counts. Then the commit that the table names is
built and counted, too, and both are compared.

One machine counts all seven, one after the other: its start takes as long as two of them. FULL=1
counts every kind of request, each server in a machine of its own. Without QEMU, callgrind counts
what runs in user mode: tests/cost/instructions.py.
"""

import argparse
import json
import pathlib
import subprocess
import sys
from dataclasses import replace

from tests.cost import instructions
from tests.support import FULL
from tools.exact import cells as all_cells, count, machine, programs
from tools.kit import TOP, scratch

TABLE = pathlib.Path(__file__).with_name("exact.json")
WINDOWS = 2
# {cell: (requests of its warm-up, of a window)} that are enough with one client at a time; and what
# they are divided by for a process for each request. A pool has one worker: with more, it depends
# on the start which of them share an arena of malloc(3), and their connections to Redis stay young.
SIZES = {"answer": (200, 450), "answer-kept": (600, 150), "guestbook-kept": (300, 100)}
POOLS = {"preforking": ("--workers", "1"), "prethreaded": ("--threads", "1")}
LESS = {"forking": 3}
ALLOWED, ALLOWED_OF = 0.01, {"forking": 0.02}
MODES = ("user", "kernel")
SHOWN = 3               # parts that are named when a count differs


def chosen(everything):
    """Return {server: cells}: with `everything` all cells, or else the small ones of SIZES."""
    if everything:
        return dict.fromkeys(programs.Choice.names, all_cells.chosen("all"))

    def of(server, name):
        warm_up, requests = (n // LESS.get(server, 1) for n in SIZES[name])
        return replace(all_cells.CELLS[name], connections=1, warm_up=warm_up, requests=requests)
    return {server: [of(server, name) for name in SIZES] for server in programs.Choice.names}


def measure(cells, source=TOP, together=True):
    """Return (what the counts depend on, {server: {cell: {"user", "kernel", "parts"}}}) of the
    seven of a source tree, all in one machine if `together`; `cells` are those of chosen()."""
    with scratch.folder("exact-cost") as folder:
        bench = count.Bench(programs.Choice(source=pathlib.Path(source)), folder)
        bench.programs = [replace(one, words=(*one.words, *POOLS.get(one.name, ())))
                          for one in bench.programs]
        bench.kernel()      # once, not in each of the threads
        counted = count_together(bench, cells) if together else count.each(
            bench.programs, lambda one: bench.count(one, cells[one.name], True, WINDOWS))
    facts = {key: value for key, value in bench.facts().items() if key != "source"}
    return facts, {server: {name: figures(cell) for name, cell in by_cell.items()}
                   for server, by_cell in counted.items()}


def count_together(bench, cells):
    """Return the same as from a machine for each, from one that starts one server after the
    other: {name of a Program: {name of a cell: Counted}}."""
    plans = [all_cells.plan(program, cells[program.name], WINDOWS).splitlines()
             for program in bench.programs]
    redis = plans[0][0]
    booted = bench.boot(b"\n".join([redis, *(line for plan in plans for line in plan[1:]), b""]),
                        why=True)
    seen = iter(booted.cells)
    return {program.name: bench.counted(
        replace(booted, cells=[next(seen) for _ in cells[program.name]], maps=[maps]),
        program, cells[program.name], why=True)
        for program, maps in zip(bench.programs, booted.maps, strict=True)}


def figures(cell):
    """Return what the table has of a count.Counted."""
    return {**dict(zip(MODES, map(round, cell.cost("server")))),
            "parts": {name: round(sum(both)) for name, both in cell.where.parts().items()
                      if sum(both) >= 1}}


def grown(before, now):
    """Return the parts that differ most, in words."""
    changes = {name: now.get(name, 0) - before.get(name, 0) for name in {**before, **now}}
    most = sorted(changes, key=lambda name: -abs(changes[name]))[:SHOWN]
    return ", ".join(f"{name} {changes[name]:+,}" for name in most)


def compare(before, now):
    """Yield (is it as it was?, line) for each count."""
    for server, by_cell in now.items():
        allowed = ALLOWED_OF.get(server, ALLOWED)
        for name, cell in by_cell.items():
            for mode in MODES:
                old, new = before[server][name][mode], cell[mode]
                fine = abs(new / old - 1) <= allowed
                why = "" if fine else ": " + grown(before[server][name]["parts"], cell["parts"])
                yield fine, f"{server:12} {name:15} {mode:7} {new:8,} instructions, " \
                            f"{new / old:.3f} of {old:,}{why}"


def at_commit(commit, cells, together):
    """Return the counts of the servers of another commit; None if this clone lacks it."""
    packed = subprocess.run(["git", "archive", commit], cwd=TOP, capture_output=True, check=False)
    if packed.returncode:
        return None
    with scratch.folder("exact-commit") as folder:
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        return measure(cells, folder, together)[1]


def update():
    """Count all and write the table, which names the commit that is checked out."""
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "common", "0?_*"], cwd=TOP,
                      check=False).returncode:
        sys.exit("cost: commit the servers first: the table names the commit that is counted")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TOP, check=True, text=True,
                          capture_output=True).stdout.strip()
    facts, sample = measure(chosen(False))
    table = {"machine": facts, "commit": head, "sample": sample,
             "full": measure(chosen(True), together=False)[1]}
    TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def before_of(table, facts, kind, cells):
    """Return the counts to compare with: the table's, or those of its commit on this machine; None
    if there are none."""
    differs = [key for key in facts if facts[key] != table["machine"].get(key)]
    if not differs:
        return table[kind]
    print(f"Other than in the table: {', '.join(differs)}. Counting its commit as well ...")
    return at_commit(table["commit"], cells, kind == "sample")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write what is counted to exact.json")
    wanted = parser.parse_args()
    try:
        machine.qemu()
    except machine.MachineError as error:
        print(f"{error}: callgrind counts what runs in user mode.")
        sys.argv[1:] = []
        return instructions.main()
    kind = "full" if FULL else "sample"
    if wanted.update:
        update()
        return 0
    cells = chosen(kind == "full")
    facts, now = measure(cells, together=kind == "sample")
    before = before_of(json.loads(TABLE.read_text(encoding="utf-8")), facts, kind, cells)
    if before is None:
        print("This clone lacks the commit of the table, so there is nothing to compare with.\n"
              "0 passed, 0 failed, 1 skipped")
        return 0
    results = list(compare(before, now))
    for fine, line in results:
        print("ok    " if fine else "FAILED", line)
    failed = [line for fine, line in results if not fine]
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
