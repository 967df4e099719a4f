"""The line of source in which a thread waits, by eu-stack (elfutils).

    where = Where()
    where.of(pid, tid)          the line as text, or "": it is not known, or not yet

eu-stack stops the thread with ptrace(2) for some milliseconds, reads its stack, and lets it go
on. A call such as epoll_wait(2) then returns EINTR and the program calls it again. So each wait
is looked at a single time: it is recognized by its system call and by the return addresses on
its stack.
"""

import asyncio
import os
import re
import resource
import shutil
import time

from tools.kit import procfs
from tools.observe.timeline.lines import SYSTEM, shown
from tools.observe.watch.sampler import SHARE

STACK = 4096            # bytes above the stack pointer in which return addresses are
PATIENCE = 10           # seconds for eu-stack, which reads the lines of all libraries
# "#1  0x000055a5fb11a554 accept_next - /path/of/program", and a line below: "    file.c:34:18"
_FRAME = re.compile(r"#\d+ +0x[0-9a-f]+(?: - 1)? +(\S+)(?: - (.*))?")
_PLACE = re.compile(r" +(\S.*?):(\d+)(?::\d+)?$")
_CODE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) r-xp .* (/.*)$", re.MULTILINE)


def chain(text, program):
    """Return [(function, file, line)] of the frames of what eu-stack said that are in `program`
    (a path) and have a line, innermost first. Pure."""
    found, function = [], ""
    for line in text.splitlines():
        if frame := _FRAME.match(line):
            function = frame[1] if frame[2] == program else ""
        elif (place := _PLACE.match(line)) and function and not place[1].startswith(SYSTEM):
            found.append((function, shown(place[1]), int(place[2])))
    return found


def words(frames):
    """Return a chain as text: where it waits, and from where that was called. Pure."""
    if not frames:
        return ""
    said = [f"{file}:{line}, {function}()" for function, file, line in frames]
    return "waits at " + " from ".join(said[:2])


def fingerprint(pid, tid):
    """Return what stays the same for as long as a thread waits at one line: its system call, and
    the addresses of the program's code on its stack; None while it runs or where we may not
    look."""
    call = procfs.read(f"/proc/{pid}/task/{tid}/syscall").split()
    if len(call) != 9 or call[0] == "-1":
        return None
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(int(call[7], 16))
            stack = memory.read(STACK)
        program = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None
    code = [(int(begin, 16), int(end, 16)) for begin, end, file
            in _CODE.findall(procfs.read(f"/proc/{pid}/maps")) if file == program]
    values = (int.from_bytes(stack[at:at + 8], "little") for at in range(0, len(stack) - 7, 8))
    return tid, call[0], call[8], tuple(
        value for value in values if any(begin <= value < end for begin, end in code))


class Where:
    """Finds lines. `problem`: why there are none, or ""."""

    def __init__(self):
        self._known = {}        # {fingerprint: text}
        self._due, self._task = 0.0, None
        self.problem = "" if shutil.which("eu-stack") else \
            "its line: install elfutils, or run scripts/deps.sh watch"

    def of(self, pid, tid):
        """Return the line in which a thread waits, as text; "" if it is not known, or not yet:
        then it is looked up behind this call, which must be made in an asyncio loop."""
        wait = fingerprint(pid, tid)
        if wait is None or self.problem:
            return self.problem
        if wait in self._known:
            return self._known[wait]
        if (self._task is None or self._task.done()) and time.monotonic() >= self._due:
            self._task = asyncio.ensure_future(self._look(pid, tid, wait))
        return ""

    async def _look(self, pid, tid, wait):
        """Ask eu-stack, and believe it if the thread is in the same wait before and after."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        # Without DEBUGINFOD_URLS: it would download what it does not find.
        environment = {name: value for name, value in os.environ.items()
                       if name != "DEBUGINFOD_URLS"}
        asked = await asyncio.create_subprocess_exec(
            "eu-stack", "-1", "-s", "-i", "-m", "-p", str(tid), env=environment,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        try:
            said, problem = await asyncio.wait_for(asked.communicate(), PATIENCE)
        except (TimeoutError, asyncio.CancelledError):
            asked.kill()
            await asked.wait()
            raise
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self._due = time.monotonic() + took / SHARE
        if b"not permitted" in problem:
            self.problem = "its line: this system lets only root look (ptrace_scope)"
        elif fingerprint(pid, tid) == wait:
            frames = chain(said.decode("utf-8", "replace"), os.readlink(f"/proc/{pid}/exe"))
            self._known[wait] = words(frames) or "no line known: built without -g"
