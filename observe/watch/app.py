"""The live view in a terminal, with textual."""

import asyncio
import functools
import os
import signal

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from observe import clients
from observe.watch import plain, view

FRAMES = 10                     # a second
STAY = 60.0                     # seconds that a troublesome client stays


@functools.lru_cache(maxsize=1000)
def strip(line, width, ground):
    """Return a view's line as textual's Strip, cut or filled to a width.

    `ground`: rich's Style of what the line does not style itself.
    """
    return Strip([Segment(text, ground + _style(style)) for text, style in line]
                 ).adjust_cell_length(width, ground)


_style = functools.lru_cache(Style.parse)


class Board(Widget):
    """Shows lines, and draws only those that have changed."""

    DEFAULT_CSS = "Board { width: 100%; height: 100%; }"
    lines = ()

    def show(self, lines):
        """Show these lines of view from now on."""
        before, self.lines = self.lines, lines
        changed = [Region(0, y, self.size.width, 1)
                   for y, line in enumerate(lines)
                   if y >= len(before) or line != before[y]]
        if changed:
            self.refresh(*changed)

    def render_lines(self, crop):
        """Return a region's lines as textual wants them. Its own method adds
        borders, which we have not, and costs more than the text."""
        width, ground = self.size.width, self.rich_style
        return [strip(self.lines[y] if y < len(self.lines) else (), width, ground)
                .crop(crop.x, crop.right) for y in crop.line_range]


class Watch(App):
    """Shows a Sampler. `lab`: what we started with it, or None."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [
        ("q", "quit", "quit"), ("space", "pause", "pause"),
        ("full_stop", "step", "step"), ("o", "sort", "sort"),
        ("question_mark", "help", "help"), ("k", "kill", "kill"),
        ("f", "freeze", "freeze"), ("up", "choose(-1)", ""),
        ("down", "choose(1)", ""), ("n", "client('normal')", ""),
        ("s", "client('slow')", ""), ("i", "client('silent')", ""),
        ("h", "client('half')", "")]

    def __init__(self, sampler, started=None):
        super().__init__()
        self.sampler, self.started = sampler, started
        self.sort, self.chosen, self.show_help = view.SORTS[0], None, False
        self.said = "? help"
        self._cpu, self._frame, self._order = plain.Cpu(), None, []
        self._text, self._free = Board(), True    # free: no row is chosen
        self._first = 0         # the first line of the rows that is shown

    def compose(self):
        """One widget, which shows text."""
        yield self._text

    def on_mount(self):
        """Begin to draw."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM,
                                                      self.exit)
        self.set_interval(1 / FRAMES, self.draw)
        self.draw()

    def draw(self):
        """Draw a frame."""
        if not self.sampler.paused or self._frame is None:
            self._frame = self.sampler.frame()
        self._text.show(self.lines(*self.size))

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
        end = [((line, ""),) for line in view.HELP.splitlines()] \
            if self.show_help else []
        end.append(((f"{self.said}   sorted by {self.sort}", "dim"),))
        room = max(1, height - len(top) - len(end))
        few = min(len(frame.clients), max(3, room - len(self._order)))
        rows = self._visible(max(1, room - few))
        middle = [view.row(item, cpu.get(item.tid, 0),
                           item.tid == self.chosen, width) for item in rows]
        middle += [view.client(frame.client(item)) for item
                   in frame.clients[:max(0, room - len(middle))]]
        return top + middle + [(("", ""),)] * (room - len(middle)) + end

    def _visible(self, room):
        """Return the rows on the screen: the chosen one is among them."""
        tids = [item.tid for item in self._order]
        at = tids.index(self.chosen) if self.chosen in tids else 0
        self._first = max(0, min(self._first, len(tids) - room, at))
        self._first = max(self._first, at - room + 1)
        return self._order[self._first:self._first + room]

    def action_pause(self):
        """Stop sampling, or go on."""
        self.sampler.paused = not self.sampler.paused

    def action_step(self):
        """Take one sample while paused."""
        self.sampler.paused = True
        self.sampler.step()
        self._frame = self.sampler.frame()

    def action_sort(self):
        """Sort in the next way."""
        at = view.SORTS.index(self.sort) + 1
        self.sort = view.SORTS[at % len(view.SORTS)]

    def action_help(self):
        """Show the keys, or hide them."""
        self.show_help = not self.show_help

    def action_choose(self, step):
        """Choose another row."""
        tids = [item.tid for item in self._order]
        if self.chosen in tids:
            self._free = False
            at = tids.index(self.chosen) + step
            self.chosen = tids[max(0, min(len(tids) - 1, at))]

    def action_kill(self):
        """Kill the process of the chosen row."""
        pid = next((item.pid for item in self._order
                    if item.tid == self.chosen), None)
        if self.started is None:
            self.said = "only a server that watch has started can be harmed"
        elif pid:
            self.said = f"killed process {pid}"
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                self.said = f"process {pid} had ended"

    def action_freeze(self):
        """Freeze the private Redis, or let it go on."""
        if self.started is None:
            self.said = "only a Redis that watch has started can be frozen"
        else:
            self.started.redis.freeze()
            self.said = "Redis " + ("frozen" if self.started.redis.frozen
                                    else "resumed")

    def action_client(self, kind):
        """Send a client of a kind that clients.trouble() knows."""
        address = self._address()
        if address is None:
            self.said = "no port to send a client to"
            return
        path = "/guestbook" if kind == "normal" else \
            "/large" if self.started else "/"
        self.run_worker(clients.trouble(kind, address, path, STAY))
        self.said = f"sent a {kind} client"

    def _address(self):
        if self.started:
            return self.started.server.address
        ports = sorted(self.sampler.tables.ports)
        return ("127.0.0.1", ports[0]) if ports else None
