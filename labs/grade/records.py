"""What a class has got: one Record for each submission, kept as a file, and the table of all.

A folder of results has results/NAME.json (a Record), reports/NAME.txt (what to hand back),
grades.csv and summary.html.
"""

import csv
import hashlib
import io
import json
import os
import stat
from dataclasses import asdict, dataclass, field
from pathlib import Path

from labs.grade import build
from labs.grade.outputs import clean
from tools.kit import TOP

MOST_NAME = 200         # bytes of a file's name; longer ones are cut, and made unique
NOT_YET = "not graded yet"


@dataclass(frozen=True)
class Record:
    """A submission that was graded. `digest` says from which files and by which grader;
    `result` is what the grader wrote (outputs.result), {} if it could not grade, and then
    `fault` says why. `seconds` is how long that took."""

    name: str
    digest: str = ""
    seconds: float = 0.0
    fault: str = ""
    result: dict = field(default_factory=dict)

    @property
    def points(self):
        """The points of all tests; None if it could not be graded."""
        return None if self.fault else self.result["points"]

    def of(self, test):
        """Return the points of the test of that name, None if it could not be graded."""
        return None if self.fault else self.result["tests"][test]["points"]

    @property
    def first(self):
        """What to look at first: the hint of the first test that failed."""
        return f"not graded: {self.fault}" if self.fault else self.result["first_hint"] or ""

    @property
    def failed(self):
        """{name of a test that failed: what the grader says about it}."""
        return {} if self.fault else {name: test for name, test in self.result["tests"].items()
                                      if not test["passed"]}


def file_name(name):
    """Return the name of the files of a submission, without suffix."""
    data = os.fsencode(name)
    return name if len(data) <= MOST_NAME else \
        os.fsdecode(data[:MOST_NAME - 20]) + hashlib.sha256(data).hexdigest()[:20]


def read(folder, name):
    """Return the Record of a submission from a folder of results, None if there is none."""
    path = Path(folder, "results", file_name(name) + ".json")
    try:
        return Record(name, **json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):    # it was killed while it wrote, or is older
        return None


def write(folder, record):
    """Keep a Record: there is all of it, or what was there before."""
    kept = asdict(record)
    del kept["name"]        # it may be no UTF-8; the file has it
    path = Path(folder, "results", file_name(record.name) + ".json")
    replace(path, json.dumps(kept, indent=1))


def replace(path, text):
    """Write a file in one step: a reader, and a power failure, see the old or the new one."""
    new = path.with_name(".new")
    new.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    os.replace(new, path)


def digest_of_grader(lab):
    """Return a hash of all that decides about the points of a lab, besides the submission."""
    total = hashlib.sha256()
    for path in [lab.folder / "lab.toml", *sorted((TOP / "labs/grade").glob("*.py")),
                 *sorted((TOP / "common").rglob("*.[ch]"))]:
        total.update(path.read_bytes())
    return total.hexdigest()


def digest(path, grader):
    """Return a hash of a submission and of digest_of_grader()."""
    total = hashlib.sha256(grader.encode())
    for one in sorted(path.glob("*.[ch]")):
        status = one.lstat()
        total.update(f"{one.name}\0{status.st_mode}\0{status.st_size}\0".encode(
            errors="surrogateescape"))
        if stat.S_ISREG(status.st_mode):
            try:
                with open(one, "rb") as file:
                    total.update(file.read(build.MOST_BYTES + 1))
            except OSError:
                pass        # the grader says so
    return total.hexdigest()


def cell(text):
    """Return text that a spreadsheet takes for text, not for a formula."""
    text = clean(text)
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t") else text


def write_table(lab, records, path):
    """Write grades.csv, in the order of the records."""
    tests = [test.name for test in lab.tests]
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(["name", *tests, "total", "first hint", "seconds"])
    for one in records:
        rows.writerow([cell(one.name), *map(one.of, tests), one.points, cell(one.first),
                       round(one.seconds, 1)])
    replace(path, text.getvalue())


def changes(before, after):
    """Return in words how a grade differs from the one before (a Record, or None)."""
    def points(record):
        return "not graded" if record.fault else f"{record.points} points"

    if before is None:
        return f"{points(after)}; it was not graded before"
    words = [points(after) if points(before) == points(after)
             else f"{points(before)} -> {points(after)}"]
    if not before.fault and not after.fault:
        for what, names in (("passes now", before.failed.keys() - after.failed.keys()),
                            ("fails now", after.failed.keys() - before.failed.keys())):
            if names:
                words.append(f"{what}: " + ", ".join(
                    name.replace("_", " ") for name in after.result["tests"] if name in names))
    return "; ".join(words) if len(words) > 1 or points(before) != points(after) \
        else f"{words[0]}, as before"


def result_of(path):
    """Return what a grader wrote (outputs.result), {} if it did not."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
