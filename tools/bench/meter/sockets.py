"""TCP: the accept queue, what was refused because it was full, and segments."""

from tools.bench.meter import Metric
from tools.kit.sockets import accept_queue, counters


class Tcp(Metric):
    """The length of the server's accept queue, what this network namespace refused because such a
    queue, or the queue of handshakes before it, was full, and the segments that it sent."""

    longest = 0

    def begin(self, meter):
        self.before = counters()

    def sample(self, meter):
        self.longest = max(self.longest, accept_queue(meter.live.port)[0])

    def end(self, meter):
        self.after = counters()
        self.limit = accept_queue(meter.live.port)[1]

    def finish(self, meter):
        overflows, cookies = (self.after[name] - self.before[name]
                              for name in ("ListenOverflows", "SyncookiesSent"))
        sent = self.after["OutSegs"] - self.before["OutSegs"]
        return {"accept_queue": self.longest, "accept_queue_limit": self.limit,
                "overflows": overflows, "syn_cookies": cookies,
                "segments": sent / meter.answered if meter.answered else None}
