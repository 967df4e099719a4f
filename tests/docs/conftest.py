"""What the tests of docs/ share: the pages, and what else a reader meets."""

import functools
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.myst_role import myst_role_plugin

from tests.support import chromium
from tools.book import figures
from tools.report import join

TOP = Path(__file__).resolve().parents[2]
DOCS = TOP / "docs"

READ = sorted((DOCS / "read").glob("*.md"))         # made of the others
PAGES = sorted({*DOCS.rglob("*.md")} - {*READ})
CHAPTERS = sorted((DOCS / "tutorial").glob("0[1-9]_*.md"))
# Their links and commands have to work, too.
GUIDES = [TOP / "README.md", TOP / "CONTRIBUTING.md", TOP / "SECURITY.md", TOP / "CHANGES.md",
          TOP / "tools" / "observe" / "README.md",
          *sorted((TOP / "variants").glob("*.md")),
          *sorted((TOP / "labs").rglob("*.md"))]
MARKDOWN = MarkdownIt().use(myst_role_plugin).use(anchors_plugin, max_level=6)
# Without what a make that runs the tests says to a make below it.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
BUILD_LIMIT = 300       # seconds; about ten on an idle machine


def name_of(path):
    """Return a document's name as pytest shows it."""
    return str(path.relative_to(TOP))


@functools.cache
def tokens(path):
    """Return [(line, token)] of a document as markdown-it reads it: blocks,
    and what is inside their lines."""
    found, line = [], 1
    for block in MARKDOWN.parse(path.read_text()):
        line = block.map[0] + 1 if block.map else line
        found += [(line, block), *((line, one) for one in block.children or ())]
    return found


def guess_of(html):
    """Return what the script of a page gets, which lets the reader draw a curve."""
    [text] = re.findall(r'<div class="guess"[^>]*><script type="application/json">(.*?)</script>',
                        html)
    return json.loads(text)


@pytest.fixture(scope="session")
def reference():
    """The run that the book is built on."""
    return figures.Run(join.REFERENCE)


@pytest.fixture(scope="session")
def book():
    """The built book's folder."""
    done = subprocess.run(["make", "book"], cwd=TOP, env=ENVIRONMENT, text=True,
                          capture_output=True, check=False, timeout=BUILD_LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    return TOP / "build" / "book"


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium that records what it asks for."""
    with chromium.chromium() as found:
        yield found
