"""Writes build/instructor/: a handout as web sites take it that grade what students upload.

    gradescope-03.zip           an autograder of Gradescope
    autolab-03/                 the two files of an autograded lab of Autolab
    README.md                   what to do with them, and with a folder of submissions
"""

import shutil
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
INSIDE = "zerohttpd-labs"       # the name of the handout in an archive
SCRIPTS = 0o755

README = """\
# For the instructor

All files here were made from one handout, and grade as students do with it. None has a solution.

## On your machine

In the top folder of the collection, two folders above this one:

    make grade-all LAB={number} DIR=submissions

`submissions` has a folder for each submission. The command ends with the paths of a table, a
page for you, and reports for your students. It goes on after it was stopped. Do not grade in
`build/handout/`: the next `make handout` deletes that folder, with the results in it.

## Gradescope

Upload `gradescope-NN.zip` as the autograder of a programming assignment with 100 points. Choose
a base image of Ubuntu 24.04 or newer. A grade takes less than a minute, but for a submission
that waits forever: allow ten minutes.

## Autolab

Upload `autograde-Makefile` and `autograde.tar` of `autolab-NN/` as the autograder. The problems
of the lab have to be called `works`, `architecture` and `robust`, with the points of the lab's
page. The handin file name is `handin.tar`, or `main.c` for a lab that needs no other file. The
time limit has to be ten minutes. The image needs what `scripts/deps.sh grade` prints, and
`python3-pytest`, or pip and a network.

In both, a submission that could not be graded has no points, and a sentence that tells the
student to ask you. Where the site's container forbids namespaces, the container alone keeps
submissions away from what else is there: a submission could then change the grader's files.
So points of a site are provisional. Those that count come from `make grade-all` on your machine,
which grades only with namespaces.
"""


def script(name, lab):
    """Return the text of a script of this folder for a Lab."""
    return (HERE / name).read_text(encoding="utf-8").replace("@LAB@", lab.number)


def gradescope(lab, handout, path):
    """Write an autograder for a Lab: the scripts are at the top of the archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in ("setup.sh", "run_autograder"):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100000 | SCRIPTS) << 16
            made.writestr(entry, script(name, lab))
        for file in sorted(handout.rglob("*")):
            if file.is_file():
                made.write(file, Path(INSIDE, file.relative_to(handout)))


def autolab(lab, handout, folder):
    """Write the two files of an autograded Lab into a new folder."""
    folder.mkdir()
    (folder / "autograde-Makefile").write_text(script("autograde-Makefile", lab),
                                               encoding="utf-8")
    with tarfile.open(folder / "autograde.tar", "w") as tar:
        tar.add(handout, INSIDE)


def write(labs, handout, folder):
    """Write all for some Labs into `folder`, in place of what was there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for lab in labs:
        gradescope(lab, handout, folder / f"gradescope-{lab.number}.zip")
        autolab(lab, handout, folder / f"autolab-{lab.number}")
    (folder / "README.md").write_text(README.format(number=labs[0].number), encoding="utf-8")
