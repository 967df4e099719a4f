"""A Frame as one line, for where there is no terminal. Pure."""

import collections

from tools.kit import counters


def ago(seconds):
    """Return a duration in a few characters: "0.4 s", "12 s", "11 min". Tenths only below two
    seconds: what changes has to be drawn."""
    return f"{seconds:.1f} s" if seconds < 1.95 else \
        f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def iteration(longest):
    """Return how long the longest iteration of a loop took, in `longest` milliseconds."""
    return f"{longest} ms" if longest else f"below {counters.TICK_MS:.0f} ms"


def spoken(rows, most=None):
    """Return what rows do, in words, the most frequent ones first; `most`: of how many kinds."""
    counts = collections.Counter(row.words for row in rows)
    return ", ".join(f"{count} {words}" if count > 1 else words
                     for words, count in counts.most_common(most))


def line(frame, cpu):
    """Return one line for what is no terminal. `cpu`: {tid: part of a CPU}."""
    queue = sum(length for _, length, _ in frame.queues)
    rate = "" if frame.rate is None else f"{frame.rate:.0f} requests/s, "
    longest = "" if frame.longest is None else f"longest iteration {iteration(frame.longest)}, "
    return (f"{frame.title}: {rate}{longest}accept queue {queue}, connections "
            f"{sum(frame.connections.values())}, CPU {sum(cpu.values()) * 100:.0f} %; "
            f"{spoken(frame.rows, 5)}")


class Cpu:
    """Turns the CPU time of rows into parts of a CPU, over a second."""

    def __init__(self):
        self._frames = []

    def update(self, frame):
        """Return {tid: part of a CPU} as of this frame."""
        self._frames = [(now, ran) for now, ran in self._frames if now > frame.now - 1.2][-20:]
        self._frames.append((frame.now, {item.tid: item.cpu for item in frame.rows}))
        (first, before), (last, after) = self._frames[0], self._frames[-1]
        return {tid: (ran - before.get(tid, ran)) / (last - first)
                for tid, ran in after.items()} if last > first else {}
