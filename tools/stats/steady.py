"""CPU times as if the machine had been equally fast all the time.

The cores of a virtual machine change: other guests use their other hardware threads, the host
moves them apart, and others use the same memory. Small pieces of work, done while the load
runs, show by how much (tools/bench/meter/yardstick.c), but not how much that matters to a
server. The run itself does: within each cell, the rounds in which a piece took longer are
compared with the others. What comes out is an exponent for each piece and curve, which is a server
under one kind of load, by least squares of the logarithms (the analysis of covariance). Where a
curve has few rows, it has the exponents of its server, or those of all servers together. The times
of each round are then divided by what the exponents predict for it.

A server also slows the pieces down itself: one with many processes takes more of the cache that
they share. That is a cost of the server and no change of the machine, so it is taken out first.
"""

import math
import operator
import statistics

PIECES = ("yard_work_ns", "yard_memory_ns", "yard_hand_ns")
TIMES = ("cpu_us", "cpu_user_us", "cpu_system_us")
ENOUGH = 40         # rows for exponents; with fewer, they would follow chance
CERTAIN = 3         # standard errors that a mean is away from 0, to be no chance
WILD = 4            # times as far from its cell's median as three of four rows: teaches nothing


def steadied(rows):
    """Return (the rows of an experiment with steadied TIMES, {"SERVER/VARIANT": {piece:
    exponent}}); the same rows, and {}, where too few of them say how fast the machine was."""
    some = [row for row in rows if row.get("cpu_us") and row.get("rate") is not None]
    pieces = [piece for piece in PIECES if any(row.get(piece) for row in some)]
    some = [row for row in some if all(row.get(piece) for piece in pieces)]
    if len(some) < ENOUGH or not pieces:
        return rows, {}
    # One usual time for all cells: with one for each, a cell that was often measured on slow
    # cores would stay too expensive, and its rounds would not show that by their scatter.
    usual = [statistics.fmean(math.log(row[piece]) for row in some) for piece in pieces]
    together, own = _exponents(some, pieces), _own(some, pieces)
    servers = _groups(some, operator.itemgetter("server"))
    found, new = {}, {}
    for curve, mine in _groups(some, _curve).items():
        enough = next((one for one in (mine, servers[curve[0]]) if len(one) >= ENOUGH), None)
        exponents = _exponents(enough, pieces) if enough else together
        found["/".join(curve)] = dict(zip(pieces, exponents))
        for row in mine:
            slow = sum(exponent * (math.log(row[piece]) - middle - by_server)
                       for piece, exponent, middle, by_server
                       in zip(pieces, exponents, usual, own[curve]))
            new[id(row)] = {**row, **{key: row[key] * math.exp(-slow)
                                      for key in TIMES if row.get(key)}}
    return [new.get(id(row), row) for row in rows], found


def _curve(row):
    """Return what a curve goes by."""
    return row["server"], row["variant"] or ""


def _groups(rows, key):
    """Return {key(row): [row, ...]}."""
    found = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def _own(rows, pieces):
    """Return {curve: [the logarithm by which a piece is slower while this server runs under this
    kind of load]}; 0 where that may be chance. For the cells of a load in a round, the machine is
    nearly the same."""
    off = {}
    for some in _groups(rows, operator.itemgetter("variant", "x", "repeat")).values():
        usual = [statistics.fmean(math.log(row[piece]) for row in some) for piece in pieces]
        for row in some:
            off.setdefault(_curve(row), []).append([
                math.log(row[piece]) - middle for piece, middle in zip(pieces, usual)])
    return {curve: [_certain(one) for one in zip(*each)] for curve, each in off.items()}


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
    cell = operator.itemgetter("variant", "x", "server")
    usual = {which: middle([math.log(row[key]) for row in some])
             for which, some in _groups(rows, cell).items()}
    return [math.log(row[key]) - usual[cell(row)] for row in rows]


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
