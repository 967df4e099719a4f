"""Labs 02 to 05: which process takes the signals, and what they do to clients."""

import os
import signal

from labs.grade.client import Client
from labs.grade.observe import PATIENCE, Seen, alive, blocked_signals, threads, tree, wait_until
from labs.grade.tasks import (
    answer, ask, Clients, expect_replaced, living, plural, reports, settle, shape, STOP_SIGNALS)


SIGNALS = 4             # that a server gets in a second


def test_signals_go_to_the_first_thread(fresh_server, expect):
    """All children, or all threads but the main one, block the signals."""
    server, count = fresh_server(), expect["others"]
    main = server.pid, server.pid
    with Clients(server) as clients:
        held = clients.hold(count)
        settle(server, lambda: clients.read(held) == count)

        def others():
            return [(pid, thread) for pid in tree(server.pid) if alive(pid)
                    for thread in threads(pid) if (pid, thread) != main]

        def open_to_signals():
            return [task for task in others() if STOP_SIGNALS - blocked_signals(*task)]

        settle(server, lambda: len(others()) >= count and not open_to_signals())
        if len(others()) < count:
            raise Seen(f"{shape(server.pid)} for {count} clients",
                       f"{count} processes or threads besides the first")
        if open_to_signals():
            raise Seen(f"{len(open_to_signals())} of {len(others())} do not block SIGTERM, SIGINT, "
                       "SIGHUP and SIGUSR1", "only the first thread takes signals")
        for client in held:
            answer(client)


def test_a_signal_changes_nothing(fresh_server, expect):
    """SIGUSR1 asks for a report. The server prints it, each time, and goes
    on with the same workers; so it does after SIGHUP."""
    server, count = fresh_server(), expect["workers"]
    look = {"children": lambda: living(server.pid),
            "threads": lambda: threads(server.pid)[1:]}[expect["of"]]
    if not settle(server, lambda: len(look()) == count):
        raise Seen(shape(server.pid), f"{count} {expect['of']}")
    before = look()
    for number in range(1, 4):
        server.send(signal.SIGUSR1)
        wait_until(lambda: reports(server) >= number or not alive(server.pid))
        if not alive(server.pid):
            raise Seen(f"SIGUSR1 ended the server with {server.ending}",
                       "a report, and a server that goes on")
        if reports(server) < number:
            raise Seen(f"no report after SIGUSR1 number {number}",
                       "a report for each: server_act_on_signals() prints it")
        ask(server.port)
    server.send(signal.SIGHUP)
    for _ in range(count):      # each in another worker, perhaps
        ask(server.port, what="a client after SIGHUP")
    if look() != before:
        raise Seen(f"other {expect['of']} than before SIGUSR1 and SIGHUP", f"the same {count}")
    if expect["of"] == "children":
        os.kill(before[0], signal.SIGKILL)
        expect_replaced(server, before[:1], count, "a worker was killed after SIGUSR1")


def test_stops_in_order(fresh_server, expect):
    """After SIGTERM new clients are refused, those that are being served get
    their answers, then everything ends. At the limit, too."""
    server, count = fresh_server(), expect["clients"]
    with Clients(server) as clients:
        held = clients.hold(count)
        if not settle(server, lambda: clients.read(held) == count):
            raise Seen(f"{plural(clients.read(held), 'client')} of {count} "
                       "served together", "all of them")
        processes = tree(server.pid)
        server.send(signal.SIGTERM)
        if not wait_until(lambda: is_refused(server.port)):
            raise Seen("new clients are still accepted after SIGTERM while "
                       f"{count} clients are served", "new clients are refused immediately")
        for client in held:
            answer(client, "a client that was being served at SIGTERM")
    code = server.wait(2 * PATIENCE)
    if code != 0:
        raise Seen("a server that did not end after its last client"
                   if code is None else f"a server that ended with "
                   f"{server.ending}", "exit status 0")
    wait_until(lambda: not any(map(alive, processes)))
    left = sum(map(alive, processes))
    if left:
        raise Seen(f"{plural(left, 'process', 'processes')} left behind", "none")


def test_children_end_with_their_parent(fresh_server, expect):
    """When the first process is killed, no other one is left behind."""
    server, count = fresh_server(), expect["clients"]
    with Clients(server) as clients:
        held = clients.hold(count)
        settle(server, lambda: len(living(server.pid)) >= count and clients.read(held) == count)
        if len(living(server.pid)) < count:
            raise Seen(f"{shape(server.pid)} for {count} clients", f"{count} children")
        os.kill(server.pid, signal.SIGKILL)
        if not wait_until(lambda: not server.processes()):
            raise Seen(f"{plural(len(server.processes()), 'process', 'processes')} left after the "
                       "first one was killed", "none: a child calls signals_in_child()")


def test_a_second_signal_ends_it(fresh_server):
    """SIGTERM lets a client finish. A second one, later, ends the server."""
    server = fresh_server()
    with Clients(server) as clients:
        held = clients.hold(1)
        settle(server, lambda: clients.read(held) == 1)
        server.send(signal.SIGTERM)
        wait_until(lambda: is_refused(server.port), 1)
        # Two within 200 ms are one request: see signals_record().
        for _ in range(SIGNALS):
            if server.wait(0.3) is None:
                server.send(signal.SIGTERM)
        if server.wait(0.5) is None:
            raise Seen(f"a server that goes on after {SIGNALS} times SIGTERM",
                       "its end: the second signal is not blocked")


def test_stops_without_a_stuck_child(fresh_server):
    """A child that never ends delays the end by --drain-timeout, and a second, not for ever."""
    server = fresh_server(["--drain-timeout", "0"])
    with Clients(server) as clients:
        held = clients.hold(1)
        settle(server, lambda: clients.read(held) == 1)
        stuck = [pid for pid in clients.holders(held)[0] if pid != server.pid]
        if not stuck:
            raise Seen(f"{shape(server.pid)} for a client", "a child")
        os.kill(stuck[0], signal.SIGSTOP)
        server.send(signal.SIGTERM)
        if server.wait() is None:
            raise Seen(f"a server that waits for a stopped child, {PATIENCE:.0f} s after SIGTERM "
                       "with --drain-timeout 0", "its end about a second after that time")
        # common/ gave up waiting, 3 s after SIGTERM
        if not wait_until(lambda: reports(server), 1):
            raise Seen("no report from a server that waited for a stopped child "
                       "for ever: SIGALRM ended it", "server_finish() about a "
                       "second after SIGTERM with --drain-timeout 0")


def is_refused(port):
    """Return whether a new client cannot connect."""
    try:
        Client(port).close()
        return False
    except ConnectionError:
        return True
