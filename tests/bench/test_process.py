"""Waiting for children."""

import contextlib
import os
import resource
import signal
import subprocess

from bench.run import process


def test_waiting_works_with_many_descriptors():
    """As many as a study of idle connections holds: more than select() can name."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1500 if limits[1] == resource.RLIM_INFINITY else min(1500, limits[1])
    child = process.spawn(["sleep", "60"], {min(os.sched_getaffinity(0))}, subprocess.DEVNULL)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, limits[1]))
        with contextlib.ExitStack() as held:
            for _ in range(1100):
                held.enter_context(open(os.devnull, "rb"))
            assert process.wait(child, 0.01) is None
            child.send_signal(signal.SIGKILL)
            assert process.wait(child, 30).code == -signal.SIGKILL
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        process.stop(child, signal.SIGKILL)
