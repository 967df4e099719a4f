"""The report of a made-up run: whole, small, and opened in a real browser."""

import json
import os
import re
import shutil
import subprocess
import types
import xml.etree.ElementTree as ElementTree

import pytest

import made_up
from bench import venv
from bench.draw import report, styles
from bench.store import join
from bench.store import rundir

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
DRAWN = ("guestbook", "redirect", "echo")
KINDS = ("cost", "can_do", "rate", "published")


def break_some(folder):
    """Let things go wrong in a made-up guestbook: threaded answers nothing
    at 100, preforking crashes at 500, and one run of poll hangs at 20, with a
    note that looks like HTML. The server's core is busy but for epoll."""
    path = os.path.join(folder, "samples.csv")
    rows = rundir.read_rows(path)
    for row in rows:
        at = (row["experiment"], row["server"], row["x"])
        row["server_busy"] = 60.0 if row["server"] == "epoll" else 97.0
        if at == ("guestbook", "threaded", 100):
            row.update(rate=0.0, status="lossy", failed_percent=100.0)
        elif at == ("guestbook", "preforking", 500):
            row.update(rate=None, status="crashed", note="signal 11")
        elif at == ("guestbook", "poll", 20) and row["repeat"] == 1:
            row.update(rate=None, cpu_us=None, status="hung",
                       note="<!--<script> & 9 </script>")
    join.write_rows(path, rows)


@pytest.fixture(scope="module", name="plain")
def report_without_charts(tmp_path_factory):
    """(folder, summary, left out) of a full grid, altair not being there."""
    folder = made_up.folder(tmp_path_factory.mktemp("results"))
    break_some(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(report.sys.modules, "altair", None)
        patch.delitem(report.sys.modules, "bench.draw.charts", raising=False)
        return folder, *report.make(folder)


@pytest.fixture(scope="module", name="drawn")
def report_with_charts(plain, tmp_path_factory):
    """The folder of the same with its charts, drawn as `bench report` does,
    in build/venv."""
    if not os.access(venv.PYTHON, os.X_OK):
        pytest.skip("needs build/venv, which `python3 -m bench report` makes")
    folder = str(tmp_path_factory.mktemp("drawn") / "run")
    shutil.copytree(plain[0], folder)
    path = os.path.join(folder, "samples.csv")
    join.write_rows(path, [row for row in rundir.read_rows(path)
                           if row["experiment"] in DRAWN])
    done = subprocess.run(
        [venv.PYTHON, "-m", "bench", "report", folder], cwd=report.TOP,
        env={**os.environ, "NO_INSTALL": "1"}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0 and "Left out" not in done.stdout, done.stdout
    return folder


def page(folder):
    """Return the report of a folder."""
    with open(os.path.join(folder, "report.html"), encoding="utf-8") as file:
        return file.read()


def test_without_altair_the_report_has_tables(plain):
    """It says how to get the charts, and so does the caller."""
    folder, _, left_out = plain
    assert left_out and left_out[0].startswith("charts:")
    text = page(folder)
    assert "need altair" in text and "<picture>" not in text
    assert text.count("<h4>What a request costs at") == 7


def test_report_has_all_sentences_and_chapters(plain):
    """Escaped, in the words of the summary."""
    text = page(plain[0])
    for experiment in plain[1]["experiments"]:
        sentences = experiment["sentences"]
        for said in [*sum(sentences["all"].values(), []),
                     *(one["text"] for one in sentences["each"])]:
            assert report.escape(said) in text
        for one in sentences["each"]:
            assert one["chapter"] + '"' in text


def test_report_escapes_what_it_quotes(plain):
    """No text can end the element it stands in."""
    text = page(plain[0])
    assert "A &lt;made-up&gt; CPU" in text and "{{" not in text
    assert text.count("</script>") == 1 and "<!--<script>" not in text


def test_nothing_is_fetched(drawn):
    """One file below 2 MB; all addresses are inside of it."""
    text = page(drawn)
    assert len(text) < 2_000_000
    links = re.findall(r'(?:src|srcset|href)="([^"]{0,40})', text)
    assert len(links) > 24
    assert not [link for link in links if link.startswith(("http", "//"))]


def words(folder, name):
    """Return what is written in an SVG file."""
    root = ElementTree.parse(os.path.join(folder, name)).getroot()
    return " ".join(part.strip() for part in root.itertext() if part.strip())


def test_charts_are_files_in_both_themes(drawn):
    """Each kind, with the colours of the theme, and what marks losses."""
    names = os.listdir(drawn)
    for start in DRAWN:
        for kind in KINDS:
            for end, theme in (("", "light"), ("_dark", "dark")):
                name = f"{start}_{kind}{end}.svg"
                assert name in names
                root = ElementTree.parse(os.path.join(drawn, name)).getroot()
                assert root.tag.endswith("svg")
                drawing = ElementTree.tostring(root, "unicode")
                assert styles.THEMES[theme]["ground"] in drawing
                if kind in ("can_do", "rate"):
                    for one in styles.ARCHITECTURES:
                        assert styles.style(one)[theme] in drawing, (name, one)
    text = words(drawn, "guestbook_rate.svg")
    assert "Hollow: server core less than 95 %" in text
    assert "lost requests or runs" in text
    assert re.search("never 95 % busy: *epoll",
                     words(drawn, "guestbook_published.svg"))


@pytest.mark.parametrize("error", [ValueError, RuntimeError, TypeError])
def test_what_cannot_be_drawn_leaves_the_report(plain, tmp_path, monkeypatch,
                                                error):
    """Whatever altair says, the tables are there."""
    def draw(*_):
        raise error("no such mark")
    broken = types.SimpleNamespace(draw=draw)
    monkeypatch.setitem(report.sys.modules, "bench.draw.charts", broken)
    monkeypatch.setattr("bench.draw.charts", broken, raising=False)
    with open(os.path.join(plain[0], "env.json"), encoding="utf-8") as file:
        left_out = report.write(plain[1], json.load(file), str(tmp_path))
    assert "no such mark" in left_out[0] and "<table>" in page(tmp_path)


# ------------------------------------------------------------- in a browser

@pytest.fixture(scope="module", name="browser")
def headless_browser():
    """A headless Chromium that keeps what its console says."""
    webdriver = pytest.importorskip("selenium.webdriver")
    if not CHROMIUM or not DRIVER:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu",
                     "--disable-dev-shm-usage", "--window-size=1280,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs",
                           {"browser": "ALL", "performance": "ALL"})
    service = pytest.importorskip(
        "selenium.webdriver.chrome.service").Service(DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


def show(browser, folder, width=1280, theme="light"):
    """Open the report in a page of this width and theme; nothing but the
    file may be asked for, and the console stays silent."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 1000, "deviceScaleFactor": 1,
        "mobile": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": theme}]})
    browser.get_log("performance")
    browser.get("file://" + os.path.join(folder, "report.html"))
    said = [json.loads(entry["message"])["message"]
            for entry in browser.get_log("performance")]
    asked = {one["params"]["request"]["url"].partition(":")[0] for one in said
             if one["method"] == "Network.requestWillBeSent"}
    assert asked <= {"file", "data"}
    assert not [entry["message"] for entry in browser.get_log("browser")
                if entry["level"] in ("SEVERE", "WARNING")]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_every_chart_is_shown_in_its_theme(browser, drawn, width, theme):
    """All are loaded, whole and legible, and the page never scrolls
    sideways, even with everything unfolded."""
    show(browser, drawn, width, theme)
    found = browser.execute_script("""
        document.querySelectorAll("details").forEach(d => d.open = true);
        const body = document.documentElement;
        return {over: body.scrollWidth - body.clientWidth,
                ground: getComputedStyle(document.body).backgroundColor,
                images: [...document.images].map(i => ({
                    drawn: i.complete && i.naturalWidth > 0,
                    width: i.clientWidth,
                    svg: atob(i.currentSrc.split(",")[1])}))}""")
    ground = styles.THEMES[theme]["ground"]
    assert found["over"] <= 0
    assert found["ground"] == "rgb({}, {}, {})".format(
        *(int(ground[place:place + 2], 16) for place in (1, 3, 5)))
    assert len(found["images"]) == len(
        [name for name in os.listdir(drawn) if name.endswith("_dark.svg")])
    for image in found["images"]:
        assert image["drawn"] and image["width"] >= 340
        assert ground in image["svg"]


def test_a_click_sorts_the_table(browser, drawn):
    """By number, and the other way round with the next one."""
    show(browser, drawn)
    head = browser.find_elements("css selector", "#guestbook th button")[1]

    def figures():
        return browser.execute_script("""
            return [...document.querySelector("#guestbook table").tBodies[0]
                .rows].map(r => Number(r.cells[1].dataset.key))""")
    assert figures() != sorted(figures())
    head.click()
    assert figures() == sorted(figures())
    head.click()
    assert figures() == sorted(figures())[::-1]
