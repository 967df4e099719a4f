"""What reuseport.py says about how clients spread over loops."""

import pytest

from bench.studies import reuseport


def test_far():
    """Off by 20 %: 600 and 400 instead of 500 each."""
    assert reuseport.far([600, 400]) == pytest.approx(20)
    assert reuseport.far([500, 500]) == 0
