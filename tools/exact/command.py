"""What `make exact` starts: counts what a request costs, and prints and writes it down."""

import argparse
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from tools.exact import against, cells as all_cells, count, curves, machine, programs, \
    report, results, tree as trees, why
from tools.kit import TOP, process, scratch, servers, venv
from tools.variant.what import VariantError

OUT = TOP / "results/exact"


def arguments(words):
    """Return the settings from the command line, or end with a sentence and status 2."""
    parser = argparse.ArgumentParser(prog="tools.exact", description=__doc__)
    add = parser.add_argument
    add("--servers", default="", help="of the seven, comma-separated (all; none: only others)")
    add("--cells", default="", help="kinds of requests, comma-separated, or all")
    add("--variant", default="", help="also servers with these patches of variants/")
    add("--peers", default="", help="also nginx, libev, go, node, io_uring, coroutines")
    add("--floor", action="store_true", help="also the least that each design needs")
    add("--clients", default="", help="connections at a time, of cells with new ones (20)")
    add("--kernel", default="", help="a release of machine.toml")
    add("--curve", default="", help="only how costs grow: names of curves.toml, or all")
    add("--against", default="", help="a commit: by how much the seven cost more than there")
    add("--why", action="store_true", help="also where the instructions go")
    add("--out", type=Path, default=OUT, help="a folder")
    add("--settings", action="store_true", help="only say what is wrong with these")
    return parser.parse_args(words)


def chosen_servers(text):
    """Return the names of the servers of a comma-separated list of numbers or names, all for "".
    Raises ValueError."""
    wanted = all_cells.split(text)
    if wanted == ["none"]:
        return ()
    if unknown := [word for word in wanted if word.lower() not in servers.NAMES]:
        names = ", ".join(one.folder for one in servers.ARCHITECTURES)
        raise ValueError(f"SERVER has '{unknown[0]}'; it can have {names}")
    return tuple(servers.named(word).name for word in wanted) or programs.Choice.names


def chosen_cells(settings):
    """Return the cells that `settings` ask for. Raises ValueError."""
    cells = all_cells.chosen(settings.cells)
    if not settings.clients:
        return cells
    if not settings.clients.isdecimal() or not 1 <= int(settings.clients) <= all_cells.MOST:
        raise ValueError(f"CLIENTS is {settings.clients}; it can be 1 to {all_cells.MOST}")
    return [cell if cell.keep else replace(cell, connections=int(settings.clients))
            for cell in cells]


def table(chosen, cells, counted):
    """Return lines: instructions a request, in thousands, of each Program and cell."""
    widths = [max(9, len(cell.name)) for cell in cells]
    first = max(len(one.title) for one in chosen) + 2
    lines = ["Instructions of the server for one request, in thousands (in user mode):",
             " " * first + "  ".join(cell.name.rjust(width + 6) for cell, width
                                     in zip(cells, widths))]
    for one in chosen:
        figures = []
        for cell, width in zip(cells, widths):
            if cell.name not in counted[one.name]:
                figures.append("-".rjust(width) + " " * 6)
                continue
            user, kernel = counted[one.name][cell.name].cost("server")
            figures.append(f"{(user + kernel) / 1e3:{width}.1f} {f'({user / 1e3:.1f})':>5}")
        lines.append(one.title.ljust(first) + "  ".join(figures))
    return lines


def sure(chosen, counted):
    """Return lines: how far the figures can be trusted."""
    every = [(cell, one, name) for one in chosen for name, cell in counted[one.name].items()]
    widest, one, name = max(every, key=lambda found: found[0].width)
    gap = max((cell.gap for cell, *_ in every), key=abs)
    return [f"Five windows of a cell differ by {100 * widest.width:.1f} % at most ({one.title}, "
            f"{name}).", f"Server, Redis and load together are within {100 * abs(gap):.2f} % of "
            "the time that the kernel charged them."]


def chosen(settings):
    """Return (programs.Choice, cells) of the settings. Raises a sentence about what is wrong."""
    chosen_curves = curves.chosen(settings.curve)
    choice = programs.Choice(
        chosen_servers(settings.servers), tuple(all_cells.split(settings.variant)),
        tuple(all_cells.split(settings.peers)), settings.floor,
        connections=max((one.descriptors for one in chosen_curves), default=0))
    try:
        choice.check()
    except VariantError as error:
        raise ValueError(f"VARIANT: {error}") from error
    if settings.against and (choice.variants or choice.peers or choice.floors or chosen_curves
                             or not choice.names or settings.why):
        raise ValueError("AGAINST compares servers of the seven: without VARIANT, PEERS, FLOOR, "
                         "CURVE and WHY")
    kernels = [one["name"] for one in trees.MACHINE["kernel"]["release"]]
    if settings.kernel and settings.kernel not in kernels:
        raise ValueError(f"KERNEL is '{settings.kernel}'; it can be {', '.join(kernels)}")
    return choice, chosen_cells(settings)


def measure_curves(settings, bench):
    """Count, print, draw and write the curves that `settings` ask for; return (what was drawn, see
    why.draw(), what failed, see curves.count_all())."""
    told, drawn, failed = {}, {}, {}
    for curve in curves.chosen(settings.curve):
        mine = [one for one in bench.programs if one.name in curve.servers]
        if not mine:
            continue
        done = count.progress_of(dict.fromkeys((one.name for one in mine), curve.seconds),
                                 f"{curve.name}: {len(mine)} servers, {len(curve.at)} sizes")
        lost = {}
        costs = curves.count_all(bench, curve, done, lost)
        for (title, sizes), reason in lost.items():
            print(f"exact: {curve.name}: {title} at {', '.join(map(str, sizes))} is left out: "
                  f"{reason}", file=sys.stderr)
        failed |= lost
        if not costs:
            continue
        print(*curves.table(bench.programs, curve, costs), "", sep="\n", flush=True)
        if not settings.plain:
            drawn |= why.draw_curve(bench.programs, curve, costs, settings.out)
        told |= {f"{curve.name}/{name}": {size: results.of_cell(cell) for size, cell
                                          in by_size.items()} for name, by_size in costs.items()}
    if not told:
        raise machine.MachineError("nothing was counted" if failed else
                                   "none of these servers is in one of these curves")
    memory = {one.name: one.mebibytes for one in curves.chosen(settings.curve) if one.mebibytes}
    results.write(settings.out, "curves.json", bench.facts() | {"mebibytes": memory}, told)
    return drawn, failed


def measure_cells(settings, bench, cells):
    """Count, print, draw and write what `cells` cost the servers of a bench; return what was
    drawn (see why.draw())."""
    counted, drawn = count.count_all(bench, cells, settings.why), {}
    print(*table(bench.programs, cells, counted), "", *sure(bench.programs, counted), sep="\n")
    if settings.why:
        print("", *why.tables(bench.programs, cells, counted), sep="\n")
        if not settings.plain:
            drawn = why.draw(bench.programs, cells, counted, settings.out)
        results.write(settings.out, "why.json", bench.facts(), {
            program: {name: results.functions(cell) for name, cell in by_cell.items()}
            for program, by_cell in counted.items()})
    results.write(settings.out, "exact.json", bench.facts(), {
        program: {name: results.of_cell(cell) for name, cell in by_cell.items()}
        for program, by_cell in counted.items()})
    return drawn


def measure(settings, choice, cells, folder):
    """Count what `settings` ask for with servers that are built in `folder`; return the exit
    status: 1 when a server is left out. Raises what the modules that it calls raise."""
    if settings.against:
        return against.measure(settings, choice, cells, folder)
    bench = count.Bench(choice, folder, settings.kernel)
    wanted, failed = len(bench.programs), {}
    settings.out.mkdir(parents=True, exist_ok=True)
    if settings.curve:
        name = "curves.json"
        drawn, failed = measure_curves(settings, bench)
    else:
        name, drawn = "exact.json", measure_cells(settings, bench, cells)
    print(f"Figures: {os.path.relpath(settings.out / name)}")
    if settings.plain:
        print(f"exact: no pictures and no report: {settings.plain}", file=sys.stderr)
    else:
        print(f"Report:  {os.path.relpath(report.make(settings.out, name, drawn))}")
    return int(bool(failed) or len(bench.programs) < wanted)


def run(words):
    """Do what `words` ask for; return the exit status. What goes wrong is a sentence."""
    settings = arguments(words)
    try:
        choice, cells = chosen(settings)
        if settings.settings:
            return 0
        process.end_on_signals()
        settings.plain = venv.restart_inside()       # why there is neither a picture nor a report
        with scratch.folder("exact") as folder:
            return measure(settings, choice, cells, folder)
    except ValueError as error:
        print(f"exact: {error}", file=sys.stderr)
        return 2
    except (trees.TreeError, machine.MachineError, VariantError, OSError, shutil.Error) as error:
        print(f"exact: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nexact: stopped", file=sys.stderr)
        return 130
