"""CPU times as if the machine had been equally fast all the time.

The cores of a virtual machine change: other guests use their other hardware threads, the host
moves them apart, and others use the same memory. Small pieces of work, done while the load
runs, show by how much (tools/bench/meter/yardstick.c), but not how much that matters to a
server. The run itself does: within each cell, the rounds in which a piece took longer are
compared with the others. What comes out is an exponent for each piece and server, by least
squares of the logarithms (the analysis of covariance); of all servers together where there are
few rounds. The times of each round are then divided by what the exponents predict for it.

A server also slows the pieces down itself: one with many processes takes more of the cache that
they share. That is a cost of the server and no change of the machine, so it is taken out first.
"""

import math
import statistics

PIECES = ("yard_work_ns", "yard_memory_ns", "yard_hand_ns")
TIMES = ("cpu_us", "cpu_user_us", "cpu_system_us")
ENOUGH = 40         # rows for exponents; with fewer, they would follow chance
CERTAIN = 3         # standard errors that a mean is away from 0, to be no chance
WILD = 4            # times as far from its cell's median as three of four rows: teaches nothing


def steadied(rows):
    """Return (the rows of an experiment with steadied TIMES, {server: {piece: exponent}}); the
    same rows, and {}, where too few of them say how fast the machine was."""
    some = [row for row in rows if row.get("cpu_us") and row.get("rate") is not None]
    pieces = [piece for piece in PIECES if any(row.get(piece) for row in some)]
    some = [row for row in some if all(row.get(piece) for piece in pieces)]
    if len(some) < ENOUGH or not pieces:
        return rows, {}
    # One usual time for all cells: with one for each, a cell that was often measured on slow
    # cores would stay too expensive, and its rounds would not show that by their scatter.
    usual = [statistics.fmean(math.log(row[piece]) for row in some) for piece in pieces]
    together, own = _exponents(some, pieces), _own(some, pieces)
    found, new = {}, {}
    for server in sorted({row["server"] for row in some}):
        mine = [row for row in some if row["server"] == server]
        exponents = _exponents(mine, pieces) if len(mine) >= ENOUGH else together
        found[server] = dict(zip(pieces, exponents))
        for row in mine:
            slow = sum(exponent * (math.log(row[piece]) - middle - by_server)
                       for piece, exponent, middle, by_server
                       in zip(pieces, exponents, usual, own[server]))
            new[id(row)] = {**row, **{key: row[key] * math.exp(-slow)
                                      for key in TIMES if row.get(key)}}
    return [new.get(id(row), row) for row in rows], found


def _own(rows, pieces):
    """Return {server: [the logarithm by which a piece is slower while this server runs]}; 0 where
    that may be chance. For the cells of a load in a round, the machine is nearly the same."""
    loads, off = {}, {}
    for row in rows:
        loads.setdefault((row["variant"], row["x"], row["repeat"]), []).append(row)
    for some in loads.values():
        usual = [statistics.fmean(math.log(row[piece]) for row in some) for piece in pieces]
        for row in some:
            off.setdefault(row["server"], []).append([
                math.log(row[piece]) - middle for piece, middle in zip(pieces, usual)])
    return {server: [_certain(one) for one in zip(*each)] for server, each in off.items()}


def _certain(values):
    """Return the mean of `values`, 0 where it is less than CERTAIN standard errors from 0."""
    middle = statistics.fmean(values)
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return middle if abs(middle) >= CERTAIN * error else 0.0


def _exponents(rows, pieces):
    """Return an exponent for each of the pieces. Wild rows do not count."""
    off = [abs(one) for one in _about(rows, "cpu_us", statistics.median)]
    limit = WILD * statistics.quantiles(off, n=4)[-1]
    kept = [row for row, one in zip(rows, off) if one <= limit]
    found = least_squares(_about(kept, "cpu_us"), [_about(kept, piece) for piece in pieces])
    return [round(one, 3) for one in found]     # the rest depends on the order of the rows


def _about(rows, key, middle=statistics.fmean):
    """Return the logarithms of a column less the `middle` of those of the row's cell."""
    cells = {}
    for row in rows:
        cells.setdefault((row["variant"], row["x"], row["server"]), []).append(math.log(row[key]))
    usual = {cell: middle(values) for cell, values in cells.items()}
    return [math.log(row[key]) - usual[row["variant"], row["x"], row["server"]] for row in rows]


def least_squares(wanted, columns):
    """Return the factors for which the sums of factor times column are closest to `wanted`. A
    column without variation has the factor 0. Solves the normal equations by elimination."""
    def product(one, other):
        return sum(a * b for a, b in zip(one, other))

    table = [[product(one, other) for other in columns] + [product(one, wanted)] for one in columns]
    for at, row in enumerate(table):
        row[at] += 1e-9
        for below in table[at + 1:]:
            part = below[at] / row[at]
            below[:] = [b - part * a for a, b in zip(row, below)]
    factors = []
    for at in reversed(range(len(table))):
        row = table[at]
        factors.insert(0, (row[-1] - product(row[at + 1:-1], factors)) / row[at])
    return factors
