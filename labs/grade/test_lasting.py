"""What lasts longer than one client: memory, a worker, and its connection to
Redis; and a reader of what the server prints."""

import time

from labs.grade.client import REDIS_WAIT, ask_guestbook, get
from labs.grade.observe import Seen, Trace, grown, open_files, or_seen, resident, tree, wait_until
from labs.grade.tasks import END, Clients, plural, settle
from labs.grade.test_robust import expect_alive, expect_hello

WARM, MANY = 40, 200    # clients before the first look, and before the second
MOST_MEMORY = 4 << 20   # bytes that are no leak: 20 KiB a client
MOST_FILES = 20         # descriptors: a few open files of the site may stay
PAGES = ("/hello", "/guestbook", "/", "/answer")
ROUNDS = 3
LINES = 60              # clients of a server whose output is full


def test_leaves_no_memory(server):
    """After many clients, the server has as much memory and as many
    descriptors as after some. Sockets are counted elsewhere."""
    def size():
        return resident(server.pid), open_files(server.pid)

    def serve(count):
        for number in range(count):
            get(server.port, PAGES[number % len(PAGES)])

    serve(WARM)
    memory, files = size()
    serve(MANY)
    if not wait_until(lambda: size()[0] - memory < MOST_MEMORY
                      and size()[1] - files < MOST_FILES, 1):
        raise Seen(f"{(size()[0] - memory) >> 10} KiB and {size()[1] - files} "
                   f"open files more than before {MANY} clients came and left", "as many as before")


def test_keeps_its_redis_connection(server, expect):
    """A worker connects to Redis once, not for each client. At most
    expect.workers are used by clients that come one after the other; each may
    connect twice, because a Redis that is late costs the connection."""
    port, most = server.redis.rpartition(":")[2], 2 * expect["workers"]
    with Trace(tree(server.pid), "connect") as trace:
        for _ in range(3 * most + 6):
            ask_guestbook(server.port)
        trace.detach()
    made = trace.count(rf"connect\(.*\b{port}\b")
    if made > most:
        raise Seen(f"{plural(made, 'connection')} to Redis for {3 * most + 6} "
                   "clients, one after the other", "a worker that keeps its "
                   f"connection: {plural(expect['workers'], 'worker')}")


def test_answers_pages_together(fresh_server, expect):
    """Clients that are served at the same time get their own pages, from Redis too."""
    server, count = fresh_server(), expect["clients"]
    late = 0
    for number in range(ROUNDS):
        with Clients(server) as clients:
            paths = [f"/echo?value=own{number}{index}." if index % 2 else
                     "/guestbook" for index in range(count)]
            held = [clients.connect(1, f"GET {path} HTTP/1.1\r\nHost: a\r\n"
                                    .encode())[0] for path in paths]
            if not settle(server, lambda: clients.read(held) == count):
                raise Seen(f"{clients.read(held)} of {count} clients served "
                           "together", "all of them")
            began = time.monotonic()
            for client in held:
                client.send(END)
            for client, path in zip(held, paths):
                late += not is_own(client, path, began)
    if late == ROUNDS * count // 2:
        raise Seen("status 503 for each guestbook, when clients ask together", "status 200")


def is_own(client, path, began):
    """Return whether a client of `path` gets its page; False if Redis was late.
    Raises Seen for another answer."""
    with or_seen(lambda error: f"no answer for {path}, when clients ask together: {error}",
                 "status 200"):
        found = client.response()
    if found.status == 503 and time.monotonic() - began >= REDIS_WAIT:
        return False
    word = path.partition("=")[2] or "guest"
    if found.status != 200 or word.encode() not in found.body:
        raise Seen(f"status {found.status} and {found.body[:40]!r} for {path}, "
                   "when clients ask together", "status 200 and its own page")
    return True


def test_needs_no_reader(server):
    """What the server prints goes into a pipe that is full: serving must not
    wait for its reader."""
    expect_hello(server, "at its start")
    server.stop_reading()
    for _ in range(LINES):
        expect_hello(server, "when nobody reads its output")
    expect_alive(server, "when nobody reads its output")


MOST_FAILURES = 100     # a second; one that pauses 50 ms fails 20 times
PAUSE = 0.6             # seconds in which failed calls are counted


def test_survives_errors_of_accept(server):
    """ECONNABORTED: that client has gone, the next one is there. ENOMEM: there
    will be memory again, but not immediately."""
    expect_hello(server, "at its start")
    expect_alive(server, "after its first client", 0.05)
    try:
        with failing(server, "ECONNABORTED:when=1") as trace:
            for _ in range(3):
                expect_hello(server, "after accept(2) failed with ECONNABORTED")
    except Seen:        # strace ends with the server
        expect_alive(server, "when accept(2) failed with ECONNABORTED", 0.5)
        raise
    if not trace.count("ECONNABORTED"):
        raise Seen("no call of accept(2)", "one for each client")
    with failing(server, "ENOMEM") as trace, Clients(server) as clients:
        client = clients.connect(1, b"GET /hello HTTP/1.1\r\nHost: a\r\n" + END)[0]
        wait_until(lambda: trace.count("ENOMEM"))
        failures, seconds = grown(lambda: trace.count("ENOMEM"), PAUSE)
        trace.detach()
        expect_alive(server, "when accept(2) failed with ENOMEM")
        if failures > MOST_FAILURES * seconds:
            raise Seen(f"accept failed {failures} times in {seconds:.1f} s with "
                       "ENOMEM", "a pause, about 20 attempts a second")
        if client.response().status != 200:
            raise Seen("no page when accept(2) works again", "status 200")


def failing(server, error):
    """Return a Trace in which accept(2) fails."""
    return Trace(server.pid, "accept,accept4",
                 ("-f", "-q", "-e", f"inject=accept,accept4:error={error}"))
