"""The line in which a worker waits: what watch says, and what a debugger says of a timeline."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import threading

import pytest

from tests.observe.test_watch import PROGRAM, Paper
from tests.observe.waiting import LIMIT, wait_for
from tools.kit import TOP, procfs, servers
from tools.kit.slow_redis import SlowRedis
from tools.observe import clients, lab
from tools.observe.timeline import lines, run
from tools.observe.watch import proc, where
from tools.observe.watch.app import Watch
from tools.observe.watch.command import Started
from tools.observe.watch.sampler import Sampler

debugger = pytest.mark.skipif(not shutil.which("eu-stack"), reason="no eu-stack here")
SAID = """\
TID 27523:
#0  0x00007fe7498b4fa8 accept4 - /usr/lib/x86_64-linux-gnu/libc.so.6
    ../sysdeps/unix/sysv/linux/accept4.c:31:10
#1  0x0000560628eeb554 - 1 accept_next - /here/prethreaded
    {top}/common/accept.c:34:18
#2  0x0000560628eeb445 - 1 serve_clients - /here/prethreaded
    05_prethreaded/main.c:36:18
#3  0x00007fe7498331f5 - 1 start_thread - /usr/lib/x86_64-linux-gnu/libc.so.6
    ./nptl/pthread_create.c:442:8
"""


def test_only_frames_of_the_program_with_a_line_count():
    assert where.chain(SAID.format(top=TOP), "/here/prethreaded") == [
        ("accept_next", "common/accept.c", 34), ("serve_clients", "05_prethreaded/main.c", 36)]
    assert where.chain(SAID, "/another") == [] and where.words([]) == ""


@debugger
def test_watch_names_the_line_of_the_chosen_worker():
    async def watch():
        with Started("05_prethreaded") as started, Sampler(
                started.server.pid, "05 prethreaded", [started.redis.port]) as sampler:
            board = Paper()
            running = asyncio.create_task(Watch(sampler, started).run(board))
            said = re.compile(r"waits at (common/accept\.c):(\d+), accept_next\(\)")
            await board.until(lambda: said.search(board.shown))
            file, line = said.search(board.shown).groups()
            assert "accept4(" in (TOP / file).read_text().splitlines()[int(line) - 1]
            board.pressed.append("q")
            await asyncio.wait_for(running, LIMIT)
    asyncio.run(watch())


@debugger
def test_a_program_without_lines_has_none():
    async def look():
        with lab.Server([sys.executable, "-c", PROGRAM]) as server:
            found = where.Where()
            wait_for(lambda: where.fingerprint(server.pid, server.pid))
            said = ""
            for _ in range(int(LIMIT / 0.05)):
                said = said or found.of(server.pid, server.pid)
                await asyncio.sleep(0.05)
                if said:
                    break
            assert "no line known" in said
            known = dict(found._known)      # the same wait is not looked at again
            assert found.of(server.pid, server.pid) == said and found._known == known
    asyncio.run(look())


def asleep(pid):
    """Return {file:line} of the innermost line of each thread of a process, as a debugger says."""
    said = subprocess.run(["eu-stack", "-s", "-i", "-m", "-p", str(pid)], text=True, check=False,
                          capture_output=True, timeout=LIMIT).stdout
    try:
        program = os.readlink(f"/proc/{pid}/exe")
    except FileNotFoundError:       # a child of 02 that has ended
        return set()
    chains = [where.chain(thread, program) for thread in said.split("TID ")]
    return {f"{file}:{line}" for chain in chains for _, file, line in chain[:1]}


@debugger
@pytest.mark.skipif(bool(servers.named("epoll").problem()), reason="needs `make all`")
@pytest.mark.parametrize("folder", [
    pytest.param(folder, marks=() if folder in ("05_prethreaded", "07_epoll") else pytest.mark.slow)
    for folder in lab.FOLDERS])     # make check-all asks about all seven
def test_a_timeline_has_the_lines_that_a_debugger_names(folder):
    """While eight clients wait for Redis, the debugger finds the workers in lines that the
    timeline has for such waits, too."""
    with lab.Redis() as redis, SlowRedis(redis.port, 0.2) as slow, \
            lab.start(folder, slow.port) as server:
        asking = threading.Thread(target=clients.burst, args=(
            server.address, 8, clients.page("/guestbook")))
        asking.start()
        seen = set()
        while asking.is_alive():
            for pid in proc.processes(server.pid):
                if procfs.threads(pid):
                    seen |= asleep(pid)
        asking.join()
    timeline = run.record(folder, 8, 0.05, "/guestbook")
    drawn = {f"{frame.file}:{frame.line}" for row in timeline.rows if row.role == "worker"
             for bar in row.bars if bar.kind == "redis" and bar.end - bar.begin > 0.02
             for frame in [lines.of_bar(bar)] if frame}
    assert drawn and drawn <= seen, (drawn, seen)
