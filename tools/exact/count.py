"""Counts: builds what runs in the exact machine, boots it, and returns what a request costs.

A cost is a pair (user, kernel) of instructions a request, for each role: the server, Redis and
the load. A process has one role, so what the kernel does for a process counts as that
process's, and what an interrupt does counts as that of the process that it interrupts.
"""

import functools
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tools.exact import cells as all_cells, image, machine, parts, programs, tree as trees
from tools.kit import TOP, progress

WORKERS = ("worker", "ending")      # of the server, its children and threads; their end, with `why`
SECONDS = {"forking": 90.0}     # of one core, for five cells; others: OTHERS
OTHERS = 40.0


@dataclass
class Counted:
    """One cell of one server, all figures in instructions a request."""

    windows: list       # of {role: (user, kernel)}
    charged: list       # of {role: what the kernel says}, in all its groups
    where: parts.Where = field(default=None, repr=False)    # of the middle window, with `why`
    memory: int = 0     # bytes that the server has afterwards; 0: the plan did not ask

    @property
    def middle(self):
        """Return the place of the middle window, by what the server cost."""
        places = sorted(range(len(self.windows)), key=lambda i: sum(self.windows[i]["server"]))
        return places[len(places) // 2]

    def cost(self, role):
        """Return (user, kernel) of a role: the mean of the windows."""
        return tuple(sum(window[role][mode] for window in self.windows) / len(self.windows)
                     for mode in (0, 1))

    @property
    def width(self):
        """Return by how much the windows of the server differ, as a share of their mean."""
        sums = [sum(window["server"]) for window in self.windows]
        return (max(sums) - min(sums)) / sum(self.cost("server"))

    @property
    def gap(self):
        """Return by how much all roles together differ from what the kernel charged them, as a
        share: what was counted for no role, or twice."""
        counted = sum(sum(window[role]) for window in self.windows for role in machine.GROUPS)
        charged = sum(window[role] for window in self.charged for role in machine.GROUPS)
        return counted / charged - 1


class Bench:
    """All that is built before the first boot: the tree, the programs, the plugin."""

    def __init__(self, choice, folder, kernel=""):
        """Build the servers of a programs.Choice and what they need into a `folder` that lasts as
        long as the Bench, for a `kernel` of machine.toml, "" for the default. Raises TreeError,
        MachineError, VariantError and OSError."""
        folder = Path(folder)
        self.qemu = machine.qemu()
        self.tree = trees.unpack(kernel or trees.MACHINE["kernel"]["default"])
        self.plugin = image.build_plugin(self.qemu[1], folder)
        self.programs = programs.build(self.tree, choice, folder)
        self.files = image.contents(self.tree, self.programs, all_cells.requests())
        self.files |= image.build_guest(self.tree, folder)

    def facts(self):
        """Return what a count depends on, for the results."""
        config = trees.MACHINE
        commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=TOP, check=False,
                                capture_output=True, text=True).stdout.strip()
        return {"qemu": ".".join(map(str, self.qemu[1])), "options": config["qemu"]["options"],
                "cpu": config["qemu"]["cpu"], "kernel options": config["kernel"]["options"],
                "packages": self.tree.versions, "source": commit}

    def boot(self, plan, why=False, mebibytes=None):
        """Boot a machine with a plan (bytes); return Booted, with `why` also with the blocks of
        code that ran. See machine.boot() for its memory. Raises MachineError."""
        plugin = str(self.plugin)
        if why:
            first, end = self.kernel().softirq()
            exits = (self.kernel().address(name) for name in ("do_exit", "do_task_dead"))
            plugin += f",detail=on,softirq={first:x}-{end:x},exit=" + "-".join(
                f"{address:x}" for address in exits)
        return machine.boot(self.files | {"plan": plan}, self.tree.kernel, plugin, mebibytes)

    @functools.cache
    def kernel(self):
        """Return the functions of the kernel (parts.Kernel). They are at the same addresses each
        time, so that what a first machine says of them is kept next to the kernel."""
        kept = self.tree.kernel.with_name("symbols")
        if not kept.exists():
            booted = machine.boot(self.files | {"plan": b"symbols\n"}, self.tree.kernel,
                                  self.plugin)
            part = kept.with_suffix(".part")
            part.write_text("\n".join(booted.symbols) + "\n", encoding="ascii")
            part.replace(kept)
        return parts.Kernel(kept.read_text(encoding="ascii").splitlines())

    def count(self, program, cells, why=False, windows=all_cells.WINDOWS):
        """Return {name of a cell: Counted} of a Program, for those of `cells` that it can be asked.
        Raises MachineError."""
        cells = [cell for cell in cells if program.can(cell)]
        return self.count_plan(program, all_cells.plan(program, cells, windows), cells, why)

    def count_plan(self, program, plan, cells, why=False, mebibytes=None):
        """Return {name of a cell: Counted} of a plan (bytes) that counts `cells` at a Program, and
        asks for the server's memory after each or never."""
        booted = self.boot(plan, why, mebibytes)
        counted = self.counted(booted, program, cells, why)
        for cell, memory in zip(cells, booted.memory):
            counted[cell.name].memory = memory
        return counted

    def counted(self, booted, program, cells, why=False):
        """Return {name of a cell: Counted} of what a machine (Booted) has counted of a Program in
        `cells`; with `why`, which it must have been booted with, also where the code was."""
        counted = per_request(booted, cells)
        if why:
            server = parts.Code(booted.maps[0], program.path)
            for cell, seen in zip(cells, booted.cells, strict=True):
                one = counted[cell.name]
                one.where = parts.where(seen[one.middle].blocks, cell.requests,
                                        self.kernel(), server)
        return counted


def per_request(booted, cells):
    """Return {name of a cell: Counted} of what a machine printed."""
    return {cell.name: Counted(
        [{role: tuple(n / cell.requests for n in window.counted[role])
          for role in machine.GROUPS + WORKERS} for window in windows],
        [{role: window.charged[role] / cell.requests for role in machine.GROUPS}
         for window in windows])
        for cell, windows in zip(cells, booted.cells, strict=True)}


def each(programs, one):
    """Return {name of a Program: what one(program) returns}, without those that are None. As many
    programs run at a time as there are cores; those that fork take longest, and so come first."""
    ordered = sorted(programs, key=lambda program: "forking" not in program.name)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = dict(zip([program.name for program in ordered], pool.map(one, ordered)))
    return {program.name: found[program.name] for program in programs
            if found[program.name] is not None}


def progress_of(plan, first):
    """Show a line of progress that begins with the words `first`. `plan` has what is planned, {name
    of a Program: seconds of a core}. Return done(program), which shows what is left."""
    cores = len(os.sched_getaffinity(0))
    line, lock, left = progress.Line(sum(plan.values()) / cores), threading.Lock(), dict(plan)

    def done(program):
        with lock:
            del left[program.name]
            line.show(sum(left.values()) / cores, f"{program.title} is counted", new=True)
            if not left:
                line.clear()

    line.show(line.plan, first, new=True)
    return done


def count_all(bench, cells, why=False):
    """Return {name of a Program: {name of a cell: Counted}}, with a machine for each program, and a
    line that says what is done. A program whose machine does not do its work is taken from the
    bench, and it is said why; raises MachineError if none is left."""
    done = progress_of({one.name: SECONDS.get(one.name, OTHERS) * len(cells) / 5
                        for one in bench.programs},
                       f"{len(bench.programs)} servers, {len(cells)} cells")
    failed = {}
    if why:
        bench.kernel()      # once, not in each of the threads

    def one(program):
        counted = None
        try:
            counted = bench.count(program, cells, why)
        except machine.MachineError as error:
            failed[program.name] = error
        done(program)
        return counted
    counted = each(bench.programs, one)
    for program in bench.programs:
        if program.name in failed:
            print(f"exact: {program.title} is left out: {failed[program.name]}", file=sys.stderr)
    bench.programs = [program for program in bench.programs if program.name in counted]
    if not counted:
        raise machine.MachineError("nothing was counted")
    return counted
