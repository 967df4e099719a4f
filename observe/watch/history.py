"""What a thread has done lately: shares and the coloured strip. Pure."""

import collections

SECONDS = 10.0                  # that the strip shows
# A thread that wakes up for less than this and waits again for the same has
# not stopped waiting: 01 to 05 look at the time every 50 ms.
BLINK = 0.1


class History:
    """Samples of one thread: how long it has been in which state.

    A sample stands for the time until the next one.
    """

    def __init__(self, now):
        self.kind, self.words = "idle", ""
        self.since = now        # when this state began
        self._before = None     # kind, words, since, left
        self.totals = collections.Counter()     # kind: seconds
        self._last = now
        self._samples = collections.deque()     # (time, kind)

    def add(self, now, kind, words, again=False):
        """Take a sample; `again`: the same state, entered once more."""
        self.totals[self.kind] += now - self._last
        if again:
            self._before, self.since = None, now
        elif (kind, words) != (self.kind, self.words):
            before = self._before
            self._before = self.kind, self.words, self.since, now
            self.since = before[2] if before and before[:2] == (kind, words) \
                and now - before[3] < BLINK else now
        if kind != self.kind or not self._samples:
            self._samples.append((now, kind))
        self.kind, self.words, self._last = kind, words, now
        while len(self._samples) > 1 and self._samples[1][0] < now - SECONDS:
            self._samples.popleft()

    def shares(self):
        """Return {kind: part of the time}, of everything seen."""
        whole = sum(self.totals.values()) or 1
        return {kind: seconds / whole
                for kind, seconds in self.totals.items() if seconds}

    def strip(self, now, cells):
        """Return the state that took longest in each of `cells` cells.

        They cover the last ten seconds, the newest at the right; None where
        nothing is known.
        """
        width = SECONDS / cells
        time = [collections.Counter() for _ in range(cells)]
        samples = [*self._samples, (now, None)]
        for (begin, kind), (end, _) in zip(samples, samples[1:]):
            left = max(0.0, (begin - now + SECONDS) / width)
            right = min(float(cells), (end - now + SECONDS) / width)
            while left < right:
                cell = min(int(left), cells - 1)
                part = min(right, cell + 1) - left
                time[cell][kind] += part
                left = max(left + part, cell + 1) if part <= 0 else \
                    left + part
        return [max(cell, key=cell.get) if cell else None for cell in time]


class Slots:
    """Which process uses which slot of the counters: in order of their forks.

    A worker that replaces a dead one takes its slot.
    """

    def __init__(self):
        self._slots = {}

    def assign(self, pids):
        """Return {pid: slot} for the processes that live, oldest first."""
        self._slots = {pid: slot for pid, slot in self._slots.items()
                       if pid in pids}
        for pid in pids:
            if pid not in self._slots:
                used = set(self._slots.values())
                self._slots[pid] = next(
                    i for i in range(len(used) + 1) if i not in used)
        return self._slots
