"""`make timeline SERVER=nginx`: other people's servers under the same recorder."""

import itertools
import re

import pytest

from tests.observe.test_timeline import busy
from tests.support import FULL
from tools.observe import lab
from tools.observe.clients import Client
from tools.observe.real import exchanges, programs, record
from tools.observe.timeline import rows
from tools.observe.timeline.strace import Call, parse

WAIT = 0.15
LISTENER = "<TCP:[127.0.0.1:80]>"
CLIENT = "<TCP:[127.0.0.1:80->127.0.0.1:900]>"
BACKEND = "<TCP:[127.0.0.1:50->127.0.0.1:8000]>"
WORLD = rows.World({80}, {8000}, {900: 1})
FOUND = {name: all(map(programs.find, program.needs))
         for name, program in programs.known().items()}


@pytest.mark.parametrize("name", programs.known())
def test_a_program_says_what_it_is(name):
    program = programs.known()[name]
    assert re.match(r"0[1-9]\b", program.model)
    assert all((programs.HERE / file).is_file() for file in program.files)
    assert exchanges.of(program.ask, 0.1).text
    assert set(program.habits) <= {"parks", "moves", "timers"}


@pytest.mark.parametrize("name, waves, together", [
    ("nginx", 1, 8), ("apache-prefork", 2, 4), ("apache-worker", 2, 4), ("apache-event", 2, 4),
    ("node", 1, 8), ("go", 1, 8), ("java", 2, 4), ("postgresql", 1, 8)])
def test_a_burst_takes_the_waves_of_its_model(name, waves, together):
    if not FOUND[name] or not (FULL or name == "nginx"):
        pytest.skip(f"no {name} here" if FULL else "recorded with FULL=1")
    # Another program may have the CPU while they connect, as for the seven.
    for attempt in reversed(range(10)):
        made, seen = record.record(programs.known()[name], 8, WAIT / record.COMMANDS)
        assert made.failed == 0 and "wait" in seen
        assert made.seconds >= waves * WAIT
        if busy(made, "other" if name == "postgresql" else "redis") == together:
            return
        assert attempt, [(row.name, row.bars) for row in made.rows]


@pytest.mark.skipif(not FOUND["redis"], reason="no Redis here")
def test_the_answers_of_redis_leave_when_all_have_been_computed():
    for attempt in reversed(range(10)):     # all four must have asked before it looks
        made, _ = record.record(programs.known()["redis"], 4, WAIT)
        assert made.failed == 0
        ends = [row.bars[-1].end - made.begin for row in made.rows if row.role == "client"]
        if min(ends) > 0.8 * max(ends):
            return
        assert attempt, ends


def test_a_program_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(programs, "find", lambda name: "")
    with pytest.raises(lab.LabError, match="deps.sh real.*apache2-bin"):
        programs.places_of(programs.known()["apache-event"])


def trace(*calls):
    """Return Calls from (thread, begin, end, name, arguments, result)."""
    return [Call(*call) for call in calls]


def test_work_that_moves_between_threads_is_followed_on_the_socket():
    calls = trace((1, 0.0, 1.0, "accept4", "3" + LISTENER, "7" + CLIENT),
                  (2, 2.0, 2.1, "read", "7" + CLIENT + ', ""', "-1 EAGAIN"),
                  (3, 3.0, 4.0, "read", "7" + CLIENT + ', "GET /"', "5"),
                  (2, 9.0, 9.1, "write", "7" + CLIENT + ', "HTTP"', "4"))
    bars = rows.moving_bars(Client(1, 900, 0.5, 9.5, 200), calls)
    assert [(bar.kind, bar.begin, bar.end) for bar in bars] == [
        ("queue", 0.5, 1.0), ("other", 1.0, 4.0), ("redis", 4.0, 9.0)]
    assert all(first.end == second.begin for first, second in itertools.pairwise(bars))


def test_habits_decide_what_a_sleep_is():
    def kinds(call, *habits):
        world = rows.World({80}, {8000}, {900: 1}, frozenset(habits))
        return [bar.kind for bar in rows.worker_bars(trace(call), world)]
    park = (1, 0.0, 1.0, "futex", "0x1, FUTEX_WAIT_PRIVATE, 0, NULL", "0")
    sleep = (1, 0.0, 1.0, "epoll_wait", "4<anon_inode:[eventpoll]>, [], 1, 1000", "0")
    assert kinds(park) == ["lock"] and kinds(park, "parks") == ["idle"]
    assert kinds(sleep) != ["other"] and kinds(sleep, "timers") == ["other"]


def test_an_answer_of_a_program_that_is_no_redis_ends_the_wait_for_it():
    """nginx's answers come in one piece or in several: the first ends the wait."""
    text = "\n".join(
        f'1 {at:.6f} {call}' for at, call in [
            (1.0, f'sendto(5{BACKEND}, "GET / HTTP/1.1\\r\\n\\r\\n", 18, 0, NULL, 0) = 18 '
                  '<0.000010>'),
            (1.1, 'epoll_wait(4<anon_inode:[eventpoll]>, [], 8, -1) = 1 <0.500000>'),
            (1.7, f'recvfrom(5{BACKEND}, "HTTP/1.1 200 OK\\r\\n", 99, 0, NULL, NULL) = 17 '
                  '<0.000010>'),
            (1.8, f'recvfrom(5{BACKEND}, "page", 99, 0, NULL, NULL) = 4 <0.000010>'),
            (1.9, 'epoll_wait(4<anon_inode:[eventpoll]>, [], 8, -1) = 1 <0.500000>')])
    bars = rows.worker_bars(parse(text), WORLD)
    assert [bar.kind for bar in bars if bar.end - bar.begin > 0.4] == ["redis", "idle"]
