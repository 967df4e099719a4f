"""The report of a made-up run: whole, small, and opened in a real browser."""

import html
import json
import os
import re
import shutil
import subprocess

import pytest

import made_up
from bench import venv
from bench.draw import report, styles
from bench.store import join, rundir

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
DRAWN = ("guestbook", "redirect", "echo")
BREAK = """
import sys
from bench.draw import charts, report
def broken(*_):
    raise RuntimeError("no such mark")
charts.cost = broken
print(report.make(sys.argv[1])[1])
"""


@pytest.fixture(scope="module", name="run")
def made_up_run(tmp_path_factory):
    """The folder of a run where the server's core is busy but for epoll, and
    the guestbook goes wrong: threaded answers nothing at 100, preforking
    crashes at 500, with a note that looks like HTML."""
    folder = made_up.folder(tmp_path_factory.mktemp("results"))
    path = os.path.join(folder, "samples.csv")
    rows = [row for row in rundir.read_rows(path)
            if row["experiment"] in DRAWN]
    for row in rows:
        at = (row["experiment"], row["server"], row["x"])
        row["server_busy"] = 60.0 if row["server"] == "epoll" else 97.0
        if at == ("guestbook", "threaded", 100):
            row.update(rate=0.0, status="lossy", failed_percent=100.0)
        elif at == ("guestbook", "preforking", 500):
            row.update(rate=None, cpu_us=None, status="crashed",
                       note="<!--<script> & 9 </script>")
    join.write_rows(path, rows)
    return folder


def python(*words):
    """Return what Python prints in build/venv with these words."""
    if not os.access(venv.PYTHON, os.X_OK):
        pytest.skip("needs build/venv, which `python3 -m bench report` makes")
    done = subprocess.run(
        [venv.PYTHON, *words], cwd=report.TOP, stdout=subprocess.PIPE,
        env={**os.environ, "NO_INSTALL": "1"}, stderr=subprocess.STDOUT,
        text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def text_of(folder, name):
    """Return the text of a file in a folder."""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


@pytest.fixture(scope="module", name="drawn")
def folder_with_report(run):
    """The folder of the run, with what `bench report` makes."""
    assert "Left out" not in python("-m", "bench", "report", run)
    return run


def test_without_its_libraries_there_is_a_summary(run, tmp_path, monkeypatch):
    """And a sentence that says how to get the rest."""
    folder = shutil.copytree(run, tmp_path / "run")
    monkeypatch.setitem(report.sys.modules, "jinja2", None)
    _, [left_out] = report.make(folder)
    assert "charts and report.html:" in left_out and "FOLDER" in left_out
    assert (folder / "summary.json").exists()


def test_report_is_one_file_with_everything(drawn):
    """Sentences and tables, escaped; all addresses are inside of it."""
    text = text_of(drawn, "report.html")
    plain = html.unescape(text)
    for one in json.loads(text_of(drawn, "summary.json"))["experiments"]:
        for said in sum(one["sentences"]["all"].values(), []):
            assert said in plain
        for said in one["sentences"]["each"]:
            assert said["text"] in plain and said["chapter"] + '"' in plain
    assert text.count("<h4>What a request costs at") == len(DRAWN)
    assert "A &lt;made-up&gt; CPU" in text and "{{" not in text
    assert text.count("</script>") == 1 and "<!--<script>" not in text
    assert len(text) < 1_000_000
    links = re.findall(r'(?:src|href)="([^"]{0,40})', text)
    assert len(links) > len(DRAWN) * 4
    assert not [link for link in links if link.startswith(("http", "//"))]


def test_charts_say_how_to_read_them(drawn):
    """Each kind is a file; a server that was not busy is named."""
    assert set(os.listdir(drawn)).issuperset(
        f"{start}_{kind}.svg" for start in DRAWN
        for kind in ("cost", "can_do", "rate", "published"))
    assert "server core less than 95 %" in text_of(drawn, "guestbook_rate.svg")
    assert "never 95 % busy: epoll" in text_of(drawn,
                                               "guestbook_published.svg")


def test_what_cannot_be_drawn_leaves_the_report(run, tmp_path):
    """Whatever altair says, the tables are there."""
    folder = shutil.copytree(run, tmp_path / "run")
    assert "no such mark" in python("-c", BREAK, str(folder))
    assert "<table>" in text_of(folder, "report.html")


# ------------------------------------------------------------- in a browser

@pytest.fixture(scope="module", name="browser")
def headless_browser():
    """A headless Chromium."""
    webdriver = pytest.importorskip("selenium.webdriver")
    if not CHROMIUM or not DRIVER:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(argument)
    driver = webdriver.Chrome(
        options=options, service=webdriver.chrome.service.Service(DRIVER))
    yield driver
    driver.quit()


def show(browser, folder, width=1280, theme="light"):
    """Open the report in a page of this width and theme."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 1000, "deviceScaleFactor": 1,
        "mobile": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": theme}]})
    browser.get("file://" + os.path.join(folder, "report.html"))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_every_chart_is_shown_in_its_theme(browser, drawn, width, theme):
    """All are loaded, whole and legible, on the ground of the theme, and the
    page never scrolls sideways, even with everything unfolded."""
    show(browser, drawn, width, theme)
    found = browser.execute_script("""
        document.querySelectorAll("details").forEach(d => d.open = true);
        const body = document.documentElement;
        const canvas = document.createElement("canvas").getContext(
            "2d", {willReadFrequently: true});
        return {over: body.scrollWidth - body.clientWidth,
                images: [...document.images].map(i => {
                    canvas.drawImage(i, 0, 0);
                    return {drawn: i.complete && i.naturalWidth > 0,
                            width: i.clientWidth,
                            ground: [...canvas.getImageData(2, 2, 1, 1).data]};
                })}""")
    ground = styles.GROUND[theme == "dark"]
    assert found["over"] <= 0
    assert len(found["images"]) == len(
        [name for name in os.listdir(drawn) if name.endswith(".svg")]) == 12
    for image in found["images"]:
        assert image["drawn"] and image["width"] >= 340
        assert image["ground"][:3] == [
            int(ground[place:place + 2], 16) for place in (1, 3, 5)]


def test_a_click_sorts_the_table(browser, drawn):
    """By number, and the other way round with the next one."""
    show(browser, drawn)
    head = browser.find_elements("css selector", "#guestbook th button")[1]

    def figures():
        return browser.execute_script("""
            return [...document.querySelector("#guestbook table").tBodies[0]
                .rows].map(r => parseFloat(r.cells[1].textContent
                                           .replace(/^\\D*/, "")))""")
    assert figures() != sorted(figures())
    head.click()
    assert figures() == sorted(figures())
    head.click()
    assert figures() == sorted(figures())[::-1]
