"""Python: arrows between packages go one way, lines and functions and modules are short."""

import ast
import subprocess
from pathlib import Path

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
    "tools.book": "kit stats results model report bench exact observe",
    "tools.variant": "kit stats results",
    "tools.exact": "kit results report variant",
    "labs": "kit variant",
    "variants": "kit",
}
# What tools/kit/client.py does for all.
HTTP = ("http", "urllib.request", "requests")
WIDTH = 100
FILES = sorted(path for part in ("tools", "labs", "variants")
               for path in (TOP / part).rglob("*.py"))
RECORDED = TOP / "tests/observe/test_pure.py"       # lines of strace


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
    return [name for name in imports(text) if name.partition(".")[0] in ("tools", "labs", "tests")
            and owner_of(name) not in allowed]


def test_arrows_go_one_way():
    """The product imports nothing from the tests, and no package one that imports it."""
    wrong = []
    for path in FILES:
        module = ".".join(path.relative_to(TOP).with_suffix("").parts)
        if module != "tools.__init__":
            wrong += [(module, name) for name in backward(module, path.read_text())]
    assert len(FILES) > 100 and not wrong


def test_http_has_one_client():
    """Of tools/kit."""
    assert not [(path, name) for path in FILES for name in imports(path.read_text())
                if any(f"{name}.".startswith(f"{one}.") for one in HTTP)]


def test_an_arrow_that_points_backwards_is_seen():
    """In any form of import, also inside a function."""
    assert backward("tools.stats.summary", "from tools.bench import plan") \
        == ["tools.bench.plan"]
    assert backward("tools.bench.run.cell", "def f():\n import tools.bench.command") \
        == ["tools.bench.command"]


def test_a_line_has_100_columns_at_most():
    """One width for all Python; what programs printed is as long as it is."""
    tests = set((TOP / "tests").rglob("*.py")) - {RECORDED}
    assert not [f"{path}:{number}" for path in (*FILES, *tests, *(TOP / "scripts").glob("*.py"))
                for number, line in enumerate(path.read_text().splitlines(), 1)
                if len(line) > WIDTH]


# Python is read, too: no longer functions than in C, no longer modules.
FUNCTION, MODULE = 50, 400


def too_long(path, text):
    """Return what is too long in a module: its functions, or its path."""
    functions = [f"{path}: {node.name}" for node in ast.walk(ast.parse(text))
                 if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                 and node.end_lineno - node.lineno >= FUNCTION]
    return functions + [path] * (text.count("\n") > MODULE)


def test_no_module_and_no_function_is_too_long():
    done = subprocess.run(["git", "ls-files", "*.py"], cwd=TOP, capture_output=True,
                          text=True, check=True)
    found = {one for path in done.stdout.split() if (TOP / path).exists()
             for one in too_long(path, (TOP / path).read_text())}
    assert not found


def test_one_line_too_many_is_seen():
    """Of a function, and of a module."""
    body = "def f():\n" + "    x = 1\n" * (FUNCTION - 1)
    assert not too_long("a.py", body) and too_long("a.py", body + "    x = 1\n") == ["a.py: f"]
    assert not too_long("a.py", "\n" * MODULE) and too_long("a.py", "\n" * (MODULE + 1)) == ["a.py"]
