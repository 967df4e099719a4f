"""`make predict WHAT=curve`: the reader's guess of a whole curve, then the measured one over it.

The curve is that of docs/results/reference, so nothing is measured, and the sentence is that of
the chapter. All is plain text, at a terminal and without one.
"""

import math
import sys

from tools.kit import servers
from tools.observe.predict import files, guess
from tools.report import join, summaries, table
from tools.results import rundir
from tools.stats.sentences import number

# Of the highest rate, at the four ticks.
SKETCHES = {"flat": (1, 1, 1, 1), "rises": (.25, .5, .75, 1), "falls": (1, .75, .5, .25),
            "peaks": (.4, 1, .7, .3)}
LEVELS = "▁▂▃▄▅▆▇█"
ACROSS, DOWN, MARGIN = 60, 12, 8        # characters of the picture, and left of it
EXPECTED, MEASURED = "·", "●"


def run(options):
    """Ask for a guess on standard input, and compare; return the exit status. Raises FileError."""
    if not options.server or options.clients or options.file:
        raise files.FileError("WHAT=curve needs SERVER=05, without CLIENTS and FILE")
    try:
        server = servers.named(files.server(options.server))
    except ValueError as error:
        raise files.FileError(f"SERVER={options.server}: {error}") from error
    try:
        experiment, said = guess.of_chapter(server)
        run_of = summaries.read(join.REFERENCE)
        env = rundir.read_json(f"{join.REFERENCE}/env.json")
    except (OSError, guess.GuessError) as error:
        raise files.FileError(f"there is no curve to guess: {error}") from error
    points = measured(run_of, experiment, server.name)
    ask_of(server)
    told = ask()
    print("", *picture(told, points), "", sep="\n")
    rates = [points[x] for x in guess.TICKS]
    table.say(
        f"With {guess.TICKS[-1]:,} clients, you expected {number(told[-1])} pages a second; "
        f"measured: {number(rates[-1])}. {said[guess.choose(told, rates, said)]}",
        f"Measured on {env['machine']['cpu']}. Read docs/read/{server.folder}.md.")
    return 0


def measured(summary, experiment, server):
    """Return {clients: rate} of a summary."""
    of = next(one for one in summary["experiments"] if one["name"] == experiment)
    return {point["x"]: point["rate"]["middle"] for one in of["curves"]
            if (one["server"], one["variant"]) == (server, of["variants"][0])
            for point in one["points"] if point["rate"]}


def ask_of(server):
    """Print what to enter."""
    ticks = ", ".join(f"{x:,}" for x in guess.TICKS[:-1]) + f" and {guess.TICKS[-1]:,}"
    table.say(f"What do you expect of {server.folder.replace('_', ' ')}? Enter the pages a second "
              f"of /guestbook with {ticks} clients, such as 9000 12000 8000 2000; or a shape and "
              "its highest rate, such as rises 12000:")
    print("", *(f"  {name:7}{sketch(shares)}" for name, shares in SKETCHES.items()), "",
          sep="\n", flush=True)


def sketch(shares):
    """Return a shape in block characters, three from each tick to the next."""
    return "".join(LEVELS[round(between(shares, place / 3) * len(LEVELS)) - 1]
                   for place in range(3 * (len(shares) - 1) + 1))


def between(values, place):
    """Return the value at a place, 0 to len(values) - 1, on straight lines between `values`."""
    left = min(int(place), len(values) - 2)
    return values[left] + (values[left + 1] - values[left]) * (place - left)


def ask():
    """Return the guess; at a terminal, ask again after a mistake. Raises FileError, EOFError."""
    while True:
        try:
            return rates_of(input("your guess: "))
        except ValueError as error:
            if not sys.stdin.isatty():
                raise files.FileError(f"your guess: {error}") from error
            print(error)


def rates_of(typed):
    """Return the rates at the ticks that a line says. Raises ValueError."""
    words = typed.replace(",", "").split()
    shares = SKETCHES.get(words[0].lower()) if words else None
    try:
        rates = [float(word) for word in words[1 if shares else 0:]]
    except ValueError:
        rates = []
    if len(rates) != (1 if shares else len(guess.TICKS)):
        raise ValueError(f"it has to be {len(guess.TICKS)} numbers, or one of "
                         f"{', '.join(SKETCHES)} and a number")
    rates = [files.figure(rate) for rate in rates]
    return [rates[0] * share for share in shares] if shares else rates


def picture(told, points):
    """Return the lines of a picture of both: clients to the right on a logarithmic axis, rates
    upwards from 0. Where both are in one place, it shows the measured one."""
    highest = max(*told, *points.values())
    first, last = guess.TICKS[0], guess.TICKS[-1]

    def column(x):
        return round(math.log(x / first) / math.log(last / first) * (ACROSS - 1))

    rows = [[" "] * ACROSS for _ in range(DOWN + 1)]
    for rates, mark in ((dict(zip(guess.TICKS, told)), EXPECTED), (points, MEASURED)):
        known = [(column(x), rate) for x, rate in sorted(rates.items()) if first <= x <= last]
        for (left, low), (right, high) in zip(known, known[1:]):
            for at in range(left, right + 1):
                share = (at - left) / (right - left) if right > left else 0
                rows[DOWN - round((low + (high - low) * share) / highest * DOWN)][at] = mark
    axis = [" "] * (ACROSS + MARGIN)
    for x in guess.TICKS:
        words = f"{x:,}"
        at = min(MARGIN + column(x), len(axis) - len(words))
        axis[at:at + len(words)] = words
    heads = {0: number(highest), DOWN: "0"}
    return [f"pages a second; {EXPECTED} your guess, {MEASURED} measured", *(
        f"{heads.get(place, ''):>{MARGIN - 2}} │{''.join(row)}".rstrip()
        for place, row in enumerate(rows)),
        " " * (MARGIN - 1) + "└" + "─" * ACROSS, "".join(axis) + "  clients"]
