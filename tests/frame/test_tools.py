"""tools/ and labs/: arrows between packages go one way, and one line has 100 columns."""

import ast
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
# What each may import, besides itself. A module is in the longest of these that its name begins
# with: the programs of bench that a user starts put measuring and drawing together.
ARROWS = {
    "tools.kit": "",
    "tools.stats": "",
    "tools.results": "",
    "tools.model": "kit stats results",
    "tools.bench": "kit stats results",
    "tools.report": "kit stats results model bench",
    "tools.fleet": "kit results bench",
    "tools.bench.command": "kit results bench report fleet",
    "tools.bench.__main__": "bench",
    "tools.observe": "kit stats results model report bench bench.command",
    "tools.book": "kit stats results model report bench",
    "tools.variant": "kit stats results",    # and TESTED below
    "labs": "kit variant",
}
# Checking a variant is testing it: it starts servers as the tests do, and variants/NAME.py asks
# them with the tests' client. Nothing else in tools/ or labs/ may.
TESTED = {"tools.variant": "tests.support"}
WIDTH = 100
FILES = sorted(path for part in ("tools", "labs") for path in (TOP / part).rglob("*.py"))


def owner_of(module):
    """Return the key of ARROWS that a module, or a name in it, belongs to; "" if none."""
    return max((one for one in ARROWS if f"{module}.".startswith(f"{one}.")),
               key=len, default="")


def imports(text):
    """Yield what a module imports, as dotted names."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names)


def backward(module, text):
    """Return the imports of `module` that ARROWS does not have."""
    mine = owner_of(module)
    allowed = {mine, *(f"tools.{one}" for one in ARROWS[mine].split())}
    tested = TESTED.get(module, "none")
    return [name for name in imports(text) if name.partition(".")[0] in ("tools", "labs", "tests")
            and owner_of(name) not in allowed and not name.startswith(f"{tested}.")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TOP)))
def test_arrows_go_one_way(path):
    """The product imports nothing from the tests, and no package one that imports it."""
    module = ".".join(path.relative_to(TOP).with_suffix("").parts)
    if module != "tools.__init__":
        assert not backward(module, path.read_text())


def test_an_arrow_that_points_backwards_is_seen():
    """In any form of import, also inside a function."""
    assert backward("tools.stats.summary", "from tools.bench import plan") \
        == ["tools.bench.plan"]
    assert backward("tools.bench.run.cell", "def f():\n import tools.bench.command") \
        == ["tools.bench.command"]
    assert backward("tools.kit.wait", "from tests.blackbox import client") \
        == ["tests.blackbox.client"]


@pytest.mark.parametrize("path", [path for path in FILES if path.is_relative_to(TOP / "tools")],
                         ids=lambda path: str(path.relative_to(TOP)))
def test_a_line_has_100_columns_at_most(path):
    """One width for all of tools/."""
    assert not [number for number, line in enumerate(path.read_text().splitlines(), 1)
                if len(line) > WIDTH]
