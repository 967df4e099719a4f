"""The book: its figures and claims come from the run, its pages build without
a warning, and Chromium shows them without a network."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from xml.etree import ElementTree

import pytest

from conftest import BUILD_LIMIT, CHAPTERS, DOCS, PAGES, TOP, resize
from docs.book import __main__ as program
from docs.book import figures, pictures, source

def make_run(folder, cpu_us=30.0):
    """Write a run of two servers at one point into `folder`."""
    def curve(server, cost):
        values = {"cpu_us": cost, "rate": 9000.0, "switches": 1.0}
        return {"server": server, "variant": "", "points": [{
            "x": 100, "values": values, "limit": "load", "noisy": []}]}
    summary = {
        "servers": [{"name": "poll", "title": "poll"},
                    {"name": "epoll", "title": "epoll"}],
        "experiments": [{
            "name": "guestbook", "variants": [""], "comparisons": [],
            "curves": [curve("poll", cpu_us), curve("epoll", 20.0)],
            "calls": {"epoll/": {"all": 7.5, "accept4": 1.0}}}]}
    env = {"machine": {"cpu": "A processor"}, "started": "2026-01-02T03:04Z",
           "source": {"commit": "0123456789"}, "looks": {}}
    rows = ["experiment,variant,server,kind,x,repeat,status,cpu_us"] + [
        f"guestbook,,{server},architecture,100,{n},ok,{cost + n / 10}"
        for n in range(1, 7)
        for server, cost in (("poll", cpu_us), ("epoll", 20.0))]
    folder.mkdir(exist_ok=True)
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "env.json").write_text(json.dumps(env))
    (folder / "samples.csv").write_text("\n".join(rows) + "\n")
    return figures.Run(folder)


@pytest.fixture
def names(tmp_path):
    """What expressions may name."""
    return figures.everything(make_run(tmp_path / "run"), {})


@pytest.mark.parametrize("text, value", [
    ("guestbook.poll[100].cpu_us", 30.0),
    ('guestbook[""].poll[100].cpu_us', 30.0),
    ("max(guestbook.poll.rate) / 2", 4500.0),
    ("guestbook.epoll[100].calls.all", 7.5),
    ("guestbook.epoll[100].can_do", 50000.0),
    ("published.guestbook.epoll[20]", 2050),
    ("source.options.max_children", 128),
    ("20 < guestbook.poll[100].cpu_us <= 30", True),
])
def test_expression(names, text, value):
    assert figures.evaluate(text, names) == value


@pytest.mark.parametrize("text", [
    "guestbook.poll[7].cpu_us", "guestbook.poll[100].typo", "hello.poll[1]",
    "guestbook.poll.typo", "__import__('os')", "guestbook.poll[100].cpu_us / 0",
    "source.options.no_such", "1 +"])
def test_what_is_not_there_is_an_error(names, text):
    with pytest.raises(figures.FigureError):
        figures.evaluate(text, names)


def test_servers_are_compared_by_rounds(tmp_path):
    words = figures.compare({"guestbook": make_run(tmp_path / "run")},
                            "guestbook 100 poll epoll")["words"]
    assert re.match(r"\d+ % more expensive \(1\.\d+", words)


@pytest.mark.parametrize("value, digits, text", [
    (1234.5, None, "1,234"), (12.34, None, "12.3"), (1.234, None, "1.23"),
    (0.5, 0, "0"), ("words", None, "words")])
def test_number_as_text(value, digits, text):
    assert figures.show(value, digits) == text


# ------------------------------------------------------------- building pages

@pytest.fixture(scope="session")
def python():
    """The Python of the book's environment."""
    return program.environment()


def build(python, folder, run, page, strict):
    """Build a book of one page; return (exit status, output, HTML)."""
    (folder / "docs").mkdir(exist_ok=True)
    shutil.copy(DOCS / "conf.py", folder / "docs" / "conf.py")
    (folder / "docs" / "index.md").write_text(page)
    done = subprocess.run(
        [python, "-m", "sphinx", "-E", "-q", "-W", "--keep-going", "-D",
         f"book_run={run}", "-D", f"book_strict={int(strict)}",
         folder / "docs", folder / "out"], cwd=TOP, text=True, check=False,
        capture_output=True, env={"PYTHONPATH": str(TOP), "PATH": "/usr/bin"},
        timeout=BUILD_LIMIT)
    html = folder / "out" / "index.html"
    return (done.returncode, done.stdout + done.stderr,
            html.read_text() if html.exists() else "")


PAGE = """# A page

It costs {value}`guestbook.poll[100].cpu_us | 1` microseconds.

:::{claim} guestbook.poll[100].cpu_us < 40
Poll is cheap.
:::
"""


def test_changed_figure_changes_the_book(python, tmp_path):
    make_run(tmp_path / "run", 30.0)
    status, output, html = build(python, tmp_path, tmp_path / "run", PAGE, True)
    assert status == 0, output
    assert "30.0 microseconds" in html and "Poll is cheap." in html
    make_run(tmp_path / "run", 35.5)
    assert "35.5 micro" in build(python, tmp_path, tmp_path / "run", PAGE,
                                 True)[2]


def test_claim_that_does_not_hold_breaks_the_book(python, tmp_path):
    make_run(tmp_path / "run", 50.0)
    status, output, _ = build(python, tmp_path, tmp_path / "run", PAGE, True)
    assert status != 0
    assert "does not hold" in output


def test_claim_that_does_not_hold_is_marked_in_a_reader_s_run(python,
                                                              tmp_path):
    make_run(tmp_path / "run", 50.0)
    status, output, html = build(python, tmp_path, tmp_path / "run", PAGE,
                                 False)
    assert status == 0, output
    assert "claim-fails" in html


# ------------------------------------------------------- pictures and sources

@pytest.mark.parametrize("name", pictures.PICTURES)
def test_picture_is_drawn_and_told(name):
    svg, words = pictures.picture(name)
    assert ElementTree.fromstring(svg).get("viewBox")
    assert len(words) > 40


@pytest.mark.parametrize("path", source.files())
def test_page_of_a_source_shows_each_line(path):
    index = source.Index()
    html = re.sub(r"<[^>]+>", "", source.file_page(path, index))
    missing = [line for line in re.findall(r"\b\w{4,}\b", index.texts[path])
               if line not in html]
    assert not missing


@pytest.mark.parametrize("pair", source.PAIRS)
def test_each_difference_has_a_note(pair):
    title, html = source.pair_page(pair)
    assert title and 'class="note"' in html


@pytest.mark.parametrize("path", sorted(
    (DOCS / "tutorial" / "smallest").glob("*.c")), ids=lambda one: one.stem)
def test_smallest_program_serves_two_clients(path, tmp_path):
    """It compiles without a warning, has about 30 lines, and answers."""
    assert len(path.read_text().splitlines()) <= 32
    subprocess.run(["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2",
                    "-pthread", path, "-o", tmp_path / "server"], check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([tmp_path / "server", str(port)],
                              start_new_session=True)
    try:
        for _ in range(2):
            end = time.monotonic() + 10
            while True:
                try:
                    client = http.client.HTTPConnection("127.0.0.1", port,
                                                        timeout=10)
                    client.request("GET", "/")
                    break
                except ConnectionRefusedError:
                    assert time.monotonic() < end, "it does not listen"
                    time.sleep(0.02)
            assert client.getresponse().read() == b"hello\n"
            client.close()
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


# --------------------------------------------------------------- the real book

@pytest.mark.parametrize("path", CHAPTERS, ids=lambda one: one.stem)
def test_chapter_is_short_and_has_its_parts(path):
    text = path.read_text()
    prose = re.sub(r"^:::.*$|\{\w+\}`[^`]*`", "x", text, flags=re.M)
    assert len(prose.split()) <= 1200
    for heading in ("The idea", "The lines that matter", "What it looks like",
                    "What it costs", "The curve", "What breaks it",
                    "Exercises"):
        assert f"\n## {heading}\n" in text
    assert ":::{picture}" in text and ":::{timeline}" in text


@pytest.mark.parametrize("path", PAGES, ids=lambda one: one.stem)
def test_no_table_has_more_than_six_columns(path):
    wide = [line for line in path.read_text().splitlines()
            if line.startswith("|") and line.replace("\\|", "").count("|") > 7]
    assert not wide


def test_book_builds_without_a_warning(book):
    assert (book / "index.html").is_file()
    assert (book / "search.html").is_file()


def test_pictures_have_words_and_links_lead_somewhere(book):
    broken = []
    for page in book.rglob("*.html"):
        html = page.read_text()
        if re.search(r"<img(?![^>]*\balt=\"[^\"]{10})", html):
            broken.append(f"{page.name}: a picture without words")
        for link in re.findall(r'<a [^>]*href="([^"#]+)', html):
            if "://" not in link and not (page.parent / link).exists():
                broken.append(f"{page.name}: {link}")
    assert not broken


def test_pages_in_a_browser(browser, book):
    """No page scrolls sideways on a telephone, asks another host, or logs an
    error, and the search finds a word without a server."""
    resize(browser, 400)
    wrong = []
    for page in sorted(book.rglob("*.html")):
        browser.get(page.as_uri())
        over = browser.execute_script(
            "const e = document.documentElement;"
            "return e.scrollWidth - e.clientWidth")
        asked = {url for entry in browser.get_log("performance")
                 for url in re.findall(r'"url":"(https?://[^"]+)',
                                       entry["message"])}
        said = [entry["message"] for entry in browser.get_log("browser")]
        if over > 0 or asked or said:
            wrong.append((page.name, over, asked, said[:1]))
    assert not wrong
    browser.get((book / "search.html").as_uri() + "?q=epoll")
    end = time.monotonic() + 20
    while not browser.find_elements("css selector", "ul.search li"):
        assert time.monotonic() < end, "the search finds nothing"
        time.sleep(0.1)
