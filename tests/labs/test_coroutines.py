"""Lab 09's solution beyond its grade: both switches keep what a function has, an overflow hits
the page below a stack, and with FULL=1 it passes the black-box suite as 07 does."""

import contextlib
import re
import resource
import signal
import socket
import subprocess
import sys

import pytest

from tests.labs.grading import full
from tools.kit import TOP, client, servers, wait

SOLUTION = TOP / "labs/09_coroutines/solution"
LIMIT = 60          # seconds for what takes one
FEW = 64            # descriptors of a server; three quarters of them are for clients
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-pthread")
# Three functions take turns. Each keeps four numbers, in registers if it can.
TAKE_TURNS = r"""
#include <stdio.h>
#include <stdlib.h>
#include "coroutine.h"

static double sum;

static double add_up(double a, int rounds, void (*between)(void))
{
    double b = a * 2, c = a * 3, d = a * 5;
    for (int i = 0; i < rounds; i++) {
        a += b, b += c, c += d, d += 1;
        between();
    }
    return a + b + c + d;
}

static void nothing(void)
{
}

static void work(void *data)
{
    sum += add_up(*(int *)data, 1000, coroutine_yield);
}

static void overflow(void *data)
{
    volatile char page[4096];
    page[0] = 1;
    overflow(data);
    page[1] = page[0];
}

int main(int argc, char **argv)
{
    int starts[3] = {1, 2, 3}, left = 3;
    struct coroutine *all[3];
    double wanted = 0;
    coroutine_choose(argv[1][0] == 'c' ? COROUTINE_CONTEXT : COROUTINE_OWN);
    if (argc > 2)
        return coroutine_resume(coroutine_new(overflow, NULL));
    for (int i = 0; i < 3; i++) {
        all[i] = coroutine_new(work, &starts[i]);
        wanted += add_up(starts[i], 1000, nothing);
    }
    while (left > 0)
        for (int i = 0; i < 3; i++)
            if (all[i] != NULL && !coroutine_resume(all[i])) {
                coroutine_free(all[i]);
                all[i] = NULL;
                left--;
            }
    return sum == wanted ? 0 : 1;
}
"""


def built(folder, *flags):
    """Return the path of the program above, compiled with `flags`."""
    (folder / "turns.c").write_text(TAKE_TURNS)
    program = folder / f"turns{len(flags)}"
    subprocess.run(["gcc", *FLAGS, "-Wno-infinite-recursion", *flags, f"-I{SOLUTION}", "-o",
                    program, folder / "turns.c", SOLUTION / "coroutine.c", SOLUTION / "switch.c"],
                   check=True)
    return program


@pytest.mark.parametrize("optimized", ["-O0", "-O2"])
def test_functions_that_take_turns_keep_their_numbers(tmp_path, optimized):
    program = built(tmp_path, optimized)
    for how in ("own", "context"):
        assert subprocess.run([program, how], check=False).returncode == 0, how


def test_a_stack_that_overflows_ends_the_program(tmp_path):
    """In the page below it, which is why nothing else is overwritten."""
    done = subprocess.run([built(tmp_path, "-O0"), "own", "overflow"], check=False)
    assert done.returncode == -signal.SIGSEGV


def server_of(folder, text, name):
    """Return the path of the solution, compiled with `text` in place of its main.c."""
    (folder / "main.c").write_text(text, encoding="utf-8")
    subprocess.run(["gcc", *FLAGS, "-O2", "-g", f"-I{SOLUTION}", f"-I{TOP}/common", "-o",
                    folder / name, folder / "main.c", SOLUTION / "coroutine.c",
                    SOLUTION / "switch.c", TOP / "build/default/libzerohttpd.a", "-lhiredis"],
                   check=True)
    return folder / name


def test_a_client_that_waits_for_redis_does_not_make_room(tmp_path):
    """It was idle before, and still is in the queue of those, until its wait is over. When the
    server ended it for another client, its reply found no request."""
    program = server_of(tmp_path, (SOLUTION / "main.c").read_text(encoding="utf-8"), "coroutines")
    log = tmp_path / "log"
    with socket.create_server(("127.0.0.1", 0)) as redis, open(log, "wb") as out:
        redis.settimeout(LIMIT)
        server = subprocess.Popen(
            [program, "--port", "0", "--keep-alive", "60", "--root", TOP, "--redis",
             "127.0.0.1:%d" % redis.getsockname()[1]], stdout=out,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, FEW)))
        try:
            address = wait.until(lambda: servers.ready(log.read_text()), LIMIT)
            with client.Connection(address, LIMIT) as first:
                first.request("/answer")
                assert first.response().body == b"42"
                first.request("/guestbook")
                silent, _ = redis.accept()
                silent.settimeout(LIMIT)
                assert silent.recv(9)           # now it waits
                with contextlib.ExitStack() as others:      # more than there is room for
                    for _ in range(FEW):
                        one = others.enter_context(client.Connection(address, LIMIT))
                        one.request("/answer")
                        assert one.response().body == b"42"
                    assert first.response().status == 503
                silent.close()
            server.terminate()
            assert server.wait(LIMIT) == 0
        finally:
            server.kill()
            server.wait()


@full
def test_it_passes_the_black_box_suite_as_07_does(tmp_path):
    """Under the name of 07, but for what needs several processes."""
    text = (SOLUTION / "main.c").read_text(encoding="utf-8")
    named, count = re.subn(r'"09_coroutines", \.name = "coroutines", \.kind = EVENT_LOOP',
                           '"07_epoll", .name = "epoll", .kind = EVENT_LOOP, .workers = 1', text)
    assert count == 1
    server_of(tmp_path, named, "epoll")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "tests/blackbox", "--servers=epoll",
         f"--bin-dir={tmp_path}", "-k", "not worker and not outlives and not two_epoll_loops"],
        cwd=TOP, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
