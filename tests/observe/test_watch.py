"""`make watch`: real servers, /proc, a terminal."""

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import time

import pytest

from tests.observe import scripted
from tests.observe.waiting import LIMIT, added, wait_for
from tools.kit import TOP, procfs
from tools.observe import clients, lab
from tools.observe.watch import command, plain, tables, view, where
from tools.observe.watch.app import Watch
from tools.observe.watch.command import print_lines, Started
from tools.observe.watch.sampler import Sampler

# A server that does not give up on a client before we have seen it wait.
PATIENT = ("--request-timeout", "600")
# A program that is none of ours, and sleeps.
PROGRAM = ("import socket, time; s = socket.create_server(('127.0.0.1', 0)); "
           "print('listening on http://127.0.0.1:%d/' % s.getsockname()[1], flush=True); "
           "time.sleep(600)")
needs_debugger = pytest.mark.skipif(not shutil.which("eu-stack"), reason="no eu-stack here")


@contextlib.contextmanager
def watched(folder, *options):
    """Start one of the seven, and yield (its Started, its Sampler)."""
    with Started(folder, options) as started, Sampler(
            started.server.pid, folder, [started.redis.port]) as sampler:
        yield started, sampler


def spoken(sampler):
    """Return the words of all rows and clients now."""
    frame = sampler.frame()
    return {item.words for item in
            [*frame.rows, *map(frame.client, frame.clients)]}


def text(line):
    """Return a line of view without its styles."""
    return "".join(part for part, _ in line)


# ------------------------------------------------------------- what is seen

def test_watch_finds_the_share_of_each_wait(tmp_path):
    cycles, result = 24, tmp_path / "result"

    def pause(seconds):
        """Let as many samples pass as there are in this time when the machine has
        time for all 50 a second, and the sample that has begun."""
        goal = sampler.rounds + round(seconds * sampler.rate) + 1
        while sampler.rounds < goal:
            time.sleep(0.001)
    world = scripted.World(cycles, pause)
    with lab.Server(scripted.command(world, cycles, result)) as server, \
            Sampler(server.pid, "scripted", [world.redis_port]) as sampler:
        delayed = lambda: int(procfs.read(
            f"/proc/{server.pid}/task/{server.pid}/schedstat").split()[1]) / 1e9
        wait_for(lambda: server.pid in sampler.histories)
        totals = sampler.histories[server.pid].totals
        before, late, rounds = dict(totals), delayed(), sampler.rounds
        truth = added(scripted.play(server, world, result))
        seen = {kind: totals[kind] - before.get(kind, 0) for kind in totals}
        late, rounds = delayed() - late, sampler.rounds - rounds
    seen["run"] += seen.pop("cpu", 0)
    seen = {kind: seen[kind] for kind in truth}
    # When the program could go on but gets no CPU, it is still in the wait by its
    # own clock, but no longer by ours. When a state changed is known to one
    # sample: this adds up like a random walk, three times its standard deviation.
    whole = sum(truth.values())
    unknown = late + 3 * (2 * cycles / 12) ** 0.5 * whole / rounds
    for kind, seconds in truth.items():
        assert seen[kind] / sum(seen.values()) == pytest.approx(
            seconds / whole, abs=0.1 * seconds / whole + unknown / whole), \
            (kind, seen, truth, late, rounds)


@pytest.mark.parametrize("folder, worker", [
    ("05_prethreaded", "waits for client 1 to send"),
    ("07_epoll", "waits for events: 1 client")])
def test_watch_says_who_waits_for_half_a_request(folder, worker):
    async def visit(address, done):
        trouble = asyncio.ensure_future(
            clients.trouble("half", address, "/answer", LIMIT))
        await asyncio.to_thread(done)
        trouble.cancel()
    with watched(folder, *PATIENT) as (started, sampler):
        wait_for(lambda: started.server.address[1] in sampler.tables.ports)
        asyncio.run(visit(started.server.address, lambda: wait_for(
            lambda: {worker, "the server waits for the rest of its request"}
            <= spoken(sampler))))
        asyncio.run(clients.ask(started.server.address, "/answer"))
        assert wait_for(lambda: sampler.frame().total) == 1
        assert not sampler.frame().notes


def test_watch_says_that_the_server_waits_for_redis():
    with watched("01_iterative") as (started, sampler):
        started.redis.freeze()

        async def visit():
            # Again and again: each time, the server gives up after 250 ms.
            asking = asyncio.ensure_future(clients.trouble(
                "again", started.server.address, "/guestbook", LIMIT))
            await asyncio.to_thread(
                wait_for, lambda: "waits for Redis" in spoken(sampler))
            asking.cancel()
        asyncio.run(visit())


def test_watch_says_how_long_a_page_has_held_the_loop():
    with watched("07_epoll") as (started, sampler):
        assert sampler.frame().longest is not None
        asyncio.run(clients.trouble("normal", started.server.address,
                                    "/compute?ms=300", LIMIT))
        wait_for(lambda: sampler.frame().longest >= 290)     # it measures in ticks
        frame = sampler.frame()
        assert f"longest iteration {frame.longest} ms" in text(view.head(frame, False, "")[1])
        assert f"longest iteration {frame.longest} ms" in plain.line(frame, {})


def test_a_look_that_was_preempted_does_not_put_off_the_next(monkeypatch):
    """Half and silent clients never appeared in one of five starts on a busy machine."""
    def preempted(*_, **__):
        time.sleep(0.1)
        return []

    monkeypatch.setattr(tables.sockets, "tcp", preempted)
    seen = tables.Tables([])
    assert seen.refresh(100.0, [os.getpid()]) and seen.refresh(101.0, [os.getpid()])


def test_the_accept_queue_and_a_program_never_seen():
    with lab.Server([sys.executable, "-c", PROGRAM]) as server, \
            Sampler(server.pid, "program") as sampler:
        with socket.create_connection(server.address):
            wait_for(lambda: [length for _, length, _ in
                              sampler.frame().queues] == [1])
            wait_for(lambda: "in the accept queue" in spoken(sampler))
            assert "sleeps until a timer or a signal" in spoken(sampler)
            assert sampler.frame().total is None
        os.kill(server.pid, signal.SIGSTOP)
        wait_for(lambda: "stopped by a signal" in spoken(sampler))


def test_without_permission_watch_says_what_it_cannot_see(monkeypatch, capsys):
    """As under Yama's ptrace_scope: syscall is refused, wchan is not."""
    opened = os.open

    def refuse(path, *words, **more):
        if str(path).endswith("/syscall"):
            raise PermissionError
        return opened(path, *words, **more)
    monkeypatch.setattr(os, "open", refuse)
    with watched("05_prethreaded") as (_, sampler):
        wait_for(lambda: [row.words for row in sampler.frame().rows].count(
            "accepting: waits for a new client") == 4)
        print_lines(sampler, 0.1)
    told = capsys.readouterr().out
    assert "5 of 5 threads" in told and "4 accepting" in told


def test_watch_leaves_the_cpus_of_a_pinned_server_and_its_session_is_nice():
    cpus = sorted(os.sched_getaffinity(0))
    program = ("import os, sys; from tools.observe.watch import command\n"
               "look = lambda: (sorted(os.sched_getaffinity(0)), "
               "command.procfs.read(command.AUTOGROUP).split()[2:])\n"
               "with command.aside(int(sys.argv[1])): print(look())\n"
               "print(look()[1])")
    with lab.Server([sys.executable, "-c", PROGRAM]) as server:
        os.sched_setaffinity(server.pid, cpus[:1])
        done = subprocess.run(
            [sys.executable, "-c", program, str(server.pid)], cwd=TOP,
            capture_output=True, text=True, check=True, timeout=LIMIT,
            start_new_session=True)
    there = bool(procfs.read(command.AUTOGROUP))      # not every kernel has it
    inside, after = done.stdout.splitlines()
    assert inside == str((cpus[1:] or cpus, [str(command.NICE)] * there))
    assert after == str(["0"] * there)


# ------------------------------------------------------------- how it is shown

class Paper:
    """In place of a terminal: a Board that keeps what it shows."""

    def __init__(self, size=(120, 40)):
        self.pressed, self.shown, self.frames, self._size = [], "", 0, size

    def keys(self):
        """Return the keys pressed since the last time."""
        pressed, self.pressed = self.pressed, []
        return pressed

    def size(self):
        """Return (width, height)."""
        return self._size

    def show(self, lines):
        """Keep the lines' text."""
        assert len(lines) == self._size[1]
        assert max(len(text(line)) for line in lines) <= self._size[0]
        self.shown = "\n".join(map(text, lines))
        self.frames += 1

    async def until(self, condition):
        """Wait for a condition."""
        await asyncio.to_thread(wait_for, condition)

    async def press(self, *keys):
        """Press keys, and wait for a frame that has begun after that."""
        self.pressed += keys
        frames = self.frames
        await self.until(lambda: not self.pressed and self.frames > frames + 1)


@contextlib.asynccontextmanager
async def shown(board, folder, *options):
    """Watch one of the seven on a Board, and yield the Watch; press q at the end."""
    with watched(folder, *options) as (started, sampler):
        app = Watch(sampler, started)
        running = asyncio.create_task(app.run(board))
        yield app
        board.pressed.append("q")
        await asyncio.wait_for(running, LIMIT)


def test_the_keys():
    async def press():
        board = Paper()
        async with shown(board, "03_preforking", *PATIENT) as app:
            started, sampler = app.started, app.sampler
            await board.until(lambda: board.shown.count("accepting") == 4)
            await board.press("n")
            await board.until(lambda: "1 in all" in board.shown)
            await board.press("c")
            await board.until(lambda: "2 in all" in board.shown)
            await board.press("h", "i", "s")
            await board.until(lambda: board.shown.count("waits for client") == 3)
            await board.until(lambda: "waits for it to read" in board.shown)
            await board.press("f")
            assert started.redis.frozen and "is frozen" in board.shown
            await board.press("KEY_UP", "f", "?", "o", "no key")
            assert "kill the chosen worker" in board.shown
            assert "by CPU" in board.shown and not started.redis.frozen
            victim = next(row.pid for row in sampler.frame().rows
                          if row.tid == app.chosen)
            assert victim != started.server.pid
            await board.press("k")
            await board.until(lambda: str(victim) not in "".join(
                row.name for row in sampler.frame().rows))
            await board.press(" ")
            frame = app._frame
            await board.press()
            assert app._frame is frame and "paused" in board.shown
            await board.press(".")
            assert app._frame is not frame and "paused" in board.shown
            await board.press("h")      # this client is still there at the end
    asyncio.run(press())


def test_80_columns_have_the_keys_and_k_asks_before_the_server_ends():
    async def press():
        board = Paper((80, 24))
        async with shown(board, "03_preforking", *PATIENT) as app:
            server = app.started.server.pid
            await board.until(lambda: "accepting" in board.shown)
            assert "k kill" in board.shown and "q quit" in board.shown
            assert "last 10 s" in board.shown
            await board.press(*["KEY_UP"] * 9, "k")     # the first row
            assert "The whole server ends with it: y/n" in board.shown
            await board.press("n")
            assert "lives on" in board.shown and procfs.threads(server)
            await board.press("k", "y")
            await board.until(lambda: procfs.find(      # a zombie: we have not waited for it
                r"^State:\s+(\S)", f"/proc/{server}/status") in ("", "Z"))
            assert f"killed process {server}" in board.shown
    asyncio.run(press())


@needs_debugger
def test_watch_names_the_line_of_the_chosen_worker():
    async def look():
        board = Paper()
        said = re.compile(r"waits at (common/accept\.c):(\d+), accept_next\(\)")
        async with shown(board, "05_prethreaded"):
            await board.until(lambda: said.search(board.shown))
            file, line = said.search(board.shown).groups()
            assert "accept4(" in (TOP / file).read_text().splitlines()[int(line) - 1]
    asyncio.run(look())


@needs_debugger
def test_a_program_without_lines_has_none():
    async def look(pid):
        found, limit = where.Where(), time.monotonic() + LIMIT
        while not (said := found.of(pid, pid)):
            assert time.monotonic() < limit
            await asyncio.sleep(0.05)
        assert "no line known" in said
        assert found.of(pid, pid) == said       # the same wait is not looked at again

    with lab.Server([sys.executable, "-c", PROGRAM]) as server:
        asyncio.run(look(server.pid))


@pytest.mark.parametrize("term", ["xterm-256color", "vt100", *(
    pytest.param(name, marks=pytest.mark.slow) for name in ("tmux-256color", "linux"))])
def test_a_terminal_shows_it_until_q_is_pressed(term):
    pid, screen = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
        os.chdir(TOP)
        os.execve(sys.executable, [sys.executable, "-m", "tools.observe", "watch", "05"],
                  {**os.environ, "TERM": term, "PYTHONUTF8": "1"})
    seen, limit = b"", time.monotonic() + LIMIT
    for said, key in ((b"q quit", b""), (b"accepting", b"?"), (b"kill the chosen", b"q")):
        while said not in seen:
            assert time.monotonic() < limit
            seen += os.read(screen, 1 << 16)
        os.write(screen, key)
    with contextlib.suppress(OSError):      # it has ended
        while os.read(screen, 1 << 16):
            pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_without_a_terminal_there_is_a_line_a_second():
    words = [sys.executable, "-m", "tools.observe", "watch", "04", "--seconds"]
    done = subprocess.run(
        [*words, "1.5"], cwd=TOP, capture_output=True, text=True, check=True,
        timeout=LIMIT, start_new_session=True)
    assert 1 <= len(done.stdout.splitlines()) <= 3
    with subprocess.Popen([*words, str(LIMIT)], cwd=TOP, text=True,
                          stdout=subprocess.PIPE, start_new_session=True) as process:
        assert any("accept queue 0" in line and "accepting" in line
                   for line in process.stdout)
        process.terminate()
    assert process.returncode == 130        # it has tidied up
