"""What `make exact` starts: counts what a request costs, and prints and writes it down."""

import argparse
import json
import os
import shutil
import sys
import threading
from pathlib import Path

from tools.exact import cells as all_cells, count, machine, tree as trees, why
from tools.kit import TOP, process, progress, servers

OUT = TOP / "results/exact"
SECONDS = {"forking": 90.0}     # of one core, for five cells; others: OTHERS
OTHERS = 40.0


def arguments(words):
    """Return the settings from the command line, or end with a sentence and status 2."""
    parser = argparse.ArgumentParser(prog="tools.exact", description=__doc__)
    parser.add_argument("--servers", default="", help="comma-separated (all seven)")
    parser.add_argument("--cells", default="", help="comma-separated, or all")
    parser.add_argument("--kernel", default="", help="a release of machine.toml")
    parser.add_argument("--why", action="store_true", help="also where the instructions go")
    parser.add_argument("--out", type=Path, default=OUT, help="a folder")
    return parser.parse_args(words)


def chosen_servers(text):
    """Return the servers of a comma-separated list of numbers or names. Raises ValueError."""
    wanted = text.replace(",", " ").split()
    if unknown := [word for word in wanted if word.lower() not in servers.NAMES]:
        names = ", ".join(one.folder for one in servers.ARCHITECTURES)
        raise ValueError(f"SERVER has '{unknown[0]}'; it can have {names}")
    return [servers.named(word) for word in wanted] or list(servers.ARCHITECTURES)


def table(chosen, cells, counted):
    """Return lines: instructions a request, in thousands, of each server and cell."""
    widths = [max(9, len(cell.name)) for cell in cells]
    lines = ["Instructions of the server for one request, in thousands (in user mode):",
             " " * 14 + "  ".join(cell.name.rjust(width + 6) for cell, width
                                  in zip(cells, widths))]
    for server in chosen:
        figures = []
        for cell, width in zip(cells, widths):
            user, kernel = counted[server.name][cell.name].cost("server")
            figures.append(f"{(user + kernel) / 1e3:{width}.1f} {f'({user / 1e3:.1f})':>5}")
        lines.append(server.folder.ljust(14) + "  ".join(figures))
    return lines


def in_numbers(counted):
    """Return what Counted holds as JSON has it."""
    return {program: {name: {
        "windows": [{role: [round(n, 2) for n in window[role]] for role in count.ROLES}
                    for window in cell.windows], "width": round(cell.width, 5),
        "charged": [{role: round(n, 2) for role, n in window.items()} for window in cell.charged]}
        for name, cell in by_cell.items()} for program, by_cell in counted.items()}


def measure(settings):
    """Count, print and write what `settings` ask for. Raises what the modules below raise."""
    chosen = chosen_servers(settings.servers)
    cells = all_cells.chosen(settings.cells)
    bench = count.Bench(settings.kernel or None)
    plan = {one.name: SECONDS.get(one.name, OTHERS) * len(cells) / 5 for one in chosen}
    cores = len(os.sched_getaffinity(0))
    line, lock, left = progress.Line(sum(plan.values()) / cores), threading.Lock(), dict(plan)

    def done(program):
        with lock:
            del left[program]
            line.show(sum(left.values()) / cores, f"{program} is counted", new=True)

    line.show(line.plan, f"{len(chosen)} servers, {len(cells)} cells", new=True)
    counted = count.count_all(bench, [one.name for one in chosen], cells, done)
    line.clear()
    lines = table(chosen, cells, counted)
    widest = max(cell.width for by_cell in counted.values() for cell in by_cell.values())
    gap = max((cell.gap for by_cell in counted.values() for cell in by_cell.values()), key=abs)
    lines += ["", f"Five windows of a cell differ by {100 * widest:.1f} % at most; all parts "
              f"together are within {100 * abs(gap):.2f} % of the time that the kernel charged."]
    print(*lines, sep="\n")
    settings.out.mkdir(parents=True, exist_ok=True)
    result = {"machine": bench.facts(), "cells": in_numbers(counted)}
    if settings.why:
        result["why"] = why.of_all(bench, [one.name for one in chosen], cells, settings.out)
    path = settings.out / "exact.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"Figures: {os.path.relpath(path)}")


def run(words):
    """Do what `words` ask for; return the exit status. What goes wrong is a sentence."""
    settings = arguments(words)
    try:
        process.end_on_signals()
        measure(settings)
    except (ValueError, all_cells.UnknownCell) as error:
        print(f"exact: {error}", file=sys.stderr)
        return 2
    except (trees.TreeError, machine.MachineError, OSError, shutil.Error) as error:
        print(f"exact: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nexact: stopped", file=sys.stderr)
        return 130
    return 0
