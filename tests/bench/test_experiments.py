"""What the experiments take for a right answer."""

import itertools

import pytest

from bench import experiments

GUESTBOOK = {e.name: e for e in experiments.all_experiments()}["guestbook"]
PAGE = ("<li>Guest number 10</li> ... <li>Guest number 1</li>"
        "<p>Visits so far: <strong>{}</strong></p>")


def pages(*visits):
    """Return a `get` whose pages show these counts, the last for ever."""
    left = itertools.chain(visits, itertools.repeat(visits[-1]))
    return lambda path: (200, {"content-type": "text/html; charset=utf-8"},
                         PAGE.format(next(left)).encode())


def test_the_guestbook_counts_visits():
    """A page that comes out of a cache asks Redis nothing."""
    GUESTBOOK.check(pages(1000001, 1000002))
    with pytest.raises(experiments.WrongAnswer, match="1,000,001 visits"):
        GUESTBOOK.check(pages(1000001))
    with pytest.raises(experiments.WrongAnswer, match="unexpected body"):
        GUESTBOOK.check(pages(""))
