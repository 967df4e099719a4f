"""A prediction is a TOML file, and in the program a dict with the same keys.
"""

import difflib
import json
import os
import re
import tomllib

from tools.observe import lab

EXAMPLE = """\
server = "05"           # number or name
clients = 100
rate = 3000             # requests a second
cpu_us = 250            # CPU microseconds a request
switches = 4            # context switches a request
calls = 12              # system calls a request
limit = "server core"   # or: load tool, Redis, workers, clients
why = "a line"
what = "guestbook"      # or "answer"; this line and the next may be left out
name = "Ada"
"""
QUANTITIES = {
    "rate": "requests a second",
    "cpu_us": "CPU microseconds a request",
    "switches": "context switches a request",
    "calls": "system calls a request",
}
COMPUTING = "computing"         # the question how long short requests wait for others
WAITS = {
    "p50_ms": "ms until half of the short answers are there",
    "p99_ms": "ms until 99 % of them are there",
}
EXAMPLE_WAITS = """\
server = "07"           # number or name
what = "computing"
p50_ms = 2              # milliseconds until half of the short answers are there
p99_ms = 50             # milliseconds until 99 % of them are there
why = "a line"
"""
LIMITS = {
    "server core": "the server's core is always busy",
    "load tool": "the load tool cannot ask faster",
    "Redis": "Redis cannot answer faster",
    "workers": "all workers wait, and no core is always busy",
    "clients": "too few clients ask, and workers are free",
}
MOST = 10 ** 9                  # the largest figure


class FileError(Exception):
    """A file is no prediction; the text says where and why."""


def figure(value):
    """Return a number above 0 and at most MOST. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("it has to be a number, without quotes")
    if not 0 < value <= MOST:           # false for nan, too
        raise ValueError(f"it has to be above 0, and at most {MOST:,}")
    return value if value % 1 else int(value)


def whole(value):
    """Return a whole number above 0. Raises ValueError."""
    if figure(value) % 1:
        raise ValueError("it has to be a whole number")
    return figure(value)


def line(value):
    """Return a line of text. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError("it has to be text, in quotes")
    if not value.isprintable():
        raise ValueError("it has to be one line, without control characters")
    return value.strip()


def one_of(*names):
    """Return a check for one of `names`, in any case; a beginning that only one has will do."""
    def check(value):
        begun = [name for name in names if name.lower().startswith(line(value).lower())]
        if len(begun) != 1:
            raise ValueError("it has to be one of: " + ", ".join(names))
        return begun[0]
    return check


def server(value):
    """Return the folder of a server. Raises ValueError."""
    try:
        return lab.folder_of(str(value))
    except lab.LabError as error:
        raise ValueError(str(error)) from error


def measured(table):
    """Return the table that add() wrote. Raises ValueError."""
    if not isinstance(table, dict):
        raise ValueError("it has to be a table, [measured]")
    return {key: (figure if key in {**QUANTITIES, **WAITS} else line)(value)
            for key, value in table.items()}


def quantities(prediction):
    """Return {key: in words} of the figures that a prediction has."""
    return WAITS if prediction["what"] == COMPUTING else QUANTITIES


def needed(prediction):
    """Return the keys that a prediction must have."""
    page = ("clients", "limit") if quantities(prediction) is QUANTITIES else ()
    return ["server", *page, *quantities(prediction), "why"]


CHECKS = {"server": server, "clients": whole,
          **dict.fromkeys({**QUANTITIES, **WAITS}, figure), "limit": one_of(*LIMITS),
          "why": line, "what": one_of("guestbook", "answer", COMPUTING), "name": line,
          "measured": measured}
OPTIONAL = {"what": "guestbook", "name": "", "measured": {}}


def read(path, **given):
    """Return the prediction in a file: {key of CHECKS: value}. `given` may hold keys that the file
    lacks. Raises FileError, also when the file contradicts what is given."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        text = data.decode("utf-8")
        told = tomllib.loads(text)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        before = data.count(b"\n", 0, error.start)
        raise FileError(f"{path}, line {before + 1}: not UTF-8") from error
    except (ValueError, RecursionError) as error:
        last = f"line {text.rstrip().count(chr(10)) + 1}, the last"
        raise FileError(f"{path}: " + str(error).replace("end of document", last)) from error
    found = dict(given)
    for key, value in told.items():
        try:
            if key not in CHECKS:
                near = difflib.get_close_matches(key, CHECKS, 1)
                raise ValueError("this key is unknown; " + (
                    f"is it {near[0]}?" if near else "there are " + ", ".join(CHECKS)))
            value = CHECKS[key](value)
            if found.setdefault(key, value) != value:
                raise ValueError(f"{value} here, but {found[key]} was asked for")
        except ValueError as error:
            raise FileError(f"{path}, line {line_of(text, key)}: {key}: {error}") from error
    found = {**OPTIONAL, **found}
    for key in needed(found):
        if key not in found:
            raise FileError(f"{path}: the line  {key} = ...  is missing")
    if unasked := found.keys() - {*needed(found), *OPTIONAL}:
        key = next(key for key in CHECKS if key in unasked)
        raise FileError(f"{path}, line {line_of(text, key)}: {key}: it is not asked for with "
                        f"what = \"{found['what']}\"")
    return found


def line_of(text, key):
    """Return the number of the first line that sets `key`, or is the header of its table."""
    match = re.search(rf"""^[ \t["']*{re.escape(key)}\b""", text, re.MULTILINE)
    return text.count("\n", 0, match.start()) + 1 if match else 1


def title(prediction):
    """Return what is predicted, in words."""
    if prediction["what"] == COMPUTING:
        return f"{prediction['server'].replace('_', ' ')}, 20 % of the requests compute for 20 ms"
    many = "s" if prediction["clients"] != 1 else ""
    return (f"{prediction['server'].replace('_', ' ')}, /{prediction['what']}"
            f", {prediction['clients']:,} client{many}")


def written(table):
    """Return the lines of a dict in TOML: numbers, and lines of text."""
    # A JSON string of printable characters is a TOML string, too.
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
                   for key, value in table.items())


def store(folder, name, prediction):
    """Write a prediction into a new file; return its path. Where NAME.toml is
    there already, it is NAME-2.toml, and so on. Raises OSError."""
    os.makedirs(folder, exist_ok=True)
    name = re.sub(r"[^\w.-]+", "-", name)[:80].strip("-.") or "prediction"
    number, path = 1, os.path.join(folder, f"{name}.toml")
    while True:
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(written({key: prediction[key] for key in CHECKS
                                    if key != "measured" and key in prediction}))
            return path
        except FileExistsError:
            number += 1
            path = os.path.join(folder, f"{name}-{number}.toml")


def add(path, found):
    """Add to a stored prediction what was measured. Raises OSError."""
    with open(path, "a", encoding="utf-8") as file:
        file.write("\n[measured]\n" + written(found))
