"""The committed timelines: their words can be read in a page of the book and in the README."""

import re

import pytest

from tests.docs.conftest import TOP
from tools.results import rundir

PICTURES = sorted((TOP / "docs" / "results" / "timelines").glob("*.svg*"))
SMALLEST = 11           # pixels, of a picture that is 800 wide


@pytest.mark.parametrize("path", PICTURES, ids=lambda one: one.stem)
def test_words_can_be_read_at_800_pixels(path):
    text = rundir.read_text(path.with_suffix("") if path.suffix == ".xz" else path)
    width = int(re.search(r"viewBox='0 0 (\d+) ", text)[1])
    sizes = [float(size) for size in re.findall(r"font-size='([\d.]+)'", text)]
    assert len(sizes) > 5 and min(sizes) * 800 / width >= SMALLEST
