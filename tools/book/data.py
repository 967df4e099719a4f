"""What the pages of the book may name: the run that it is built on, the studies, and labs."""

import collections
import functools
import tomllib

from sphinx.errors import ExtensionError

from tools.book import figures
from tools.kit import TOP
from tools.report import join

RESULTS = TOP / "docs" / "results"


def lab_of(page):
    """Return (its folder, what its lab.toml says) of the lab that has the page, for example
    "tutorial/07_epoll", as its chapter; None: there is none."""
    for path in sorted((TOP / "labs").glob("*/lab.toml")):
        told = tomllib.loads(path.read_text(encoding="utf-8"))
        if told["chapter"] == f"docs/{page}.md":
            return path.parent, told
    return None


class Runs(collections.abc.Mapping):
    """{name: figures.Run} of {name: its folder}; a run is read when a page first names it."""

    def __init__(self, folders):
        self.folders, self.read = folders, functools.cache(figures.Run)

    def __getitem__(self, name):
        return self.read(self.folders[name])

    def __iter__(self):
        return iter(self.folders)

    def __len__(self):
        return len(self.folders)


class Data:
    """The run that the book is built on, and what pages may name: read before
    the pages. Raises ExtensionError when the folder is not one of a run."""

    def __init__(self, app):
        app.book_data, self.strict = self, app.config.book_strict
        try:
            self.run = figures.Run(app.config.book_run or join.REFERENCE)
        except figures.FigureError as error:
            raise ExtensionError(f"RUN: {error}; name a folder that make compare "
                                 "has left, such as results/latest") from None
        self.awake = figures.Run(join.AWAKE)
        self.studies = Runs({path.parent.name: path.parent
                             for path in (RESULTS / "studies").glob("*/samples.csv*")})
        self.runs = collections.ChainMap(dict.fromkeys(self.run.experiments, self.run),
                                         {"reference-awake": self.awake}, self.studies)
        self.names = figures.everything(self.run, self.studies, self.awake)

    def machine(self, name=""):
        """Return what a caption says of the run, or of the study `name`."""
        run = self.runs.get(name, self.run)
        env, noisy = run.env, join.noisy_cells(run.summary)
        said = (f"{env['machine']['cpu']}, commit "
                f"{env['source']['commit'][:7]}, {env['started'][:10]}")
        return said if sum(noisy) <= join.NOISY * len(noisy) else (
            f"{said}; provisional: {100 * sum(noisy) / len(noisy):.0f} % of the cells are noisy")
