"""Counts: builds what runs in the exact machine, boots it, and returns what a request costs.

A cost is a dict {"user": ..., "kernel": ...}, in instructions a request, for each role: the
server, Redis and the load. Roles are told apart by process, so what the kernel does for a
process counts as that process's, and what an interrupt does as that of whoever it interrupts.
"""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tools.exact import cells as all_cells, image, machine, tree as trees
from tools.kit import TOP

ROLES = ("server", "redis", "load")
OPTIONS = {}            # of servers, besides port and root


@dataclass
class Counted:
    """One cell of one server, all figures in instructions a request."""

    windows: list       # of {role: (user, kernel)}
    charged: list       # of {role: what the kernel says}, in all its groups

    def cost(self, role):
        """Return (user, kernel): the middle window's, by their sum."""
        return sorted((window[role] for window in self.windows), key=sum)[len(self.windows) // 2]

    @property
    def width(self):
        """Return by how much the windows of the server differ, as a share of the middle one."""
        sums = [sum(window["server"]) for window in self.windows]
        return (max(sums) - min(sums)) / sum(self.cost("server"))

    @property
    def gap(self):
        """Return by how much all roles together differ from what the kernel charged them, as a
        share: what was counted for nobody, or twice."""
        counted = sum(sum(window[role]) for window in self.windows for role in ROLES)
        charged = sum(window[role] for window in self.charged for role in ROLES)
        return counted / charged - 1


class Bench:
    """All that is built before the first boot: the tree, the programs, the plugin."""

    def __init__(self, kernel=None, source=TOP, say=print):
        """Build what is missing; say() is told what takes long. Raises TreeError, MachineError
        and OSError."""
        self.qemu = machine.qemu()
        self.tree = trees.unpack(kernel or trees.MACHINE["kernel"]["default"], say)
        self.init = image.build_guest(self.tree)
        self.plugin = image.build_plugin(self.qemu[1])
        self.servers = trees.FOLDER / "servers"
        say("Building the seven with the guest's compiler ...")
        image.build_servers(self.tree, source, self.servers)
        self.files = image.contents(self.tree, self.servers, self.init, all_cells.requests())

    def facts(self):
        """Return what a count depends on, for the results."""
        config = trees.MACHINE
        commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=TOP, check=False,
                                capture_output=True, text=True).stdout.strip()
        return {"qemu": ".".join(map(str, self.qemu[1])), "options": config["qemu"]["options"],
                "cpu": config["qemu"]["cpu"], "kernel options": config["kernel"]["options"],
                "packages": self.tree.versions, "source": commit}

    def boot(self, program, cells, detail=False, symbols=False, **windows):
        """Boot a machine in which the server `program` gets the requests of `cells`; return
        Booted."""
        plan = all_cells.plan(program, OPTIONS.get(program, ()), cells, symbols, **windows)
        return machine.boot(self.files | {"plan": plan}, self.tree.kernel, self.plugin, detail)

    def count(self, program, cells, **windows):
        """Return {name of a cell: Counted} of one server. Raises MachineError."""
        return per_request(self.boot(program, cells, **windows), cells)


def per_request(booted, cells):
    """Return {name of a cell: Counted} of what a machine printed."""
    return {cell.name: Counted(
        [{role: tuple(n / cell.requests for n in window.counted[role]) for role in ROLES}
         for window in windows],
        [{role: window.charged[role] / cell.requests for role in ROLES} for window in windows])
        for cell, windows in zip(cells, booted.cells, strict=True)}


def count_all(bench, programs, cells, done, **windows):
    """Return {program: {name of a cell: Counted}}, with a machine for each server and as many at
    a time as there are cores; done(program) is called after each. Raises MachineError."""
    def one(program):
        counted = bench.count(program, cells, **windows)
        done(program)
        return counted
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return dict(zip(programs, pool.map(one, programs), strict=True))
