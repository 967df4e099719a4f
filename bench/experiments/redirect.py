"""E4, a 302 to a random picture: the smallest page with a decision."""

import re

from bench.experiments import Experiment, Published, Variant, WrongAnswer


class Redirect(Experiment):
    """100 clients on kept connections."""

    name = "redirect"
    title = "Redirect"
    question = "How fast is an answer without a body?"
    path = "/redirect"
    tools = ("wrk",)            # to ab each status but 2xx is a failure
    seconds_full = 10.0
    variants = (Variant("", quick=(100,), full=(100,)),)
    published = Published(
        where="6 cores, wrk -d10s -t4 -c100 on the same machine",
        best={"nginx+lua": 243841, "Rust hyper": 232215,
              "libmicrohttpd": 217046, "Varnish": 159889,
              "node cluster": 140515, "HAProxy": 128361,
              "Java, thread pool": 76681, "Deno": 42960,
              "node": 33400, "Java": 20268},
        notes=("HAProxy was measured on another machine.",))

    def check(self, get):
        """302, a Location below /pictures/, and not always the same."""
        seen = set()
        for _ in range(20):
            status, headers, _ = get(self.path)
            place = headers.get("location", "")
            if status != 302 or not re.search(r"/pictures/[\w.-]+$", place):
                raise WrongAnswer(f"GET {self.path}: status {status}, "
                                  f"Location {place!r}")
            seen.add(place)
        if len(seen) < 2:
            raise WrongAnswer(f"GET {self.path}: always {seen.pop()}")


EXPERIMENT = Redirect()
