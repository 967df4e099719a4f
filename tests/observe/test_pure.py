"""The cores: text in, states and pictures out."""

import dataclasses
import itertools
import json
import sys
import threading

import pytest

from tools.kit import states
from tools.kit.sockets import Tcp
from tools.observe.clients import Client
from tools.observe.lab import FOLDERS, LabError, folder_of
from tools.kit.slow_redis import frames
from tools.observe.timeline import export, page, rows, run, strace, svg
from tools.observe.watch import view, words
from tools.observe.watch.history import History, Slots

TRACE = r"""
10 100.000000 accept4(4<TCP:[127.0.0.1:80]>, NULL, NULL, SOCK_CLOEXEC <unfinished ...>
11 100.010000 accept4(4<TCP:[127.0.0.1:80]>, NULL, NULL, SOCK_CLOEXEC <unfinished ...>
10 100.100000 <... accept4 resumed>) = 5<TCP:[127.0.0.1:80->127.0.0.1:900]> <0.099990>
10 100.101000 recvfrom(5<TCP:[127.0.0.1:80->127.0.0.1:900]>, "GET", 16384, MSG_DONTWAIT, NULL, NULL) = -1 EAGAIN (Resource temporarily unavailable) <0.000010>
10 100.102000 recvfrom(5<TCP:[127.0.0.1:80->127.0.0.1:900]>, "GET / HTTP/1.1\r\n", 16384, 0, NULL, NULL) = 88 <0.048000>
10 100.151000 write(6<TCP:[127.0.0.1:4->127.0.0.1:6379]>, "*1\r\n$4\r\nPING\r\n", 14) = 14 <0.000020>
10 100.151100 read(6<TCP:[127.0.0.1:4->127.0.0.1:6379]>,  <unfinished ...>
10 100.251100 <... read resumed>"+PONG\r\n", 16384) = 7 <0.099995>
10 100.251200 futex(0x55, FUTEX_WAIT_PRIVATE, 2, NULL) = 0 <0.020000>
10 100.271300 sendto(5<TCP:[127.0.0.1:80->127.0.0.1:900]>, "HTTP/1.1 200 OK\r\n", 17, 0, NULL, 0) = 17 <0.000030>
10 100.271400 close(5<TCP:[127.0.0.1:80->127.0.0.1:900]>) = 0 <0.000010>
--- SIGTERM, and other lines that are no call ---
10 100.272000 +++ exited with 0 +++
"""
WORLD = rows.World({80}, {6379}, {900: 1})
CAME = [Client(1, 900, 100.02, 100.272, 200)]


def spent(bars):
    """Return {kind: ms}."""
    total = {}
    for bar in bars:
        total[bar.kind] = total.get(bar.kind, 0) + bar.end - bar.begin
    return {kind: round(seconds * 1000) for kind, seconds in total.items()}


def test_a_call_in_two_lines_is_one():
    calls = strace.parse(TRACE)
    assert [call.name for call in calls] == [
        "accept4", "accept4", "recvfrom", "recvfrom", "write", "read", "futex",
        "sendto", "close"]
    assert calls[0].end - calls[0].begin == pytest.approx(0.09999)
    assert calls[1].result == "?" and calls[1].tid == 11


def test_a_worker_waits_for_each_thing_in_turn():
    [worker, client] = rows.build(strace.parse(TRACE), CAME, WORLD)
    assert spent(worker.bars) == {"idle": 100, "run": 3, "client": 48,
                                  "redis": 100, "lock": 20}
    assert spent(client.bars) == {"queue": 80, "run": 3, "client": 48,
                                  "redis": 100, "lock": 20}
    assert "waits for client 1 to send" in {bar.words for bar in worker.bars}


LOOP = r"""
10 100.000000 epoll_wait(5<anon_inode:[eventpoll]>, [{}], 256, -1) = 1 <0.100000>
10 100.100100 accept4(4<TCP:[127.0.0.1:80]>, NULL, NULL, 0) = 6<TCP:[127.0.0.1:80->127.0.0.1:900]> <0.000010>
10 100.100200 recvfrom(6<TCP:[127.0.0.1:80->127.0.0.1:900]>, "GET", 99, 0, NULL, NULL) = 88 <0.000010>
10 100.100300 accept4(4<TCP:[127.0.0.1:80]>, NULL, NULL, 0) = 7<TCP:[127.0.0.1:80->127.0.0.1:901]> <0.000010>
10 100.100400 recvfrom(7<TCP:[127.0.0.1:80->127.0.0.1:901]>, 0x55, 99, 0, NULL, NULL) = -1 EAGAIN (Resource temporarily unavailable) <0.000010>
10 100.100500 write(8<TCP:[127.0.0.1:5->127.0.0.1:6379]>, "*1\r\n$4\r\nPING\r\n", 14) = 14 <0.000010>
10 100.100600 epoll_wait(5<anon_inode:[eventpoll]>, [{}], 256, 700) = 1 <0.050000>
10 100.150700 read(8<TCP:[127.0.0.1:5->127.0.0.1:6379]>, "+PONG\r\n", 16384) = 7 <0.000010>
10 100.150800 sendto(6<TCP:[127.0.0.1:80->127.0.0.1:900]>, "HTTP", 17, 0, NULL, 0) = 17 <0.000010>
10 100.150900 close(6<TCP:[127.0.0.1:80->127.0.0.1:900]>) = 0 <0.000010>
10 100.151000 epoll_wait(5<anon_inode:[eventpoll]>, [{}], 256, 700) = 1 <0.030000>
10 100.181100 recvfrom(7<TCP:[127.0.0.1:80->127.0.0.1:901]>, "", 99, 0, NULL, NULL) = 0 <0.000010>
"""


def test_in_a_loop_a_client_waits_for_what_its_last_call_asked():
    world = rows.World({80}, {6379}, {900: 1, 901: 2})
    came = [Client(1, 900, 100.1, 100.151, 200),
            Client(2, 901, 100.1, 100.1812, 0)]
    loop, first, second = rows.build(strace.parse(LOOP), came, world)
    assert spent(loop.bars)["redis"] == 50
    assert spent(loop.bars)["client"] == 30 and loop.name == "loop"
    assert spent(first.bars)["redis"] == 50 and "client" not in \
        spent(first.bars)
    assert spent(second.bars)["client"] == 80 and "redis" not in \
        spent(second.bars)


def test_sockets_get_the_names_that_yy_gives():
    text = ("1 2.0 accept4(3<socket:[7]>, NULL) = 5<socket:[8]> <0.1>\n"
            "1 2.1 accept4(3<socket:[7]>, NULL) = 6<socket:[9]> <0.1>\n"
            "1 2.2 connect(4<socket:[10]>, {sa_family=AF_INET, "
            "sin_port=htons(6379), sin_addr=0}, 16) = 0 <0.1>\n"
            "1 2.3 read(9<socket:[11]>, \"\", 1) = 0 <0.1>\n")
    named = strace.name_sockets(text, 80, [900, 901], {9: 900})
    assert "= 6<TCP:[127.0.0.1:80->127.0.0.1:900]>" in named
    assert "= 5<TCP:[127.0.0.1:80->127.0.0.1:901]>" in named
    assert "3<TCP:[127.0.0.1:80]>" in named and "9<socket:[11]>" in named
    assert strace.socket_of("4<TCP:[127.0.0.1:0->127.0.0.1:6379]>, x") == \
        strace.Socket(4, "TCP", ("127.0.0.1", 0), ("127.0.0.1", 6379))
    assert strace.socket_of("4<TCPv6:[[::1]:80->[::1]:9]>").remote == \
        ("::1", 9)


def test_waiting_for_the_cpu_is_taken_from_running_only():
    bars = [rows.Bar(0, 1, "run", "", ()), rows.Bar(1, 2, "redis", "", ())]
    cut = rows.add_delays(bars, [(0.5, 1.5, 0.2)])
    assert spent(cut) == {"run": 800, "cpu": 200, "redis": 1000}


def timelines(count=1, bars=30):
    """Return made-up Timelines with a long call in each bar."""
    call = strace.Call(1, 0, 0.01, "read", "<&\"'>" * 200, "1")
    row = rows.Row("worker 1", "worker", [
        rows.Bar(i / 100, i / 100 + 0.01, kind, states.KINDS[kind][0],
                 (call,) * 9)
        for i, kind in zip(range(bars), list(states.KINDS) * bars)])
    return [run.Timeline("03 preforking", 0, bars / 100, [row] * count,
                         0.3, 0.2, 0)]


def test_each_picture_shows_every_state():
    made = timelines()
    trace = json.loads(export.trace_json(made))["traceEvents"]
    assert {e["cat"] for e in trace if e["ph"] == "X"} == set(states.KINDS)
    assert {(e["dur"], e["pid"]) for e in trace if e["ph"] == "X"} == \
        {(10000, 1)}
    light = svg.draw(made, ["<caption>"])
    for number, picture in enumerate((light, states.dark(light)), 1):
        assert "&lt;caption&gt;" in picture and "worker 1" in picture
        for kind, colours in states.KINDS.items():
            assert f"'{colours[number]}'" in picture, kind
            assert colours[3 - number] == colours[number] \
                or f"'{colours[3 - number]}'" not in picture, kind


def test_a_page_stays_small_and_asks_no_other_host():
    for made in (timelines(), timelines(count=60)):
        text = page.draw(made, ["caption"])
        assert len(text.encode()) < page.LIMIT
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("line, said", [
    (b"288 0x4 0x0 0x0 0x80000 0x0 0x0 0x7f 0x7f", "accepting"),
    (b"45 0x5 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f", "waits for client 3 to send"),
    (b"40 0x5 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f", "waits for client 3 to read"),
    (b"0 0x6 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f", "waits for Redis"),
    (b"0 0x7 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f", "waits for 10.0.0.1:5432"),
    (b"202 0x6 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f", "waits for a lock"),
    (b"271 0x0 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f", "sleeps"),
    (b"7 0x99 0x2 0x0 0x0 0x0 0x0 0x7f 0x7f", "waits for events"),
    (b"999 0x0 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f", "waits in system call 999"),
])
def test_a_system_call_in_words(monkeypatch, line, said):
    monkeypatch.setattr(words, "CALLS", words._NUMBERS["x86_64"])
    roles = {4: ("listener", None), 5: ("client", 3), 6: ("redis", None),
             7: ("10.0.0.1:5432", None)}
    assert words.blocked(*words.parse_syscall(line.decode()),
                         roles.get)[1].startswith(said)


def test_without_the_system_call_the_kernels_function_tells():
    assert words.parse_syscall("running") == ("running", ())
    assert words.hidden("inet_csk_accept", "S")[0] == "idle"
    assert words.hidden("futex_wait_queue", "S")[0] == "lock"
    assert words.hidden("0", "R") == ("run", "runs")
    assert words.hidden("0", "T")[1] == "stopped by a signal"


def test_a_client_in_words():
    base = Tcp(1, None, None, "ESTABLISHED", 0, 0, 2.0, 3.0, 50)
    said = lambda owed=False, late=False, **change: words.client_words(
        dataclasses.replace(base, **change), owed, late)[0]
    assert said(inode=0)[0] == "queue"
    assert said(received=0)[1] == "the server waits for its request"
    assert said(quiet_in=1.0, quiet_out=0.5)[0] == "idle"
    assert said(unsent=10, quiet_out=9.0)[1].endswith("to read")
    assert said(quiet_out=9.0, owed=True)[0] == "redis"
    assert said(quiet_out=9.0, owed=True, late=True)[0] == "client"


def test_shares_strips_and_how_long():
    history = History(0.0)
    for now, kind in ((0.0, "idle"), (4.9, "idle"), (5.1, "redis"),
                      (8.0, "redis"), (8.02, "run"), (8.04, "redis"),
                      (10.0, "redis")):
        history.add(now, kind, kind)
    assert history.shares() == pytest.approx(
        {"idle": 0.5, "redis": 0.498, "run": 0.002})
    assert history.strip(10) == ["idle"] * 5 + ["redis"] * 5
    assert history.since == 5.1             # the blink does not count
    for now in (10.02, 10.04, 10.5, 10.9, 11.0):
        history.stay(now)
    history.add(11.2, "run", "run")
    assert history.totals == pytest.approx(
        {"idle": 5, "redis": 6.08, "run": 0.12})
    assert history.strip(10)[-1] == "redis" and history.since == 11.2
    slots = Slots()
    assert slots.assign([7, 8, 9]) == {7: 0, 8: 1, 9: 2}
    assert slots.assign([7, 9, 12]) == {7: 0, 9: 2, 12: 1}


def test_a_strip_is_read_while_the_sampler_adds_to_it():
    history, over = History(0.0), threading.Event()

    def add():
        for now in itertools.count(1):
            if over.is_set():
                return
            history.add(now, "run", "runs")
    sampler = threading.Thread(target=add)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)         # seconds: the threads alternate quickly
    sampler.start()
    try:
        for _ in range(3000):
            assert len(history.strip(40)) == 40
    finally:
        over.set()
        sampler.join()
        sys.setswitchinterval(before)


def test_redis_messages_are_counted():
    assert frames(b"*2\r\n$3\r\nGET\r\n$1\r\nx\r\n:5\r\n$-1\r\n*0\r\n+OK") == \
        ([20, 4, 5, 4], 3)
    with pytest.raises(ValueError):
        frames(b"HTTP/1.1 200\r\n")


@pytest.mark.parametrize("name", ["05", "5", "PreThreaded", "05_prethreaded"])
def test_a_server_has_several_names(name):
    assert folder_of(name) == "05_prethreaded" and len(FOLDERS) == 7
    with pytest.raises(LabError, match="06_poll"):
        folder_of("apache")


def test_a_line_that_is_too_long_ends_with_a_whole_word():
    assert view.fit("waits for client 12", 19) == "waits for client 12"
    assert view.fit("waits for client 12", 18) == "waits for client…"
    assert view.fit("waits for client 12", 12) == "waits for…"
    assert view.fit("accepting", 5) == "acce…"
    line = view.fit_line((("03", "bold"), ("   12 requests/s", "")), 8)
    assert line == (("03", "bold"), ("   12…", ""))
