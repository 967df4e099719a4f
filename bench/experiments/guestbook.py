"""E1, one server in seven architectures: a page from a template and Redis."""

import re

from bench import load
from bench.experiments import (Experiment, Published, Variant, WrongAnswer,
                               expect)

GRID = (20, 50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1500, 2000,
        2500, 3000, 5000, 8000, 10000, 11000, 12000, 13000, 14000, 15000)
VISITS = rb"Visits so far:\D*(\d+)"


def column(*rates):
    """Return {clients: rate}; None where nothing was published."""
    return {x: rate for x, rate in zip(GRID, rates) if rate is not None}


class Guestbook(Experiment):
    """ab without -k, so that every request is a connection of its own."""

    name = "guestbook"
    title = "Guestbook"
    question = ("How many pages a second does each architecture serve when "
                "each client opens a new connection and each page needs "
                "three Redis commands?")
    path = "/guestbook"
    unit = "pages/s"
    needs_redis = True
    requests_full = 20000
    seconds_full = 60.0     # forking with 15,000 clients needs 20 to 31
    # Quick: in half a second 01 and 02 answer some 650 pages here. With more
    # clients than that, some would still wait at the end, as if lost.
    variants = (Variant("", keep_alive=False, quick=(100, 500),
                        full=GRID),)
    published = Published(
        where="four hosts, one core each: ab, a load balancer, the server, "
              "Redis; backlog 10, HTTP/1.0, no keep-alive; mean of three runs",
        series={
            "iterative": column(7, 7, 7, 7),
            "forking": column(112, 190, 245, 330, 380, 410, 440, 460, 460,
                              460, 460, 475, 490, 350, 280, 280),
            "preforking": column(2100, 2200, 2200, 2300, 2200, 2200, 2300,
                                 2400, 2400, 2400, 2300, 2300, 2400, 2400,
                                 2100, 1900, 1600, 1200),
            "threaded": column(1800, 1700, 1700, 1750, 1800, 1750, 1850, 1800,
                               1600, 1600, 1600, 1700, 1550, 1400, 1300, 1250,
                               1100),
            "prethreaded": column(2250, 2200, 2200, 2300, 2400, 2600, 2700,
                                  2500, 2490, 2540, 2472, 2485, 2620, 2396,
                                  2453, 2502, 2519, 2451, 2200, 2200, 970,
                                  730, 590, 532),
            "poll": column(1900, 2000, 2150, 2200, 2250, 2000, 1900, 1700,
                           1550, 1400, 1200, 1150, 900, 550, 490),
            "epoll": column(2050, 2000, 2100, 2100, 2150, 2000, 2212, 2519,
                            2607, 2553, 2567, 2439, 2479, 2200, 2262, 2138,
                            2235, 2100, 2200, 2122, 1958, 1897, 1466, 1281),
        },
        rough={"forking": (5000,), "preforking": (10000,),
               "threaded": (8000,), "poll": (3000,)},
        notes=("A wide spread was published for forking at 5,000 clients, "
               "preforking at 10,000, threaded at 8,000 and poll at 3,000; "
               "where a curve ends there was no result.",
               "Its poll and epoll servers read with blocking one-byte calls "
               "and one socket error ended the server, so part of the curves "
               "shows that and not the architecture."))

    def lasts(self, x, seconds):
        """With FULL=1 a number of requests is sent, in 4 s on average."""
        return min(seconds, 4.0)

    def job(self, live, variant, x, seconds, machine, full):
        """Return the load of x clients, with FULL=1 a number of requests."""
        return load.Job(live.url(self.path), connections=x,
                        seconds=seconds, keep_alive=False,
                        requests=max(self.requests_full, x) if full else None)

    def check(self, get):
        """The page shows the seeded remarks and a visitor count, which grows
        from one page to the next."""
        first, second = (self._visits(get(self.path)) for _ in range(2))
        if second <= first:
            raise WrongAnswer(f"GET {self.path}: {first:,} visits, and then "
                              f"{second:,}")

    def _visits(self, answer):
        """Return the visitor count of a page with the remarks."""
        expect(answer, self.path, 200, "text/html",
               re.compile(rb"Guest number 10.*Guest number 1\b.*" + VISITS,
                          re.DOTALL))
        return int(re.search(VISITS, answer[2]).group(1))


EXPERIMENT = Guestbook()
