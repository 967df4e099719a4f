"""The live view in a terminal, with curses."""

import asyncio
import contextlib
import curses
import functools
import itertools
import os
import signal

from tools.observe import clients
from tools.observe.watch import plain, view
from tools.observe.watch.where import Where

FRAMES = 10                     # a second
COMPUTE_MS = 500                # long enough to be seen
STAY = 60.0                     # seconds that a troublesome client stays


class Board:
    """A terminal that shows lines of view. `screen`: curses' window."""

    def __init__(self, screen):
        self._screen, self._lines, self._size = screen, [], None
        screen.nodelay(True)
        curses.set_escdelay(25)     # ms to tell the key Esc from an arrow
        with contextlib.suppress(curses.error):     # not every terminal can
            curses.curs_set(0)

    def keys(self):
        """Return the keys pressed since the last time: "q", "KEY_UP"."""
        return [curses.keyname(code).decode("ascii", "replace")
                for code in iter(self._screen.getch, curses.ERR)]

    def size(self):
        """Return (width, height)."""
        return self._screen.getmaxyx()[::-1]

    def show(self, lines):
        """Show these lines, as far as they fit. Writes only those that have changed;
        of these, curses sends the terminal only the cells that differ."""
        if self._size != self.size():
            self._lines, self._size = [], self.size()
            self._screen.erase()
        width, height = self._size
        for y, line in enumerate(lines[:height]):
            if self._lines[y:y + 1] != [line]:
                self._screen.move(y, 0)
                self._screen.clrtoeol()
                with contextlib.suppress(curses.error):     # the last cell of all
                    left = width
                    for text, style in line:
                        self._screen.addstr(text[:left], attribute(style))
                        left -= min(left, len(text))
        self._lines = lines
        self._screen.refresh()


_PAIRS = itertools.count(1)     # of colours, as curses numbers them


@functools.cache
def attribute(style):
    """Return curses' attribute of a view's style: "", "bold" or "#rrggbb"."""
    if not style.startswith("#"):
        return getattr(curses, f"A_{style.upper()}", curses.A_NORMAL)
    parts = [int(style[at:at + 2], 16) for at in (1, 3, 5)]
    pair = next(_PAIRS)
    if curses.COLORS >= 256 and curses.can_change_color():
        colour = 256 - pair     # one of xterm's greys; curses restores it
        curses.init_color(colour, *(part * 1000 // 255 for part in parts))
    elif curses.COLORS >= 256:  # the nearest of a cube of 6 x 6 x 6 colours
        red, green, blue = (max(0, part - 35) // 40 for part in parts)
        colour = 16 + 36 * red + 6 * green + blue
    else:
        colour = sum(bit for bit, part in zip((1, 2, 4), parts) if part > 127)
    with contextlib.suppress(curses.error, ValueError):     # it has no colours
        curses.init_pair(pair, colour, curses.COLOR_BLACK)
    return curses.color_pair(pair)


class Watch:
    """Shows a Sampler. `started`: what we started with it, or None."""

    KEYS = {"q": ("quit",), " ": ("pause",), ".": ("step",), "o": ("sort",),
            "?": ("help",), "k": ("kill",), "f": ("freeze",),
            "KEY_UP": ("choose", -1), "KEY_DOWN": ("choose", 1),
            "n": ("client", "normal"), "s": ("client", "slow"),
            "i": ("client", "silent"), "h": ("client", "half"),
            "c": ("compute",)}

    def __init__(self, sampler, started=None):
        self.sampler, self.started = sampler, started
        self.sort, self.chosen, self.show_help = view.SORTS[0], None, False
        self.said, self._victim = "", None      # the process that k asks about
        self._cpu, self._frame, self._order = plain.Cpu(), None, []
        self._free, self._first = True, 0   # no row is chosen; the first row shown
        self._over, self._sent = False, []
        self._where = Where()

    def end(self, *_):
        """Have run() end within a frame."""
        self._over = True

    def end_on_signals(self):
        """From now on a signal does that. It raises nothing, so neither asyncio nor curses is cut
        short, nor what removes our folders: when a terminal closes, two signals come. (A loop's
        own handlers would not do: one that closes gives the signals back their usual effect.)"""
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            signal.signal(number, self.end)

    async def run(self, board):
        """Show it on a Board, until q is pressed or end() called."""
        while not self._over:
            for key in board.keys():
                self._press(key)
            if not self.sampler.paused or self._frame is None:
                self._frame = self.sampler.frame()
            board.show(self.lines(*board.size()))
            await asyncio.sleep(1 / FRAMES)

    def lines(self, width, height):
        """Return what fits into the terminal, as lines of view."""
        frame = self._frame
        cpu = self._cpu.update(frame)
        self._order = view.order(frame.rows, self.sort, cpu)
        if self._free or self.chosen not in {i.tid for i in self._order}:
            self.chosen = self._order[-1].tid if self._order else None
        redis = self.started and self.started.redis
        top = view.head(frame, self.sampler.paused,
                        "Redis is frozen" if redis and redis.frozen else "")
        top.append(view.titles(width))
        end = [((line, ""),) for line in view.HELP.splitlines()] if self.show_help else []
        end += [((self._line(), "dim"),), ((self.said, "bold"),),
                ((f"{view.KEYS}  by {self.sort}", "dim"),)]
        room = max(1, height - len(top) - len(end))
        few = min(len(frame.clients), max(3, room - len(self._order)))
        rows = self._visible(max(1, room - few))
        middle = [view.row(item, cpu.get(item.tid, 0),
                           item.tid == self.chosen, width) for item in rows]
        middle += [view.client(frame.client(item)) for item
                   in frame.clients[:max(0, room - len(middle))]]
        middle += [(("", ""),)] * (room - len(middle))
        return [view.fit_line(line, width) for line in top + middle + end]

    def _line(self):
        """Return in which line the chosen worker waits, as far as it is known."""
        row = next((item for item in self._order if item.tid == self.chosen), None)
        if row is None or row.kind in ("run", "cpu") or self.sampler.paused:
            return ""
        line = self._where.of(row.pid, row.tid)
        return line and f"{row.name} {line}"

    def _visible(self, room):
        """Return the rows on the screen: the chosen one is among them."""
        tids = [item.tid for item in self._order]
        at = tids.index(self.chosen) if self.chosen in tids else 0
        self._first = max(0, min(self._first, len(tids) - room, at))
        self._first = max(self._first, at - room + 1)
        return self._order[self._first:self._first + room]

    def _press(self, key):
        """Do what a key means, or answer the question of k."""
        if self._victim is not None:
            pid, self._victim = self._victim, None
            self.said = "" if key == "y" else f"process {pid} lives on"
            if key == "y":
                self._end(pid)
        elif key in self.KEYS:
            name, *words = self.KEYS[key]
            getattr(self, f"_{name}")(*words)

    def _quit(self):
        self.end()

    def _pause(self):
        self.sampler.paused = not self.sampler.paused

    def _step(self):
        self.sampler.paused = True
        self.sampler.step()
        self._frame = self.sampler.frame()

    def _sort(self):
        at = view.SORTS.index(self.sort) + 1
        self.sort = view.SORTS[at % len(view.SORTS)]

    def _help(self):
        self.show_help = not self.show_help

    def _choose(self, step):
        tids = [item.tid for item in self._order]
        if self.chosen in tids:
            self._free = False
            at = tids.index(self.chosen) + step
            self.chosen = tids[max(0, min(len(tids) - 1, at))]

    def _kill(self):
        pid = next((item.pid for item in self._order if item.tid == self.chosen), None)
        if self.started is None:
            self.said = "only a server that watch has started can be harmed"
        elif pid and pid == self.started.server.pid:    # its children end with it
            self._victim = pid
            self.said = f"kill process {pid}? The whole server ends with it: y/n"
        elif pid:
            self._end(pid)

    def _end(self, pid):
        self.said = f"killed process {pid}"
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            self.said = f"process {pid} had ended"

    def _freeze(self):
        if self.started is None:
            self.said = "only a Redis that watch has started can be frozen"
        else:
            self.started.redis.freeze()
            self.said = "Redis " + ("frozen" if self.started.redis.frozen else "resumed")

    def _client(self, kind):
        address = self._address()
        if address is None:
            self.said = "no port to send a client to"
            return
        path = "/guestbook" if kind == "normal" else "/large" if self.started else "/"
        self._sent.append(asyncio.ensure_future(clients.trouble(kind, address, path, STAY)))
        self.said = f"sent a {kind} client"

    def _compute(self):
        if self.started is None:    # --compute is off unless watch has started it
            self.said = "only a server that watch has started computes"
            return
        self._sent.append(asyncio.ensure_future(clients.trouble(
            "normal", self._address(), f"/compute?ms={COMPUTE_MS}", STAY)))
        self.said = f"sent a client that computes for {COMPUTE_MS} ms"

    def _address(self):
        if self.started:
            return self.started.server.address
        ports = sorted(self.sampler.tables.ports)
        return ("127.0.0.1", ports[0]) if ports else None
