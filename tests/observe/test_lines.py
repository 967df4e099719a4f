"""Lines in the timeline: a wait has the line of source that it was made from, or none."""

import os
import re
import shutil
import subprocess

import pytest

from tools.kit import TOP, servers, states
from tools.observe.timeline import flame, lines, rows, run, strace

NOBODY = rows.World(set(), set(), {})
# Ten waits; a comment names the line of each, and the function that makes it.
WAITS = r"""
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool held;
static int pair[2];

static void pause_ms(int ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL); /* nanosleep in pause_ms */
}

static void *late(void *fd)
{
    pause_ms(100);
    return write(*(int *)fd, "x", 1) == 1 ? NULL : fd;
}

static void send_later(int *fd)
{
    pthread_t thread;
    pthread_create(&thread, NULL, late, fd);
    pthread_detach(thread);
}

static void *holds(void *nothing)
{
    pthread_mutex_lock(&lock);
    atomic_store(&held, 1);
    pause_ms(100);
    pthread_mutex_unlock(&lock);
    return nothing;
}

static void *reads(void *fd)
{
    char byte;
    recv(*(int *)fd, &byte, 1, MSG_WAITALL); /* recvfrom in reads */
    return NULL;
}

static inline __attribute__((always_inline)) void inlined(int fd)
{
    char byte;
    recvfrom(fd, &byte, 1, MSG_NOSIGNAL, NULL, NULL); /* recvfrom in inlined */
}

static int compared(const void *a, const void *b)
{
    poll(NULL, 0, 100); /* poll in compared */
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct epoll_event event = {.events = EPOLLIN};
    int numbers[2] = {2, 1}, pipes[2], status;
    char byte;
    pthread_t thread;
    int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || pipe(pipes))
        return 1;
    bind(listener, (struct sockaddr *)&address, size);
    listen(listener, 1);
    getsockname(listener, (struct sockaddr *)&address, &size);
    if (fork() == 0) {
        int client = socket(AF_INET, SOCK_STREAM, 0);
        pause_ms(100);
        return connect(client, (struct sockaddr *)&address, size) || (pause_ms(100), 0);
    }
    accept(listener, NULL, NULL); /* accept in main */
    wait4(-1, &status, 0, NULL); /* wait4 in main */
    send_later(&pair[1]);
    inlined(pair[0]);
    send_later(&pair[1]);
    pthread_create(&thread, NULL, reads, &pair[0]);
    pthread_join(thread, NULL);
    send_later(&pipes[1]);
    if (read(pipes[0], &byte, 1) < 1) /* read in main */
        return 1;
    qsort(numbers, 2, sizeof *numbers, compared);
    pthread_create(&thread, NULL, holds, NULL);
    while (!atomic_load(&held))
        sched_yield();
    pthread_mutex_lock(&lock); /* futex in main */
    pthread_join(thread, NULL);
    epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event);
    send_later(&pair[1]);
    epoll_wait(epoll, &event, 1, -1); /* epoll_wait in main */
    ppoll(NULL, 0, &(struct timespec){.tv_nsec = 100000000}, NULL); /* ppoll in main */
    return 0;
}
"""
MARK = re.compile(r"/\* (\w+) in (\w+) \*/")


def with_stacks():
    """Return whether strace can write stacks here."""
    return bool(shutil.which("strace") and shutil.which("addr2line")) and \
        "stack-trace" in subprocess.run(["strace", "-V"], capture_output=True, text=True,
                                        check=False).stdout


pytestmark = pytest.mark.skipif(not with_stacks(), reason="strace -k and addr2line are needed")


def recorded(folder, *flags, strip=False):
    """Return (calls of a recording with stacks, what is known of lines) of the program above."""
    (folder / "waits.c").write_text(WAITS)
    program = folder / "waits"
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-pthread", "-O1", "-g", *flags, "-o",
                    program, folder / "waits.c"], check=True)
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
              in enumerate(WAITS.splitlines(), 1) if MARK.search(text)}
    assert len(wanted) == 10
    seen = {(name.replace("accept4", "accept").replace("clock_nanosleep", "nanosleep"), *rest)
            for name, *rest in waits(lines.annotated(calls, NOBODY, found))}
    # main() also waits for threads; if it does so in one line only, that is known, too.
    text = WAITS.splitlines()
    assert all("pthread_join" in text[line - 1] for *_, line in seen - wanted), "a wrong line"
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
    bars = [rows.Bar(0, 3, "queue", "", (call(stack),)), rows.Bar(3, 4, "redis", "", (call(stack),)),
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
    pytest.param(name, marks=pytest.mark.slow) for name in ("03_preforking", "06_poll"))])
def test_each_wait_of_a_server_has_a_line_that_makes_it(folder):
    """The text of the line has the call, or the function of a library that makes it."""
    made = {"accept4": "accept4(", "recvfrom": "recv(|redisBufferRead(|redisAsyncHandleRead(", "ppoll": "poll(",
            "read": "redisBufferRead(|redisAsyncHandleRead(", "poll": "poll(|redisConnect", "connect": "redisConnect|redisAsyncConnect",
            "epoll_wait": "epoll_wait("}
    timeline = run.record(folder, 8, 0.05, "/guestbook")
    seen = 0
    for bar in (bar for row in timeline.rows for bar in row.bars
                if bar.kind not in ("run", "cpu") and bar.calls):
        longest = max(bar.calls, key=lambda one: one.end - one.begin)
        frame = lines.of_bar(bar)
        if frame is None:
            continue
        seen += 1
        text = "".join((TOP / frame.file).read_text().splitlines()[frame.line - 1:frame.line + 1])
        assert re.search("|".join(map(re.escape, made[longest.name].split("|"))), text), \
            (longest.name, str(frame), text)
    assert timeline.slow and seen >= 8
