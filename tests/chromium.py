"""A headless Chromium for tests of pages that are files."""

import contextlib
import shutil

import pytest

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--disable-background-networking", "--disable-sync")


@contextlib.contextmanager
def chromium():
    """Yield a selenium driver that logs console messages ("browser") and requests
    ("performance"). Skips the test where Chromium or its driver is missing."""
    webdriver = pytest.importorskip("selenium.webdriver")
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with webdriver.Chrome(options=options,
                          service=webdriver.chrome.service.Service(driver)) as found:
        yield found
