"""Guess by drawing, at the head of the chapters: what the pages have, and in Chromium."""

import itertools
import re

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.docs.conftest import guess_of
from tests.docs.test_access import axe_finds, resize, wait_for
from tools.kit.servers import ARCHITECTURES
from tools.observe.predict import curve, guess

# A figure of the page; the label of a line tells the reader which it is.
SHOWN = """const box = document.querySelector(".guess");
return box.dataset.state === "shown" && {said: box.querySelector(".guess-said").textContent,
  drawn: box.querySelector(".measured").getAttribute("d"),
  labels: [...box.querySelectorAll("text")].map(one => one.textContent)};"""
# What reaches out of the box; the page may hide it.
OVER = """const box = document.querySelector(".guess"), edge = box.getBoundingClientRect();
return [box, ...box.querySelectorAll("*")].filter(one => {
  const {left, right, width} = one.getBoundingClientRect();
  return width && (right > Math.min(edge.right, innerWidth) || left < edge.left); }).map(
    one => one.outerHTML.slice(0, 80));"""


@pytest.fixture(name="page")
def _page(browser, book):
    """Return a function that opens a chapter and brings its chart into view."""
    def opened(name, width=1280):
        resize(browser, width)
        browser.get((book / f"tutorial/{name}.html").as_uri())
        chart = wait_for(browser, "return document.querySelector('.guess-chart')")
        browser.execute_script("arguments[0].scrollIntoView({block: 'center', "
                               "behavior: 'instant'})", chart)
        return chart
    return opened


def press(browser, *keys):
    """Press keys, one after the other."""
    ActionChains(browser).send_keys(*keys).perform()


def draw(browser, chart, *places):
    """Draw a line through places: shares of the chart, to the right and down."""
    wide, high = chart.size["width"], chart.size["height"]
    points = [(round((x - 0.5) * wide), round((y - 0.5) * high)) for x, y in places]
    pointer = ActionChains(browser, duration=50).move_to_element_with_offset(
        chart, *points[0]).click_and_hold()
    for x, y in points[1:]:
        pointer.move_to_element_with_offset(chart, x, y)
    pointer.release().perform()


# ----------------------------------------------------------------- the pages

@pytest.mark.parametrize("server", ARCHITECTURES, ids=lambda one: one.name)
def test_a_chapter_has_the_data_of_its_curve_and_its_sentences(book, reference, server):
    html = (book / f"tutorial/{server.folder}.html").read_text(encoding="utf-8")
    told, (experiment, said) = guess_of(html), guess.of_chapter(server)
    rates = curve.measured(reference.summary, experiment, server.name)
    assert {x: rate for x, rate in told["points"]} == {x: round(y) for x, y in rates.items()}
    assert told["ticks"] == list(guess.TICKS) and told["said"] == said
    assert (told["start"] is None) == bool(told["known"])
    assert all(one["title"] < told["title"] for one in told["known"])   # earlier chapters
    assert html.index('class="guess"') < html.index('id="the-idea"')
    # Without script: the curve once, and a link to it from the head.
    plain = re.search(r"<noscript>(.*?)</noscript></div>", html, re.S)[1]
    assert 'href="#the-curve"' in plain and "<img" not in plain
    assert html.count(f"curve-guestbook-{server.name}-rate-light.svg") == 1


@pytest.mark.parametrize("drawn, measured, kind", [
    ((9000, 9000, 9000, 9000), (9300, 9200, 8000, 8300), "close"),
    ((9000, 9000, 20000, 9000), (9300, 9200, 8000, 8300), "peaks"),
    ((9000, 12000, 15000, 20000), (9300, 9200, 8000, 8300), "rises"),
    ((9000, 7000, 5000, 0), (9300, 9200, 8000, 8300), "falls"),
    ((20000, 20000, 20000, 20000), (9300, 9200, 8000, 8300), "high"),
    ((900, 900, 900, 900), (9300, 9200, 8000, 8300), "low"),
    ((2000, 9000, 8000, 8300), (9300, 9200, 8000, 8300), "rises"),
    ((12000, 12000, 12000, 8300), (12000, 11000, 10000, 8000), "close"),
    ((20000, 20000, 20000, 12000), (12000, 11000, 10000, 8000), "high")])
def test_the_kind_of_a_guess(drawn, measured, kind):
    assert guess.choose(drawn, measured, guess.NEEDED + guess.SHAPES) == kind


# ------------------------------------------------------------------ in Chromium

def test_the_page_chooses_as_the_terminal_does(browser, page):
    page("02_forking")
    curves = [*itertools.product((0, 2000, 8000, 20000), repeat=4)]
    kinds = [guess.NEEDED, guess.NEEDED + guess.SHAPES]
    cases = [(one, measured, some) for one in curves for some in kinds
             for measured in ((9283, 9163, 7962, 8332), (11935, 11326, 9967, 8034))]
    found = browser.execute_script(
        "return arguments[0].map(one => chooseGuess(...one))", cases)
    assert found == [guess.choose(*one) for one in cases]
    assert set(found) == {*guess.NEEDED, *guess.SHAPES}


def test_a_guess_by_keys(browser, page, book):
    """The arrows do not turn the page of the book, and without a guess nothing is shown."""
    chart = page("02_forking")
    said = guess.of_chapter(ARCHITECTURES[1])[1]
    rates = dict(guess_of((book / "tutorial/02_forking.html").read_text("utf-8"))["points"])
    here = browser.current_url
    browser.execute_script("arguments[0].focus()", chart)
    press(browser, Keys.ENTER)
    wait_for(browser, "return document.querySelector('.guess-said').textContent")
    assert not browser.execute_script(SHOWN)
    press(browser, Keys.ARROW_UP)
    assert chart.get_attribute("aria-valuetext").startswith("20 clients: your guess ")
    press(browser, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.PAGE_UP, Keys.ARROW_RIGHT,
          Keys.PAGE_UP, Keys.PAGE_UP, Keys.ARROW_DOWN)
    last = int(chart.get_attribute("aria-valuenow"))
    told = f"10,000 clients: your guess {last:,} pages a second"
    assert chart.get_attribute("aria-valuetext") == told
    style = browser.execute_script("return getComputedStyle(arguments[0]).outlineStyle", chart)
    assert style == "solid" and browser.current_url == here
    press(browser, Keys.ENTER)
    shown = wait_for(browser, SHOWN)
    assert shown["said"] == (f"With 10,000 clients, you expected {last:,} pages a second; "
                             f"measured: {rates[10000]:,}. {said['rises']}")
    assert {"measured", "your guess", "01 iterative"} <= {*shown["labels"]}
    press(browser, Keys.ARROW_LEFT, Keys.ARROW_RIGHT, Keys.ARROW_UP)    # the guess stays
    assert chart.get_attribute("aria-valuetext") == f"{told}, measured {rates[10000]:,}"


@pytest.mark.parametrize("width, begin, end, kind", [
    (1280, 0.6, 0.15, "high"), (400, 0.2, 0.7, "low")])
def test_a_guess_by_pointer(browser, page, reference, width, begin, end, kind):
    chart = page("05_prethreaded", width)
    said = guess.of_chapter(ARCHITECTURES[4])[1]
    draw(browser, chart, (0.2, begin), (0.5, end), (0.95, end))
    browser.find_element("css selector", ".guess-do button").send_keys(Keys.ENTER)
    shown = wait_for(browser, SHOWN)
    rates = curve.measured(reference.summary, "guestbook", "prethreaded")
    assert shown["said"].endswith(said[kind])
    assert f"measured: {rates[10000]:,.0f}" in shown["said"]
    assert shown["drawn"].count("L") == len(rates) - 1
    assert not browser.execute_script(OVER)
    browser.find_element("css selector", ".guess-do button:last-child").send_keys(Keys.ENTER)
    assert not browser.execute_script(SHOWN)
    assert chart.get_attribute("aria-valuetext") == "20 clients: no guess yet"


def test_a_start_that_is_given_stays(browser, page, reference):
    chart = page("01_iterative")
    rates = curve.measured(reference.summary, "guestbook", "iterative")
    draw(browser, chart, (0.05, 0.9), (0.95, 0.9))
    press(browser, Keys.ARROW_LEFT, Keys.PAGE_UP)
    assert chart.get_attribute("aria-valuetext").startswith(
        f"20 clients: your guess {rates[20]:,.0f} ")


def test_with_reduced_motion_the_curve_is_there_immediately(browser, page):
    motion = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [motion]})
    try:
        chart = page("07_epoll")
        draw(browser, chart, (0.2, 0.3), (0.9, 0.3))
        press(browser, Keys.ENTER)
        assert browser.execute_script(SHOWN)["said"]
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_axe_finds_nothing_and_no_host_is_asked(browser, page):
    """When the curve is shown next to the guess."""
    browser.get_log("performance")
    browser.get_log("browser")
    chart = page("06_poll", 400)
    browser.execute_script("arguments[0].focus()", chart)
    press(browser, Keys.PAGE_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    press(browser, Keys.ENTER)
    wait_for(browser, SHOWN)
    found = axe_finds(browser)
    asked = {url for entry in browser.get_log("performance")
             for url in re.findall(r'"url":"(https?://[^"]+)', entry["message"])}
    assert not found and not asked and not browser.get_log("browser")
    assert not browser.execute_script(OVER)


def test_without_script_the_plain_curve_is_reached(browser, book):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get((book / "tutorial/04_threaded.html").as_uri())
        link = browser.find_element("css selector", ".guess a")
        assert link.is_displayed() and link.get_attribute("href").endswith("#the-curve")
        assert not browser.find_elements("css selector", ".guess-chart")
        curves = browser.find_elements("css selector", "img[src*='-threaded-rate-']")
        assert len([one for one in curves if one.is_displayed()]) == 1
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
