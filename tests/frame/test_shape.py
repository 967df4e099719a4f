"""tests/shape.py: limits can be exceeded, shown on a tree made for it."""

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
MAIN = "int main(void)\n{\n    return 0;\n}\n"


@pytest.fixture
def tree(tmp_path):
    """tree(path, text) writes a file of a tree that is within all limits."""
    def write(path, text):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)

    write.top = tmp_path
    for folder in TOP.glob("0[1-9]_*"):
        write(f"{folder.name}/main.c", MAIN)
    write("common/text.c", "int text; /* why? '\"' */\n" * 300)
    return write


@pytest.mark.parametrize("path, text, said", [
    ("common/net.c", "int short_one(void)\n{\n}\n\nstatic int\nlong_one(\n    int a)\n{\n"
     + "    a++; // }\n" * 46 + "}\n", "common/net.c:5: long_one has 51 lines"),
    ("common/net.c", "#define a(b) {\n}\n", "longest function: missing"),
    ("common/net.h", "int a;\n" * 401, "common/net.h has 401 lines"),
    ("common/net.h", f"{'int a;':77}\n" * 60, "columns or more"),
    ("common/net.h", "int a = b ? 1 : 2;\n" * 131, "common/net.h:131"),
    ("07_epoll/main.c", MAIN + "int a;\n" * 131, "changed lines 06-07: 131"),
    ("01_iterative/main.c", MAIN + '#  include "../common/text.h"\n', "epoll.h"),
    ("01_iterative/main.c", MAIN + "#include <sys/epoll.h>\n", "main.c > epoll.h")],
    ids=["function", "unknown", "file", "wide", "questions", "neighbours", "include", "epoll"])
def test_an_exceeded_limit_is_named(tree, path, text, said):
    """And no other."""
    tree("common/text.h", "#include <sys/epoll.h>\n")
    tree(path, text)
    done = subprocess.run(
        [sys.executable, TOP / "tests/shape.py", "--no-gcov", "--top", tree.top],
        stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and said in done.stdout.partition("FAILED:")[2]
    assert done.stdout.splitlines()[-1].endswith(", 1 failed")


def test_lines_are_added_up_by_folder():
    done = subprocess.run([sys.executable, TOP / "scripts/lines.py"], stdout=subprocess.PIPE,
                          text=True, check=True)
    rows = {tuple(line.split()[:2]): int(line.split()[2])
            for line in done.stdout.splitlines()[1:]}
    assert rows["C", "01_iterative"] == (TOP / "01_iterative/main.c").read_text().count("\n")
    for language in "C", "Python":
        total = rows.pop((language, "total"))
        assert total == sum(count for (one, _), count in rows.items() if one == language)
