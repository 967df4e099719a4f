"""Reads lab.toml: what a lab asks for, and how many points each test gives."""

import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from tools.kit import TOP

LABS = TOP / "labs"
LEVELS = ("works", "architecture", "robust")
TOTAL = 100                                     # points in every lab


class LabError(Exception):
    """A lab does not exist, or its lab.toml is wrong; the text says how."""


@dataclass(frozen=True)
class Test:
    """One [[test]] of lab.toml. `expect` holds the test's parameters."""

    name: str
    level: str
    points: int
    hint: str
    expect: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Lab:
    """A lab: `folder` is labs/NN_name, `args` start a submission, `tests` are
    in the order of printing, `mutants` maps a name to the tests that fail."""

    folder: Path
    title: str
    server: str
    tests: tuple
    args: tuple = ()
    minutes: int = 0
    chapter: str = ""
    libraries: tuple = ()           # further names for pkg-config
    origins: dict = field(default_factory=dict)     # [starter]
    mutants: dict = field(default_factory=dict)
    required: tuple = ()            # files that a submission has
    forbidden: tuple = ()           # functions of common/ that it writes itself
    product: tuple = ()             # files of common/ that do what the lab asks for

    @property
    def number(self):
        """The two digits, "03"."""
        return self.folder.name.partition("_")[0]

    @property
    def starter(self):
        """The folder with the main.c that a student begins with."""
        return self.folder / "starter"

    @property
    def solution(self):
        """The folder of the collection's main.c; absent in a handout."""
        if (self.folder / "solution").is_dir():
            return self.folder / "solution"
        # By its name: servers and labs with the same number need not belong together.
        return next(TOP.glob(f"[0-9][0-9]_{self.server}"), TOP / self.folder.name)

    def is_solution(self, path):
        """Return whether a path is the collection's own server of this lab, one
        that uses `product`. A link to it is none: a student may hand that in."""
        path = Path(path)
        return bool(self.product) and not path.is_symlink() and \
            path.resolve() in (self.solution, self.solution / "main.c")

    def solution_files(self):
        """Return the paths of the collection's own server as a submission: its
        main.c, and the files of common/ that do what the lab asks for."""
        return [self.solution / "main.c", *(TOP / name for name in self.product)]

    def test(self, name):
        """Return the Test of that name. Raises KeyError."""
        for test in self.tests:
            if test.name == name:
                return test
        raise KeyError(name)

    def make_mutant(self, name, folder):
        """Write the mutant's C files into `folder`.

        A patch changes files of the solution, solution_files(). Raises LabError
        when there is no such mutant or its patch no longer applies.
        """
        whole = self.folder / "mutants" / f"{name}.c"
        patch = self.folder / "mutants" / f"{name}.patch"
        if not whole.exists() and not patch.exists():
            raise LabError(f"{self.folder.name} has no mutant {name!r}")
        for path in self.solution_files():
            shutil.copy(path, folder)
        if whole.exists():
            shutil.copy(whole, Path(folder) / "main.c")
            return
        done = subprocess.run(
            ["patch", "-p1", "--fuzz=0", "--silent", "-d", str(folder), "-i",
             str(patch)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"{patch.name} does not apply: {done.stdout}")


def find(name):
    """Return the Lab for 3, 03, preforking or 03_preforking.

    Raises LabError for another name, and for a lab.toml that is wrong.
    """
    wanted = str(name).strip("/").rpartition("/")[2].lower()
    known = all_folders()
    for folder in known:
        number, _, word = folder.name.partition("_")
        if wanted in (folder.name, number, number.lstrip("0"), word):
            return read(folder)
    raise LabError(f"there is no lab {name!r}; there are: "
                   + ", ".join(folder.name for folder in known))


def all_folders():
    """Return the folders of all labs that can be graded, in order."""
    return sorted(path.parent for path in LABS.glob("[0-9][0-9]_*/lab.toml"))


def read(folder):
    """Return the Lab of a folder with a lab.toml. Raises LabError."""
    path = folder / "lab.toml"
    try:
        text = tomllib.loads(path.read_text(encoding="utf-8"))
        tests = tuple(Test(**test) for test in text.pop("test", []))
        mutants = text.pop("mutants", {})
        origins = text.pop("starter", {})
        for name in ("args", "libraries", "required", "forbidden", "product"):
            text[name] = tuple(text.get(name, ()))
        lab = Lab(folder=folder, tests=tests, mutants=mutants, origins=origins, **text)
    except (OSError, tomllib.TOMLDecodeError, TypeError) as error:
        raise LabError(f"{path}: {error}") from error
    check(lab)
    return lab


def check(lab):
    """Raise LabError when the numbers and names of a lab do not fit."""
    names = [test.name for test in lab.tests]
    faults = [f"two tests are called {name}" for name in set(names) if names.count(name) > 1]
    faults += [f"{test.name}: {test.level!r} is no level"
               for test in lab.tests if test.level not in LEVELS]
    faults += [f"{test.name} has no hint" for test in lab.tests if not test.hint]
    points = sum(test.points for test in lab.tests)
    if points != TOTAL:
        faults.append(f"the points add up to {points}, not to {TOTAL}")
    for mutant, failing in lab.mutants.items():
        faults += [f"mutant {mutant}: no test {name}" for name in failing if name not in names]
    if faults:
        raise LabError(f"{lab.folder / 'lab.toml'}: " + "; ".join(faults))
