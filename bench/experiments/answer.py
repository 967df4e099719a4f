"""E2, the core of an HTTP server: "42", with and without keep-alive."""

from bench.experiments import Experiment, Published, Variant, expect

GRID = (10, 50, 100, 200, 400, 800)


class Answer(Experiment):
    """ab, a single thread; wrk where several cores answer."""

    name = "answer"
    title = "Answer"
    question = ("What does the server itself cost, when the answer is two "
                "bytes long and needs no other program?")
    path = "/answer"
    variants = (
        Variant("keep-alive", quick=(100,), full=GRID),
        Variant("new connections", keep_alive=False, quick=(100,), full=GRID),
        Variant("keep-alive, a worker for each core", many_workers=True,
                tool="wrk", full=GRID),
    )
    published = Published(
        where="FreeBSD 9.1, 8 cores, weighttp on the same machine over "
              "loopback; the best cell of each system",
        best={"libev": 168947, "mongoose": 154340,
              "libevent": 139770, "nginx": 136485,
              "POCO": 86716, "onion": 64403,
              "pion": 48359, "node cluster": 46595,
              "cpp-netlib": 16673},
        notes=("libev was a hand-made server with several processes; it lost "
               "15 to 18 % of the requests at 1 thread and 800 clients.",
               "mongoose lost up to 58 % from 400 clients on; libevent and "
               "nginx lost nothing.",
               "cpp-netlib had no keep-alive, which made up to a factor "
               "of 10."))

    def check(self, get):
        """200, text/plain, "42"."""
        expect(get(self.path), self.path, 200, "text/plain", b"42")


EXPERIMENT = Answer()
