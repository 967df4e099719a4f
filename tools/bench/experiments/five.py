"""What the five published experiments do that their TOML files cannot say."""

import math
import re

from tools.bench import load
from tools.bench.experiments import SPARE, Experiment, WrongAnswer, expect

VISITS = rb"Visits so far:\D*(\d+)"
REMARKS = re.compile(rb"Guest number 10.*Guest number 1\b.*" + VISITS, re.DOTALL)
MANY = 1000                 # clients of guestbook from which a cell lasts a second or more
PAGES = 5000                # requests of a cell of guestbook with FULL=1 and ab, at least
PAGES_A_SECOND = 5000       # of the seven, on average
CALLS = 10                  # requests on each connection of an open loop that keeps it
# A loop takes three quarters of its descriptors (common/server.c), and the kernel does not
# give all loops exactly the same number of connections.
LOOP_TAKES = 0.7


class Guestbook(Experiment):
    """E1. With FULL=1, the clients of ab send a number of requests. What is under way when a
    run ends by time has cost CPU time and counts for nothing: with 400 clients of 04, a page
    costs a tenth more in 0.3 s than in 0.6 s. In half a second 01 and 02 answer some 650 pages:
    of more clients, some would still wait at the end, as if lost, so those have a second."""

    def lasts(self, x, seconds):
        """A second or more of MANY clients, so that each can have a page."""
        return max(seconds, 1.0, x / PAGES_A_SECOND) if x >= MANY else seconds

    def job(self, live, variant, x, seconds, machine, full):
        requests = max(PAGES, x) if full else None
        return load.Job(live.url(self.path), connections=x,
                        seconds=60 if requests else self.lasts(x, seconds),
                        requests=requests, keep_alive=False)

    def check(self, get):
        """The page shows the seeded remarks, and a visitor count that grows with each page."""
        pages = [get(self.path), get(self.path)]
        for page in pages:
            expect(page, self.path, 200, "text/html", REMARKS)
        first, second = (int(re.search(VISITS, page[2])[1]) for page in pages)
        if second <= first:
            raise WrongAnswer(f"GET {self.path}: {first:,} visits, and then {second:,}")


class Hello(Experiment):
    """E3."""

    def workers(self, server, variant, machine, x):
        """One loop, or as many as x connections need descriptors."""
        if not server.has_loops or x + SPARE <= machine.descriptors:
            return 1 if server.has_loops else None
        return math.ceil(x / (LOOP_TAKES * machine.descriptors))


class Redirect(Experiment):
    """E4."""

    def check(self, get):
        """302, a Location below /pictures/, and not always the same."""
        seen = set()
        for _ in range(20):
            status, headers, _ = get(self.path)
            place = headers.get("location", "")
            if status != 302 or not re.search(r"/pictures/[\w.-]+$", place):
                raise WrongAnswer(f"GET {self.path}: status {status}, Location {place!r}")
            seen.add(place)
        if len(seen) < 2:
            raise WrongAnswer(f"GET {self.path}: always {seen.pop()}")


class Echo(Experiment):
    """E5. x is a rate of requests."""

    connections_full = 5000

    def obstacle(self, server, x, machine):
        """httperf has at most 1,000 connections open."""
        few = machine.descriptors < load.Httperf.descriptors
        return "httperf needs 1,024 descriptors" if few else ""

    def job(self, live, variant, x, seconds, machine, full):
        """Return x requests a second, ten on each connection, for `seconds`; with FULL=1 at most
        the published number of connections."""
        rate = x / CALLS
        many = max(10, int(rate * seconds))
        many = min(many, self.connections_full) if full else many
        return load.Job(live.url(self.path), connections=many, seconds=many / rate, rate=rate,
                        calls=CALLS, threads=len(machine.load_cores), timeout=5.0 if full else 2.0)

    def check(self, get):
        """The value in XML, and the error without one."""
        for path, inner in ((self.path, b"<value>x</value>"),
                            ("/echo", b"<error>no value specified</error>")):
            status, headers, body = get(path)
            compact = b"".join(body.split(b"\n"))
            start = compact.find(b"<http_test>")
            expect((status, headers, compact[start:]), path, 200, "text/xml",
                   b"<http_test>%s</http_test>" % inner)


OWN = {"guestbook": Guestbook, "hello": Hello, "redirect": Redirect, "echo": Echo}
