"""Wait for something to become true."""

import math
import time

from tools.kit import process

EVERY = 0.01        # seconds between two looks


def until(look, seconds, ends=None, most=math.inf, every=EVERY):
    """Call look() each `every` seconds until it returns something true; return its last value.

    After `seconds` that is a false one, as when the process `ends` has ended before. A look
    counts for `most` seconds at most: on a busy machine, a program that is waited for runs as
    seldom as we do, and then has more time."""
    spent, before = 0.0, time.monotonic()
    while True:
        found = look()
        now = time.monotonic()
        spent, before = spent + min(now - before, most), now
        if found or spent > seconds:
            return found
        if not ends:
            time.sleep(every)
        elif process.wait(ends, every):
            return look()       # what it left behind
