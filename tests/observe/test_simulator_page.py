"""The page of the simulator, in Chromium."""

import json

import pytest

from tests.support import chromium as headless
from tools.model import model
from tools.model.simulator import page
from tools.observe.__main__ import main

COSTS = model.load()
SERVERS = list(model.WORKERS)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """A Chromium that shows the page; it logs each request and message."""
    folder = tmp_path_factory.mktemp("simulator")
    html = folder / "simulator.html"
    html.write_text(page.draw(COSTS), encoding="utf-8")
    with headless.chromium() as driver:
        driver.get(html.as_uri())
        driver.html = html.as_uri()
        yield driver


def wait_until(driver, expression):
    """Wait until a JavaScript expression is true in the page."""
    from selenium.webdriver.support.ui import WebDriverWait
    WebDriverWait(driver, 240).until(
        lambda _: driver.execute_script(f"return {expression}"))


def test_the_page_draws_measures_and_asks_no_host(chromium):
    wait_until(chromium, "points.length >= 3 && world.measure.pages > 0")
    pixels = """const c = document.getElementById(arguments[0]), p =
      c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
      return new Set(new Uint32Array(p.buffer)).size"""
    for canvas in ("stage", "strips", "chart"):
        assert chromium.execute_script(pixels, canvas) > 3, canvas
    assert "predicted" in chromium.find_element("id", "verdict").text
    asked = []
    for entry in chromium.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append((message["params"]["documentURL"],
                          message["params"]["request"]["url"]))
    # Chromium's own page, which it opens first, is not on test.
    asked = [url for document, url in asked if document == chromium.html]
    assert asked[0] == chromium.html
    assert [url for url in asked
            if not url.startswith(("file:", "data:"))] == []
    assert chromium.get_log("browser") == []


def test_the_page_works_by_keyboard(chromium):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    chromium.get(chromium.html)

    def press(*keys):
        ActionChains(chromium).send_keys(*keys).perform()

    for number, server in enumerate(SERVERS, 1):
        press(str(number))
        assert chromium.execute_script("return setting.server") == server
    press(" ")
    assert chromium.execute_script("return paused")
    before = chromium.execute_script("return world.agenda.now")
    press(".")
    wait_until(chromium, f"world.agenda.now > {before} || steps === 0")
    assert chromium.execute_script("return paused")
    press(" ")
    assert not chromium.execute_script("return paused")
    slider = chromium.find_element("css selector", "[data-key=clients]")
    clients = chromium.execute_script("return setting.clients")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert chromium.execute_script("return setting.clients") > clients
    pace = chromium.execute_script("return pace")
    chromium.find_element("id", "pace").send_keys(Keys.ARROW_RIGHT)
    assert chromium.execute_script("return pace") > pace
    # Each control can be reached: a Tab from the first to the last.
    chromium.find_element("css selector", "[name=server]:checked").click()
    reached = set()
    for _ in range(25):
        press(Keys.TAB)
        reached.add(chromium.execute_script(
            "return document.activeElement.dataset.key || "
            "document.activeElement.id"))
    assert {"pause", "step", "again", "clients", "redisMs", "silent", "slow",
            "machines", "pace", "page"} <= reached
    assert chromium.get_log("browser") == []


def test_the_page_fits_a_narrow_screen(chromium):
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": True})
    chromium.get(chromium.html)
    wait_until(chromium, "points.length >= 1")
    wide, shown = chromium.execute_script(
        "return [document.documentElement.scrollWidth, innerWidth]")
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide <= shown


CHOOSE = """for (const [key, value] of Object.entries(arguments[0])) {
  const input = document.querySelector(`[data-key=${key}]`);
  input.value = input.dataset.values.split(" ").indexOf(String(value));
}
document.querySelector(`[value=${arguments[1]}]`).checked = true;
restart();"""


@pytest.mark.parametrize("server", [
    "epoll", *(pytest.param(name, marks=pytest.mark.slow) for name in ("forking", "preforking"))])
def test_a_frame_of_1000_clients_is_cheap(chromium, server):
    """Script and layout take at most 8 ms of CPU time: not of the clock, so that
    other programs change little. What a frame draws is counted, too."""
    chromium.get(chromium.html)
    chromium.execute_script(CHOOSE, {"clients": 1000, "workers": 100,
                                     "redisMs": 1}, server)
    wait_until(chromium, "world.measure.pages > 5")
    chromium.execute_script("""
      const proto = CanvasRenderingContext2D.prototype, real = proto.fillRect;
      const usual = draw;
      window.frames_ = window.drawn = 0;
      proto.fillRect = function (x, y, w, h) {
        drawn++;
        real.call(this, x, y, w, h);
      };
      draw = seconds => { frames_++; usual(seconds); };""")
    chromium.execute_cdp_cmd("Performance.enable",
                             {"timeDomain": "threadTicks"})

    def sample():
        metrics = {one["name"]: one["value"] for one in chromium.execute_cdp_cmd(
            "Performance.getMetrics", {})["metrics"]}
        return chromium.execute_script("return frames_"), sum(
            metrics[name] for name in ("ScriptDuration", "LayoutDuration",
                                       "RecalcStyleDuration"))

    frames, seconds = sample()
    wait_until(chromium, f"frames_ > {frames} + 60")
    later, total = sample()
    chromium.execute_cdp_cmd("Performance.disable", {})
    assert (total - seconds) / (later - frames) < 0.008
    assert 1000 <= chromium.execute_script("return drawn / frames_") < 4000


def test_wrong_costs_are_named(tmp_path, capsys):
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"format": 1}')
    assert main(["simulator", "--costs", str(wrong)]) == 1
    assert "wrong.json" in capsys.readouterr().err
