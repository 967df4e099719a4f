"""tests/layering.py on objects that are made up: what it must notice."""

import os
import shlex
import subprocess

import pytest

from tests import layering


def test_what_is_found_under_each_name_of_glibc():
    """A wait, an answer of Redis, a wait until a time of day; and what is none of these."""
    objects = {root: layering.Object(set(), set(), set()) for root in layering.ROOTS}

    def failures(name):
        objects["text"] = layering.Object(set(), {name}, set())
        return [why for passed, why in [*layering.examine(objects),
                                        *layering.calendar_waits(objects)] if not passed]

    for name in ("accept4 epoll_pwait2 __read_chk __open_2 fstat64 __fxstat64 clock_gettime "
                 "pthread_mutex_lock fork syscall redisCommand __fprintf_chk sigaction").split():
        assert failures(name) == [f"text calls {layering.plain_name(name)}"]
    assert "text waits until a time of day: sem_timedwait" in failures("sem_timedwait")
    for name in "malloc memcpy snprintf redis_command __stack_chk_fail opening reader".split():
        assert not failures(name), name


def test_a_name_in_the_rules_that_no_source_has_is_a_failure(tmp_path):
    assert not any(passed for passed, _ in layering.names_without_source(tmp_path))


@pytest.mark.parametrize("include, passes", [
    ('"clock.h"', True), ('"server.h"', False), ("<hiredis/hiredis.h>", False)])
def test_what_the_pure_layer_may_include(tmp_path, include, passes):
    for name, text in (("text.c", f"#include {include}\n"), ("clock.h", "\n"),
                       ("server.h", "\n")):
        (tmp_path / name).write_text(text)
    assert [passed for passed, _ in layering.compile_alone(tmp_path, {"text"})] == [passes]


@pytest.mark.parametrize("last, passes", [("a", False), ("e", True)])
def test_a_circle_of_includes_is_found(tmp_path, last, passes):
    for name, included in [("a.h", "b"), ("b.c", "c"), ("c.h", last), ("d.c", "c")]:
        (tmp_path / name).write_text(f'#include <d.h>\n#include "{included}.h"\n')
    passed, why = layering.circle(layering.includes(tmp_path))
    assert passed == passes
    assert passes or why.rpartition(": ")[2] in ("a > b > c > a", "b > c > a > b", "c > a > b > c")


# A tree of made-up modules. Each has the name of a real one, since the rules go
# by names.
MADE_UP = {
    # Pure, and it reaches everything below.
    "http_conn": """
        int router_a(void); int file_table_open(const char *); int text_b(int);
        int http_conn_a(void);
        int http_conn_a(void) { return router_a() + file_table_open("") + text_b(1); }""",
    # Calls nothing that is forbidden, but reaches what does.
    "router": """
        int indirect_c(char *); int router_a(void); int net_d(void);
        int router_a(void) { char c[9]; return indirect_c(c) + net_d(); }""",
    # Two steps away from the root.
    "indirect": """
        #include <unistd.h>
        #include <poll.h>
        int indirect_c(char *p);
        int indirect_c(char *p) { return (int)read(poll(0, 0, 1), p, 9); }""",
    # A driver. The check reports the step into it and looks no further.
    "net": """
        #include <unistd.h>
        int net_d(void); int net_d(void) { return getppid() + close(1); }""",
    # The exception, with one call that it does not cover.
    "file_table": """
        #include <fcntl.h>
        #include <time.h>
        #include <unistd.h>
        int file_table_open(const char *name);
        int file_table_open(const char *name) {
            return openat(3, name, O_RDONLY) + close(4) + (int)time(0); }""",
    # Variables of every kind, and constants that are none.
    "text": """
        int counter; static int started = 1; static __thread int mine;
        static const char *movable[] = {"a", "b"};
        static const char *const fixed[] = {"c", "d"};
        static const int number = 3;
        int text_b(int n); const char *text_c(int n);
        int text_b(int n) { static int calls; mine += n + number;
            return calls++ + counter++ + started++ + mine; }
        const char *text_c(int n) { movable[n] = fixed[n]; return movable[1 - n]; }""",
}


def test_each_finding_in_a_tree_of_compiled_modules(tmp_path):
    """With what a compiler and nm make of them."""
    compiler = shlex.split(os.environ.get("CC", "gcc"))
    for name, source in MADE_UP.items():
        subprocess.run([*compiler, "-O2", "-fPIE", "-w", "-D_GNU_SOURCE",
                        "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-c", "-x", "c", "-",
                        "-o", tmp_path / f"{name}.o"], input=source, text=True, check=True)
    found = {why for passed, why in layering.examine(layering.read_folder(tmp_path))
             if not passed}
    missing = {why for why in found if why.endswith("is missing")}
    assert found - missing == {
        "router > indirect calls poll, read", "router reaches a driver: net (net_d)",
        "http_conn > file_table calls time",
        "common/text.c has variables: calls, counter, mine, movable, started"}
    assert "http_parser.o, a root of the pure layer, is missing" in missing
