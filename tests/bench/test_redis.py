"""The private Redis: it is ours, it leaves nothing behind, and strangers may not command it."""

import os
import shutil
import tempfile

import pytest

from labs.grade.redis import Redis as OfTheGrader
from tools.kit import process, redis

CORES = os.sched_getaffinity(0)
pytestmark = pytest.mark.skipif(not shutil.which("redis-server"), reason="needs redis-server")


@pytest.fixture(autouse=True, name="temporary")
def own_temporary_folder(monkeypatch, tmp_path):
    """Where folders are made; with a path that is too long for a Unix socket."""
    folder = tmp_path / (100 * "x")
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def over_tcp(one, *words):
    return redis.ask((one.host, one.port), redis.command(*words))


@pytest.fixture(name="theirs")
def redis_of_another_program():
    """A Redis whose guestbook another program uses."""
    with redis.RedisServer(CORES) as theirs:
        over_tcp(theirs, "SET", "visitor_count", "7")
        yield theirs
        assert over_tcp(theirs, "GET", "visitor_count") == b"$1\r\n7\r\n"


@pytest.mark.parametrize("kind", [lambda: redis.RedisServer(CORES), OfTheGrader])
def test_a_port_that_another_redis_takes_is_left_to_it(theirs, kind, monkeypatch):
    """Between the look for a free port and the start of ours: its keys stay."""
    ports = iter([theirs.port, process.free_port()])
    monkeypatch.setattr(process, "free_port", lambda: next(ports))
    with kind() as ours:
        assert ours.port != theirs.port
        assert over_tcp(ours, "GET", "visitor_count") == b"$7\r\n1000000\r\n"


def test_no_port_at_all(theirs, temporary, monkeypatch):
    """It says so, and leaves no folder."""
    before = os.listdir(temporary)
    monkeypatch.setattr(process, "free_port", lambda: theirs.port)
    with pytest.raises(redis.RedisError, match="in use|listening"), redis.RedisServer(CORES):
        pass
    assert os.listdir(temporary) == before


@pytest.mark.parametrize("kind", [lambda: redis.RedisServer(CORES), OfTheGrader])
def test_a_program_that_cannot_be_started_leaves_nothing(kind, temporary, monkeypatch):
    def fail(*_):
        raise OSError("no process")

    monkeypatch.setattr(process, "spawn", fail)
    with pytest.raises(OSError, match="no process"), kind():
        pass
    assert not os.listdir(temporary)


@pytest.mark.parametrize("kind", [OfTheGrader, lambda: redis.RedisServer(CORES, "127.0.0.2")],
                         ids=["grader", "network"])
def test_nobody_can_command_it_from_its_first_answer_on(kind, monkeypatch):
    """The first thing that we do is to fill it: there a stranger is faster."""
    refused = []

    def look(one, fill=redis.RedisServer.fill):
        for words in (["CONFIG", "GET", "dir"], ["EVAL", "return 1", "0"], ["SHUTDOWN"],
                      ["FLUSHALL"], ["ACL", "SETUSER", "default", "+@all"]):
            refused.append(over_tcp(one, *words))
        fill(one)

    monkeypatch.setattr(redis.RedisServer, "fill", look)
    with kind() as one:
        assert len(refused) == 5 and all(said.startswith(b"-NOPERM") for said in refused)
        assert over_tcp(one, "GET", "visitor_count") == b"$7\r\n1000000\r\n"
        assert over_tcp(one, "RPUSH", "guestbook_remarks", "x") == b":11\r\n"


def test_a_submission_cannot_fill_the_memory_with_one_command():
    """Nor with many: see tests/labs/test_cheats.py."""
    with OfTheGrader() as one:
        assert over_tcp(one, "SETRANGE", "big", 400_000_000, "x").startswith(b"-ERR")
