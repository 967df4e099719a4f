"""Build the book: `make book`, `make book RUN=results/latest`.

    build/book/index.html       the site; it needs no server and no network
    build/book/simulator.html   the simulator

Sphinx and what it needs are installed into build/book-venv/ once. Warnings
are errors: a claim that the reference run does not support, a figure that is
not there, a link that leads nowhere.
"""

import os
import subprocess
import sys
from pathlib import Path

from bench import venv
from bench.analyse import model
from observe.simulator import page

TOP = Path(__file__).resolve().parents[2]
VENV = TOP / "build" / "book-venv"
OUT = TOP / "build" / "book"


def environment():
    """Return the Python of the book's environment, made when missing.

    Raises SystemExit with a sentence when that is not possible.
    """
    if sys.version_info < (3, 11):
        sys.exit("Sphinx 9 needs Python 3.11 or newer; this is "
                 f"{sys.version.split()[0]}. Debian 12 and Ubuntu 24.04 have "
                 "it.")
    reason = venv.make(VENV, [Path(__file__).with_name("requirements.txt")],
                       "Sphinx")
    if reason:
        sys.exit(f"the book's environment cannot be made: {reason}")
    return VENV / "bin" / "python"


def main():
    """Build the site; return Sphinx' exit status."""
    run = os.environ.get("RUN", "")
    if run and not Path(run, "summary.json").is_file():
        sys.exit(f"RUN={run}: there is no summary.json; name a folder that "
                 "make compare has left, such as results/latest")
    done = subprocess.run(
        [environment(), "-m", "sphinx", "-E", "-a", "-q", "-b", "html",
         "-W", "--keep-going", "-D",
         f"book_run={run and Path(run).resolve()}", TOP / "docs", OUT],
        check=False)
    if done.returncode == 0:
        (OUT / "simulator.html").write_text(page.draw(model.load()),
                                            encoding="utf-8")
        print(f"The book: {OUT}/index.html")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
