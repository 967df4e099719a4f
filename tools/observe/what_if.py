"""Asks the model: what if there were more clients, workers, cores, machines?

    make model SERVER=05 CLIENTS=1000 CORES=16 REDIS_MS=2 WORKERS=400

Prints a table; each option is also an environment variable. Exit status: 0, or 2 for a wrong
setting.
"""

import argparse
import os
import sys

from tools.bench import config
from tools.kit import servers
from tools.model import explain, model
from tools.stats.sentences import number

MOST = 1_000_000        # of anything
COUNT = config.number(1, MOST, otherwise=1)
PAGES = {page.split()[-1]: page for page in model.PAGES}    # as they are asked for


def clients_of(text):
    """Return a list of numbers of clients."""
    text = text or "1,10,100,1000,10000,100000,1000000"
    return [COUNT(word) for word in config.words(text) or [text]]


def page_of(text):
    """Return the model's name of a page."""
    [name] = config.among(PAGES, [text or "guestbook"])
    return PAGES[name]


def servers_of(text):
    """Return the servers that a name or a number stands for, or "all"."""
    if text in ("", "all"):
        return servers.ARCHITECTURES
    if text not in servers.NAMES:
        raise ValueError(f"there are 01 to {servers.ARCHITECTURES[-1].folder[:2]}, "
                         f"{', '.join(model.WORKERS)}, all")
    return [servers.named(text)]


SETTINGS = (
    # name, reader, help
    ("SERVER", servers_of, "name or number of one of the seven, or all (default)"),
    ("CLIENTS", clients_of, "numbers of clients (default: 1, 10, 100, ... 1000000)"),
    ("PAGE", page_of, "guestbook (default), answer (new connections) or kept"),
    ("CORES", COUNT, "for the server (default: 1)"),
    ("WORKERS", config.number(1, MOST),
     "processes or threads of 02 to 05 (default: the server's own number)"),
    ("REDIS_MS", config.number(0, 60_000, float, otherwise=0.0),
     "added to each round trip to Redis (default: 0)"),
    ("MACHINES", COUNT, "load machines; from 2 on Redis has a core of its own (default: 1)"),
    ("IDLE", config.number(0, MOST, otherwise=0),
     "connections that are open and silent (default: 0)"),
    ("COSTS", lambda path: path or model.COSTS,
     "a file that calibrate wrote (default: the costs that come with the model)"),
)


def main(words):
    """Print what the model predicts for the settings in the environment or in `words`; return the
    exit status."""
    try:
        asked = config.ask(argparse.ArgumentParser(
            prog="python3 -m tools.observe model", usage="%(prog)s [OPTION...]",
            description="Predict rates. Each option is also an environment variable: CORES=4."),
            SETTINGS, words, os.environ)
        path, chosen, clients = map(asked.pop, ("costs", "server", "clients"))
        costs = model.load(path)
        # All are those that it knows: a new server has no costs yet.
        chosen = [one for one in chosen if one.name in costs["servers"]] or chosen
        print(*lines(costs, chosen, clients, asked), sep="\n")
    except (OSError, ValueError, config.SettingsError) as error:
        print(f"model: {error}", file=sys.stderr)
        return 2
    return 0


def lines(costs, chosen, clients, asked):
    """Yield a table for each of the servers `chosen`, with a sentence that says why. `asked` is
    the same in all their Settings. Raises ValueError."""
    source = costs["source"]
    yield (f"Predicted from {source['what']} ({source['cpu']}), measured with "
           f"{source['most_clients']} clients or fewer.")
    if asked["cores"] > 1 or asked["machines"] > 1:
        yield ("Prediction: no server was measured with more than one core, or with several\n"
               "load machines. What cores do to each other (locks, shared caches) is left out.")
    for server in chosen:
        yield (f"\n{server.folder}, {asked['page']}\n"
               f"{'clients':>11} {'pages/s':>9} {'time':>9}   limit")
        for count in clients:
            last = model.Setting(server.name, clients=count, **asked)
            answer = model.solve(costs, last)
            yield (f"{count:11,} {number(answer.rate):>9} {time(answer.seconds):>9}   "
                   f"{explain.limit(last, answer)}")
        yield "  " + explain.why(costs, last, answer)


def time(seconds):
    """Return a time in words."""
    for unit, name in ((1, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{number(seconds / unit)} {name}"
    return f"{number(seconds * 1e6)} us"
