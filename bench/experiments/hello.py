"""E3, many open connections: what does an idle one cost?"""

from bench.experiments import Experiment, Published, Variant, expect


class Hello(Experiment):
    """wrk, which opens all connections before the first answers come."""

    name = "hello"
    title = "Hello"
    question = ("How many connections can be open at once, and what does "
                "each of them cost?")
    path = "/hello"
    x_title = "open connections"
    x_short = "connections"
    tools = ("wrk", "ab")
    holds_connections = True
    reference = 10000
    seconds_full = 10.0
    weight = 1.6
    variants = (Variant("", quick=(10000,),
                        full=(1000, 5000, 10000, 30000, 50000, 100000)),)
    published = Published(
        where="8 cores, wrk on 10 client hosts, 30 minutes a point",
        series={
            "fibjs": {10000: 17705, 30000: 18045, 50000: 17237,
                      100000: 14664},
            "node cluster": {10000: 8268, 30000: 4412, 50000: 2179,
                             100000: 1089},
            "go": {10000: 22284, 30000: 21531, 50000: 21277, 100000: 19386},
            "nginx": {10000: 19393, 30000: 18521, 50000: 18328,
                      100000: 16805},
        },
        notes=("Memory in GB at 10,000 and 100,000 connections: fibjs 0.14 "
               "and 0.79, node cluster 0.56 and 1.45, go 0.37 and 3.36, "
               "nginx 0.10 and 0.14.",
               "fibjs took 14.5 GB at 100,000 at first; a smaller socket "
               "buffer made it 3.36 GB, and giving the buffer back while a "
               "socket waits 0.79 GB."))

    def lasts(self, x, seconds):
        """wrk first opens all connections, 20,000 in a second."""
        return seconds + x / 20000

    def check(self, get):
        """200, text/plain, the constant sentence."""
        expect(get(self.path), self.path, 200, "text/plain", b"Hello, World!")


EXPERIMENT = Hello()
