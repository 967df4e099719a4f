"""The site in a real browser, a headless Chromium."""

import re
import time

import pytest

from tests.support.chromium import chromium
from tests.support.processes import wait_for
from tests.support.servers import TOP

# The pages are the same files for all seven. Where only they are on test, two
# servers suffice, the least alike: a browser opens several connections.
FEW = pytest.mark.only("iterative", "epoll")

# What a silent client of 01 may cost others; see test_silent_clients.py.
GRACE = int(re.search(r"FIRST_BYTE_GRACE_MS = (\d+)",
                      (TOP / "common/room.h").read_text())[1]) / 1000
# Seconds that a browser may add: `make check` leaves it the processor that others do
# not use. The test below tells a wait for a grace from one for --request-timeout.
SLACK = 30.0


@pytest.fixture(scope="session")
def browser():
    """A Chromium for all tests."""
    with chromium() as found:
        yield found


@pytest.fixture
def visit(browser, launch, redis):
    """visit(path) opens a page; a console message of any page fails the
    test. Yields the function; `visit.browser` is the browser."""
    redis("FLUSHALL")
    server = launch("--request-timeout", "3600")

    def open_page(path):
        browser.get("http://{}:{}{}".format(*server.address, path))

    open_page.browser = browser
    browser.get_log("browser")                  # of the test before
    yield open_page
    messages = browser.get_log("browser")
    browser.get("about:blank")                  # lets its connections go
    assert not messages, messages


def element(browser, selector):
    """The one element that a CSS selector names."""
    [found] = browser.find_elements("css selector", selector)
    return found


def text_of(browser):
    """What a reader sees of the page."""
    return element(browser, "body").text


def submit(browser):
    """Press the form's button and wait for the page that follows."""
    from selenium.common.exceptions import WebDriverException
    browser.execute_script("window.isOld = true")
    element(browser, "form button[type=submit]").click()

    def is_another():
        try:
            return browser.execute_script(
                "return !window.isOld && document.readyState === 'complete'")
        except WebDriverException:      # in between: no document at all
            return False

    wait_for(is_another, "the page that follows")


def sign(browser, name, remark):
    """Type into the form and send it."""
    for field, value in [("guest-name", name), ("guest-remarks", remark)]:
        box = element(browser, f"[name={field}]")
        box.clear()
        box.send_keys(value)
    submit(browser)


@pytest.mark.shared
def test_sign_the_guestbook(visit):
    browser = visit.browser
    visit("/guestbook")
    sign(browser, "Ada <b>Lovelace</b>", "Gr\u00fc\u00dfe & \"quotes\" "
                                         "$VISITOR_COUNT$")
    assert browser.current_url.endswith("/guestbook?thanks")
    assert "thank" in text_of(browser).lower()
    [entry] = browser.find_elements("css selector", "ul.remarks li")
    assert entry.text == "Gr\u00fc\u00dfe & \"quotes\" $VISITOR_COUNT$ - " \
                         "Ada <b>Lovelace</b>"
    sign(browser, "Grace", "second")
    entries = browser.find_elements("css selector", "ul.remarks li")
    assert [e.text for e in entries][0] == "second - Grace"
    assert len(entries) == 2
    browser.refresh()                   # must not sign again
    assert len(browser.find_elements("css selector",
                                     "ul.remarks li")) == 2


@FEW
def test_a_remark_that_is_too_long(visit):
    """The form comes back with what was typed, and says what to change."""
    browser = visit.browser
    visit("/guestbook")
    typed = "\n too long <&> " + "x" * 1000
    browser.execute_script(             # typing it takes its time
        "document.querySelector('[name=guest-remarks]').value = arguments[0]",
        typed)
    element(browser, "[name=guest-name]").send_keys("\"Ada\"")
    submit(browser)
    assert "1,000" in element(browser, ".message.error").text
    assert element(browser, "[name=guest-name]").get_attribute("value") == \
        "\"Ada\""
    assert element(browser, "[name=guest-remarks]").get_attribute(
        "value").strip() == typed.strip()
    # Chromium notes the 400 on its console, rightly: which shows that we would
    # hear of anything else, too. It must be all that is there.
    [message] = browser.get_log("browser")
    assert "400" in message["message"]


@FEW
@pytest.mark.parametrize("width", [360, 1280])
def test_the_pages_fit_the_screen(visit, width):
    """That of a phone as well as that of a desktop."""
    browser = visit.browser
    browser.set_window_size(width, 900)
    for path in ["/", "/guestbook"]:
        visit(path)
        assert browser.execute_script(
            "return document.documentElement.scrollWidth"
            " <= document.documentElement.clientWidth"), \
            f"{path} has to be scrolled sideways at {width} pixels"


@pytest.mark.shared
def test_which_architecture_is_shown(visit, server_name):
    """Not only in the list of the seven: in a place of its own."""
    browser = visit.browser
    visit("/")
    wait_for(lambda: element(browser, "#which").text.endswith(
        f": {server_name}"), "the place that names the architecture")
    [marked] = browser.find_elements("css selector", "[aria-current=true]")
    assert marked.get_attribute("data-server") == server_name


@FEW
def test_pictures(visit):
    """Each of the site's pictures is one to Chromium, too."""
    browser = visit.browser
    visit("/")
    broken = browser.execute_script(
        "return [...document.images].filter(i => !i.naturalWidth)"
        ".map(i => i.src)")
    assert broken == []


@pytest.mark.only("iterative")
def test_a_spare_connection_costs_a_grace(visit):
    """Chromium opens connections in advance. One that it does not use yet blocks
    its own next request, where one client is served at a time."""
    for path in ["/", "/guestbook", "/"]:
        began = time.monotonic()
        visit(path)
        assert time.monotonic() - began < GRACE + 1 + SLACK
