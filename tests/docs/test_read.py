"""docs/read/: what a forge shows of the book is what its sources say."""

import re
import subprocess
from itertools import zip_longest

import pytest

from tests.docs.conftest import BUILD_LIMIT, DOCS, READ, TOP

PICTURES = sorted((DOCS / "read" / "pictures").iterdir())
LIMIT = 600_000         # bytes of all pictures
MOVED = 3               # pixels by which another machine's fonts may move something
STALE = "docs/read/ is stale: make docs-read"
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)")
EXACT = re.compile(r"#\w+|>[^<]+<")        # colours and words


def alike(one, other):
    """Return whether two SVGs are the same but for where text of other fonts moves things."""
    return EXACT.findall(one) == EXACT.findall(other) and all(
        a == b if place % 2 == 0 or None in (a, b) else abs(float(a) - float(b)) <= MOVED
        for place, (a, b) in enumerate(zip_longest(NUMBER.split(one), NUMBER.split(other))))


@pytest.fixture(scope="module", name="made")
def made_pages(book, tmp_path_factory):
    """The folder of pages made from the sources as they are now."""
    folder = tmp_path_factory.mktemp("read")
    done = subprocess.run(
        [TOP / "build/book-venv/bin/python", "-m", "sphinx", "-b", "read", "-a", "-q", "-W",
         "-d", book / ".doctrees", DOCS, folder], cwd=TOP, text=True, check=False,
        capture_output=True, timeout=BUILD_LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_pages_are_those_of_the_sources(made):
    assert {path.name for path in made.glob("*.md")} == {path.name for path in READ}, STALE
    for path in READ:
        assert path.read_text() == (made / path.name).read_text(), f"{path.name}: {STALE}"


def test_pictures_are_those_of_the_sources(made):
    made = {path.name: path.read_text() for path in (made / "pictures").iterdir()}
    assert set(made) == {path.name for path in PICTURES}, STALE
    old = [path.name for path in PICTURES if not alike(path.read_text(), made[path.name])]
    assert not old, STALE


def test_pages_are_what_a_forge_renders():
    """No markup of the sources, no HTML but that of pictures and notes, each picture in words."""
    for path in READ:
        text = path.read_text()
        prose = re.sub(r"^(`{3,}).*?^\1$|(`+)[^`].*?\2", "", text, flags=re.MULTILINE | re.DOTALL)
        assert not re.search(r":::|\{\w+\}$", prose, re.MULTILINE), path.name
        assert {*re.findall(r"<([a-z]+)", prose)} <= {"img", "sub"}, path.name
        for picture in re.findall(r"<img.*?>", text, re.DOTALL):
            [source] = re.findall(r' src="(.*?)"', picture)
            assert (path.parent / source).is_file(), (path.name, source)
            assert re.search(r'alt="[^"]{10}.*?" ', picture), (path.name, source)


def test_pictures_are_small_and_complete():
    """An <img> loads nothing else and runs no script. Each picture is on a page, and has colours
    for both themes."""
    pages = "".join(path.read_text() for path in READ)
    for path in PICTURES:
        svg = path.read_text()
        assert f'"pictures/{path.name}"' in pages
        assert not re.search(r"<script|<image|<foreignObject|@import|href=.(?!#)|\son\w+=",
                             svg), path.name
        assert svg.count("<style>") == svg.count("prefers-color-scheme:dark") == 1, path.name
    assert sum(path.stat().st_size for path in PICTURES) <= LIMIT
