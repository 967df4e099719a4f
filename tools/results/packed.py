"""How docs/results keeps a table: a line for each column, without what other columns give.

    python3 -m tools.results.packed docs/results/reference/samples.csv.xz > samples.csv

Compressed, columns take a quarter less room one after the other than side by side, and another
tenth less if blanks pad each field and its comma to a multiple of eight bytes: then digits of one
kind are a multiple of eight bytes apart. Each line begins with the column's name; its fields are in
the order of the rows. A field `=` stands for what other columns give: see TOLD; in `order`, one
more than in the row that began before it. In `evidence`, {server_busy} stands for that column,
rounded to a whole number.
"""

import csv
import io
import lzma
import operator
import re
import signal
import sys

# With how many digits a run is kept for long: enough for what is compared, and three for the rest
# of the figures. The rounds differ by several per cent, and digits of chance take most of the room.
DIGITS = {"cpu_us": 5, "rate": 5, "cpu_user_us": 4, "cpu_system_us": 4, "seconds": 4, "value": 4,
          "per_request": 6, "p50_ms": 4, "p99_ms": 4}
TOLD = {"cpu_system_us": ("cpu_us", operator.sub, "cpu_user_us"),
        "seconds": ("requests", operator.truediv, "rate")}
# The column of a share in `evidence`, by the word before it; after any other, the load tool's.
SHARES = {"": "load_cores_busy", "server": "server_busy", "Redis": "redis_busy"}
STEP = 8
# A byte resembles the one STEP bytes before it, not its neighbour.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME,
            "lc": 0, "lp": 3, "pb": 3}]


def digits(name, text):
    """Return a figure of the column `name` with as many digits as are kept."""
    if "." not in text:
        return text
    short = f"{float(text):.{DIGITS.get(name, 3)}g}"
    return f"{float(short):.0f}" if "e+" in short else short


def _told(name, row):
    """Return the field `name` of TOLD as other fields of `row` give it; None if they do not."""
    one, apply, other = TOLD[name]
    try:
        return digits(name, repr(apply(float(row[one]), float(row[other]))))
    except (KeyError, ValueError, ZeroDivisionError):
        return None


def _share(row, name):
    return f"{float(row[name]):.0f}" if row.get(name) else None


def _ordered(rows):
    """Yield each row that has an order and a time, with the one that began before it."""
    some = sorted((row for row in rows if row.get("order") and row.get("started")),
                  key=operator.itemgetter("started"))
    return zip(some[1:], some)


def write(names, rows):
    """Return the text for dicts of the columns `names`. Raises ValueError if read() would not
    give them back."""
    short = [row | {name: "=" for name in TOLD if name in row and row[name] == _told(name, row)}
             for row in rows]
    for (row, before), (less, _) in zip(_ordered(rows), _ordered(short)):
        if int(row["order"]) == int(before["order"]) + 1:
            less["order"] = "="
    for row in short:
        def named(found, row=row):
            column = SHARES.get(found[1], "load_busy")
            return f"{found[1]}{found[2]}{{{column}}}" if found[3] == _share(row, column) \
                else found[0]

        if "evidence" in row:
            row["evidence"] = re.sub(r"(\w*)( ?)\b(\d+)(?= %)", named, row["evidence"])
    text = "".join(",".join(map(_field, (name, *(row[name] for row in short)))) + "\n"
                   for name in names)
    if read(text) != (list(names), rows):
        raise ValueError("a table that would be read as another one")
    return text


def _field(text):
    """Return a field of CSV, with blanks before it."""
    if re.search(r'^ |[",\r\n]', text):
        text = '"' + text.replace('"', '""') + '"'
    return " " * (-(len(text) + 1) % STEP) + text


def read(text):
    """Return ([column], [row as a dict of texts]) of what write() made. Raises ValueError if the
    columns are not of the same length, as where the text has a line for each row."""
    names, *fields = zip(*csv.reader(io.StringIO(text, newline=""), skipinitialspace=True),
                         strict=True)
    rows = [dict(zip(names, one)) for one in fields]
    for row in rows:
        row |= {name: _told(name, row) for name in TOLD if row.get(name) == "="}
        if "evidence" in row:
            row["evidence"] = re.sub(r"{(\w+_busy)}", lambda found, row=row: _share(row, found[1])
                                     or found[0], row["evidence"])
    for row, before in _ordered(rows):
        if row["order"] == "=":
            row["order"] = str(int(before["order"]) + 1)
    return list(names), rows


def plain(names, rows):
    """Return the text for dicts of the columns `names` as CSV with a line for each row."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def main(words):
    """Print the table in the file words[0] as CSV with a line for each row."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)       # as `| head` expects
    with lzma.open(words[0], "rt", newline="", encoding="utf-8") as file:
        sys.stdout.write(plain(*read(file.read())))


if __name__ == "__main__":
    main(sys.argv[1:])
