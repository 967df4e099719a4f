"""CPU times as if the machine had been equally fast all the time.

The cores of a virtual machine change: their other hardware threads work for somebody else, the
host moves them apart, others use the same memory. Pieces of work beside the load show by how
much (bench/meter/yardstick.c), but not how much that matters to a server. The run itself does:
within each cell, the rounds in which a piece took longer are compared with the others. What
comes out is one exponent for each piece and experiment, by least squares of the logarithms (the
analysis of covariance). The times of each round are then divided by what the exponents predict
for it.
"""

import math
import statistics

PIECES = ("yard_work_ns", "yard_memory_ns", "yard_hand_ns", "yard_other_ns")
TIMES = ("cpu_us", "cpu_user_us", "cpu_system_us")
ENOUGH = 100        # rows; with fewer, the exponents would follow chance
WILD = 4            # times the usual distance from the prediction: a row that does not count


def steadied(rows):
    """Return (the rows of an experiment with steadied TIMES, {piece: exponent}). They are as
    measured, and without exponents, where too few rows say how fast the machine was. The rows
    themselves are not changed."""
    some = [row for row in rows if row.get("cpu_us") and row.get("rate") is not None]
    pieces = [piece for piece in PIECES if any(row.get(piece) for row in some)]
    some = [row for row in some if all(row.get(piece) for piece in pieces)]
    if len(some) < ENOUGH or not pieces:
        return rows, {}
    exponents, off = _learn(some, pieces)
    limit = WILD * statistics.median(off)
    exponents, _ = _learn([row for row, one in zip(some, off) if one <= limit], pieces)
    exponents = [round(one, 3) for one in exponents]    # the order of the rows changes the rest
    # One usual time for all: with one for each cell, a cell that was often measured on slow
    # cores would stay too expensive, and its rounds would not show that by their scatter.
    slow = _sums(exponents, [_about(some, piece, [0] * len(some)) for piece in pieces])
    factors = {id(row): math.exp(-one) for row, one in zip(some, slow)}
    return [{**row, **{key: row[key] * factors[id(row)] for key in TIMES if row.get(key)}}
            if id(row) in factors else row for row in rows], dict(zip(pieces, exponents))


def _learn(rows, pieces):
    """Return (an exponent for each of the pieces, how far each row is from what they predict)."""
    cells = [(row["variant"], row["x"], row["server"]) for row in rows]
    times = _about(rows, "cpu_us", cells)
    speeds = [_about(rows, piece, cells) for piece in pieces]
    exponents = least_squares(times, speeds)
    return exponents, [abs(time - one) for time, one in zip(times, _sums(exponents, speeds))]


def _about(rows, key, groups):
    """Return the logarithms of a column less the mean of those of the row's group."""
    values, members = [math.log(row[key]) for row in rows], {}
    for group, value in zip(groups, values):
        members.setdefault(group, []).append(value)
    usual = {group: statistics.fmean(some) for group, some in members.items()}
    return [value - usual[group] for group, value in zip(groups, values)]


def _sums(factors, columns):
    """Return for each row the sum of its columns times their factors."""
    return [sum(f * value for f, value in zip(factors, row)) for row in zip(*columns)]


def least_squares(wanted, columns):
    """Return the factors for which the sums of factor times column are closest to `wanted`. A
    column without variation has the factor 0. Solves the normal equations by elimination."""
    def product(one, other):
        return sum(a * b for a, b in zip(one, other))

    table = [[product(one, other) for other in columns] + [product(one, wanted)]
             for one in columns]
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
