"""tests/layering.py on objects that are made up: what it must notice."""

import subprocess
import sys

import pytest

from tests import layering
from tests.support.servers import TOP


def module(defined="", undefined="", variables=""):
    """Return an Object from words."""
    return layering.Object(set(defined.split()), set(undefined.split()),
                           set(variables.split()))


def failures(**modules):
    """Return what fails in a pure layer of empty roots and these modules."""
    objects = {**{root: module() for root in layering.ROOTS}, **modules}
    return [why for passed, why in layering.examine(objects) if not passed]


def test_a_call_is_found_through_other_modules():
    assert failures() == []
    assert failures(text=module(undefined="a"), one=module("a", "b"),
                    two=module("b", "__read_chk malloc")) == ["text > one > two calls read"]
    assert failures(one=module("a", "read"), event_loop=module("b", "epoll_wait")) == []


def test_no_driver_may_be_reached():
    for driver in layering.DRIVERS:
        assert failures(text=module(undefined="a"), **{driver: module("a", "read")}) == \
            [f"text reaches a driver: {driver} (a)"]


def test_files_of_the_site_may_be_opened_in_one_place():
    calls = "__openat64_2 syscall fstat64 fstatat64 pread64 close"
    for name in layering.FILE_OBJECTS:
        reached = {"text": module(undefined="a")}
        assert failures(**reached, **{name: module("a", calls)}) == []
        assert failures(**reached, **{name: module("a", calls + " read time")}) == \
            [f"text > {name} calls read, time"]
    assert failures(text=module(undefined="pread64")) == ["text calls pread"]


def test_only_signals_has_variables():
    for name in ("text", "serve_blocking"):
        assert failures(**{name: module(variables="b a")}) == \
            [f"common/{name}.c has variables: a, b"]
    assert failures(signals=module(variables="a")) == []


def test_what_waits_or_speaks_to_redis_is_found_under_each_name_of_glibc():
    for name in ("accept4 poll epoll_pwait2 __read_chk send pwrite __open_2 fstat64 __fxstat64 "
                 "clock_gettime getrandom pthread_mutex_lock fork waitpid kill nanosleep syscall "
                 "redisCommand freeReplyObject exit __fprintf_chk sendfile sigaction").split():
        assert failures(text=module(undefined=name)) == \
            [f"text calls {layering.plain_name(name)}"]
    for name in ("malloc memcpy snprintf strtoll redis_command gmtime_r __stack_chk_fail "
                 "__errno_location timegm opening reader").split():
        assert failures(text=module(undefined=name)) == [], name


def test_a_wait_until_a_time_of_day_is_found():
    for name in layering.CALENDAR_WAITS:
        objects = {"04_threaded": module(undefined=f"main {name} pthread_cond_clockwait")}
        assert [why for passed, why in layering.calendar_waits(objects) if not passed] == \
            [f"04_threaded waits until a time of day: {name}"]


@pytest.mark.parametrize("include, passes", [
    ('"clock.h"', True), ('"server.h"', False), ("<hiredis/hiredis.h>", False)])
def test_what_the_pure_layer_may_include(tmp_path, include, passes):
    for name, text in (("text.c", f"#include {include}\n"), ("clock.h", "\n"),
                       ("server.h", "\n")):
        (tmp_path / name).write_text(text)
    assert [passed for passed, _ in layering.compile_alone(tmp_path, {"text"})] == [passes]


def test_a_name_in_the_rules_that_no_source_has_is_a_failure(tmp_path):
    assert not any(passed for passed, _ in layering.names_without_source(tmp_path))


def test_an_empty_folder_fails(tmp_path):
    done = subprocess.run([sys.executable, TOP / "tests/layering.py", tmp_path],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not done.stdout.splitlines()[-1].endswith(", 0 failed")


def test_a_circle_of_includes_is_found(tmp_path):
    for name, included in [("a.h", "b"), ("b.c", "c"), ("c.h", "a"), ("d.c", "c")]:
        (tmp_path / name).write_text(f'#include <d.h>\n#include "{included}.h"\n')
    found = [why for passed, why in layering.circles(layering.includes(tmp_path))
             if not passed]
    assert found == ["a includes itself: a > b > c > a",
                     "b includes itself: b > c > a > b",
                     "c includes itself: c > a > b > c"]
