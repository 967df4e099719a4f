"""The report of a made-up run: whole, small, and drawn in a real browser."""

import json
import math
import os
import shutil
import struct
import time
import types
import xml.etree.ElementTree as ElementTree
import zlib

import pytest

from bench.store import join
import made_up
from bench.draw import report
from bench.store import rundir as results
from bench.draw import styles

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")


@pytest.fixture(scope="module", name="made")
def made_report(tmp_path_factory):
    """The folder of a full grid with its report, and the summary."""
    folder = made_up.folder(tmp_path_factory.mktemp("results"))
    break_some(folder)
    summary, left_out = report.make(folder)
    return folder, summary, left_out


def break_some(folder):
    """Let things go wrong in a made-up guestbook: threaded answers nothing
    at 100, preforking crashes at 500, and one run of poll hangs at 20, with a
    note that looks like HTML."""
    path = os.path.join(folder, "samples.csv")
    rows = results.read_rows(path)
    for row in rows:
        at = (row["experiment"], row["server"], row["x"])
        if at == ("guestbook", "threaded", 100):
            row.update(rate=0.0, status="lossy", failed_percent=100.0)
        elif at == ("guestbook", "preforking", 500):
            row.update(rate=None, status="crashed", note="signal 11")
        elif at == ("guestbook", "poll", 20) and row["repeat"] == 1:
            row.update(rate=None, cpu_us=None, status="hung",
                       note="<!--<script> & 9 </script>", p50_ms=math.nan)
    join.write_rows(path, rows)


def test_summary_json(made):
    """It has a version, and every experiment with its curves."""
    folder, _, _ = made
    with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
        summary = json.load(file)
    assert summary["schema_version"] == results.SCHEMA_VERSION
    assert [e["name"] for e in summary["experiments"]] == \
        ["guestbook", "answer", "hello", "redirect", "echo"]
    guestbook = summary["experiments"][0]
    assert len(guestbook["curves"]) == 7
    assert len(guestbook["curves"][0]["points"]) == 24
    epoll = guestbook["published"]["series"]["epoll"]
    assert [20, 2050] in epoll and [15000, 1281] in epoll


def test_report_is_one_small_file(made):
    """Under 2 MB, and nothing in it is fetched from elsewhere."""
    folder, _, _ = made
    path = os.path.join(folder, "report.html")
    assert os.path.getsize(path) < 2_000_000
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert " src=" not in text and "<link rel=\"stylesheet" not in text
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "{{" not in text


def test_report_escapes_what_it_quotes(made):
    """Neither text nor data can end the element they stand in."""
    folder, _, _ = made
    with open(os.path.join(folder, "report.html"), encoding="utf-8") as file:
        text = file.read()
    assert "A &lt;made-up&gt; CPU" in text
    assert text.count("</script>") == 2
    assert "<!--<script>" not in text and "NaN" not in text.split("<script>")[0]


def test_report_explains_each_curve_and_links_its_chapter(made):
    """A sentence a curve, and the way to its chapter."""
    folder, summary, _ = made
    with open(os.path.join(folder, "report.html"), encoding="utf-8") as file:
        text = file.read()
    for experiment in summary["experiments"]:
        for one in experiment["sentences"]["each"]:
            assert one["chapter"] + '"' in text
    assert "docs/07_epoll.md" in text


def test_remade_report_is_the_same(made):
    """`report.py FOLDER` makes it again from the files alone."""
    folder, _, _ = made
    path = os.path.join(folder, "report.html")
    with open(path, encoding="utf-8") as file:
        before = file.read()
    os.unlink(path)
    report.make(folder)
    with open(path, encoding="utf-8") as file:
        assert file.read() == before


def test_pictures(made):
    """An SVG for each variant's curves and costs, with a mark a point."""
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    folder, _, left_out = made
    assert not left_out
    for name in ("guestbook.svg", "guestbook_cost.svg",
                 "guestbook_published.svg", "answer_keep-alive.svg",
                 "answer_new-connections.svg", "hello_published.svg",
                 "redirect.svg", "echo.svg"):
        root = ElementTree.parse(os.path.join(folder, name)).getroot()
        assert root.tag.endswith("svg")
        assert len(list(root.iter())) > 30
    with open(os.path.join(folder, "guestbook.svg"),
              encoding="utf-8") as file:
        text = file.read().lower()
    for light, _, _ in styles.ARCHITECTURES.values():
        assert light in text


def test_without_altair_the_report_is_there(tmp_path, monkeypatch):
    """Pictures are left out, and that is said."""
    monkeypatch.setitem(report.sys.modules, "altair", None)
    monkeypatch.delitem(report.sys.modules, "pictures", raising=False)
    folder = made_up.folder(tmp_path, full=False)
    _, left_out = report.make(folder)
    assert left_out and left_out[0].startswith("SVG pictures")
    assert os.path.exists(os.path.join(folder, "report.html"))


@pytest.mark.parametrize("error", [ValueError, RuntimeError, TypeError])
def test_what_cannot_be_drawn_leaves_the_report(tmp_path, monkeypatch, error):
    """Whatever altair says: the report is there before it is asked."""
    def draw(_, folder):
        assert os.path.exists(os.path.join(folder, "report.html"))
        raise error("no such mark")
    broken = types.ModuleType("charts")
    broken.draw = draw
    monkeypatch.setitem(report.sys.modules, "bench.draw.charts", broken)
    monkeypatch.setattr("bench.draw.charts", broken, raising=False)
    folder = made_up.folder(tmp_path, ("epoll",), full=False)
    assert report.make(folder)[1] == ["SVG pictures: no such mark"]


def test_points_that_lost_all_are_drawn(made):
    """In the SVG hollow, and the line on both sides of it is another one."""
    pytest.importorskip("altair")
    from bench.draw import charts as pictures
    [guestbook] = [e for e in made[1]["experiments"]
                   if e["name"] == "guestbook"]
    for server, x in (("threaded", 100), ("preforking", 500)):
        [one] = [c for c in guestbook["curves"] if c["server"] == server]
        rows = pictures.rows_of(one, 7.0)
        assert len(rows) == 24
        place = next(i for i, row in enumerate(rows) if row["x"] == x)
        assert rows[place]["fallen"] and rows[place]["lost"]
        assert rows[place]["y"] == 7.0
        assert rows[place - 1]["part"] != rows[place + 1]["part"]
    with open(os.path.join(made[0], "guestbook.svg"),
              encoding="utf-8") as file:
        assert "nothing was answered" in file.read()


def test_words_stay_words():
    """A note that looks like a number is none; NaN is no figure."""
    assert results.as_value("note", "12") == "12"
    assert results.as_value("x", "12") == 12
    assert results.as_value("rate", "1.5e3") == 1500.0
    assert results.as_value("rate", "nan") is None
    assert results.as_value("rate", "inf") is None
    assert results.as_value("rate", "") is None


@pytest.fixture(scope="module", name="browser")
def headless_browser():
    """A headless Chromium that keeps what its console says."""
    webdriver = pytest.importorskip("selenium.webdriver")
    if not CHROMIUM or not DRIVER:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu",
                     "--disable-dev-shm-usage", "--window-size=1280,1000",
                     "--force-device-scale-factor=1"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = pytest.importorskip(
        "selenium.webdriver.chrome.service").Service(DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


def pixels(png):
    """Return the colours (r, g, b) of a PNG as a browser makes it, counted."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    place, data = 8, b""
    while place < len(png):
        length, kind = struct.unpack_from(">I4s", png, place)
        body = png[place + 8:place + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlace = struct.unpack(
                ">IIBBBBB", body)
            assert depth == 8 and interlace == 0
            size = {2: 3, 6: 4}[colour]
        elif kind == b"IDAT":
            data += body
        place += 12 + length
    data = zlib.decompress(data)
    stride = width * size
    above, counts = bytearray(stride), {}
    for line in range(height):
        start = line * (stride + 1)
        row = unfiltered(data[start], bytearray(
            data[start + 1:start + 1 + stride]), above, size)
        for x in range(0, stride, size):
            key = (row[x], row[x + 1], row[x + 2])
            counts[key] = counts.get(key, 0) + 1
        above = row
    return counts


def unfiltered(kind, row, above, size):
    """Undo the filter `kind` of a PNG row."""
    for i, value in enumerate(row):
        left = row[i - size] if i >= size else 0
        up = above[i]
        if kind == 1:
            value += left
        elif kind == 2:
            value += up
        elif kind == 3:
            value += (left + up) // 2
        elif kind == 4:
            corner = above[i - size] if i >= size else 0
            guess = left + up - corner
            near = (abs(guess - left), abs(guess - up), abs(guess - corner))
            value += (left, up, corner)[near.index(min(near))]
        row[i] = value & 255
    return row


def errors(browser):
    """Return what the console complained of."""
    return [entry["message"] for entry in browser.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")]


def open_report(browser, made):
    """Open the report and wait until it is drawn."""
    browser.get("file://" + os.path.join(made[0], "report.html"))
    until = time.monotonic() + 10
    while not browser.find_elements("css selector", ".chart svg"):
        assert time.monotonic() < until, errors(browser)
        time.sleep(0.05)


def test_curves_are_visible_in_a_screenshot(browser, made):
    """Each architecture's colour is on the picture of its curves."""
    open_report(browser, made)
    chart = browser.find_element("css selector", "#guestbook .chart svg")
    counts = pixels(chart.screenshot_as_png)
    for name, (light, _, _) in styles.ARCHITECTURES.items():
        colour = tuple(int(light[i:i + 2], 16) for i in (1, 3, 5))
        assert counts.get(colour, 0) > 100, name
    assert not errors(browser)


def test_every_experiment_has_its_charts_and_table(browser, made):
    """Curves or bars, the published figures, and a table with all seven."""
    open_report(browser, made)
    for experiment in made[1]["experiments"]:
        at = f"#{experiment['name']} "
        marks = ".chart svg .marker" if len(
            experiment["curves"][0]["points"]) > 1 else ".chart svg rect"
        assert len(browser.find_elements("css selector", at + marks)) >= 7
        if marks.endswith("marker"):
            lines = browser.find_elements("css selector",
                                          at + ".chart svg .curve")
            assert len(lines) >= 7
            assert all("L" in line.get_attribute("d") for line in lines)
        assert browser.find_elements("css selector", at + ".published svg")
        rows = browser.find_elements("css selector", at + ".cost tbody tr")
        assert len(rows) == 7
    assert not errors(browser)


def test_hollow_points(browser, made):
    """Forking lost requests at the end of its curve."""
    open_report(browser, made)
    hollow = browser.execute_script("""
        return [...document.querySelectorAll(
            "#guestbook .chart g[data-server=forking] .marker")]
            .map(m => m.getAttribute("fill") === "var(--ground)")""")
    assert hollow[-1] and not any(hollow[:-1])


def test_points_without_an_answer(browser, made):
    """They stand hollow on the lower edge, on both charts, and the line does
    not join their neighbours."""
    open_report(browser, made)
    for chart in (".chart", ".published"):
        found = browser.execute_script("""
            const svg = document.querySelector("#guestbook " + arguments[0]
                                               + " svg");
            const edge = Number(svg.querySelector(".axis")
                .getAttribute("d").match(/V([\\d.]+)/)[1]);
            return [...svg.querySelectorAll(".marker")].filter(m => Math.abs(
                Number(m.getAttribute("transform").match(/,([\\d.]+)\\)/)[1])
                - edge) < 0.01).map(m => m.getAttribute("fill"))""", chart)
        assert found == 2 * ["var(--ground)"], chart
    for server in ("threaded", "preforking"):
        line = browser.find_element(
            "css selector", f"#guestbook .chart g[data-server={server}] path")
        assert line.get_attribute("d").count("M") == 2
    row = browser.execute_script("""
        const pick = document.querySelector(
            "#guestbook select[aria-label^=Row]");
        pick.value = "20";
        pick.dispatchEvent(new Event("change"));
        return [...document.querySelectorAll("#guestbook .cost tbody tr")]
            .map(r => r.textContent).find(t => t.includes("poll"))""")
    assert "2 of 3 runs" in row
    marked = browser.execute_script("""
        const pick = document.querySelector(
            "#guestbook select[aria-label^=Row]");
        pick.value = "100";
        pick.dispatchEvent(new Event("change"));
        return [...document.querySelectorAll("#guestbook .cost tbody tr")]
            .map(r => r.querySelectorAll(".low").length)""")
    assert marked[3] == 0 and marked[6] > 0     # threaded lost all, epoll best
    assert not errors(browser)


def test_legend_hides_and_shows(browser, made):
    """A click hides a server everywhere, another one shows it again."""
    open_report(browser, made)
    def curves():
        return len(browser.find_elements("css selector",
                                         "#guestbook .chart g[data-server]"))
    def click():
        browser.find_element("css selector",
                             "#legend button:nth-child(2)").click()
    assert curves() == 7
    click()
    assert curves() == 6
    click()
    assert curves() == 7
    assert not errors(browser)


def test_hover_tells_the_figures(browser, made):
    """The pointer over a chart shows what each server has there."""
    open_report(browser, made)
    browser.execute_script("""
        const svg = document.querySelector("#guestbook .chart svg");
        svg.scrollIntoView();
        const box = svg.getBoundingClientRect();
        svg.dispatchEvent(new PointerEvent("pointermove",
            {clientX: box.left + box.width / 2, clientY: box.top + 50}));""")
    tip = browser.find_element("css selector", "#guestbook .tip")
    assert tip.is_displayed() and "epoll" in tip.text
    assert not errors(browser)


def test_controls(browser, made):
    """Metric, variant and row of the table can be chosen."""
    open_report(browser, made)
    said = browser.execute_script("""
        const pick = document.querySelector("#answer .controls select");
        pick.value = "cpu_us";
        pick.dispatchEvent(new Event("change"));
        document.querySelector(
            "#answer [data-variant='new connections']").click();
        return [document.querySelector("#answer .chart figcaption").textContent,
                [...document.querySelectorAll("#answer .sentences li")]
                    .filter(li => !li.hidden).length];""")
    assert said[0].startswith("CPU, us/request") and said[1] == 7
    assert not errors(browser)


def test_narrow_screen(browser, made):
    """On a phone nothing but the wide table scrolls sideways."""
    open_report(browser, made)
    browser.set_window_size(500, 900)
    try:
        time.sleep(0.4)
        wide = browser.execute_script(
            "return document.documentElement.scrollWidth - innerWidth")
    finally:
        browser.set_window_size(1280, 1000)
    assert wide <= 0
