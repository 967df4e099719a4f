"""tests/blackbox/sampling.py: no case of the protocol may be left out."""

import collections
import functools
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location(
    "sampling", TOP / "tests/blackbox/sampling.py")
sampling = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sampling)
SERVERS = "iterative forking preforking threaded prethreaded poll epoll".split()


def test_three_servers_run_a_case_and_the_third_rotates():
    third = collections.Counter()
    for number in range(100):
        first, second, other = sampling.servers_for(number, SERVERS, "three")
        assert (first, second) == ("iterative", "epoll")
        third[other] += 1
    assert third == {name: 20 for name in SERVERS[1:-1]}


def test_two_servers_of_different_kinds_run_a_case():
    chosen = collections.Counter()
    for number in range(10):
        blocking, loop = sampling.servers_for(number, SERVERS, "two")
        assert loop in sampling.LOOPS and blocking not in sampling.LOOPS
        chosen[blocking, loop] += 1
    assert len(chosen) == 10                # every pair


@pytest.mark.parametrize("servers", [["epoll"], ["poll"], ["threaded", "prethreaded"],
                                     ["iterative", "epoll"], ["forking", "poll"]])
@pytest.mark.parametrize("mode", sampling.MODES)
def test_each_case_runs_on_one_of_few_servers_too(servers, mode):
    for number in range(20):
        chosen = sampling.servers_for(number, servers, mode)
        assert chosen and set(chosen) <= set(servers)


def test_cases_of_a_test_are_numbered_consecutively():
    numbering = sampling.Numbering()
    first = numbering.number("file", "test", ("a",))
    assert numbering.number("file", "test", ("b",)) == first + 1
    assert numbering.number("file", "test", ("a",)) == first
    assert sampling.Numbering().number("file", "test", ("z",)) == first


def test_tests_with_one_case_spread():
    numbers = {sampling.Numbering().number("file", f"test_{n}", ()) % 5
               for n in range(30)}
    assert numbers == set(range(5))


def test_every_slow_test_and_every_file_of_the_protocol_exists():
    for file in {*sampling.FILES["two"], *sampling.SLOW}:
        text = (TOP / f"tests/blackbox/{file}.py").read_text()
        for name in sampling.SLOW.get(file) or ():
            assert re.search(rf"^def {name}\(", text, re.MULTILINE), name


# ------------------------------------------------------------- as pytest sees it

@functools.lru_cache
def ids(*options):
    """Return the ids of the tests that pytest would run."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m",
         "not browser", "-p", "no:cacheprovider", "tests/blackbox", *options],
        cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {line for line in done.stdout.splitlines() if "::" in line}


@pytest.fixture(scope="module")
def full():
    return ids()


def without_server(name):
    """Return the id of a test, such as file::test[epoll-POST], without its server."""
    return re.sub(rf"(?<=[\[-])(?:{'|'.join(SERVERS)})(?=[\]-])", "", name, count=1)


@pytest.mark.parametrize("mode", sampling.MODES)
def test_no_case_is_left_out(full, mode):
    sample = ids("--sample", mode)
    assert sample < full
    assert {*map(without_server, sample)} == {*map(without_server, full)}
    assert sample == ids.__wrapped__("--sample", mode), "the same choice each time"


@pytest.mark.parametrize("mode", sampling.MODES)
def test_all_else_stays_on_all_seven(full, mode):
    dropped = {re.search(r"(\w+)\.py::", name)[1]
               for name in full - ids("--sample", mode)}
    assert dropped == sampling.FILES[mode]


def test_architecture_signals_and_guestbook_stay_on_all_seven():
    assert not {"test_models", "test_signals"} & sampling.FILES["two"]
    assert not {"test_guestbook", "test_redis"} & sampling.FILES["three"]


def test_full_is_the_default_and_has_the_last_word(full):
    assert ids("--sample", "two", "--full") == full


def test_slow_tests_can_be_left_out(full):
    quick = ids("-m", "not browser and not slow")
    assert quick < full
    assert not any("test_timeouts.py" in name for name in quick)
