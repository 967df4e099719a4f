"""The report of a run: whole, small, and opened in a real browser."""

import html
import json
import os
import pathlib
import re
import subprocess

import pytest

from tests.bench import made_up
from tests.support import chromium
from tools.kit import TOP, venv
from tools.model import model
from tools.report import charts, report, styles
from tools.results import rundir
from tools.stats import stats, steady

DRAWN = ("guestbook", "redirect", "echo")


@pytest.fixture(scope="module", name="run")
def made_up_run(tmp_path_factory):
    """The folder of a run where the server's core is busy but for epoll, and the guestbook goes
    wrong: threaded answers nothing at 100, preforking crashes at 500, with a note that looks like
    HTML."""
    folder = pathlib.Path(made_up.folder(tmp_path_factory.mktemp("results")))
    rows = [row for row in rundir.read_rows(folder / "samples.csv")
            if row["experiment"] in DRAWN]
    for row in rows:
        at = (row["experiment"], row["server"], row["x"])
        row["server_busy"] = 60.0 if row["server"] == "epoll" else 97.0
        if at == ("guestbook", "threaded", 100):
            row.update(rate=0.0, status="lossy", failed_percent=100.0)
        elif at == ("guestbook", "preforking", 500):
            row.update(rate=None, cpu_us=None, status="crashed",
                       note="<!--<script> & 9 </script>")
    rundir.write_rows(folder / "samples.csv", rows, list(rows[0]))
    return folder


@pytest.fixture(scope="module", name="drawn")
def folder_with_report(run):
    """The folder of the run, with what `bench report` makes."""
    reason = venv.make()
    if reason:
        pytest.skip(reason)
    assert "Left out" not in subprocess.check_output(
        [venv.PYTHON, "-m", "tools.bench", "report", run], cwd=TOP, text=True,
        env={**os.environ, "NO_INSTALL": "1"})
    return run


def test_without_its_libraries_there_is_a_summary(run, monkeypatch):
    """And a sentence that says how to get the rest."""
    monkeypatch.setitem(report.sys.modules, "jinja2", None)
    _, [left_out] = report.make(run)
    assert "bench report FOLDER" in left_out
    assert (run / "summary.json").exists()


def test_the_simulator_starts_from_this_run(drawn):
    """Its guestbook costs are those of the cells with 20 clients; what the run lacks is there,
    too; the report links to it."""
    assert 'href="simulator.html"' in (drawn / "report.html").read_text()
    text = (drawn / "simulator.html").read_text()
    costs = json.loads(re.search(r"const costs = (.*);", text)[1])
    rows, _ = steady.steadied([row for row in rundir.read_rows(drawn / "samples.csv")
                               if row["experiment"] == "guestbook"])
    for server in model.WORKERS:
        measured = [row["cpu_us"] for row in rows if (row["server"], row["x"]) == (server, 20)]
        assert costs["servers"][server]["guestbook"]["server_us"] == \
            pytest.approx(stats.middle(measured), abs=1e-3)
        assert set(costs["servers"][server]) == set(model.PAGES)
    assert "this run's guestbook" in text


def test_report_is_one_file_with_everything(drawn):
    """Sentences and tables, escaped."""
    text = (drawn / "report.html").read_text()
    plain = html.unescape(text)
    for one in rundir.read_json(drawn / "summary.json")["experiments"]:
        for said in [*sum(one["sentences"]["all"].values(), []), *(
                each["text"] for each in one["sentences"]["each"])]:
            assert said in plain
    assert "A &lt;made-up&gt; CPU" in text and "{{" not in text
    assert text.count("</script>") == 1 and "<!--<script>" not in text
    assert len(text) < 1_000_000
    # A server whose core was never busy is named.
    assert "busy: epoll" in (drawn / "guestbook_published.svg").read_text()


def test_the_subtitle_says_what_is_drawn(drawn):
    """The model's curves are dashed, one for each server, and there are none where it knows nothing
    of the page. The ground of bursts is grey."""
    charts_of = {path.name: path.read_text() for path in drawn.glob("*_rate.svg")}
    for name, many in (("guestbook", len(model.WORKERS)), ("redirect", 0)):
        text = charts_of[f"{name}_rate.svg"]
        assert text.count("stroke-dasharray") == many
        assert ("dashed: the model" in text) == bool(many)
    assert {("grey" in text, "mark-rect" in text) for text in charts_of.values()
            if "mark-line" in text} == {(True, True), (False, False)}


def test_curves_are_named_beside_their_ends(drawn):
    """Each by its name, and none touches the next; the axis has few ticks."""
    text = (drawn / "guestbook_rate.svg").read_text()
    for server in ("iterative", "epoll"):
        assert text.count(f">{server}</text>") == 1
    for xs in ([20, 50, 100, 900, 1000, 8000, 15000], [1000, 7000, 30000], [0, 1, 20], [1, 500]):
        ticks = charts.ticks(xs)
        assert ticks == sorted(ticks) and ticks[0] == xs[0] and 2 < len(ticks) < 5
    for ends in ([10, 50], [10, 12, 13, 90], [80, 85, 86, 87]):
        places = charts.spread(ends, 90)
        assert places[-1] <= 90 and all(b - a >= 13.99 for a, b in zip(places, places[1:]))


LOOK = pathlib.Path(__file__).with_name("data") / "look.js"


@pytest.fixture(scope="module", name="browser")
def one_chromium():
    """A Chromium for both themes."""
    with chromium.chromium() as browser:
        yield browser


@pytest.mark.parametrize("width, theme", [(400, "light"), (1280, "dark")])
def test_report_in_a_browser(drawn, browser, width, theme):
    """All charts are whole, legible, and on the ground of the theme; the page never scrolls
    sideways, asks another host or logs an error; a click on a head sorts by number, and the next
    one the other way round."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": theme}]})
    browser.get((drawn / "report.html").as_uri())
    assert not browser.get_log("browser")
    found = browser.execute_script(LOOK.read_text())
    assert not [entry for entry in browser.get_log("performance")
                if '"url":"http' in entry["message"]]
    ground = styles.GROUND[theme == "dark"]
    assert found["over"] <= 0 and len(found["images"]) == 3 * len(DRAWN) + 1
    for image in found["images"]:
        assert image["width"] >= 340
        assert "#" + bytes(image["ground"][:3]).hex() == ground
    before, _, rising, _, falling = found["sorted"]
    assert before != rising == sorted(before) == falling[::-1]
