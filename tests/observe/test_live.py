"""The edges: real servers, strace, /proc, a terminal, a browser."""

import asyncio
import contextlib
import fcntl
import json
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
from tools.kit import TOP, procfs
from tools.observe import clients, lab, stuck
from tools.observe.slow_redis import SlowRedis
from tools.observe.timeline import page, rows, run, strace
from tools.observe.watch import command, plain, proc
from tools.observe.watch.app import Watch
from tools.observe.watch.command import print_lines, Started
from tools.observe.watch.sampler import Sampler


# Ends a test that hangs; not how long anything may take.
LIMIT = 240
# A server that does not give up on a client before we have seen it wait.
PATIENT = ("--request-timeout", "600")


def wait_for(condition):
    """Return the condition's value when it holds; fail after LIMIT seconds."""
    limit = time.monotonic() + LIMIT
    while not (value := condition()):
        assert time.monotonic() < limit
        time.sleep(0.02)
    return value


# --------------------------------------------------------- the scripted program

def added(waits):
    """Return {kind: seconds} of [(kind, begin, end)]."""
    total = dict.fromkeys(scripted.PAUSES, 0)
    for kind, begin, end in waits:
        total[kind] += end - begin
    return total


def test_watch_finds_the_share_of_each_wait(tmp_path):
    cycles, result = 40, tmp_path / "result"

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


def test_timeline_finds_each_wait(tmp_path):
    cycles, result, trace = 20, tmp_path / "result", tmp_path / "trace"
    world = scripted.World(cycles)
    with lab.Server(scripted.command(world, cycles, result),
                    run.strace_words(str(trace))) as server:
        waits = scripted.play(server, world, result)
        port, pid = server.address[1], server.pid
    calls = strace.parse(strace.name_sockets(
        trace.read_text(), port, world.ports, {}))
    known = rows.World({port}, {world.redis_port}, dict(
        zip(world.ports, range(1, cycles + 1))))
    bars = rows.clip(rows.worker_bars(
        [call for call in calls if call.tid == pid], known),
        waits[0][1], waits[-1][2])
    truth, inside = added(waits), added(
        (kind, bar.begin, bar.end) for kind, begin, end in waits
        for bar in rows.clip(bars, begin, end) if bar.kind == kind)
    seen = added((bar.kind, bar.begin, bar.end) for bar in bars)
    # Tracing takes time, on a slow machine much: it is not part of the waits.
    for kind, seconds in scripted.PAUSES.items():
        assert inside[kind] > 0.9 * cycles * seconds, (kind, inside, truth)
        if kind != "run":
            assert seen[kind] < 1.1 * truth[kind], (kind, seen, truth)


# -------------------------------------------------------------------- timeline

PAGE = 0.15                     # three replies of 50 ms


def busy(made, kind):
    """Return how many clients are in a state at most, at the same time."""
    edges = sorted((at, step) for row in made.rows if row.role == "client"
                   for bar in row.bars if bar.kind == kind
                   and bar.end - bar.begin > 0.02
                   for at, step in ((bar.begin, 1), (bar.end, -1)))
    most = now = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


@pytest.mark.parametrize("folder, waves, together, workers", [
    ("01_iterative", 8, 1, 1), ("02_forking", 1, 8, 9),
    ("03_preforking", 2, 4, 4), ("04_threaded", 1, 8, 9),
    ("05_prethreaded", 2, 4, 4), ("06_poll", 1, 8, 1), ("07_epoll", 1, 8, 1)])
def test_a_burst_takes_as_many_waves_as_the_architecture_needs(
        folder, waves, together, workers):
    # A busy machine can spoil a recording: Redis answers too late, or the first
    # client has its page before the last is accepted. Another architecture spoils
    # all of them.
    for attempt in reversed(range(10)):
        try:
            recorded(run.record(folder, 8, 0.05, "/guestbook"), waves,
                     together, workers)
            break
        except AssertionError:
            if not attempt:
                raise


def recorded(made, waves, together, workers):
    """Check one recording of the burst."""
    assert made.failed == 0
    assert waves * PAGE <= made.seconds
    assert busy(made, "redis") == together
    roles = [row.role for row in made.rows]
    assert roles.count("worker") == workers and roles.count("client") == 8
    for row in made.rows:
        if row.role == "client":
            waited = sum(b.end - b.begin for b in row.bars
                         if b.kind == "redis")
            assert waited >= PAGE * 0.95, row.name
    if waves == 8:              # one at a time: the last waited for seven
        queue = made.rows[-1].bars[0]
        assert queue.kind == "queue"
        assert queue.end - queue.begin >= 7 * PAGE * 0.95


def test_a_reply_leaves_so_long_after_its_command():
    """All three together: one after the other they would take 1.5 s, on a crowded machine
    too, where they may now and then take longer than the half second."""
    with lab.Redis() as redis, SlowRedis(redis.port, 0.5) as slow:
        async def ask():
            reader, writer = await asyncio.open_connection("127.0.0.1",
                                                           slow.port)
            begin = time.monotonic()
            writer.write(b"*1\r\n$4\r\nPING\r\n" * 2)
            await asyncio.sleep(0.2)
            times = [time.monotonic() - begin]
            writer.write(b"*1\r\n$4\r\nPING\r\n")
            for _ in range(3):
                assert await reader.readline() == b"+PONG\r\n"
                times.append(time.monotonic() - begin)
            writer.close()
            return times

        def together():
            later, first, second, third = asyncio.run(ask())
            assert 0.5 <= first <= second <= third and later + 0.5 <= third
            return third < 1.5

        wait_for(together)


def test_make_timeline_writes_four_files_and_a_browser_draws_the_page():
    folder = TOP / "build" / "check" / f"timeline-{os.getpid()}"
    done = subprocess.run(
        [sys.executable, "-m", "tools.observe", "timeline", "EPOLL", "--clients",
         "3", "--out", str(folder)], cwd=TOP, capture_output=True,
        text=True, check=True, timeout=LIMIT)
    assert "3 clients answered" in done.stdout
    assert json.loads((folder / "trace.json").read_text())["traceEvents"]
    assert "untraced" in (folder / "timeline.svg").read_text()
    html = folder / "timeline.html"
    assert html.stat().st_size < page.LIMIT
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser:
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu",
             "--enable-logging=stderr", f"--user-data-dir={folder}/profile",
             "--dump-dom", html.as_uri()], capture_output=True, text=True,
            check=True, timeout=LIMIT)
        assert not re.search(r"CONSOLE.*(error|refused)", done.stderr, re.I)
        assert done.stdout.count("<rect") > 10 and "client 3" in done.stdout
    shutil.rmtree(folder)


def test_a_wrong_name_says_which_there_are(capsys):
    from tools.observe.__main__ import main
    assert main(["timeline", "apache"]) == 1
    assert "07_epoll" in capsys.readouterr().err


@pytest.mark.parametrize("words, said", [
    (["timeline", "05", "--clients", "0"], "0 is no whole number above 0"),
    (["watch", "05", "--rate", "0"], "0 is no whole number above 0"),
    (["watch", "05", "--seconds", "nan"], "nan is no number above 0"),
    (["demo-stuck", "--seconds", "none"], "none is no number above 0")])
def test_a_wrong_number_starts_nothing(words, said, capsys):
    from tools.observe.__main__ import main
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert f"argument {words[-2]}: {said}" in capsys.readouterr().err


# ----------------------------------------------------------------------- watch

def spoken(sampler):
    """Return the words of all rows and clients now."""
    frame = sampler.frame()
    return {item.words for item in
            [*frame.rows, *map(frame.client, frame.clients)]}


@pytest.mark.parametrize("folder, worker", [
    ("03_preforking", "waits for client 1 to send"),
    ("05_prethreaded", "waits for client 1 to send"),
    ("07_epoll", "waits for events: 1 client")])
def test_watch_says_who_waits_for_half_a_request(folder, worker):
    async def visit(address, done):
        trouble = asyncio.ensure_future(
            clients.trouble("half", address, "/answer", LIMIT))
        await asyncio.to_thread(done)
        trouble.cancel()
    with Started(folder, PATIENT) as started, Sampler(
            started.server.pid, folder, [started.redis.port]) as sampler:
        wait_for(lambda: started.server.address[1] in sampler.tables.ports)
        asyncio.run(visit(started.server.address, lambda: wait_for(
            lambda: {worker, "the server waits for the rest of its request"}
            <= spoken(sampler))))
        asyncio.run(clients.ask(started.server.address, "/answer"))
        assert wait_for(lambda: sampler.frame().total) == 1
        assert not sampler.frame().notes


def test_watch_says_that_the_server_waits_for_redis():
    with Started("01_iterative") as started, Sampler(
            started.server.pid, "01", [started.redis.port]) as sampler:
        started.redis.freeze()

        async def visit():
            # Again and again: each time, the server gives up after 250 ms.
            asking = asyncio.ensure_future(clients.trouble(
                "again", started.server.address, "/guestbook", LIMIT))
            await asyncio.to_thread(
                wait_for, lambda: "waits for Redis" in spoken(sampler))
            asking.cancel()
        asyncio.run(visit())


PROGRAM = ("import socket, time; s = socket.create_server(('127.0.0.1', 0)); "
           "print('listening on http://127.0.0.1:%d/' % s.getsockname()[1], flush=True); "
           "time.sleep(600)")


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
    with Started("05_prethreaded") as started, \
            Sampler(started.server.pid, "05") as sampler:
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


def text(line):
    """Return a line of view without its styles."""
    return "".join(part for part, _ in line)


class Paper:
    """In place of a terminal: a Board that keeps what it shows."""

    def __init__(self):
        self.pressed, self.shown, self.frames = [], "", 0

    def keys(self):
        """Return the keys pressed since the last time."""
        pressed, self.pressed = self.pressed, []
        return pressed

    def size(self):
        """Return (width, height)."""
        return 120, 40

    def show(self, lines):
        """Keep the lines' text."""
        assert len(lines) == 40
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


def test_the_keys():
    async def press():
        with Started("03_preforking", PATIENT) as started, Sampler(
                started.server.pid, "03 preforking",
                [started.redis.port]) as sampler:
            app, board = Watch(sampler, started), Paper()
            running = asyncio.create_task(app.run(board))
            await board.until(lambda: board.shown.count("accepting") == 4)
            await board.press("n")
            await board.until(lambda: "1 in all" in board.shown)
            await board.press("h", "i", "s")
            await board.until(lambda: board.shown.count("waits for client") == 3)
            await board.until(lambda: "waits for it to read" in board.shown)
            await board.press("f")
            assert started.redis.frozen and "is frozen" in board.shown
            await board.press("KEY_UP", "f", "?", "o", "no key")
            assert "kill the chosen worker" in board.shown
            assert "sorted by CPU" in board.shown and not started.redis.frozen
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
            narrow = app.lines(80, 24)
            assert len(narrow) == 24
            assert max(len(text(line)) for line in narrow[3:8]) <= 80
            await board.press("h")      # this client is still there at the end
            board.pressed.append("q")
            await asyncio.wait_for(running, LIMIT)
    asyncio.run(press())


@pytest.mark.parametrize("term", ["xterm-256color", "tmux-256color", "linux", "vt100"])
def test_a_terminal_shows_it_until_q_is_pressed(term):
    pid, screen = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 12, 100, 0, 0))
        os.chdir(TOP)
        os.execve(sys.executable, [sys.executable, "-m", "tools.observe", "watch", "05"],
                  {**os.environ, "TERM": term, "PYTHONUTF8": "1"})
    seen, limit = b"", time.monotonic() + LIMIT
    for said, key in ((b"accepting", b"?"), (b"kill the chosen", b"q")):
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
    assert plain.ago(12.34) == "12 s"


# ------------------------------------------------------------------ demo-stuck

@pytest.mark.parametrize("trouble", [
    pytest.param(name, marks=pytest.mark.slow) if name == "compute" else name
    for name in stuck.TROUBLES])
def test_trouble_stops_the_iterative_server_and_the_pool(trouble, monkeypatch):
    monkeypatch.setattr(lab, "FOLDERS", ["01_iterative", "02_forking",
                                         "03_preforking", "07_epoll"])
    with contextlib.ExitStack() as stack:
        servers, slow = stuck.start(stack)
        slow.delay = stuck.DELAY if trouble == "redis" else 0
        # The more trouble, the longer 01 and 03 make a client wait. Where only the
        # machine does, more of it makes no difference to 02 and 07. A loop waits for
        # nobody, but it has one processor for all that compute.
        for more in (1, 4, 16):
            results = asyncio.run(stuck.meet(servers, trouble, 4 * more, more))
            one, fork, pool, loop = (found.longest
                                     for found in results.values())
            assert one > 0.6 and pool > 0.25
            if trouble == "compute":
                assert loop > 0.6
                loop = 0
            if max(fork, loop) < pool:
                break
        else:
            pytest.fail(f"02 or 07 waits as long as 03: {results}")
    lines = stuck.table(dict.fromkeys(stuck.TROUBLES, results))
    assert stuck.TROUBLES[trouble][0] in lines[1]


def test_the_table_names_the_designs_that_hold_nobody():
    quick, slow = stuck.Waited(0.004, 0, 28), stuck.Waited(1.5, 20, 28)
    held = {trouble: dict.fromkeys(["01_iterative", "05_prethreaded"], slow)
            | {"02_forking": quick, "07_epoll": slow if trouble == "compute" else quick}
            for trouble in stuck.TROUBLES}
    held["silent"] = dict.fromkeys(held["half"], slow)
    lines = stuck.table(held)
    assert lines[-1].split() == "not held: 02 07 none 02 07 02 07 02".split()
    assert max(map(len, lines)) <= 80
