"""Mixed load with faults, against each server in turn.

    make soak                              all seven, five minutes in all
    make soak SERVERS=epoll TIME=3600      one of them, for an hour

Each is played twice, as built with the sanitizers and as it is shipped. While
a closed-loop load of all endpoints runs, faults come round after round:
Redis killed, Redis frozen, a worker killed, clients that drip, hang up, send
nonsense, connect and say nothing; the log rotates and the report is asked for.
After each round the load pauses, and the server at rest is looked at from
outside: its memory (PSS), its descriptors, its processes and threads.

A server passes when
- no answer was broken, and none but those that the faults explain was missing,
- no sanitizer complained (LeakSanitizer looks when it stops, with status 0),
- descriptors, processes and threads are what they were before the first round,
- its memory does not grow from round to round: less than the rounds differ
  among themselves, or than a mebibyte. That is asked of the build that is
  shipped: AddressSanitizer itself keeps some 170 bytes of each thread that has
  ever been, which 04 has many of.

The last line says `N passed, N failed`. Writes build/soak.json.
"""

import json
import os
import signal
import statistics
import sys
import time

from tests.support.client import build
from tests.support.site import Site
from tests.support.crowd import Crowd
from tests.support.guest import URLENCODED, form
from tests.support.load import Load
from tests.support.private_redis import PrivateRedis
from tests.support.processes import children, session_members
from tests.support.servers import FOLDERS, SMALL_POOL, TOP, Server
from tools.kit import procfs

BUILDS = {"sanitized": TOP / "build" / "address,undefined" / "bin",
          "shipped": TOP}
WARM_UP_ROUNDS = 4          # each fault once: caches, pools and stacks grow
LEAST_ROUNDS = 6            # to be judged, without the warm-up
NOISE_KIB = 1024
CLIENTS = 6
TARGETS = ["/", "/answer", "/hello", "/guestbook", "/echo?value=soak",
           "/redirect", "/nothing", "/large.bin"]
EXPECTED = (200, 302, 303, 404, 503)    # 503: while Redis is away

# Each worker keeps what it has opened: the files, and its own way to Redis. So
# all of them get to see everything before anything is counted.
POOL = {**SMALL_POOL, "threaded": ["--max-threads", "16"]}

# ASan keeps freed memory back to catch late uses of it: 256 MB, which would
# look like growth. A little of it catches the most.
ASAN_OPTIONS = ("quarantine_size_mb=4:thread_local_quarantine_size_kb=64:"
                "detect_stack_use_after_return=1")


# ------------------------------------------------------------------- faults

def redis_is_killed(_server, redis):
    """And started again."""
    redis.stop()
    time.sleep(0.2)
    redis.start()


def redis_freezes(_server, redis):
    """For longer than a page waits for it."""
    redis.freeze()
    time.sleep(1.2)
    redis.thaw()


def a_worker_is_killed(server, _redis):
    """Where a child's death is not the server's."""
    for pid in children(server.pid)[:1]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def clients_drip(server, _redis):
    """And go away before they have asked for anything."""
    crowd = Crowd(server.address, 30, 0.1)
    crowd.wait_until_ready()
    crowd.finish(go_away=True)


def clients_are_silent(server, _redis):
    """As those of a browser that connects in advance."""
    silent = [server.connect() for _ in range(30)]
    time.sleep(0.1)
    for connection in silent:
        connection.close()


def clients_hang_up(server, _redis):
    """In the middle of a request, and of an answer."""
    for i in range(30):
        connection = server.connect()
        connection.send(build("/large.bin")[:-2] if i % 2
                        else build("/large.bin"))
        connection.reset()


def clients_talk_nonsense(server, _redis):
    """Of which each kind has its status."""
    for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64,
                 b"GET\r\n\r\n", b"GET /\x01 HTTP/1.1\r\n\r\n",
                 b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 100_000,
                 b"POST /guestbook HTTP/1.1\r\nHost: a\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"):
        with server.connect() as connection:
            connection.send(data)
            assert connection.read_response().status >= 400


def signals_come(server, _redis):
    """For a new log, and for a report."""
    server.send_signal(signal.SIGHUP)
    server.send_signal(signal.SIGUSR1)


FAULTS = (redis_is_killed, clients_drip, clients_are_silent, clients_hang_up,
          clients_talk_nonsense, signals_come, a_worker_is_killed,
          redis_freezes)


# --------------------------------------------------------------------- load

class Busy:
    """Clients that ask for everything, with and without keep-alive, and sign
    the guestbook. `stop()` returns (answers, unanswered, faults)."""

    def __init__(self, server):
        def post(target, fields=()):
            return build(target, "POST", [URLENCODED, *fields],
                         form("Ada", "soak"))

        def load(clients, targets, **more):     # a reset: its worker was killed
            return Load(server, clients, targets, accept=EXPECTED,
                        expect_reset=True, **more)
        self._loads = [load(CLIENTS, TARGETS),
                       load(CLIENTS, TARGETS, keep_alive=False),
                       load(2, ["/guestbook"], prepare=post)]

    def stop(self):
        """Let all finish."""
        for load in self._loads:
            load.stop()
        return (sum(load.answered for load in self._loads),
                sum(load.unanswered + load.refused for load in self._loads),
                [fault for load in self._loads for fault in load.faults])


# ------------------------------------------------------------------- a soak

def at_rest(server, base):
    """Wait until the server has as few processes, threads and descriptors as
    in `base` (None: until that does not change), and return what it has.

    If that takes longer than half a minute, returns what it has then.
    """
    before, since, began = None, time.monotonic(), time.monotonic()
    while True:
        members = session_members(server.pid)
        seen = {"processes": len(members), "threads": len(procfs.threads(server.pid)),
                "descriptors": len(procfs.open_files(server.pid))}
        now = time.monotonic()
        if seen != before:
            before, since = seen, now
        calm = now - since > 0.5
        if calm and (base is None or now - began > 30 or
                     all(seen[key] <= base[key] for key in seen)):
            return {**seen, "memory": sum(map(procfs.proportional_memory, members)) // 1024}
        time.sleep(0.02)


def growth(memory):
    """Return (KiB by which the second half of the rounds' memory lies above
    the first, KiB by which rounds differ within a half)."""
    half = len(memory) // 2
    first, second = memory[:half], memory[half:]
    noise = max(max(first) - min(first), max(second) - min(second))
    return statistics.median(second) - statistics.median(first), noise


class Soak:
    """One server's part. `run()` returns its figures."""

    def __init__(self, name, build_name, seconds, say):
        self.name = name
        self.build = build_name
        self.seconds = seconds
        self.say = say
        self.result = {"server": name, "build": build_name, "requests": 0,
                       "unanswered": 0, "faults": 0, "wrong": []}

    def _fill_the_pool(self, server):
        """Ask every worker for everything, on a connection that it keeps."""
        _, places = POOL.get(self.name, ("", "1"))
        load = Load(server, int(places), TARGETS, accept=EXPECTED)
        load.wait_for_answers(int(places) * len(TARGETS) * 10)
        load.stop()

    def _round(self, server, redis, number):
        busy = Busy(server)
        for i in range(2):
            fault = FAULTS[(2 * number + i) % len(FAULTS)]
            fault(server, redis)
            self.result["faults"] += 1
            time.sleep(0.3)
        answered, unanswered, wrong = busy.stop()
        server.check()
        self.result["requests"] += answered
        self.result["unanswered"] += unanswered
        self.result["wrong"] += wrong

    def _rounds(self, server, redis):
        """Play rounds until the time is over; return what was seen at rest:
        the most of the rounds to warm up, then what it was after each."""
        seen = []
        base = {}
        self._fill_the_pool(server)
        end = time.monotonic() + self.seconds
        number = 0
        while time.monotonic() < end or \
                number < WARM_UP_ROUNDS + LEAST_ROUNDS:
            self._round(server, redis, number)
            number += 1
            warm = number > WARM_UP_ROUNDS
            state = at_rest(server, base if warm else None)
            if warm:
                seen.append(state)
            else:
                base = {key: max(state[key], base.get(key, 0))
                        for key in state}
            self.say(f"{self.name}, {self.build}: round {number}, "
                     f"{self.result['requests']:,} requests, "
                     f"{state['memory']:,} KiB")
        return [base, *seen]

    def run(self):
        """Return the figures; `problems` says in words what was not as it
        should be."""
        site = Site()
        site.write("large.bin", os.urandom(300_000))
        redis = PrivateRedis("--appendonly", "yes")
        try:
            server = Server(BUILDS[self.build] / self.name, "-p", 0,
                            "--root", site.root, "--redis", redis.address,
                            "--keep-alive", "1", "--request-timeout", "2",
                            "--access-log", f"{redis.folder}/access.log",
                            *POOL.get(self.name, ()))
            try:
                seen = self._rounds(server, redis)
                server.stop()
            finally:
                server.end()
        finally:
            redis.close()
            site.remove()
        return self._judge(seen)

    def _judge(self, seen):
        first, last = seen[0], seen[-1]
        grown, noise = growth([state["memory"] for state in seen])
        result = self.result
        result.update(
            rounds=len(seen), first=first, last=last, noise_kib=noise,
            grown_kib=grown,
            grown_kib_per_million=grown / result["requests"] * 1e6)
        problems = [f"{len(result['wrong'])} wrong answers, such as "
                    f"{result['wrong'][0]}"] if result["wrong"] else []
        for what in ("processes", "threads", "descriptors"):
            if last[what] > first[what]:
                problems.append(f"{last[what]} {what} where there had been "
                                f"{first[what]}")
        if self.build == "shipped" and grown > max(noise, NOISE_KIB):
            problems.append(f"memory grew by {grown:,.0f} KiB, rounds differ "
                            f"by {noise:,} KiB")
        result["problems"] = problems
        return result


def main():
    """Return the exit status."""
    names = os.environ.get("SERVERS", "").replace(",", " ").split() or \
        list(FOLDERS)
    seconds = float(os.environ.get("TIME", "300"))
    os.environ["ASAN_OPTIONS"] = ASAN_OPTIONS
    os.environ["UBSAN_OPTIONS"] = "print_stacktrace=1"
    began = time.monotonic()
    terminal = sys.stdout.isatty()

    def say(text):
        left = max(0, seconds - (time.monotonic() - began))
        line = f"[{left // 60:.0f}:{left % 60:02.0f} left] {text}"
        print(f"\r\x1b[K{line}" if terminal else line,
              end="" if terminal else "\n", flush=True)

    results = []
    share = seconds / len(names) / len(BUILDS)
    for name in names:
        for build_name in BUILDS:
            try:
                result = Soak(name, build_name, share, say).run()
            except AssertionError as fault:     # a ServerFault among them
                result = {"server": name, "build": build_name,
                          "problems": [str(fault)]}
            results.append(result)
    if terminal:
        print()

    print("\nserver      build      requests  faults  KiB before   after  "
          "a million  noise  descriptors  processes")
    for r in results:
        if "rounds" in r:
            first, last = r["first"], r["last"]
            print(f"{r['server']:11} {r['build']:9} {r['requests']:9,} "
                  f"{r['faults']:7} {first['memory']:11,} "
                  f"{last['memory']:7,} {r['grown_kib_per_million']:10,.0f} "
                  f"{r['noise_kib']:6,} {first['descriptors']:5} -> "
                  f"{last['descriptors']:3} {first['processes']:5} -> "
                  f"{last['processes']}")
        for problem in r["problems"]:
            print(f"{r['server']}, {r['build']}: {problem}")
    (TOP / "build" / "soak.json").write_text(json.dumps(results, indent=1))
    failed = sum(bool(r["problems"]) for r in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
