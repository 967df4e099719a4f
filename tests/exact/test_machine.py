"""The exact machine itself: two boots count the same, nothing is lost, and the regression test
sees what it is there for."""

import multiprocessing
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cost import exact as cost
from tools.exact import cells, count, curves, machine, parts, programs
from tools.kit import TOP, scratch

FEW = [replace(cells.CELLS["answer"], requests=100), replace(cells.CELLS["answer-kept"], warm_up=50,
                                                             requests=50)]


def bench_of(names, source=TOP):
    """Yield a Bench of servers; skip the test where there can be none."""
    try:
        machine.qemu()
    except machine.MachineError as error:
        pytest.skip(str(error))
    with scratch.folder("exact-test") as folder:
        yield count.Bench(programs.Choice(names, source=source), folder)


@pytest.fixture(name="bench", scope="module")
def bench_of_03():
    """A Bench of 03, which has many processes."""
    yield from bench_of(("preforking",))


@pytest.fixture(name="plan", scope="module")
def two_cells(bench):
    """A plan of two cells of two windows."""
    return cells.plan(bench.programs[0], FEW, windows=2)


@pytest.fixture(name="booted", scope="module")
def first_boot(bench, plan):
    """What a machine counted."""
    return bench.boot(plan, why=True)


def raw(booted):
    """Return all that was counted in a machine."""
    return [(window.charged, window.counted, window.blocks)
            for windows in booted.cells for window in windows]


def spin(seconds):
    """Keep a core busy."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def test_two_boots_count_the_same(bench, plan, booted):
    """To the last digit, each block of code."""
    assert raw(bench.boot(plan, why=True)) == raw(booted)


@pytest.mark.slow           # four programs keep all cores busy as long as it takes
def test_a_boot_on_a_crowded_host_counts_the_same(bench, plan, booted):
    crowd = [multiprocessing.Process(target=spin, args=(120,)) for _ in range(4)]
    for one in crowd:
        one.start()
    try:
        assert raw(bench.boot(plan, why=True)) == raw(booted)
    finally:
        for one in crowd:
            one.kill()
            one.join()


def test_nothing_is_lost(bench, booted):
    """The parts add up to what is counted, and that to what the kernel charged; nearly all of the
    kernel's functions have a part."""
    counted = bench.counted(booted, bench.programs[0], FEW, why=True)
    for cell in counted.values():
        named = cell.where.parts()
        total = sum(cell.windows[cell.middle]["server"])
        assert sum(map(sum, named.values())) == pytest.approx(total, rel=1e-9)
        assert sum(named[parts.REST]) < 0.05 * total
        # The load reads the kernel's accounts inside of what they account for. In windows as short
        # as these, that is 2 %.
        assert abs(cell.gap) < 0.03
        assert sum(cell.where.load.values()) > 1000     # it receives what it sent itself
    assert counted["answer"].cost("server")[1] > counted["answer-kept"].cost("server")[1]


@pytest.mark.slow
def test_more_connections_than_an_address_has_ports():
    """They come from several addresses, and each is answered. The server's memory grows, by less
    than 2 KiB a connection."""
    curve = replace(curves.CURVES["open"], at=[10000, 30000], requests=30000)
    for loops in bench_of(("epoll",)):
        few, many = curves.count_all(loops, curve, print, {})["epoll"].values()
        assert 0 < many.memory - few.memory < 20000 * 2048
        assert sum(many.cost("server")) == pytest.approx(sum(few.cost("server")), rel=0.1)


@pytest.mark.slow
def test_a_wrong_answer_ends_the_machine(bench):
    """With a sentence that shows it."""
    files = {**bench.files, "requests/answer": b"GET /nope HTTP/1.1\r\nHost: localhost\r\n\r\n"}
    plan = cells.plan(bench.programs[0], [FEW[1]], windows=1)
    with pytest.raises(machine.MachineError, match="unexpected answer: HTTP/1.1 404"):
        machine.boot({**files, "plan": plan}, bench.tree.kernel, bench.plugin)


@pytest.mark.slow
def test_a_server_that_does_not_start_is_a_sentence(bench):
    """Which has what it said."""
    broken = replace(bench.programs[0], words=("--port", "0x"))
    with pytest.raises(machine.MachineError, match="--port"):
        bench.boot(cells.plan(broken, [FEW[1]], windows=1))


PLANTED = {
    "a loop of 400 instructions": 'for (int i = 0; i < 200; i++) __asm__ volatile("");',
    "one more system call": "getppid();",
    "one more wake-up": "static int ends[2]; char byte = 0; if (ends[1] == 0) wake_up(ends); "
                        "(void)!write(ends[1], &byte, 1);",
}
# A child that waits for a byte each time.
WAKE_UP = """
#include <unistd.h>
static void wake_up(int ends[2])
{
    if (pipe(ends) != 0 || fork() != 0)
        return;
    close(ends[1]);
    for (char byte; read(ends[0], &byte, 1) > 0;)
        ;
    _exit(0);
}
"""
PLACE = "    if (method == HTTP_OPTIONS)\n"


@pytest.mark.slow
@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_fault_is_found(what):
    """By the limits of the regression test, at 01, in what each request passes through."""
    chosen = cost.chosen(False)["iterative"]
    with scratch.folder("exact-planted") as folder:
        for name in ("Makefile", "common", "01_iterative"):
            copy = shutil.copytree if (TOP / name).is_dir() else shutil.copy2
            copy(TOP / name, Path(folder) / name)
        router = Path(folder) / "common/router.c"
        text = router.read_text()
        assert text.count(PLACE) == 1
        router.write_text("#include <unistd.h>\n" + text.replace(
            PLACE, PLANTED[what] + "\n" + PLACE).replace(
            "\nvoid ", WAKE_UP + "\nvoid " if "wake_up" in PLANTED[what] else "\nvoid ", 1))
        counts = []
        for source in (TOP, Path(folder)):
            for one in bench_of(("iterative",), source):
                counted = one.count(one.programs[0], chosen, True, windows=cost.WINDOWS)
                counts.append({"iterative": {name: cost.figures(cell)
                                             for name, cell in counted.items()}})
    before, after = counts
    assert all(fine for fine, _ in cost.compare(before, before))
    different = [line for fine, line in cost.compare(before, after) if not fine]
    assert different, "as it was"
    print(*different, sep="\n")
