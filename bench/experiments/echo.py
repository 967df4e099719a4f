"""E5, errors and response time while clients arrive at a fixed rate."""

from bench import load
from bench.experiments import (Experiment, NotPossible, Published, Variant,
                               expect)

CALLS = 10
RATES = (100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200)


class Echo(Experiment):
    """An open loop: a slow server does not get fewer requests.

    httperf makes the published load, ten requests on each connection, and
    reports only a mean. oha sends the same rate on kept connections, and
    reports percentiles, measured from the time when a request is due.
    """

    name = "echo"
    title = "Echo"
    question = ("What happens when clients do not wait for answers, but "
                "arrive at a fixed rate?")
    path = "/echo?value=x"
    tools = ("httperf", "oha")
    open_loop = True
    x_title = "demanded requests/s"
    x_short = "requests/s demanded"
    unit = "replies/s"
    reference = 12000
    seconds_full = 10.0
    connections_full = 5000
    calls_at = 3000
    variants = (Variant("", quick=(12000,),
                        full=tuple(rate * CALLS for rate in RATES)
                        + (16000, 20000, 30000)),)
    published = Published(
        where="one core each; 5,000 connections with 10 calls, time-out 5 s",
        best={"misultin": 9700, "cowboy": 8600,
              "mochiweb": 4850, "node": 3000,
              "tornado": 1500},
        notes=("The figure is where each topped out on the way from 1,000 to "
               "12,000 demanded requests/s; misultin and cowboy had hardly "
               "an error.",))

    def possible(self, server, x, machine):
        """x is a rate; httperf has at most 1,000 connections open."""
        if machine.descriptors < load.Httperf.descriptors:
            raise NotPossible("httperf needs 1,024 descriptors")

    def job(self, live, variant, x, seconds, machine, full):
        """Return x requests a second, ten on each connection, for `seconds`;
        with FULL=1 at most the published number of connections."""
        rate = x / CALLS
        many = max(10, int(rate * seconds))
        many = min(many, self.connections_full) if full else many
        return load.Job(live.url(self.path), connections=many,
                        seconds=many / rate, rate=rate, calls=CALLS,
                        threads=len(machine.load_cores),
                        timeout=5.0 if full else 2.0)

    def check(self, get):
        """The value in XML, and the error without one."""
        wrap = b"<http_test>%s</http_test>"
        for path, inner in ((self.path, b"<value>x</value>"),
                            ("/echo", b"<error>no value specified</error>")):
            status, headers, body = get(path)
            compact = b"".join(body.split(b"\n"))
            start = compact.find(b"<http_test>")
            expect((status, headers, compact[start:]), path, 200, "text/xml",
                   wrap % inner)


EXPERIMENT = Echo()
