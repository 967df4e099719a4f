"""The pages that move, in Chromium: the simulator, and a replay of a burst that is made up.

That they fit a telephone, and ask no host, is seen in the book, which has both (tests/docs/).
"""

import pytest

from tests.support import chromium as headless
from tools.model import model
from tools.model.simulator import page
from tools.observe.timeline import lines, replay, rows, run, strace

ACCEPT = lines.Frame("accept_next", "common/accept.c", 34)
REDIS = lines.Frame("redis_receive", "common/redis.c", 172)


@pytest.fixture(scope="module")
def chromium():
    """A Chromium; it logs each request and message."""
    with headless.chromium() as driver:
        yield driver


def opened(driver, path, html):
    """Have a Chromium show a page; return the driver."""
    path.write_text(html, encoding="utf-8")
    driver.get(path.as_uri())
    return driver


def wait_until(driver, expression):
    """Wait until a JavaScript expression is true in the page."""
    from selenium.webdriver.support.ui import WebDriverWait
    WebDriverWait(driver, 240).until(
        lambda _: driver.execute_script(f"return {expression}"))


def press(driver, *keys):
    """Press keys, one after the other; a name such as TAB is that key."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    ActionChains(driver).send_keys(*(getattr(Keys, key, key) for key in keys)).perform()


# ------------------------------------------------------------------- a replay

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


@pytest.fixture(name="burst")
def replayed(chromium, tmp_path):
    """A Chromium that shows the replay."""
    return opened(chromium, tmp_path / "replay.html",
                  replay.page(replay.data_of([made()], ["said <b>"])))


def text(driver, name):
    """Return what an element says."""
    return driver.find_element("id", name).text


def hands(driver):
    """Return {id of a line: who stands there}."""
    return driver.execute_script("""return Object.fromEntries(
        [...document.querySelectorAll(".line.here")].map(line => [line.id, line.lastChild.innerText
        .replace(/\\n/g, " ").trim()]))""")


def test_each_worker_has_a_hand_at_its_line(burst):
    """Step by step, with the arrow keys too."""
    burst.execute_script("go(0)")
    assert list(hands(burst)) == ["line-0:34"] and "thread 2" in hands(burst)["line-0:34"]
    burst.find_element("id", "step").click()
    assert list(hands(burst)) == ["line-1:172"] and hands(burst)["line-1:172"] == "thread 1"
    assert "thread 1: waits for Redis in redis_receive(), line 172" in text(burst, "said")
    assert "2 waits for Redis" in text(burst, "said")
    burst.execute_script("document.activeElement.blur()")
    for key, now in (("ARROW_RIGHT", "80.0 ms"), ("ARROW_LEFT", "30.0 ms"),
                     ("END", "100.0 ms"), ("HOME", "0.0 ms")):
        press(burst, key)
        assert text(burst, "now") == now
        assert key != "ARROW_RIGHT" or hands(burst) == {}


def test_a_line_shows_its_share_of_the_waiting(burst):
    """And its bars; a second click shows all again."""
    click = "document.getElementById('line-1:172').click()"
    dim = "return document.querySelectorAll('rect.dim').length"
    burst.execute_script(click)
    assert "common/redis.c:172: 1 waits, 50.0 ms, 45 % of all" in text(burst, "said")
    assert burst.execute_script(dim) > 0
    burst.execute_script(click)
    assert burst.execute_script(dim) == 0


def test_a_replay_plays_to_the_end_and_stops(burst):
    burst.execute_script("go(all * .99); play()")
    wait_until(burst, "document.getElementById('play').textContent === 'Play'")
    assert text(burst, "now") == "100.0 ms"


# --------------------------------------------------------------- the simulator

@pytest.fixture
def simulator(chromium, tmp_path):
    """A Chromium that shows the simulator."""
    return opened(chromium, tmp_path / "simulator.html", page.draw(model.load()))


def test_the_simulator_draws_and_measures(simulator):
    wait_until(simulator, "points.length >= 3 && world.measure.pages > 0")
    pixels = """const c = document.getElementById(arguments[0]), p =
      c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
      return new Set(new Uint32Array(p.buffer)).size"""
    for canvas in ("stage", "strips", "chart"):
        assert simulator.execute_script(pixels, canvas) > 3, canvas
    assert "predicted" in text(simulator, "verdict")
    assert simulator.get_log("browser") == []


def test_the_simulator_works_by_keyboard(simulator):
    from selenium.webdriver.common.keys import Keys

    def value(expression):
        return simulator.execute_script(f"return {expression}")

    for number, server in enumerate(model.WORKERS, 1):
        press(simulator, str(number))
        assert value("setting.server") == server
    press(simulator, " ")
    assert value("paused")
    before = value("world.agenda.now")
    press(simulator, ".")
    wait_until(simulator, f"world.agenda.now > {before} || steps === 0")
    assert value("paused")
    press(simulator, " ")
    assert not value("paused")
    for name, setting in (("[data-key=clients]", "setting.clients"), ("#pace", "pace")):
        before = value(setting)
        simulator.find_element("css selector", name).send_keys(Keys.ARROW_RIGHT)
        assert value(setting) > before
    # Each control can be reached: a Tab from the first to the last.
    simulator.find_element("css selector", "[name=server]:checked").click()
    reached = set()
    for _ in range(25):
        press(simulator, "TAB")
        reached.add(value("document.activeElement.dataset.key || document.activeElement.id"))
    assert {"pause", "step", "again", "clients", "redisMs", "silent", "slow",
            "machines", "pace", "page"} <= reached
    assert simulator.get_log("browser") == []


CHOOSE = """for (const [key, value] of Object.entries(arguments[0])) {
  const input = document.querySelector(`[data-key=${key}]`);
  input.value = input.dataset.values.split(" ").indexOf(String(value));
}
document.querySelector(`[value=${arguments[1]}]`).checked = true;
restart();"""
COUNT_FRAMES = """window.counted = 0;
const count = () => { counted++; requestAnimationFrame(count); };
count();"""


@pytest.mark.parametrize("server", [
    "epoll", *(pytest.param(name, marks=pytest.mark.slow) for name in ("forking", "preforking"))])
def test_a_frame_of_1000_clients_is_cheap(simulator, server):
    """Script and layout take at most 8 ms of CPU time: not of the clock, so that
    other programs change little."""
    simulator.execute_script(CHOOSE, {"clients": 1000, "workers": 100, "redisMs": 1}, server)
    wait_until(simulator, "world.measure.pages > 5")
    simulator.execute_script(COUNT_FRAMES)
    simulator.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})

    def sample():
        metrics = {one["name"]: one["value"] for one in simulator.execute_cdp_cmd(
            "Performance.getMetrics", {})["metrics"]}
        return simulator.execute_script("return counted"), sum(
            metrics[name] for name in ("ScriptDuration", "LayoutDuration",
                                       "RecalcStyleDuration"))

    frames, seconds = sample()
    wait_until(simulator, f"counted > {frames} + 60")
    later, total = sample()
    simulator.execute_cdp_cmd("Performance.disable", {})
    assert (total - seconds) / (later - frames) < 0.008
