"""The order of every measurement: rounds, shuffled, until it is settled."""

import random

from bench.analyse.stats import LOOKS


def in_rounds(cells, *, rounds=None, unsettled=None, quiet=None, seed=0, group=id):
    """Yield (round, [cell, ...]), rounds counted from 1, each in random order, so that a change
    of the machine affects all alike. The caller measures these cells before it asks for more.

    group       returns the same for cells that follow each other: what is to be compared is
                measured while the machine is the same
    rounds      how many; None: up to the last of LOOKS
    unsettled   called at each look but the last, with the cells of the round;
                returns those that need more rounds. None: all do
    quiet       called before each round; may wait until the machine is quiet
    seed        the same seed and cells give the same order
    """
    last = rounds or LOOKS[-1]
    for number in range(1, last + 1):
        if not cells:
            return
        if quiet:
            quiet()
        order = list(cells)
        random.Random(f"{seed} {number}").shuffle(order)
        together = {}
        for cell in order:
            together.setdefault(group(cell), []).append(cell)
        yield number, sum(together.values(), [])
        if unsettled and number in LOOKS and number < last:
            cells = unsettled(cells)
