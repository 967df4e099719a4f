"""The folder that a run leaves behind, written while it goes on."""

import csv
import datetime
import io
import json
import lzma
import math
import os
import pathlib
import tomllib

from tools.results import packed

SCHEMA_VERSION = 3
# {column of samples.csv: {"title", "unit", "explain"}}, the last two where they help.
FIGURES = tomllib.loads(pathlib.Path(__file__).with_name("columns.toml").read_text("utf-8"))
NOT_MEASURED = "not measured: "     # how the note of a run that has no figure begins
# The status of a sample: ok; lossy (requests failed, or connections were not held); crashed;
# disturbed (by other programs, or no sample fell into the load); not opened (the load tool had not
# opened all connections in time; older runs say not possible); no figure (the load tool failed);
# not started; wrong answer; not possible (on this machine: it was not run).
# `repeat` is the number of its round, `order` that of the attempt (one that was measured again has
# two), and `workers` are loops of 07.
SAMPLES = ("experiment", "variant", "server", "kind", "x", "repeat", "order", "started", "status",
           "tool", "host", "workers", *FIGURES, "descriptor_limit", "limit", "evidence", "note",
           "raw")
# What older runs also measured: a message on the load's core. It told nothing that the other three
# yardsticks do not: with it, the CPU times of a cell scatter by 4.8 % after the correction, and
# without it by 4.7 % (docs/results/reference); by 3.1 and 3.2 % in reference-awake.
FORMER = {"yard_other_ns"}
CALLS = ("experiment", "variant", "server", "tool", "call", "per_request")
# What the hooks of a study counted, a row for each figure and round; see studies/hooks.py.
COUNTED = ("experiment", "variant", "server", "x", "repeat", "figure", "value")
# Of a fleet, a row for each host of a run: CPU time of its server, Redis or load tool over wall
# time, and when the tool began after the first one.
HOSTS = ("experiment", "variant", "server", "x", "repeat", "order", "host", "role", "busy",
         "cores_busy", "requests", "rate", "failed", "begin_ms", "clock_ms")
CELL = ("experiment", "variant", "server", "x")     # the columns that name a cell
# Columns that are words, even when they look like a number, as a note may.
WORDS = ("experiment", "variant", "server", "kind", "started", "status", "tool", "host", "role",
         "limit", "evidence", "note", "raw", "call", "figure")


def now():
    """Return the time in UTC, as files and rows have it."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Folder:
    """results/<UTC time>/, of a study results/<UTC time>-NAME/: rows are on disk as soon as they
    are added. OUT/latest leads to it."""

    def __init__(self, out, label=""):
        self.path = os.path.join(out, now().replace(":", "") + (f"-{label}" if label else ""))
        os.makedirs(os.path.join(self.path, "raw"))
        link = f"{self.path}.latest"
        os.symlink(os.path.basename(self.path), link)
        os.replace(link, os.path.join(out, "latest"))
        self.rows = []
        self._append("samples.csv", [], SAMPLES)
        self._append("calls.csv", [], CALLS)

    def _append(self, name, rows, columns):
        write_rows(os.path.join(self.path, name), rows, columns, "a")

    def add(self, row):
        """Append a row to samples.csv."""
        self.rows.append(row)
        self._append("samples.csv", [row], SAMPLES)

    def add_calls(self, experiment, variant, server, tool, calls):
        """Append {call: how often a request} to calls.csv."""
        self._append("calls.csv", [dict(zip(CALLS, (experiment, variant, server, tool, *call)))
                                   for call in calls.items()], CALLS)

    def add_counted(self, row, told):
        """Append {figure: value} of the run of `row` to counted.csv."""
        run = {key: row[key] for key in COUNTED[:5]}
        self._append("counted.csv", [{**run, "figure": figure, "value": value}
                                     for figure, value in told.items()], COUNTED)

    def add_hosts(self, row, parts):
        """Append what each host did in the run of `row` to hosts.csv."""
        run = {key: row.get(key) for key in HOSTS[:6]}
        self._append("hosts.csv", [{**run, **part} for part in parts], HOSTS)

    def write_raw(self, name, text):
        """Write raw/`name`; return that path inside the folder."""
        pathlib.Path(self.path, "raw", name).write_text(text, "utf-8")
        return f"raw/{name}"


def write_json(path, data):
    """Write `data` as JSON that a person can read."""
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    pathlib.Path(path).write_text(text, "utf-8")


def read_text(path):
    """Return the text of a file, which may be compressed (see stored). Raises OSError."""
    found = stored(path) or path
    with (lzma.open if found == f"{os.fspath(path)}.xz" else open)(
            found, "rt", newline="", encoding="utf-8") as file:
        return file.read()


def read_json(path):
    """Return what a JSON file holds, which may be compressed. Raises OSError and ValueError."""
    return json.loads(read_text(path))


def write_rows(path, rows, names, mode="w"):
    """Write dicts as CSV with the columns `names`; `mode` "a" appends. What is not known, None or
    left out, is an empty field. Raises OSError, and ValueError for a column that is not in
    `names`."""
    with open(path, mode, newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        if not file.tell():
            writer.writeheader()
        writer.writerows({key: f"{value:.6g}" if isinstance(value, float) else value
                          for key, value in row.items()} for row in rows)


def stored(path):
    """Return where the file `path` is: there or, compressed, in `path`.xz; None when it is in
    neither."""
    return next((name for name in (os.fspath(path), f"{os.fspath(path)}.xz")
                 if os.path.exists(name)), None)


def read_rows(path):
    """Return the rows of a CSV file, which may be compressed (see stored), as dicts without FORMER
    columns. Raises OSError."""
    return [{key: as_value(key, text) for key, text in row.items() if key not in FORMER}
            for row in read_table(path)[1]]


def read_table(path):
    """Return ([column], [row as a dict of texts]) of a CSV file, which may be packed."""
    text = read_text(path)
    if not os.path.exists(path):
        return packed.read(text)
    reader = csv.DictReader(io.StringIO(text, newline=""))
    return reader.fieldnames or [], list(reader)


def rows_of(folder, name):
    """Return the rows of a table that a run need not have; [] without it. Raises OSError."""
    path = os.path.join(folder, name)
    return read_rows(path) if stored(path) else []


def copy(run, folder, compressed):
    """Copy the CSV files and env.json of `run` to `folder`, which may have older ones. If
    `compressed`, they are compressed, to be kept for long: as kept() and packed leave them, and
    without tables that have no row. Raises OSError."""
    os.makedirs(folder, exist_ok=True)
    for name in sorted({name.removesuffix(".xz") for name in os.listdir(run)}):
        source, target = os.path.join(run, name), pathlib.Path(folder, name)
        if name == "env.json":
            text, best = read_text(source), {"preset": 9 | lzma.PRESET_EXTREME}
        elif name.endswith(".csv"):
            text, best = _text(*read_table(source), compressed), {"filters": packed.FILTERS}
        else:
            continue
        for old in (target, pathlib.Path(f"{target}.xz")):
            old.unlink(missing_ok=True)
        if not compressed:
            target.write_text(text, "utf-8", newline="")
        elif text:
            pathlib.Path(f"{target}.xz").write_bytes(lzma.compress(text.encode(), **best))


def _text(names, rows, compressed):
    """Return the text of a table as copy() writes it; "" for one that is left out."""
    if compressed:
        return packed.write(*kept(names, rows)) if rows else ""
    return packed.plain(names, rows)


def kept(names, rows):
    """Return (columns, rows) of a table as it is kept for long: every row; figures with few digits
    (packed.DIGITS); no names of files in raw/, which stay behind; no FORMER columns. The rounds of
    a cell stand together: they are alike, so they take less room. Their order in time is a
    column."""
    names = [name for name in names if name not in FORMER]
    rows = [{name: row[name] if name in WORDS else packed.digits(name, row[name])
             for name in names} for row in rows]
    for row in rows:
        if "raw" in row:
            row["raw"] = ""
    seen = {key: list(dict.fromkeys(row[key] for row in rows)) for key in CELL if key in names}
    rows.sort(key=lambda row: [at.index(row[key]) for key, at in seen.items()])
    return names, rows


def as_value(key, text):
    """Return a field of the column `key`: its text in a column of WORDS, else a number. None is
    an empty field, "not a number" and infinity."""
    if not text or key in WORDS:
        return text or None
    try:
        return int(text)
    except ValueError:
        value = float(text)
        return value if math.isfinite(value) else None
