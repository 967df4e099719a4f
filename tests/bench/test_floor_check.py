"""Each floor does what its server does."""

import shutil
from pathlib import Path

import pytest

from bench.meter import syscalls
from bench.peers import floor_check
from bench.run import servers

TRACE = Path(__file__).with_name("data") / "strace.txt"


def test_normalize():
    """Flags, sizes and errors stay; what differs from run to run does not."""
    assert floor_check.Calls().parse(TRACE.read_text()) == {
        "accept4(fd, NULL, NULL, SOCK_CLOEXEC)": 1,
        "recvfrom(fd, bytes, 16384, MSG_DONTWAIT, NULL, NULL) = EAGAIN": 1,
        "epoll_ctl(fd, EPOLL_CTL_ADD, fd, {events=EPOLLIN|EPOLLET})": 1,
        "epoll_wait(fd, events, 256, a time)": 1}


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.skipif(not shutil.which("gcc"), reason="builds the floors")
@pytest.mark.parametrize("design", [server.name for server in servers.ARCHITECTURES])
def test_floor_is_like_its_server(design, tmp_path):
    """Change a call or the answer of a server, and its floor has to follow."""
    if servers.named(design).problem():
        pytest.skip(servers.named(design).problem())
    try:    # twice: on a busy machine a call may be interrupted
        assert not (floor_check.differences(design, str(tmp_path))
                    and floor_check.differences(design, str(tmp_path)))
    except syscalls.SyscallError as error:
        pytest.skip(str(error))     # a container may not trace


def test_a_difference_is_said(tmp_path, monkeypatch):
    """A floor that lacks a call of the server, or bytes of its answer."""
    found = [{"prompt": {"a": 1, "b": 2}, "answer": {"42": 1}},
             {"prompt": {"b": 2}, "answer": {"4": 1}}]
    monkeypatch.setattr(floor_check, "look", lambda *_: found.pop(0))
    monkeypatch.setattr(floor_check.peers.Peer, "build", lambda _: None)
    assert [line.split(":")[0] for line in floor_check.differences("iterative", tmp_path)] == [
        "iterative, prompt", "iterative, answer", "iterative, answer"]
