"""Make summary, charts and report of a run again, from its files.

    python3 -m tools.bench report [results/FOLDER]        (default: results/latest)

Reads samples.csv, calls.csv and env.json; writes summary.json, the charts, simulator.html,
which starts from the costs of this run, and report.html. Both pages hold all they need.
Charts and report need what is in build/venv. Exit status: 0, 1 when the files of a run
are broken, 2 when there is no such run.
"""

import base64
import functools
import os
import pathlib
import sys

from tools.kit import TOP, venv
from tools.model import calibrate, model
from tools.model.simulator import page as simulator
from tools.report import summaries, table
from tools.results import rundir

ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "assets")


def make(folder, experiments=()):
    """Write summary.json, charts and both pages into `folder`. `experiments` are those of the run;
    they are needed if it has others than the published ones, such as a study. Return (summary,
    [what was left out and why]). Raises OSError when the files of a run are not there."""
    summary = summaries.make(folder, experiments)
    env = rundir.read_json(os.path.join(folder, "env.json"))
    rundir.write_json(os.path.join(folder, "summary.json"), summary)
    left_out, pictures = [], []
    try:
        # pylint: disable=import-outside-toplevel
        import jinja2

        from tools.report import charts  # needs altair
    except ImportError as error:
        return summary, [f"charts and report.html: {error}; python3 -m tools.bench report FOLDER "
                         "installs it and makes them"]
    try:
        pictures = charts.draw(summary, folder)
    # What altair or vl-convert cannot draw, however they say so, must not cost the tables.
    except Exception as error:      # pylint: disable=broad-exception-caught
        left_out.append(f"charts: {error!r}")
    page = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS), autoescape=True, trim_blocks=True,
        lstrip_blocks=True).get_template("report.html")
    page.stream(
        summary=summary, env=env, pictures=pictures, left_out=left_out,
        simulated=simulate(summary, env, folder),
        words=table.WORDS, top=os.path.relpath(TOP, os.path.abspath(folder)),
        tables=functools.partial(table.tables, summary),
        encoded=lambda name: base64.b64encode(pathlib.Path(folder, name).read_bytes()).decode(),
    ).dump(os.path.join(folder, "report.html"), encoding="utf-8")
    return summary, left_out


def simulate(summary, env, folder):
    """Write simulator.html with the costs of a run, and return True; False, and no file, where the
    run does not tell them, because it has no cells with few clients."""
    known = model.load()
    try:
        costs = calibrate.calibrate(calibrate.rows_of(summary), known)
    except ValueError:
        return False
    pages = {one for cost in costs["servers"].values() for one in cost}
    what = f"this run's {' and '.join(sorted(pages))}" \
        + ("; other pages from the reference run, scaled" if len(pages) < len(model.PAGES) else "")
    pathlib.Path(folder, "simulator.html").write_text(
        simulator.draw(calibrate.completed(
            calibrate.of_machine(costs, env["machine"], what), known)), "utf-8")
    return True


def main(words):
    """Do what the head of this file says; return the exit status."""
    folder = words[0] if words else os.path.join(TOP, "results", "latest")
    if rundir.stored(os.path.join(folder, "samples.csv")) is None:
        print(f"report: RUN={folder}: it is no folder of a run: it has no samples.csv. "
              "`make compare` leaves such folders in results/", file=sys.stderr)
        return 2
    venv.restart_inside()
    try:
        _, left_out = make(os.path.realpath(folder))
    except (OSError, ValueError) as error:
        print(f"report: {error}; a folder of a run is needed, as `make compare` leaves it",
              file=sys.stderr)
        return 1
    print(*(f"Left out: {one}" for one in left_out), os.path.join(folder, "report.html"), sep="\n")
    return 0
