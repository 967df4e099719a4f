"""Asks the model: what if there were more clients, workers, cores, machines?

    make model SERVER=05 CLIENTS=1000 CORES=16 REDIS_MS=2 WORKERS=400
    python3 -m bench calibrate RUN...

`model` prints a table; each setting is optional and an environment variable.
`calibrate` reads the folders of runs and writes costs.json into the first,
with COMMIT=1 also the costs that the model starts from. Exit status: 0, 1
when a run cannot be read, 2 for a wrong setting.
"""

import os
import re
import sys

from bench import config
from bench.analyse import calibrate, model, model_words
from bench.analyse.sentences import number
from bench.run import servers
from bench.store import rundir

CLIENTS = (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
SETTINGS = """\
SERVER    name or number of one of the seven, or all (default: all)
CLIENTS   numbers of clients, 1 to 1,000,000 (default: 1,10,100 ... 1,000,000)
PAGE      guestbook, answer (new connections) or kept (default: guestbook)
CORES     for the server (default: 1)
WORKERS   processes or threads of 02 to 05 (default: the server's)
REDIS_MS  added to each round trip to Redis (default: 0)
MACHINES  load machines; from 2 on Redis has a core of its own (default: 1)
IDLE      connections that are open and silent (default: 0)
COSTS     a file that calibrate wrote (default: bench/analyse/costs.json)"""
NAMES = re.findall(r"^[A-Z_]+", SETTINGS, re.MULTILINE)
MOST = 1_000_000


def main(words):
    """Print what the model predicts for the settings in the environment or
    in `words` (NAME=VALUE); return the exit status."""
    if words[:1] in (["-h"], ["--help"]):
        print(SETTINGS)
        return 0
    try:
        costs, asked = read(words, os.environ)
        for line in lines(costs, asked):
            print(line)
    except (OSError, ValueError) as error:
        print(f"model: {error}", file=sys.stderr)
        return 2
    return 0


def read(words, environment):
    """Return (costs, [Setting, ...]). Raises ValueError with a sentence."""
    given = {name: environment.get(name, "") for name in NAMES}
    for word in words:
        name, _, text = word.partition("=")
        if name not in given:
            raise ValueError(f"{word}: settings are NAME=VALUE with one of "
                             + " ".join(NAMES))
        given[name] = text

    def whole(name, default, least=1):
        """Return a setting that is a number, or `default`."""
        return one_number(name, given[name], least) if given[name].strip() \
            else default
    clients = [one_number("CLIENTS", text, 1)
               for text in config.words(given["CLIENTS"])] or CLIENTS
    common = {
        "page": page_named(given["PAGE"]), "cores": whole("CORES", 1),
        "workers": whole("WORKERS", None), "machines": whole("MACHINES", 1),
        "redis_ms": milliseconds(given["REDIS_MS"]),
        "idle": whole("IDLE", 0, 0)}
    try:
        costs = model.load(given["COSTS"] or model.COSTS)
    except OSError as error:
        raise ValueError(f"COSTS={given['COSTS']}: {error.strerror}") \
            from error
    return costs, [model.Setting(server, clients=count, **common)
                   for server in chosen(given["SERVER"]) for count in clients]


def one_number(name, text, least):
    """Return the whole number in `text`, with commas or without."""
    digits = text.strip()
    if not digits.isascii() or not digits.isdigit() \
            or not least <= int(digits) <= MOST:
        raise ValueError(f"{name}={text}: it has to be a whole number from "
                         f"{least} to {MOST:,}")
    return int(digits)


def milliseconds(text):
    """Return REDIS_MS as a number, 0.0 if it is empty."""
    if not re.fullmatch(r"\s*(\d+(\.\d*)?|\.\d+|)\s*", text, re.ASCII) \
            or float(text.strip() or 0) > 60_000:
        raise ValueError(f"REDIS_MS={text}: it has to be a number of "
                         "milliseconds from 0 to 60000")
    return float(text.strip() or 0)


def page_named(text):
    """Return the model's name of a page."""
    asked = text.strip().lower() or model.PAGES[0]
    found = [page for page in model.PAGES if asked in (page, page.split()[-1])]
    if not found:
        raise ValueError(f"PAGE={text}: there are guestbook, answer and kept")
    return found[0]


def chosen(text):
    """Return the names of the servers that SERVER names."""
    if text.strip().lower() in ("", "all"):
        return list(model.WORKERS)
    found = []
    for word in config.words(text.lower()):
        try:
            found.append(servers.named(
                word.zfill(2) if word.isdigit() else word).name)
        except KeyError as error:
            raise ValueError(f"SERVER={text}: there are 01 to 07, "
                             + ", ".join(model.WORKERS) + ", all") from error
    return found


def lines(costs, asked):
    """Yield the lines of the answer: a table for each server, with a sentence
    that says why. Raises ValueError."""
    answers = [(one, model.solve(costs, one)) for one in asked]
    source = costs["source"]
    yield (f"Predicted from {source['what']} ({source['cpu']}), measured with "
           f"{source['most_clients']} clients or fewer.")
    if asked[0].cores > 1 or asked[0].machines > 1:
        yield ("Prediction: no server was measured with more than one core, "
               "or with several\nload machines. What cores do to each other "
               "(locks, shared caches) is left out.")
    for server in dict.fromkeys(one.server for one in asked):
        yield ""
        yield (f"{servers.named(server).folder}, {asked[0].page}\n"
               f"{'clients':>11} {'pages/s':>9} {'time':>9}   limit")
        mine = [pair for pair in answers if pair[0].server == server]
        for one, answer in mine:
            yield (f"{one.clients:11,} {number(answer.rate):>9} "
                   f"{time(answer.seconds):>9}   "
                   f"{model_words.limit(one, answer)}")
        yield "  " + model_words.why(costs, *mine[-1])


def time(seconds):
    """Return a time in words."""
    for unit, name in ((1, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{number(seconds / unit)} {name}"
    return f"{number(seconds * 1e6)} us"


def main_calibrate(words):
    """Write the costs that the runs in the folders `words` tell; return the
    exit status."""
    if not words or words[0].startswith("-"):
        print("python3 -m bench calibrate RUN...   a run of make study "
              "NAME=calibrate, or of make compare FULL=1", file=sys.stderr)
        return 2
    try:
        rows = [row for word in words
                for row in rundir.read_rows(os.path.join(word, "samples.csv"))]
        machine = rundir.read_json(os.path.join(words[0], "env.json")).get(
            "machine", {})
        costs = calibrate.calibrate(rows, model.load())
        costs["machine"]["cache_kib"] = machine.get("cache_kib") \
            or costs["machine"]["cache_kib"]
        costs["source"] = {"what": " and ".join(
            os.path.relpath(word, servers.TOP) for word in words),
            "cpu": machine.get("cpu", ""), "most_clients": calibrate.MOST}
        for path in [os.path.join(words[0], "costs.json")] + [
                str(model.COSTS)] * bool(os.environ.get("COMMIT")):
            rundir.write_json(path, costs)
            print(path)
    except (OSError, ValueError) as error:
        print(f"calibrate: {error}", file=sys.stderr)
        return 1
    return 0
