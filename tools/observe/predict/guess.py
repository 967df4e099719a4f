"""A guess of a whole curve, and the sentence that its chapter has for it.

A chapter has the sentences in its directive {guess}, one for each kind of guess:

    close   at each of TICKS within a factor of NEAR of what was measured
    high    too high, with many clients or, if it is right there, where it is farthest off
    low     too low, likewise

These three are needed. A chapter may add sentences for three shapes, unless what was measured
has that shape, too. They come before high and low:

    peaks   its highest point is in the middle, above both ends
    rises   it rises from the first tick to the last
    falls   it falls

tools/book/static/guess.js chooses in the same way; tests/docs/test_guess.py compares the two.
"""

import math
import re

from tools.kit import TOP

TICKS = (20, 100, 1000, 10000)
NEAR, BENT = 1.25, 4 / 3        # factors
NEEDED, SHAPES = ("close", "high", "low"), ("peaks", "rises", "falls")
SENTENCE = re.compile(rf"({'|'.join(NEEDED + SHAPES)}): +(.*)")
FENCE = re.compile(r"^:::\{guess\} +(\w+) +(\w+)\n(?::\w.*\n)*\n?((?:.*\n)*?):::$", re.M)


class GuessError(ValueError):
    """A chapter has no sentences, or they are wrong; the text says which."""


def sentences(lines):
    """Return {kind: sentence} of the lines of a directive; a line that names no kind goes on
    with the sentence before it. Raises GuessError."""
    found, kind = {}, None
    for line in map(str.strip, lines):
        begins = SENTENCE.fullmatch(line)
        if begins:
            kind, line = begins.groups()
            if kind in found:
                raise GuessError(f"there are two sentences for {kind}")
        elif not kind and line:
            raise GuessError(f"{line!r} is for no kind of guess")
        if line:
            found[kind] = f"{found[kind]} {line}" if kind in found else line
    missing = [kind for kind in NEEDED if kind not in found]
    if missing:
        raise GuessError(f"there is no sentence for {', '.join(missing)}")
    return found


def of_chapter(server):
    """Return (experiment, {kind: sentence}) of the chapter of a kit.servers.Server. Raises
    GuessError, and OSError when there is no such page."""
    path = TOP / "docs" / "tutorial" / f"{server.folder}.md"
    for experiment, name, body in FENCE.findall(path.read_text(encoding="utf-8")):
        if name == server.name:
            return experiment, sentences(body.splitlines())
    raise GuessError(f"{path} asks for no guess")


def choose(guess, measured, kinds):
    """Return the kind of a guess, one of `kinds`. Both curves are lists of the rates at the
    same ticks, above 0; of a guess, 0 counts as 1."""
    guess = [max(1, one) for one in guess]
    factors = [one / other for one, other in zip(guess, measured)]
    if all(1 / NEAR <= one <= NEAR for one in factors):
        return "close"
    grows, grew = guess[-1] / guess[0], measured[-1] / measured[0]
    bent = {"peaks": peaks(guess) and not peaks(measured),
            "rises": grows > BENT and grows > BENT * grew,
            "falls": grows < 1 / BENT and grows < grew / BENT}
    for kind in SHAPES:
        if bent[kind] and kind in kinds:
            return kind
    there = factors[-1]
    if 1 / NEAR <= there <= NEAR:
        there = max(factors, key=lambda one: abs(math.log(one)))
    return "high" if there > 1 else "low"


def peaks(curve):
    """Return whether the highest point of a curve is well above its ends."""
    return max(curve) > BENT * max(curve[0], curve[-1])
