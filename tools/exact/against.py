"""What a change costs: the servers of the work tree against those of a commit, cell by cell.

    against.measure(settings, choice, cells, folder)    prints, and writes against.json
"""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

from tools.exact import count, machine, results, tree as trees
from tools.kit import TOP, sources


def unpack(commit, folder):
    """Unpack the tree of a commit into a new folder; return its full hash. Raises TreeError."""
    done = subprocess.run(["git", "-C", TOP, "rev-parse", "--verify", f"{commit}^{{commit}}"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise trees.TreeError(f"AGAINST is '{commit}', and git knows no such commit")
    folder.mkdir(parents=True)
    full = done.stdout.strip()
    archive = subprocess.run(["git", "-C", TOP, "archive", full], stdout=subprocess.PIPE,
                             check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    return full


def table(chosen, cells, both):
    """Return lines that say how many per cent more instructions (fewer: negative) the work tree
    needs, for each Program of `chosen` and cell; `both` is {server: {cell: (was, now)}}."""
    first = max(len(one.title) for one in chosen) + 2
    lines = ["Instructions of the server for one request, change in %:",
             " " * first + "  ".join(cell.name.rjust(9) for cell in cells)]
    for one in chosen:
        mine = both[one.name]
        lines.append(one.title.ljust(first) + "  ".join(
            (f"{100 * sources.difference(*mine[cell.name]):+.2f}" if cell.name in mine else "-")
            .rjust(max(9, len(cell.name))) for cell in cells))
    return lines


def verdict(both):
    """Return a sentence about {server: {cell: (was, now)}}: whether older figures still hold."""
    most = sources.largest(both)
    holds = "cost the same" if most <= sources.LIMIT else "do not cost the same"
    part = "" if sources.whole(both) else " in what was counted, which is a part"
    return (f"The largest difference is {100 * most:.2f} %, so the two {holds}{part} "
            f"(limit: {100 * sources.LIMIT:.0f} %).")


def measure(settings, choice, cells, folder):
    """Count the servers of a programs.Choice in the tree of the commit settings.against and in the
    work tree, both built below `folder`; print and write how they differ. Returns the exit status:
    1 when a server is left out. Raises what the modules that it calls raise."""
    folder = Path(folder)
    commit = unpack(settings.against, folder / "source")
    states = {"was": {"commit": commit, "hash": sources.hashed(folder / "source")},
              "now": {"hash": sources.hashed()}}
    found = {}
    for state, source in (("was", folder / "source"), ("now", TOP)):
        print(f"Before: {settings.against}" if state == "was" else "Now: the work tree")
        (folder / state).mkdir()
        bench = count.Bench(replace(choice, source=source), folder / state, settings.kernel)
        found[state] = count.count_all(bench, cells)
    if sources.hashed() != states["now"]["hash"]:
        raise trees.TreeError("the C sources have been changed while they were counted")
    both = {name: {cell: [[round(n, 1) for n in found[state][name][cell].cost("server")]
                          for state in ("was", "now")] for cell in by_cell}
            for name, by_cell in found["was"].items() if name in found["now"]}
    if not both:
        raise machine.MachineError("no server was counted in both trees")
    shown = [one for one in bench.programs if one.name in both]
    print(*table(shown, cells, both), "", verdict(both), sep="\n")
    settings.out.mkdir(parents=True, exist_ok=True)
    path = results.write(settings.out, "against.json", bench.facts(), states | {"cells": both})
    print(f"Figures: {os.path.relpath(path)}")
    return int(len(shown) < len(choice.names))
