"""The sandbox of a running server. tests/unit/test_sandbox.c tries it from
within; here the server itself is led to a file that it has no right to."""

import ctypes
import signal

import pytest

from tests.support.procfs import status
from tests.support.processes import session_members, wait_for

LANDLOCK_CREATE_RULESET, VERSION = 444, 1
HAS_LANDLOCK = ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0,
                                         VERSION) > 0

needs_landlock = pytest.mark.skipif(not HAS_LANDLOCK,
                                    reason="this kernel has no Landlock")


@pytest.fixture
def logged(launch, own_site):
    """A server with its access log in a folder of its own, and that log."""
    log = own_site.root / "log/access.log"
    log.parent.mkdir()
    return launch("--access-log", log, root=own_site.root), log


def log_somewhere_else(server, log, target):
    """Make the log a link to `target` and tell the server to reopen it.
    Returns whether there was a log to be written there."""
    log.unlink()
    log.symlink_to(target)
    server.send_signal(signal.SIGHUP)

    def is_done():
        server.request("/answer")
        return target.exists() or "cannot reopen" in server.stderr()

    wait_for(is_done, "the log to be reopened, or not")
    return target.exists()


def test_the_log_may_be_led_elsewhere_in_its_folder(logged):
    server, log = logged
    assert log_somewhere_else(server, log, log.parent / "other.log")


@needs_landlock
def test_the_log_may_not_be_led_out_of_its_folder(logged):
    """Root could write there, this server cannot: that is the sandbox."""
    server, log = logged
    assert not log_somewhere_else(server, log, log.parent.parent / "other.log")
    assert "Permission denied" in server.stderr()
    assert server.request("/").status == 200


@needs_landlock
def test_without_a_log_nothing_is_said(launch):
    server = launch()
    assert server.request("/guestbook").status == 200
    assert server.stderr() == ""


@needs_landlock
def test_verbose_says_that_there_is_a_sandbox(launch):
    assert "Landlock" in launch("-v").stderr()


@needs_landlock
def test_every_process_is_in_the_sandbox(launch):
    """Entering it takes away the way out of it, set-user-ID programs."""
    server = launch()
    with server.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\n")     # in 02, so there is a child
        server.wait_until_read(connection)
        for pid in session_members(server.pid):
            assert status(pid, "NoNewPrivs") == "1"
