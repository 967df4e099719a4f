"""A headless Chromium, driven through its driver.

The driver is started here and not by selenium, so that it is in the guardian's care
like every other program of the tests.
"""

import contextlib
import os
import re
import shutil
import subprocess

import pytest

from tests.support.processes import DEADLINE, end, make_folder, remove_folder, spawn

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic",
         "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-breakpad",
         "--disable-default-apps", "--window-size=1280,1000")


@contextlib.contextmanager
def chromium():
    """Yield a selenium driver, with a profile of its own, that logs console messages
    ("browser") and requests ("performance"). Skips the test where Chromium or its
    driver is missing."""
    webdriver = pytest.importorskip("selenium.webdriver")
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if not binary or not shutil.which("chromedriver"):
        pytest.skip("needs chromium and chromedriver")
    profile = make_folder("chromium")
    driver = spawn(["chromedriver", "--port=0"], stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                   env={**os.environ, "TMPDIR": str(profile)})   # it makes one there
    try:
        port = next((match[1] for match in map(
            re.compile(r"started successfully on port (\d+)").search, driver.stdout)
            if match), None)
        assert port, "chromedriver did not start"
        options = webdriver.ChromeOptions()
        options.binary_location = binary
        for flag in FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs",
                               {"browser": "ALL", "performance": "ALL"})
        with webdriver.Remote(f"http://127.0.0.1:{port}", options=options) as found:
            found.set_page_load_timeout(DEADLINE)
            yield found
    finally:
        end(driver)
        driver.stdout.close()
        remove_folder(profile)
