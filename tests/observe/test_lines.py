"""Lines in the timeline: a wait has the line of source that it was made from, or none."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.kit import TOP, servers, states
from tools.observe.timeline import flame, lines, rows, run, strace

NOBODY = rows.World(set(), set(), {})
# Ten waits; a comment names the line of each, and the function that makes it.
SOURCE = Path(__file__).with_name("data") / "waits.c"
WAITS = SOURCE.read_text("ascii").splitlines()
MARK = re.compile(r"/\* (\w+) in (\w+) \*/")


def with_stacks():
    """Return whether strace can write stacks here."""
    return bool(shutil.which("strace") and shutil.which("addr2line")) and \
        "stack-trace" in subprocess.run(["strace", "-V"], capture_output=True, text=True,
                                        check=False).stdout


pytestmark = pytest.mark.skipif(not with_stacks(), reason="strace -k and addr2line are needed")


def recorded(folder, *flags, strip=False):
    """Return (calls of a recording with stacks, what is known of lines) of the program above."""
    program = folder / "waits"
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-pthread", "-O1", "-g", *flags, "-o",
                    program, SOURCE], check=True)
    if strip:
        subprocess.run(["strip", program], check=True)
    subprocess.run(["strace", "-f", "-k", "-o", folder / "trace", *run.OPTIONS, program],
                   check=True)
    calls = strace.parse((folder / "trace").read_text(errors="replace"))
    return calls, lines.known(calls, NOBODY, program)


def waits(calls):
    """Return {(call, function, line)} of calls that lasted, with the lines that they have."""
    return {(call.name, frame.function, frame.line) for call in calls
            if call.end - call.begin > 0.03 for frame in call.stack[:1]}


@pytest.mark.parametrize("flags", [["-fPIE", "-pie"], ["-no-pie"]], ids=["PIE", "fixed"])
def test_ten_waits_have_their_lines(tmp_path, flags):
    """In the main thread and another one, in a function that was inlined, and in one that a
    library calls."""
    calls, found = recorded(tmp_path, *flags)
    wanted = {(*MARK.search(text).groups(), number) for number, text
              in enumerate(WAITS, 1) if MARK.search(text)}
    assert len(wanted) == 10
    seen = {(name.replace("accept4", "accept").replace("clock_nanosleep", "nanosleep"), *rest)
            for name, *rest in waits(lines.annotated(calls, NOBODY, found))}
    # main() also waits for threads, and on a crowded machine in calls that wait for nothing.
    assert not [(name, line) for name, _, line in seen
                if not re.search(rf"\b{name}\(|/\* {name} in|pthread_", WAITS[line - 1])]
    assert seen >= wanted


def test_a_stripped_program_has_none(tmp_path):
    calls, found = recorded(tmp_path, strip=True)
    assert not found and not waits(lines.annotated(calls, NOBODY, found))


def call(stack, name="recvfrom", arguments="5<UNIX:[1]>, NULL, 1, MSG_WAITALL"):
    """Return a call of thread 1."""
    return strace.Call(1, 0, 1, name, arguments, "1", stack)


def test_calls_that_cannot_be_told_apart_have_no_line(monkeypatch):
    """But the frames that they have in common, from the innermost on."""
    frames = [lines.Frame("f", "a.c", number) for number in (1, 2, 3)]
    monkeypatch.setattr(lines, "_names", lambda _, addresses: {
        address: [frames[address]] for address in addresses})
    file = os.path.realpath("program")
    here, there = ((file, 0), (file, 1)), ((file, 2), (file, 1))
    other = "5<UNIX:[1]>, NULL, 1, MSG_DONTWAIT"
    found = lines.known([call(here), call(there), call(here, arguments=other)], NOBODY, "program")
    assert [one.stack for one in lines.annotated([call(()), call((), arguments=other)], NOBODY,
                                                 found)] == [(), (frames[0], frames[1])]
    found = lines.known([call(here), call(((file, 0), (file, 2)))], NOBODY, "program")
    assert lines.annotated([call(())], NOBODY, found)[0].stack == (frames[0],)


def test_the_clients_time_by_function():
    """A flame graph: in the accept queue no function is at work; elsewhere, from main down."""
    stack = (lines.Frame("receive", "redis.c", 7), lines.Frame("main", "main.c", 3))
    bars = [rows.Bar(0, 3, "queue", "", (call(stack),)),
            rows.Bar(3, 4, "redis", "", (call(stack),)),
            rows.Bar(4, 5, "run", "", ())]
    made = run.Timeline("05 prethreaded", 0, 5, [
        rows.Row("worker", "worker", bars), rows.Row("client 1", "client", bars)], 5, 5, 0, 6)
    root = flame.tree(made)
    assert root.seconds == 5
    assert {label: node.seconds for label, node in root.below.items()} == {
        "in the accept queue": 3, "main()  main.c:3": 1, "runs": 1}
    below, = root.below["main()  main.c:3"].below.values()
    assert list(below.below) == ["waits for Redis"]
    picture = flame.draw([made], ["said"])
    assert "receive()  redis.c:7: 1.00 s, 20 %" in picture and "60 %" in picture
    assert set(re.findall("'(#[0-9a-f]{6})'", picture)) <= set(states.DARK)


@pytest.mark.skipif(bool(servers.named("epoll").problem()), reason="needs `make all`")
@pytest.mark.parametrize("folder", ["01_iterative", "05_prethreaded", "07_epoll", *(
    pytest.param(name, marks=pytest.mark.slow) for name in (
        "02_forking", "03_preforking", "04_threaded", "06_poll"))])
def test_each_wait_of_a_server_has_a_line_that_makes_it(folder):
    """The text of the line has the call, or the function of a library that makes it."""
    made = {"accept4": "accept4(", "recvfrom": "recv(|redisBufferRead(|redisAsyncHandleRead(",
            "ppoll": "poll(", "read": "redisBufferRead(|redisAsyncHandleRead(",
            "poll": "poll(|redisConnect", "connect": "redisConnect|redisAsyncConnect",
            "epoll_wait": "epoll_wait("}
    timeline = run.record(folder, 8, 0.05, "/guestbook")
    seen = 0
    for bar in (bar for row in timeline.rows for bar in row.bars
                if bar.kind not in ("run", "cpu") and bar.calls):
        longest = max(bar.calls, key=lambda one: one.end - one.begin)
        frame = lines.of_bar(bar)
        if frame is None or longest.name not in made:   # such as a lock of the C library
            continue
        seen += 1
        text = "".join((TOP / frame.file).read_text().splitlines()[frame.line - 1:frame.line + 1])
        assert re.search("|".join(map(re.escape, made[longest.name].split("|"))), text), \
            (longest.name, str(frame), text)
    assert timeline.slow and seen >= 8
