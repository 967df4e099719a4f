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
FUNCTION, MODULE, WIDTH = 50, 400, 100          # lines, lines, columns
RECORDED = "tests/observe/test_pure.py"         # lines of strace, as long as they were


def sources(*pathspecs):
    """Return {path below TOP: text} of the Python that git tracks."""
    done = subprocess.run(["git", "ls-files", *pathspecs], cwd=TOP, capture_output=True,
                          text=True, check=True)
    return {path: (TOP / path).read_text() for path in done.stdout.split()
            if (TOP / path).exists()}


def owner_of(module):
    """Return the key of ARROWS that a module, or a name in it, belongs to; "" if none."""
    return max((one for one in ARROWS if f"{module}.".startswith(f"{one}.")),
               key=len, default="")


def imports(text):
    """Yield what a module imports, as dotted names, also inside its functions."""
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
    """The product imports nothing from the tests, no package one that imports it, and HTTP has one
    client."""
    assert backward("tools.bench.run.cell", "def f():\n import tools.bench.command") \
        == ["tools.bench.command"]
    wrong = []
    for path, text in sources("tools/*.py", "labs/*.py", "variants/*.py").items():
        module = path.removesuffix(".py").replace("/", ".")
        if module != "tools.__init__":
            wrong += [(module, name) for name in backward(module, text)]
        wrong += [(module, name) for name in imports(text)
                  if any(f"{name}.".startswith(f"{one}.") for one in HTTP)]
    assert not wrong


def test_what_is_read_is_short():
    """Python is read, as C is: its lines, its functions, its modules."""
    wrong = []
    for path, text in sources("*.py").items():
        lines = text.splitlines()
        wrong += [f"{path}:{number}: columns" for number, line in enumerate(lines, 1)
                  if len(line) > WIDTH and path != RECORDED]
        wrong += [f"{path}: {node.name}" for node in ast.walk(ast.parse(text))
                  if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                  and node.end_lineno - node.lineno >= FUNCTION]
        if len(lines) > MODULE:
            wrong.append(path)
    assert not wrong
