"""What the tests of live servers share."""

import time

from tests.observe import scripted

# Ends a test that hangs; not how long anything may take.
LIMIT = 240


def wait_for(condition):
    """Return the condition's value when it holds; fail after LIMIT seconds."""
    limit = time.monotonic() + LIMIT
    while not (value := condition()):
        assert time.monotonic() < limit
        time.sleep(0.02)
    return value


def added(waits):
    """Return {kind: seconds} of [(kind, begin, end)]."""
    total = dict.fromkeys(scripted.PAUSES, 0)
    for kind, begin, end in waits:
        total[kind] += end - begin
    return total
