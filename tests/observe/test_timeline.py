"""`make timeline`: what strace saw, as bars, files and a page."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from tests.observe import scripted
from tests.observe.waiting import LIMIT, added, wait_for
from tools.kit import TOP
from tools.kit.slow_redis import SlowRedis
from tools.kit.strace import words
from tools.observe import lab
from tools.observe.__main__ import main
from tools.observe.timeline import rows, run, strace


def test_timeline_finds_each_wait(tmp_path):
    cycles, result, trace = 20, tmp_path / "result", tmp_path / "trace"
    world = scripted.World(cycles)
    with lab.Server(scripted.command(world, cycles, result),
                    words(run.OPTIONS, trace)) as server:
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
    ("01_iterative", 8, 1, 1), ("02_forking", 1, 8, 9), ("05_prethreaded", 2, 4, 4),
    ("07_epoll", 1, 8, 1), *(pytest.param(*some, marks=pytest.mark.slow) for some in (
        ("03_preforking", 2, 4, 4), ("04_threaded", 1, 8, 9), ("06_poll", 1, 8, 1)))])
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


@pytest.mark.parametrize("words, said", [
    (["timeline", "05", "--clients", "0"], "0 is no whole number above 0"),
    (["watch", "05", "--rate", "0"], "0 is no whole number above 0"),
    (["watch", "05", "--seconds", "nan"], "nan is no number above 0"),
    (["demo-stuck", "--seconds", "none"], "none is no number above 0")])
def test_a_wrong_number_starts_nothing(words, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert f"argument {words[-2]}: {said}" in capsys.readouterr().err
