"""The order in which cells are measured."""

import time

from bench.analyse.stats import LOOKS
from bench.run.rounds import in_rounds


def test_each_round_has_all_cells_in_an_order_of_its_own():
    """And the seed repeats it."""
    made = list(in_rounds("abcdef", rounds=3, seed=1))
    rounds = [[cell for n, cell in made if n == number] for number in (1, 2, 3)]
    assert all(sorted(one) == list("abcdef") for one in rounds)
    assert rounds[0] != rounds[1]
    assert made == list(in_rounds("abcdef", rounds=3, seed=1))


def test_what_is_settled_is_left_out_after_a_look():
    """b needs 12 rounds; nothing is left after them."""
    asked = []

    def unsettled(cells):
        asked.append(len(asked))
        return [cell for cell in cells if cell == "b" and len(asked) < 2]

    made = list(in_rounds("ab", unsettled=unsettled))
    assert [n for n, cell in made if cell == "a"][-1] == LOOKS[0]
    assert made[-1] == (LOOKS[1], "b")


def test_each_round_waits_for_quiet():
    """Before it, not after it; none begins after the end."""
    waited = []
    for number, _ in in_rounds("ab", rounds=2, quiet=lambda: waited.append(1)):
        assert len(waited) == number
    assert not list(in_rounds("a", ends=time.monotonic() - 1))
