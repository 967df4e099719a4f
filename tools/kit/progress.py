"""A line of progress: rewritten in its place on a terminal, elsewhere printed now and then."""

import shutil
import sys
import time

BAR = 20            # characters
EVERY = 30.0        # seconds between two lines that do not go to a terminal
WIDTH = 100         # of what is no terminal
FULL, EMPTY = "\N{BOX DRAWINGS HEAVY HORIZONTAL}", "\N{BOX DRAWINGS LIGHT HORIZONTAL}"


def clock(seconds):
    """Return m:ss."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{seconds:02}"


class Line:
    """The line, and the time left of a `plan` of seconds, which show() corrects by how it went so
    far. Not for several threads together."""

    def __init__(self, plan):
        self.plan = plan
        self.begun = self.told = time.monotonic()
        self.terminal = sys.stdout.isatty()

    def text(self, left, what):
        """Return the line, narrower than the terminal. `left`: seconds of the plan."""
        done, planned = 1 - left / (self.plan or 1), self.plan - left
        pace = (time.monotonic() - self.begun) / planned if planned > 5 else 1.0
        said = f"{100 * done:3.0f} %  {clock(left * pace)} left  {what}"
        if self.terminal:
            said = (FULL * round(BAR * done)).ljust(BAR, EMPTY) + " " + said
        return said[:shutil.get_terminal_size((WIDTH, 24)).columns - 1]

    def show(self, left, what, new=False):
        """Write it again; where it does not go to a terminal, only if it is time for one, or
        something `new` begins."""
        if self.terminal:
            print("\r" + self.text(left, what), end="\x1b[K", flush=True)
        elif new or time.monotonic() - self.told >= EVERY:
            self.told = time.monotonic()
            print(self.text(left, what), flush=True)

    def clear(self):
        """Leave an empty line, for what follows."""
        if self.terminal:
            print("\r\x1b[K", end="", flush=True)
