"""The page that plays a burst again, in Chromium, from a recording that is made up."""

import json

import pytest

from tests.support import chromium as headless
from tools.observe.timeline import lines, replay, rows, run, strace

ACCEPT = lines.Frame("accept_next", "common/accept.c", 34)
REDIS = lines.Frame("redis_receive", "common/redis.c", 172)


def bar(begin, end, kind, words, frame=None):
    """Return a bar of one call that was made from a line."""
    stack = (frame,) if frame else ()
    return rows.Bar(begin, end, kind, words, (strace.Call(1, begin, end, "f", "", "0", stack),))


def made():
    """Return a Timeline of a tenth of a second: two workers, two clients."""
    worker = [bar(0, .03, "idle", "waits for a new client", ACCEPT),
              bar(.03, .08, "redis", "waits for Redis", REDIS), bar(.08, .1, "run", "runs")]
    client = [bar(0, .03, "queue", "in the accept queue"), bar(.03, .1, "redis", "waits for Redis")]
    return run.Timeline("05 prethreaded", 0, .1, [
        rows.Row("thread 1", "worker", worker), rows.Row("thread 2", "worker", worker[:1]),
        rows.Row("client 1", "client", client), rows.Row("client 2", "client", client)],
        .1, .1, 0, .2)


@pytest.fixture(scope="module", name="page")
def shown(tmp_path_factory):
    """A Chromium that shows the page."""
    html = tmp_path_factory.mktemp("replay") / "replay.html"
    html.write_text(replay.page(replay.data_of([made()], ["said <b>"])), encoding="utf-8")
    assert html.stat().st_size < 600_000
    with headless.chromium() as driver:
        driver.get(html.as_uri())
        driver.html = html.as_uri()
        yield driver


def text(page, name):
    """Return what an element says."""
    return page.find_element("id", name).text


def hands(page):
    """Return {id of a line: who stands there}."""
    return page.execute_script("""return Object.fromEntries(
        [...document.querySelectorAll(".line.here")].map(line => [line.id, line.lastChild.innerText
        .replace(/\\n/g, " ").trim()]))""")


def test_each_worker_has_a_hand_at_its_line(page):
    """Step by step, with the arrow keys too."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    page.execute_script("go(0)")
    assert list(hands(page)) == ["line-0:34"] and "thread 2" in hands(page)["line-0:34"]
    page.find_element("id", "step").click()
    assert list(hands(page)) == ["line-1:172"] and hands(page)["line-1:172"] == "thread 1"
    assert "thread 1: waits for Redis in redis_receive(), line 172" in text(page, "said")
    assert "2 waits for Redis" in text(page, "said")
    page.execute_script("document.activeElement.blur()")
    ActionChains(page).send_keys(Keys.ARROW_RIGHT).perform()
    assert hands(page) == {} and text(page, "now") == "80.0 ms"
    ActionChains(page).send_keys(Keys.ARROW_LEFT).perform()
    assert text(page, "now") == "30.0 ms"
    ActionChains(page).send_keys(Keys.END).perform()
    assert text(page, "now") == "100.0 ms"
    ActionChains(page).send_keys(Keys.HOME).perform()
    assert text(page, "now") == "0.0 ms"


def test_a_line_shows_its_share_of_the_waiting(page):
    """And its bars; a second click shows all again."""
    line = "document.getElementById('line-1:172')"
    page.execute_script(f"{line}.click()")
    assert "common/redis.c:172: 1 waits, 50.0 ms, 45 % of all" in text(page, "said")
    assert page.execute_script("return document.querySelectorAll('rect.dim').length") == 7
    page.execute_script(f"{line}.click()")
    assert page.execute_script("return document.querySelectorAll('rect.dim').length") == 0


def test_it_plays_to_the_end_and_stops(page):
    page.execute_script("go(all * .99); play()")
    from selenium.webdriver.support.ui import WebDriverWait
    WebDriverWait(page, 60).until(lambda _: text(page, "play") == "Play")
    assert text(page, "now") == "100.0 ms"


def test_it_fits_a_narrow_window_and_asks_no_host(page):
    page.set_window_size(400, 800)
    page.get(page.html)
    assert page.execute_script(
        "return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    asked = [message["params"]["request"]["url"] for entry in page.get_log("performance")
             if (message := json.loads(entry["message"])["message"])["method"]
             == "Network.requestWillBeSent" and message["params"]["documentURL"] == page.html]
    assert asked and not [url for url in asked if not url.startswith(("file:", "data:"))]
    assert page.get_log("browser") == []
