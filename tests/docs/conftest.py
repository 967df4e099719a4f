"""What the tests of docs/ share: the pages, and what else a reader meets."""

import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
DOCS = TOP / "docs"
sys.path.insert(0, str(TOP))

PAGES = sorted(path for path in DOCS.rglob("*.md"))
CHAPTERS = sorted((DOCS / "tutorial").glob("0[1-7]_*.md"))
# Their links and commands have to work, too.
GUIDES = [TOP / "README.md", TOP / "CONTRIBUTING.md", TOP / "CHANGES.md",
          TOP / "observe" / "README.md",
          *sorted((TOP / "variants").glob("*.md")),
          *sorted((TOP / "labs").rglob("*.md"))]


def name_of(path):
    """Return a document's name as pytest shows it."""
    return str(path.relative_to(TOP))
