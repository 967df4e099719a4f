"""When many clients leave together, the server is as it was before."""

import contextlib
import os
import signal

from labs.grade.client import Client
from labs.grade.observe import Seen, children, wait_until, zombies

VISITORS = 8


def test_nothing_is_left_of_a_crowd(server):
    with contextlib.ExitStack() as opened:
        clients = [opened.enter_context(Client(server.port)) for _ in range(VISITORS)]
        for client in clients:
            client.request("/hello")
        for client in clients:
            client.response()
        serving = children(server.pid)
        # They all leave while the server gets no time from the scheduler.
        os.kill(server.pid, signal.SIGSTOP)
        opened.callback(os.kill, server.pid, signal.SIGCONT)
        for client in clients:
            client.close()
        if not wait_until(lambda: len(zombies(server.pid)) == len(serving), 20):
            raise Seen(f"{len(zombies(server.pid))} of {len(serving)} children "
                       "have ended", "all of them")
    if not wait_until(lambda: not children(server.pid)):
        raise Seen(f"{len(children(server.pid))} children are left of "
                   f"{len(serving)}, {len(zombies(server.pid))} of them "
                   "<defunct>", "none when all clients have left")
