"""What a thread has done lately: how long in which state, and the coloured strip. Pure."""

import collections

CELL, CELLS = 0.25, 40          # of the strip: seconds in a cell, how many
# A thread that wakes up for less than this and waits again for the same has
# not stopped waiting: 01 to 05 look at the time every 50 ms.
BLINK = 0.1


class History:
    """Samples of one thread: how long it has been in which state. A state that has changed did so
    halfway between two samples."""

    def __init__(self, now):
        self.kind, self.words = "idle", ""
        self.since = now        # when this state began
        self._before = None     # kind, words, since, left
        self.totals = collections.Counter()     # kind: seconds
        self._last = self._seen = now   # filled until; seen last
        self._done = collections.deque(maxlen=CELLS - 1)    # kinds, by cell
        self._cell = {}         # the newest one: {kind: seconds}
        self._newest = None     # its number

    def add(self, now, kind, words, again=False):
        """Take a sample; `again`: the same state, entered once more."""
        if not again and (kind, words) == (self.kind, self.words):
            self.stay(now)
            return
        middle = (self._seen + now) / 2
        self._fill(self.kind, self._last, middle)
        self._fill(kind, middle, now)
        if again:
            self._before, self.since = None, now
        else:
            before = self._before
            self._before = self.kind, self.words, self.since, now
            self.since = before[2] if before and before[:2] == (kind, words) \
                and now - before[3] < BLINK else now
        self.kind, self.words, self._last, self._seen = kind, words, now, now

    def stay(self, now):
        """Take a sample of the same state. Most samples are: so this only notes the time, and fills
        the cells once a cell."""
        self._seen = now
        if now - self._last > CELL:
            self._fill(self.kind, self._last, now)
            self._last = now

    def _fill(self, kind, begin, end):
        """Count a time for a state, in the cells that it lies in."""
        self.totals[kind] += end - begin
        number = int(begin / CELL)
        while begin < end:
            if number != self._newest:
                if self._cell:
                    self._done.append(max(self._cell, key=self._cell.get))
                self._cell, self._newest = {}, number
            part = min(end, (number + 1) * CELL) - begin
            self._cell[kind] = self._cell.get(kind, 0) + max(part, 0)
            number += 1
            begin = number * CELL

    def strip(self, cells):
        """Return the state that took longest in each of `cells` cells. They cover the last ten
        seconds, the newest at the right; None where nothing is known. `cells`: 40 or a part of
        it."""
        # The views call this while the sampler's thread adds cells. A deque is
        # copied in one step; a loop over it would meet the change and fail.
        most, newest = list(self._done), self._cell
        most += [max(newest, key=newest.get)] if newest else []
        most = [None] * (CELLS - len(most)) + most
        return most[CELLS // cells - 1::CELLS // cells]


class Slots:
    """Which process uses which slot of the counters: in order of their forks. A worker that
    replaces a dead one takes its slot."""

    def __init__(self):
        self._slots = {}

    def assign(self, pids):
        """Return {pid: slot} for the processes that live, oldest first."""
        self._slots = {pid: slot for pid, slot in self._slots.items() if pid in pids}
        for pid in pids:
            if pid not in self._slots:
                used = set(self._slots.values())
                self._slots[pid] = next(i for i in range(len(used) + 1) if i not in used)
        return self._slots
