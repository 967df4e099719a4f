"""A prediction is a TOML file. What is wrong in it is told with its line.

    server = "05"           # number or name
    clients = 100
    rate = 3000             # see QUANTITIES
    cpu_us = 250
    switches = 4
    calls = 12
    limit = "server core"   # one of LIMITS
    why = "a page takes 250 us, and the server has one core"
    what = "guestbook"      # or "answer"; this key and name may be left out
    name = "Ada"

After the measurement a table [measured] follows, with the same figures.
"""

import collections
import difflib
import json
import os
import re
import tomllib
from dataclasses import dataclass, field

from observe import lab

QUANTITIES = {
    "rate": "requests a second",
    "cpu_us": "CPU microseconds a request",
    "switches": "context switches a request",
    "calls": "system calls a request",
}
LIMITS = {
    "server core": "the server's core is always busy",
    "load tool": "the load tool cannot ask faster",
    "Redis": "Redis cannot answer faster",
    "workers": "all workers wait, and no core is always busy",
    "clients": "too few clients ask, and workers are free",
}
WHATS = ("guestbook", "answer")
KEYS = ("server", "clients", *QUANTITIES, "limit", "why", "what", "name")
MOST, LARGEST = 10 ** 9, 64 << 10       # a figure; bytes of a file

# values: {a key of QUANTITIES: figure, or None where it is not known};
# limits: words of LIMITS, or what else bench found; calls: {name: a request}.
Measured = collections.namedtuple(
    "Measured", "values limits evidence calls user_us cores notes",
    defaults=((), "", {}, None, 1, ()))


class FileError(Exception):
    """A file is no prediction; the text says where and why."""


@dataclass(frozen=True)
class Prediction:
    """What a reader expects. `values`: {key of QUANTITIES: figure}."""

    server: str             # the folder, as lab.folder_of() returns it
    clients: int
    what: str = "guestbook"
    values: dict = field(default_factory=dict)
    limit: str = ""
    why: str = ""
    name: str = ""

    @property
    def title(self):
        """What is predicted, in words."""
        return (f"{self.server.replace('_', ' ')}, /{self.what}, "
                f"{self.clients:,} client{'s' * (self.clients != 1)}")


def figure(value):
    """Return a number above 0 and at most MOST. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("it has to be a number, without quotes")
    if not 0 < value <= MOST:           # false for nan, too
        raise ValueError(f"it has to be above 0, and at most {MOST:,}")
    return value


def whole(value):
    """Return a whole number above 0. Raises ValueError."""
    if figure(value) != int(value):
        raise ValueError("it has to be a whole number")
    return int(value)


def text(value):
    """Return a line of text. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError("it has to be text, in quotes")
    if not value.isprintable():
        raise ValueError("it has to be one line, without control characters")
    return value


def one_of(value, names):
    """Return which of `names` this is, in any case, or how the only one of
    them begins. Raises ValueError."""
    begun = [name for name in names
             if name.lower().startswith(text(value).strip().lower())]
    if len(begun) != 1:
        raise ValueError("it has to be one of: " + ", ".join(names))
    return begun[0]


def server(value):
    """Return the folder of a server. Raises ValueError."""
    try:
        return lab.folder_of(f"{value:02}" if type(value) is int
                             else text(value))
    except lab.LabError as error:
        raise ValueError(str(error)) from error


CHECKS = {"server": server, "clients": whole, "why": text, "name": text,
          "what": lambda value: one_of(value, WHATS),
          "limit": lambda value: one_of(value, LIMITS),
          **dict.fromkeys(QUANTITIES, figure)}


def read(path, **given):
    """Return (Prediction, Measured or None) of a file. `given`: "server",
    "clients", "what", "name" from elsewhere; None or "" where not given.

    Raises FileError, also when the file contradicts what is given.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    try:
        return parse(data, given)
    except FileError as error:
        raise FileError(f"{path}: {error}") from error


def parse(data, given=None):
    """Do what read() says with the bytes of a file."""
    if len(data) > LARGEST:
        raise FileError(f"it has more than {LARGEST:,} bytes")
    try:
        lines = data.decode("utf-8")
        told = tomllib.loads(lines)
    except UnicodeDecodeError as error:
        raise FileError(f"line {1 + data[:error.start].count(10)}: this is "
                        "not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise FileError(_where(str(error), data)) from error
    measured = _measured(told.pop("measured", None), lines)
    for key in told.keys() - set(KEYS):
        near = difflib.get_close_matches(key, KEYS, 1)
        raise FileError(f"line {line_of(lines, key)}: {key} is unknown; " + (
            f"is it {near[0]}?" if near else "there are " + ", ".join(KEYS)))
    found = {key: _checked(key, value, lines) for key, value in told.items()}
    for key, value in (given or {}).items():
        if value and found.setdefault(key, value) != value:
            raise FileError(
                f"line {line_of(lines, key)}: {key} is {found[key]} here, "
                f"but {value} was asked for")
    for key in KEYS[:7]:
        if key not in found:
            raise FileError(f"it has no line  {key} = ...  "
                            f"({QUANTITIES.get(key, key)})")
    return Prediction(values={key: found.pop(key) for key in QUANTITIES},
                      **found), measured


def _where(reason, data):
    """Return tomllib's words with the line in front."""
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end.*)\)",
                         reason)
    if not match:
        return reason
    if not match[2]:
        return f"line {1 + data.rstrip().count(10)}: {match[1]}"
    return f"line {match[2]}, column {match[3]}: {match[1]}"


def line_of(lines, key, table=""):
    """Return the number of the line that sets `key` in `table`; 1 when it is
    written in a way that this does not see."""
    now = ""
    for number, line in enumerate(lines.splitlines(), 1):
        if header := re.match(r"\s*\[+\s*([\w.-]+)", line):
            now = header[1]
        if re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[.=]""", line) \
                and now == table or now == key:
            return number
    return 1


def _checked(key, value, lines, table="", checks=None):
    try:
        return (checks or CHECKS)[key](value)
    except (ValueError, OverflowError) as error:
        said = " ".join(str(value).split())[:40]
        raise FileError(f"line {line_of(lines, key, table)}: {key} = "
                        f"{said if said.isprintable() else '...'}: {error}"
                        ) from error


def _measured(table, lines):
    """Return the Measured of a table, None without one."""
    if table is None:
        return None
    if not isinstance(table, dict):
        raise FileError(f"line {line_of(lines, 'measured')}: measured has to "
                        "be a table, [measured]")
    checks = {**dict.fromkeys(QUANTITIES, figure), "limit": text,
              "evidence": text}
    got = {key: _checked(key, value, lines, "measured", checks)
           for key, value in table.items() if key in checks}
    return Measured({key: got.get(key) for key in QUANTITIES},
                    tuple(filter(None, got.get("limit", "").split(" and "))),
                    got.get("evidence", ""))


def written(prediction, measured=None):
    """Return the text of the file for a prediction."""
    lines = [f"# {prediction.title}", f'server = "{prediction.server}"',
             f"clients = {prediction.clients}",
             f'what = "{prediction.what}"', ""]
    lines += [f"{key} = {value!r}" for key, value
              in prediction.values.items()]
    # A JSON string of printable characters is a TOML string, too.
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}"
              for key in ("limit", "why", "name")
              if (value := getattr(prediction, key))]
    if measured:
        lines += ["", "[measured]", *(
            f"{key} = {float(f'{value:.6g}')!r}"
            for key, value in measured.values.items() if value)]
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}"
                  for key, value in (("limit", " and ".join(measured.limits)),
                                     ("evidence", measured.evidence))]
    return "\n".join(lines) + "\n"


def store(folder, name, prediction):
    """Write a new file for a prediction; return its path. Where NAME.toml is
    there already, it is NAME-2.toml, and so on. Raises OSError."""
    os.makedirs(folder, exist_ok=True)
    name = re.sub(r"[^\w.-]+", "-", name)[:80].strip("-.") or "prediction"
    number = 1
    while True:
        path = os.path.join(
            folder, name + (f"-{number}" if number > 1 else "") + ".toml")
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(written(prediction))
            return path
        except FileExistsError:
            number += 1


def complete(path, prediction, measured):
    """Add what was measured to the file that store() made. Raises OSError."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(written(prediction, measured))
    os.replace(path + ".new", path)
