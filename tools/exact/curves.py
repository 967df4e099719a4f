"""Curves: how the cost of a request grows with connections, workers, or memory.

    for curve in curves.chosen("idle"):
        costs = curves.count_all(bench, curve, done, failed)    # {Program's name: {size: Counted}}
        print(*curves.table(bench.programs, curve, costs), sep="\n")
"""

import statistics
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

from tools.exact import cells as all_cells, count, machine, parts
from tools.kit import servers

GROWN = 3           # parts that are named
GAP = 0.01          # share by which what was counted and what was charged may differ
APART = ("what was counted differs by {:+.1f} % from what the kernel charged: one of its threads, "
         "such as ksoftirqd, did work of the server or of the load")


@dataclass(frozen=True)
class Curve:
    """One curve; curves.toml says what the fields mean."""

    name: str
    says: str
    x: str
    of: str
    servers: list
    at: list
    cell: str
    requests: int
    each: int = 0
    connections: int = 1
    words: tuple = ()
    mebibytes: int = 0
    descriptors: int = 0
    packets: dict = field(default_factory=dict)
    more: bool = False
    windows: int = 3
    seconds: float = 40.0

    def cell_at(self, size):
        """Return the Cell of a point, with enough of a warm-up that each worker has served."""
        warm_up = size if self.of == "open" else self.requests + self.each * size
        return replace(all_cells.CELLS[self.cell], requests=self.requests, warm_up=warm_up,
                       connections=size if self.of in ("clients", "open") else self.connections)

    def lines(self, program, size):
        """Return the lines of the plan that count a point."""
        words = [*program.command(True), *(() if program.peer else self.words)]
        before, after = [], []
        last = ["memory", "stop"] if self.mebibytes else ["stop"]
        if self.of == "workers":
            words += [servers.named(program.name).slots, str(size)]
        elif self.of == "memory":
            before = ["environment LD_PRELOAD /touch.so", f"environment TOUCH_MIB {size}"]
        elif self.of == "idle":
            after = [f"idle {size}"] if size else []
        if self.descriptors:
            before.append(f"descriptors {self.descriptors}")
        if program.name in self.packets:
            before.append(f"packets {self.packets[program.name]}")
        return [*before, " ".join(["peer" if program.peer else "server", *words]), "maps", *after,
                self.cell_at(size).line(self.windows), *last]


CURVES = {one["name"]: Curve(**one) for one in tomllib.loads(
    Path(__file__).with_name("curves.toml").read_text(encoding="utf-8"))["curve"]}


def chosen(text):
    """Return the curves of a comma-separated list, or "all". Raises ValueError."""
    return [one for one in CURVES.values() if not one.more] if text == "all" \
        else all_cells.among(text, CURVES, "CURVE")


def count_all(bench, curve, done, failed):
    """Return {name of a Program: {size: Counted}} of those of the bench that a curve is for, with
    a machine for each; done(program) is called after each. Sizes of a machine that does not do its
    work are left out, and those whose parts do not add up within GAP; the dict `failed` has {(title
    of the Program, sizes): why}."""
    bench.kernel()

    def boot(program, sizes):
        plan = [line for size in sizes for line in curve.lines(program, size)]
        named = [replace(curve.cell_at(size), name=str(size)) for size in sizes]
        return bench.count_plan(program, ("\n".join(plan) + "\n").encode(), named, True,
                                curve.mebibytes)

    def one(program):
        boots = [[size] for size in curve.at] if curve.mebibytes else [curve.at]
        counted = {}
        for sizes in boots:
            try:
                for name, cell in boot(program, sizes).items():
                    if abs(cell.gap) > GAP:
                        failed[program.title, (int(name),)] = APART.format(100 * cell.gap)
                    else:
                        counted[int(name)] = cell
            except machine.MachineError as error:
                failed[program.title, tuple(sizes)] = str(error)
        done(program)
        return counted or None
    return count.each([program for program in bench.programs if program.name in curve.servers], one)


def slope(costs):
    """Return (instructions a request that each unit adds, those without any): the straight line
    with the smallest squares through {size: instructions}; of one size, (0, its own)."""
    if len(costs) == 1:
        return 0, *costs.values()
    return statistics.linear_regression(list(costs), list(costs.values()))


def totals(by_size):
    """Return {size: instructions of the server for a request}."""
    return {size: sum(cell.cost("server")) for size, cell in by_size.items()}


def table(programs, curve, costs):
    """Return lines: thousands of instructions a request at each size, and what adds to them."""
    mine = [program for program in programs if program.name in costs]
    lines = [f"{curve.says[0].upper()}{curve.says[1:]}, in thousands of instructions:",
             curve.x.rjust(34) + "".join(program.title.rjust(16) for program in mine)]
    of = {program: totals(costs[program.name]) for program in mine}
    for size in curve.at:
        lines.append(f"{size:34,}" + "".join(
            f"{of[one][size] / 1e3:16.1f}" if size in of[one] else "-".rjust(16) for one in mine))
    lines.append("instructions that each one adds".rjust(34) + "".join(
        f"{slope(of[one])[0]:16.1f}" for one in mine))
    for program in mine:
        by_size = costs[program.name]
        first, last = (by_size[size].where.parts() for size in (min(by_size), max(by_size)))
        more = {name: sum(last[name]) - sum(first[name]) for name in parts.NAMES}
        most = sorted(more, key=lambda name: -more[name])[:GROWN]
        lines.append(f"  {program.title}: " + ", ".join(
            f"{name} {more[name] / 1e3:+.1f}" for name in most))
    return lines
