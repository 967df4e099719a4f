"""Asks the model: what if there were more clients, workers, cores, machines?

    make model SERVER=05 CLIENTS=1000 CORES=16 REDIS_MS=2 WORKERS=400
    python3 -m bench calibrate RUN

`model` prints a table; each option is also an environment variable. `calibrate` reads the
folder of a run and writes costs.json into it. Exit status: 0, 1 when a run cannot be read, 2
for a wrong setting.
"""

import argparse
import os
import sys

from bench import config
from bench.analyse import calibrate, model, model_words
from bench.analyse.sentences import number
from bench.run import servers
from bench.store import rundir

CLIENTS = "1,10,100,1000,10000,100000,1000000"
PAGES = {page.split()[-1]: page for page in model.PAGES}    # as they are asked for


# -------------------------------------------------------------------- readers
#
# Each returns the value of a setting. It raises ArgumentTypeError with what would be right.

def within(least, most, convert=int):
    """Return the reader of a number from `least` to `most`."""
    def read(text):
        try:
            value = convert(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"{text}: it has to be a {'whole ' * (convert is int)}number from {least} to "
                f"{most:,}")
        return value
    return read


COUNT = within(1, 1_000_000)


def counts(text):
    """Return a list of numbers of clients."""
    return list(map(COUNT, config.words(text) or [text]))


def page(text):
    """Return the model's name of a page."""
    if text not in PAGES:
        raise argparse.ArgumentTypeError(f"{text}: there are {', '.join(PAGES)}")
    return PAGES[text]


def named(text):
    """Return the servers that a name or a number stands for, or "all"."""
    try:
        return servers.ARCHITECTURES if text == "all" else [servers.named(text)]
    except KeyError:
        raise argparse.ArgumentTypeError(
            f"{text}: there are 01 to 07, {', '.join(model.WORKERS)}, all") from None


SETTINGS = (
    # name, reader, default, help
    ("SERVER", named, "all", "name or number of one of the seven, or all"),
    ("CLIENTS", counts, CLIENTS, "numbers of clients"),
    ("PAGE", page, "guestbook", "guestbook, answer (new connections) or kept"),
    ("CORES", COUNT, 1, "for the server"),
    ("WORKERS", COUNT, None, "processes or threads of 02 to 05; None: the server's own number"),
    ("REDIS_MS", within(0, 60_000, float), 0.0, "added to each round trip to Redis"),
    ("MACHINES", COUNT, 1, "load machines; from 2 on Redis has a core of its own"),
    ("IDLE", within(0, 1_000_000), 0, "connections that are open and silent"),
    ("COSTS", str, model.COSTS, "a file that calibrate wrote"),
)


def read(words):
    """Return (costs, [Setting, ...]) for options, and for the environment where they do not
    say. Raises OSError and ValueError for costs; exits on a wrong option."""
    parser = argparse.ArgumentParser(
        prog="python3 -m bench model", usage="%(prog)s [OPTION...]",
        description="Predict rates. Each option is also an environment variable: CORES=4.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for name, reader, default, text in SETTINGS:
        parser.add_argument(
            "--" + name.lower().replace("_", "-"), metavar=name, help=text, type=reader,
            default=os.environ.get(name) or default)
    asked = vars(parser.parse_args(words))
    costs, chosen, clients = map(asked.pop, ("costs", "server", "clients"))
    return model.load(costs), [model.Setting(server.name, clients=count, **asked)
                               for server in chosen for count in clients]


def main(words):
    """Print what the model predicts for the settings in the environment or in `words`; return
    the exit status."""
    try:
        print(*lines(*read(words)), sep="\n")
    except (OSError, ValueError) as error:
        print(f"model: {error}", file=sys.stderr)
        return 2
    return 0


def lines(costs, asked):
    """Yield the lines of the answer: a table for each server, with a sentence that says why.
    Raises ValueError."""
    source = costs["source"]
    yield (f"Predicted from {source['what']} ({source['cpu']}), measured with "
           f"{source['most_clients']} clients or fewer.")
    if asked[0].cores > 1 or asked[0].machines > 1:
        yield ("Prediction: no server was measured with more than one core, or with several\n"
               "load machines. What cores do to each other (locks, shared caches) is left out.")
    for server in dict.fromkeys(one.server for one in asked):
        yield (f"\n{servers.named(server).folder}, {asked[0].page}\n"
               f"{'clients':>11} {'pages/s':>9} {'time':>9}   limit")
        for one in asked:
            if one.server == server:
                last = one, model.solve(costs, one)
                yield (f"{one.clients:11,} {number(last[1].rate):>9} "
                       f"{time(last[1].seconds):>9}   {model_words.limit(*last)}")
        yield "  " + model_words.why(costs, *last)


def time(seconds):
    """Return a time in words."""
    for unit, name in ((1, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{number(seconds / unit)} {name}"
    return f"{number(seconds * 1e6)} us"


def main_calibrate(words):
    """Write the costs that a run tells into its folder; return the exit status."""
    if len(words) != 1 or words[0].startswith("-"):
        print("python3 -m bench calibrate RUN   a run of make study NAME=calibrate, or of make "
              "compare FULL=1", file=sys.stderr)
        return 2
    [folder] = words
    try:
        costs = calibrate.of_machine(
            calibrate.calibrate(rundir.read_rows(os.path.join(folder, "samples.csv")),
                                model.load()),
            rundir.read_json(os.path.join(folder, "env.json"))["machine"],
            os.path.relpath(folder, servers.TOP))
        path = os.path.join(folder, "costs.json")
        rundir.write_json(path, costs)
        print(path)
    except (OSError, ValueError) as error:
        print(f"calibrate: {error}", file=sys.stderr)
        return 1
    return 0
