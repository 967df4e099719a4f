"""The book: its figures and claims come from the run, its chapters are alike, and its links lead
somewhere."""

import re
import socket
import subprocess
import urllib.error
import urllib.request

import pytest

from tests.docs.conftest import (BUILD_LIMIT, CHAPTERS, DOCS, GUIDES, PAGES, TOP, guess_of,
                                 name_of)
from tests.support.processes import end, spawn, wait_for
from tools.book import figures
from tools.report import join


@pytest.mark.parametrize("text", [
    "guestbook.poll[7].cpu_us", "guestbook.poll[100].typo", "source.options.no_such",
    "sum(no_such[x] for x in (20, 100))", "guestbook.poll[100].cpu_us / 0", "1 +"])
def test_what_is_not_there_is_an_error(reference, text):
    """Nothing is ever filled in as zero."""
    with pytest.raises(figures.FigureError):
        figures.evaluate(text, figures.everything(reference, {}))


def test_book_and_report_compare_alike(reference):
    """Both correct the CPU times by how fast the cores were."""
    [told] = [one for one in reference.experiments["guestbook"]["comparisons"] if
              (one["server"], one["x"], one["metric"]) == ("forking", 100, "cpu_us")]
    found = figures.compare({"guestbook": reference}, f"guestbook 100 forking {told['base']}")
    assert found["words"] == told["words"]


# ------------------------------------------------------------------ a small book

GUESS = """# A page

:::{{guess}} guestbook epoll
:known: poll
:claim: guestbook.epoll[20].rate {} 1
close: Right.
high: Too
high.
low: Too low.
:::
"""
SMALL = {
    "index": """# A page

It costs {value}`guestbook.poll[100].cpu_us | 1` microseconds;
{value}`1234.5`, {value}`12.34`, {value}`-1.234`, {value}`'a word'`.

:::{claim} guestbook.poll[100].cpu_us > 0
Poll costs something.
:::

:::{toctree}
tutorial/wrong
tutorial/right
tutorial/wrong_guess
:::
""",
    "tutorial/wrong": """# Wrong

{value}`guestbook.poll[7].rate`

:::{claim} guestbook.poll[100].cpu_us < 0
Poll costs nothing.
:::

:::{claim} guestbook.poll[7].rate > 1
Fast.
:::
""",
    "tutorial/right": GUESS.format(">"), "tutorial/wrong_guess": GUESS.format("<")}


@pytest.fixture(scope="module")
def small(book, tmp_path_factory):
    """A function that builds SMALL from the committed run; `strict`: as make book does, else as
    with RUN. Returns the exit status, what was printed, and the pages by name. (Only the builder
    `html` makes those of the annotated source.)"""
    folder = tmp_path_factory.mktemp("small")
    (folder / "docs/tutorial").mkdir(parents=True)
    for name, text in SMALL.items():
        (folder / f"docs/{name}.md").write_text(text)

    def build(strict):
        done = subprocess.run(
            [book.parent / "book-venv/bin/python", "-m", "sphinx", "-b", "dirhtml", "-E", "-q",
             "-W", "--keep-going", "-D", f"book_run={join.REFERENCE}",
             "-D", f"book_strict={strict}", "-c", DOCS, folder / "docs", folder / "out"],
            env={"PYTHONPATH": str(TOP), "PATH": "/usr/bin"}, text=True,
            check=False, capture_output=True, timeout=BUILD_LIMIT)
        return done.returncode, done.stdout + done.stderr, {
            name: (folder / f"out/{name}/index.html".replace("/index/", "/")).read_text("utf-8")
            for name in SMALL}
    return build


def test_what_the_run_does_not_support_breaks_the_book(small, reference):
    """A claim that holds is prose. One that does not is named, and so is a figure that is
    missing."""
    status, output, html = small(strict=1)
    assert status != 0
    assert sorted(re.findall(r"(\w+)\.md.*(does not hold|there is no 7)", output)) == [
        ("wrong", "does not hold"), ("wrong", "there is no 7"), ("wrong", "there is no 7"),
        ("wrong_guess", "does not hold")], output
    assert output.count("WARNING") == 4, output
    cost = figures.everything(reference, {}).guestbook.poll[100].cpu_us
    assert f"{cost:.1f} microseconds;\n1,234, 12.3, −1.23, a word." in html["index"]
    assert "Poll costs something." in html["index"] and "claim-fails" not in html["index"]


def test_a_book_of_a_readers_run_marks_what_it_does_not_support(small):
    """A guess has its plain curve where the page has no other, and only sentences that hold."""
    status, output, html = small(strict=0)
    assert status == 0, output
    wrong = html["tutorial/wrong"]
    assert wrong.count("claim-fails") == wrong.count("claim-open") == 1
    assert "did not measure whether this holds" in wrong
    plain = re.search(r"<noscript>(.*?)</noscript></div>", html["tutorial/right"], re.S)[1]
    assert "curve-guestbook-epoll-rate-light.svg" in plain
    assert guess_of(html["tutorial/right"])["said"]["high"] == "Too high."
    assert guess_of(html["tutorial/wrong_guess"])["said"] == {}


# -------------------------------------------------------------------- the pages

@pytest.mark.parametrize("path", CHAPTERS, ids=lambda one: one.stem)
def test_chapter_is_short_and_has_its_parts(path):
    """Of the costs, what was counted comes first, of two programs; then come the times."""
    text = path.read_text()
    prose = re.sub(r"^:::.*$|\{\w+\}`[^`]*`", "x", text, flags=re.M)
    assert len(prose.split()) <= 1300
    for heading in ("The idea", "The lines that matter", "What it looks like",
                    "What it costs", "The curve", "What breaks it",
                    "Exercises"):
        assert f"\n## {heading}\n" in text
    assert ":::{picture}" in text and ":::{timeline}" in text
    costs = text.split("\n## What it costs\n")[1]
    assert costs.index(":::{exact-costs} guestbook 100 ") < costs.index(
        f":::{{costs}} guestbook {path.stem[3:]}")


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

    def answer():
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read()
        except urllib.error.URLError:       # it does not listen yet
            return None

    server = spawn([tmp_path / "server", str(port)])
    try:
        for _ in range(2):
            assert wait_for(answer, "an answer", 240) == b"hello\n"
    finally:
        end(server)


def test_no_table_has_more_than_six_columns():
    wide = [(name_of(path), line) for path in PAGES for line in path.read_text().splitlines()
            if line.startswith("|") and line.replace("\\|", "").count("|") > 7]
    assert not wide


def test_no_line_is_a_comment():
    """MyST drops a line that begins with %, also one of a paragraph: what a figure and its
    percent sign stand apart for, is gone."""
    lost = []
    for path in [*PAGES, *GUIDES]:
        text = re.sub(r"^( *)(```+|~~~+).*?^\1\2", "", path.read_text(), flags=re.M | re.S)
        lost += [(name_of(path), line) for line in re.findall(r"^ {0,3}%.*", text, re.M)]
    assert not lost


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


@pytest.mark.parametrize("page", ["tutorial/07_epoll", "source/06-07"])
def test_sidebar_has_the_source_the_simulator_and_the_slides(book, page):
    """That of a page of docs/, and of one that is made from the sources."""
    links = re.findall(r'<li class="toctree-l1[^>]*><a class="reference internal" href="([^"]*)"',
                       (book / f"{page}.html").read_text())
    assert {f"../{name}.html" for name in ("source/index", "simulator", "slides/index")} <= {
        link.removeprefix("./") for link in links}
