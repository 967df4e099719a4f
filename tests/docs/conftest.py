"""What the tests of docs/ share: the documents, and the tools that fill them."""

import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
DOCS = TOP / "docs"
sys.path.insert(0, str(DOCS))

from filling import run  # noqa: E402

DOCUMENTS = sorted(DOCS.glob("*.md"))
CHAPTERS = [path for path in DOCUMENTS if path.name[:2].isdigit()]
# What else a reader meets; its links and commands have to work, too.
GUIDES = [TOP / "README.md", TOP / "CONTRIBUTING.md", TOP / "CHANGES.md",
          TOP / "observe" / "README.md",
          *sorted((TOP / "variants").glob("*.md"))]


def name_of(path):
    """Return a document's name as pytest shows it."""
    return str(path.relative_to(TOP))


@pytest.fixture(scope="session")
def context():
    """The committed reference run and all else that chapters quote."""
    return run.Context(DOCS)
