"""tests/shape.py: every budget can fail, shown on a tree made for it."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("shape", TOP / "tests/shape.py")
shape = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(shape)


class Tree:
    """A tree with seven mains and a common/, within all budgets."""

    def __init__(self, top):
        self.top = top
        for folder in shape.MAINS:
            self.write(f"{folder}/main.c", "int main(void)\n{\n    return 0;\n}\n")
        self.write("common/text.c", "int text;\n")

    def write(self, path, text):
        """Write a file of the tree."""
        file = self.top / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    def failures(self):
        """Return {what: (actual, places)} of the budgets that fail."""
        texts = shape.sources(self.top)
        budgets = [*shape.size_budgets(texts),
                   *shape.neighbour_budgets(self.top, texts),
                   *shape.closure_budgets(texts)]
        return {budget.what: (budget.actual, budget.places)
                for budget in budgets if not shape.passes(budget)}


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_a_small_tree_is_within_its_budgets(tree):
    assert tree.failures() == {}


def test_a_long_function(tree):
    tree.write("common/net.c", "int short_one(void)\n{\n}\n\nstatic int\nlong_one(\n"
               "    int a)\n{\n" + "    a++;\n" * 46 + "}\n")
    assert tree.failures() == {"longest function": (
        51, ("common/net.c:5: long_one has 51 lines",))}


def test_a_long_file(tree):
    tree.write("common/net.h", "int a;\n" * 401)
    assert tree.failures() == {"longest file": (401, ("common/net.h has 401 lines",))}


def test_sources_without_a_function_are_a_failure(tmp_path):
    assert shape.size_budgets({})[0].actual is None
    assert not shape.passes(shape.size_budgets({})[0])
    assert len(Tree(tmp_path).failures()) == 0


def test_a_missing_main_is_a_failure(tree):
    (tree.top / "03_preforking/main.c").unlink()
    assert set(tree.failures()) == {
        "changed lines 01-03", "changed lines 02-03", "changed lines 03-05"}


@pytest.mark.parametrize("pair, limit", shape.NEIGHBOURS.items())
def test_neighbours_that_differ(tree, pair, limit):
    left, right = (next(name for name in shape.MAINS if name.startswith(number))
                   for number in pair)
    tree.write(f"{left}/main.c", "int main(void)\n{\n}\n" + "a;\n" * limit)
    tree.write(f"{right}/main.c", "int main(void)\n{\n}\nb;\n")
    assert tree.failures()[f"changed lines {left[:2]}-{right[:2]}"] == (limit + 1, ())


@pytest.mark.parametrize("include, file", [
    ("#include <sys/epoll.h>", "sys/epoll.h"),
    ('#  include "event_loop.h"', "common/event_loop.h"),
    ('#include "redis_async.h"', "redis_async.h")])        # not in the tree
def test_an_epoll_header_in_the_include_closure(tree, include, file):
    tree.write("01_iterative/main.c",
               '#include "../common/net.h"\nint main(void)\n{\n}\n')
    tree.write("common/net.h", include + "\n")
    tree.write("common/event_loop.h", "\n")
    assert tree.failures() == {"include closure of 01, epoll headers": (
        1, (f"01_iterative/main.c > common/net.h > {file}",))}


def test_an_include_in_a_comment_is_none(tree):
    tree.write("01_iterative/main.c",
               "/*\n#include <sys/epoll.h>\n*/\nint main(void)\n{\n}\n")
    assert tree.failures() == {}


# ------------------------------------------------------------------ reading C

@pytest.mark.parametrize("text, lines, code", [
    ("", 0, 0),
    ("int a; /* comment */\n", 1, 1),
    ("// comment\nint a;\n\n", 3, 1),
    ("/*\n * comment\n\n */\nint a;\n", 5, 1),
    ('char *a = "/* no comment";\nint b; // "*/\n', 2, 2),
    ("char a = '\"'; /* \"\n */ int b;\n", 2, 2),
    ("/* one */ /* two */\n", 1, 0)])
def test_lines_of_code(text, lines, code):
    assert shape.count_lines(text) == (lines, code)


FUNCTIONS = r"""
/* not_a_function() { */
#define MACRO(x) { \
    x }
struct point { int x; int (*move)(int); };
static const struct point table[] = {
    {.x = sizeof(int)},
};
enum { A, B };
struct __attribute__((packed)) small { char c; };
int declared(int a);

/* Its comment does not count. */
static struct point *one_that_returns_a_struct(
    int a, char b)
{
    if (a) {
        return "}" ? 0 : '{';
    }
}

int short_one(void) { return 1; }
__attribute__((noreturn)) void last(void)
{
}
"""


def test_functions():
    assert list(shape.functions(FUNCTIONS)) == [
        ("one_that_returns_a_struct", 14, 7), ("short_one", 22, 1), ("last", 23, 3)]


def test_lines_are_added_up_by_folder():
    rows = shape.line_table({"common/redis.c": "a\n\n", "common/net.h": "a\n",
                             "01_iterative/main.c": "/* a */\n"})
    assert rows == [("01_iterative", 1, 0), ("common", 3, 2)]


# ------------------------------------------------------------ one GET, counted

MAKEFILE = """
build/gcov/bin/iterative: 01_iterative/main.c $(wildcard common/*.c)
\tmkdir -p build/gcov/bin
\tfor c in $^; do gcc $(CFLAGS) -c -o build/gcov/$$(basename $$c .c).o $$c || exit; done
\tgcc $(CFLAGS) -o $@ $(^F:%.c=build/gcov/%.o) $(LDFLAGS)
"""
SERVER = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <unistd.h>
int at_start(void); int always(int); int warm(int);
int main(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0), n, client;
    char text[999];

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(fd, (struct sockaddr *)&a, size);
    listen(fd, 9 + at_start());
    getsockname(fd, (struct sockaddr *)&a, &size);
    printf("a warning\n");
    printf("listening on http://127.0.0.1:%d/ (x)\n", ntohs(a.sin_port));
    fflush(stdout);
    for (n = 1; (client = accept4(fd, 0, 0, SOCK_CLOEXEC)) >= 0; n++) {
        if (read(client, text, sizeof text) && n != 2)
            n += warm(0);
        n += always(0);
        dprintf(client, "HTTP/1.1 200 OK\r\n\r\n");
        close(client);
    }
}
"""


def test_the_files_of_one_get_are_found(tree):
    """What runs at the start, for the first client or for the third, does not
    count."""
    tree.write("Makefile", MAKEFILE)
    tree.write("01_iterative/main.c", SERVER)
    for name in ("at_start", "always", "warm"):
        argument = "void" if name == "at_start" else "int a"
        tree.write(f"common/{name}.c", f"int {name}({argument});\n"
                   f"int {name}({argument})\n{{\n    return 0;\n}}\n")
    assert shape.touched_files(tree.top) == ["01_iterative/main.c", "common/always.c"]


def test_too_many_files_are_a_failure(tree, monkeypatch):
    files = [f"common/{n}.c" for n in range(15)]
    monkeypatch.setattr(shape, "touched_files", lambda top: files)
    budget = shape.touched_budget(tree.top)
    assert not shape.passes(budget) and budget.places == tuple(files)


def test_a_server_that_cannot_be_built_is_a_failure(tree):
    tree.write("Makefile", "build/gcov/bin/iterative:\n\tfalse\n")
    budget = shape.touched_budget(tree.top)
    assert not shape.passes(budget) and "could not be measured" in budget.places[0]


# ------------------------------------------------------------------ the report

def shape_py(*words):
    """Run the script; return the CompletedProcess."""
    return subprocess.run([sys.executable, TOP / "tests/shape.py", *words],
                          capture_output=True, text=True, check=False)


def test_the_report_closes_with_the_count(tree):
    tests = 2 + len(shape.NEIGHBOURS) + 1
    done = shape_py("--top", str(tree.top), "--no-gcov")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == f"{tests} passed, 0 failed"
    tree.write("common/net.h", "int a;\n" * 401)
    done = shape_py("--top", str(tree.top), "--no-gcov")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == f"{tests - 1} passed, 1 failed"
    assert "common/net.h has 401 lines" in done.stdout
