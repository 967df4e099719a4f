"""tests/layering.py on objects that are made up. It also tests its own rules."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("layering", TOP / "tests/layering.py")
layering = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(layering)


def module(defined="", undefined="", variables=""):
    """Return an Object from words."""
    return layering.Object(set(defined.split()), set(undefined.split()),
                           set(variables.split()))


def failures(**modules):
    """Return what fails in a pure layer of empty roots and these modules."""
    objects = {**{root: module() for root in layering.ROOTS}, **modules}
    return [why for passed, why in layering.examine(objects) if not passed]


def test_empty_modules_pass():
    assert failures() == []


def test_a_call_is_found_through_other_modules():
    assert failures(text=module(undefined="a"), one=module("a", "b"),
                    two=module("b", "__read_chk malloc")) == \
        ["text > one > two calls read"]


def test_an_object_outside_the_layer_may_call_anything():
    assert failures(one=module("a", "read"), event_loop=module("b", "epoll_wait")) == []


@pytest.mark.parametrize("driver", sorted(layering.DRIVERS))
def test_no_driver_may_be_reached(driver):
    found = {"text": module(undefined="a"), "one": module("a", "b"),
             driver: module("b", "read")}
    assert failures(**found) == [f"text > one reaches a driver: {driver} (b)"]


@pytest.mark.parametrize("name", sorted(layering.FILE_OBJECTS))
def test_files_of_the_site_may_be_opened_in_one_place(name):
    calls = "__openat64_2 syscall fstat64 fstatat64 pread64 close"
    reached = {"text": module(undefined="a")}
    assert failures(**reached, **{name: module("a", calls)}) == []
    assert failures(**reached, **{name: module("a", calls + " read time")}) == \
        [f"text > {name} calls read, time"]
    assert failures(**reached, one=module("a", "pread64")) == ["text > one calls pread"]


@pytest.mark.parametrize("name", ["text", "serve_blocking"])
def test_variables(name):
    assert failures(**{name: module(variables="b a")}) == \
        [f"common/{name}.c has variables: a, b"]
    assert failures(signals=module(variables="a")) == []


@pytest.mark.parametrize("symbol, name", [
    ("__read_chk", "read"), ("__open_2", "open"), ("__openat64_2", "openat"),
    ("__pread64_chk", "pread"), ("fstat64", "fstat"), ("__fxstat64", "fstat"),
    ("__fprintf_chk", "fprintf"), ("accept4", "accept4"), ("openat2", "openat2"),
    ("epoll_create1", "epoll_create1"), ("__errno_location", "__errno_location"),
    ("__xstat64", "stat")])
def test_names_of_glibc(symbol, name):
    assert layering.plain_name(symbol) == name


@pytest.mark.parametrize("name", """
    socket accept accept4 poll ppoll epoll_wait epoll_pwait2 read write send
    recv readv pwrite close open openat clock_gettime time gettimeofday getrandom
    pthread_mutex_lock fork vfork wait waitpid wait4 kill sleep nanosleep syscall
    redisCommand redisAppendCommandArgv freeReplyObject exit printf vfprintf
    sendfile getsockopt setsockopt sigaction fstat stat fopen""".split())
def test_forbidden(name):
    assert failures(text=module(undefined=name)) == [f"text calls {name}"]


@pytest.mark.parametrize("name", """
    malloc free memcpy strlen snprintf vsnprintf strtoll redis_command gmtime_r
    __stack_chk_fail __errno_location timegm opening reader""".split())
def test_allowed(name):
    assert failures(text=module(undefined=name)) == []


def test_our_own_names_are_no_foreign_ones():
    assert failures(text=module(undefined="redisOurs"), one=module("redisOurs")) == []


def test_objects_of_deleted_sources_are_skipped(tmp_path):
    folder, sources = tmp_path / "build/default/common", tmp_path / "common"
    folder.mkdir(parents=True)
    sources.mkdir()
    for name in ("text", "deleted"):
        subprocess.run(["gcc", "-c", "-x", "c", "-", "-o", folder / f"{name}.o"],
                       input=f"int {name};", text=True, check=True)
    (sources / "text.c").touch()
    assert set(layering.read_folder(folder, sources)) == {"text"}


@pytest.mark.parametrize("name", sorted(layering.CALENDAR_WAITS))
def test_a_wait_until_a_time_of_day_is_found(name):
    objects = {"text": module(), "04_threaded": module(undefined=f"main {name}")}
    assert [why for passed, why in layering.calendar_waits(objects) if not passed] \
        == [f"04_threaded waits until a time of day: {name}"]


def test_waits_on_a_clock_of_choice_are_allowed():
    objects = {"one": module(undefined="pthread_cond_clockwait "
                             "pthread_clockjoin_np pthread_cond_wait")}
    assert all(passed for passed, _ in layering.calendar_waits(objects))


def test_each_name_in_the_rules_has_its_source(tmp_path):
    failed = [why for passed, why in layering.names_without_source(tmp_path)
              if not passed]
    assert len(failed) == len(layering.DRIVERS | layering.FILE_OBJECTS
                              | layering.MAY_VARY | layering.READS_REPLIES)
    results = layering.names_without_source(TOP / "common")
    assert [why for passed, why in results if not passed] == []


@pytest.mark.parametrize("include, passes", [
    ('"clock.h"', True), ('"server.h"', False), ("<hiredis/hiredis.h>", False)])
def test_what_the_pure_layer_may_include(tmp_path, include, passes):
    for name, text in (("text.c", f"#include {include}\n"), ("clock.h", "\n"),
                       ("server.h", "\n")):
        (tmp_path / name).write_text(text)
    assert [passed for passed, _ in layering.compile_alone(tmp_path, {"text"})] \
        == [passes]


def test_an_empty_folder_fails(tmp_path):
    done = subprocess.run([sys.executable, TOP / "tests/layering.py", tmp_path],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].endswith(f", {len(layering.ROOTS)} failed")


def test_a_circle_of_includes_is_found(tmp_path):
    for name, included in [("a.h", "b"), ("b.c", "c"), ("c.h", "a"), ("d.c", "c")]:
        (tmp_path / name).write_text(f'#include <d.h>\n#include "{included}.h"\n')
    found = [why for passed, why in layering.circles(layering.includes(tmp_path))
             if not passed]
    assert found == ["a includes itself: a > b > c > a",
                     "b includes itself: b > c > a > b",
                     "c includes itself: c > a > b > c"]
