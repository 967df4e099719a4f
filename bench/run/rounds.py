"""The order of every measurement: rounds, shuffled, until it is settled."""

import random
import time

from bench.analyse.stats import LOOKS


def in_rounds(cells, *, rounds=None, unsettled=None, quiet=None, ends=None, seed=0):
    """Yield (round, cell), rounds counted from 1; the caller measures the cell
    before it asks for the next one.

    cells       each round has those that are not settled, in random order, so
                that a change of the machine affects all alike
    rounds      how many; None: up to the last of LOOKS
    unsettled   called at each look but the last, with the cells of the round;
                returns those that need more rounds. None: all do
    quiet       called before each round; may wait until the machine is quiet
    ends        time.monotonic() after which no round may last, if it takes as
                long as the round before. None: there is no limit
    seed        the same seed and cells give the same order
    """
    last = rounds or LOOKS[-1]
    lasted = 0.0
    for number in range(1, last + 1):
        if not cells or (ends and time.monotonic() + lasted > ends):
            return
        if quiet:
            quiet()
        begun = time.monotonic()
        order = list(cells)
        random.Random(f"{seed} {number}").shuffle(order)
        for cell in order:
            yield number, cell
        lasted = time.monotonic() - begun
        if unsettled and number in LOOKS and number < last:
            cells = unsettled(cells)
