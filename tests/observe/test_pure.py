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
from tools.observe.lab import LabError, folder_of
from tools.observe.timeline import export, page, rows, run, strace, svg
from tools.observe.watch import words
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


@pytest.mark.parametrize("call, descriptor, said", [
    ("sendfile", 5, "waits for client 3 to read"), ("recvfrom", 7, "waits for 10.0.0.1:5432"),
    ("flock", 6, "waits for a lock"), ("system call 999", 0, "waits in system call 999")])
def test_a_system_call_in_words(call, descriptor, said):
    """Those in which the seven seldom wait; test_watch.py sees the others."""
    roles = {5: ("client", 3), 7: ("10.0.0.1:5432", None)}
    assert words.blocked(call, (descriptor, 0, 0), roles.get)[1] == said


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
    assert history.totals == pytest.approx({"idle": 5, "redis": 4.98, "run": 0.02})
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


@pytest.mark.parametrize("name", ["05", "5", "PreThreaded", "05_prethreaded"])
def test_a_server_has_several_names(name):
    assert folder_of(name) == "05_prethreaded"
    with pytest.raises(LabError, match="06_poll"):
        folder_of("apache")
