"""What `make exact` writes, and reads again for the book: exact.json, curves.json, why.json.

    table = results.read(folder)
    table.cells["epoll"]["answer"].total        instructions of the server for a request
    table.cells["epoll"]["answer"].parts()      {part: (in its calls, in soft interrupts)}
"""

import json
from dataclasses import dataclass
from pathlib import Path

from tools.exact import parts
from tools.kit import servers
from tools.results import rundir

FILES = ("exact.json", "curves.json")
LABS = {"io_uring": "08_io_uring", "coroutines": "09_coroutines"}  # servers of labs
SHOWN = 10          # instructions a request: a function with fewer is not written


@dataclass(frozen=True)
class Cost:
    """One cell of one server, in instructions a request."""

    user: float
    kernel: float
    told: dict          # all that the file says of it

    @property
    def total(self):
        """Return the server's instructions."""
        return self.user + self.kernel

    def parts(self):
        """Return {part: (in the server's calls, in soft interrupts)}, as parts.Where does."""
        return {name: tuple(self.told["parts"].get(name, (0, 0))) for name in parts.NAMES}


@dataclass(frozen=True)
class Table:
    """What a folder has: `machine`, {server: {cell: Cost}}, and {curve: {server: {size: Cost}}}."""

    machine: dict
    cells: dict
    curves: dict


def title(name):
    """Return what tables call a server: those of the collection with their number."""
    if name in LABS:
        return LABS[name]
    return servers.named(name).folder if name.lower() in servers.NAMES else name


def of_cell(cell):
    """Return what is written of a count.Counted."""
    told = dict(zip(("user", "kernel"), (round(n, 1) for n in cell.cost("server"))))
    for role in ("redis", "load", "worker", "ending"):
        told[role] = round(sum(cell.cost(role)), 1)
    told |= {"width": round(cell.width, 5), "gap": round(cell.gap, 5)}
    if cell.memory:
        told["memory"] = cell.memory
    if cell.where:
        told["parts"] = {name: [round(n, 1) for n in both]
                         for name, both in cell.where.parts().items() if sum(both) >= 0.05}
        told["parts in soft interrupts of the load"] = {
            name: round(n, 1) for name, n in cell.where.load_parts().items() if n >= 0.05}
    return told


def functions(cell):
    """Return the functions of a count.Counted, most instructions first."""
    where = cell.where
    return {kind: {name: round(n, 1) for name, n in sorted(
        some.items(), key=lambda one: -one[1]) if n >= SHOWN} for kind, some in (
            ("user", where.user), ("kernel", where.kernel), ("soft interrupts", where.softirq),
            ("soft interrupts of the load", where.load))}


def write(folder, name, machine, told):
    """Write a file, a line for each cell; return its path."""
    path = Path(folder) / name
    rows = [f"{json.dumps(first)}: {{\n" + ",\n".join(
        f" {json.dumps(str(key))}: {json.dumps(value)}" for key, value in by_key.items()) + "}"
        for first, by_key in told.items()]
    path.write_text('{"machine": ' + json.dumps(machine) + ",\n" + ",\n".join(rows) + "}\n",
                    encoding="utf-8")
    return path


def read(folder, names=FILES):
    """Return the Table of the files in a folder that have one of `names`, plain or compressed (with
    .xz behind the name). Raises OSError, also if there is none, and ValueError."""
    paths = [Path(folder) / name for name in names]
    files = {path.name: rundir.read_json(path) for path in paths if rundir.stored(path)}
    if not files:
        raise FileNotFoundError(f"{folder} has no {' and no '.join(names)}")
    machine = next(iter(files.values()))["machine"]
    costs = [{first: {key: Cost(one["user"], one["kernel"], one) for key, one in by_key.items()}
              for first, by_key in files.get(name, {}).items() if first != "machine"}
             for name in FILES]
    curves = {}
    for name, by_size in costs[1].items():
        curve, server = name.split("/")
        curves.setdefault(curve, {})[server] = {int(size): one for size, one in by_size.items()}
    return Table(machine, costs[0], curves)
