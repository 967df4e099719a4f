"""The book: its figures and claims come from the run, and its pages build
without a warning."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from xml.etree import ElementTree

import pytest

from tests.docs.conftest import (BUILD_LIMIT, CHAPTERS, DOCS, GUIDES, PAGES, TOP, guess_of,
                                 name_of)
from tools.book import figures, pairs, pictures, source
from tools.kit import states
from tools.kit.servers import ARCHITECTURES
from tools.report import join, styles
from tools.stats import stats


SEVEN = [one.name for one in ARCHITECTURES]
VERDICTS = {"same": stats.EQUAL, "more": stats.MORE, "unknown": stats.UNKNOWN}


@pytest.fixture(scope="module", name="run")
def made_run(reference, tmp_path_factory):
    """The committed run, with another cost of poll with 100 clients in its summary, and a column
    without a remark; in its samples, epoll costs 20 there."""
    folder, cpu_us = tmp_path_factory.mktemp("run"), 30.0
    shutil.copytree(join.REFERENCE, folder, dirs_exist_ok=True)
    summary = json.loads(json.dumps(reference.summary))
    [guestbook] = [one for one in summary["experiments"] if one["name"] == "guestbook"]
    [curve] = [one for one in guestbook["curves"] if one["server"] == "poll"]
    [point] = [one for one in curve["points"] if one["x"] == 100]
    point["values"]["cpu_us"] = cpu_us
    summary["columns"][0].pop("explain", None)
    (folder / "summary.json").write_text(json.dumps(summary))
    run = figures.Run(folder)
    run.rows = [{"experiment": "guestbook", "variant": "", "server": server,
                 "kind": "architecture", "x": 100, "repeat": n, "status": "ok",
                 "cpu_us": cost + n / 10} for n in range(1, 7)
                for server, cost in (("poll", cpu_us), ("epoll", 20.0))]
    return run


@pytest.fixture(scope="module")
def names(run):
    """What pages may name, of that run."""
    return figures.everything(run, {})


@pytest.mark.parametrize("text, value", [
    ("guestbook.poll[100].cpu_us", 30.0),
    ('guestbook[""].poll[100].cpu_us', 30.0),
    ("max(guestbook.poll.x) / 2", 7500),
    ("abs(guestbook.poll[20].calls.close - 1) < 0.1", True),
    ("published.guestbook.epoll[20]", 2050),
    ("source.options.max_children", 128),
    ("20 < guestbook.poll[100].cpu_us <= 30", True),
    ("sum(x >= 100 for x in guestbook.poll.x) - len(guestbook.poll.x)", -2),
    ("sum(guestbook.poll[x].cpu_us for x in (100,))", 30.0),
    *((text, None) for text in (
        "guestbook.poll[7].cpu_us", "guestbook.poll[100].typo",
        "guestbook.poll[100].can_do",       # its core was not busy
        "hello.poll[1]",
        "sum(no_such[x] for x in (20, 100))",
        "guestbook.poll.typo", "__import__('os')", "1 +",
        "guestbook.poll[100].cpu_us / 0", "source.options.no_such"))])
def test_expression(names, text, value):
    """What is not there is an error."""
    if value is not None:
        assert figures.evaluate(text, names) == value
        return
    with pytest.raises(figures.FigureError):
        figures.evaluate(text, names)


def test_servers_are_compared_by_rounds(run):
    words = figures.compare({"guestbook": run}, "guestbook 100 poll epoll")["words"]
    assert re.match(r"\d+ % more expensive \(1\.\d+", words)
    assert words == figures.compare({"guestbook": run}, "guestbook | 100 | poll | epoll")["words"]


def test_comparison_is_a_sentence(run, monkeypatch):
    """Whatever was found, it continues with the name of the other server."""
    said = figures.than({"guestbook": run}, "guestbook 100 poll epoll")
    assert re.fullmatch(r"\d+ % more CPU time \(\d+ to \d+ %\) than", said)
    said = figures.than({"guestbook": run}, "guestbook 100 epoll poll")
    assert re.fullmatch(r"\d+ % less CPU time \(\d+ to \d+ %\) than", said)
    for verdict, ratio, words in (
            ("same", 1.0, "the same CPU time (within 5 %) as"),
            ("more", 2.5, "2.5 times the CPU time (2.4 to 2.6) of"),
            ("unknown", 1.0, "an amount of CPU time that 4 rounds cannot tell from that of")):
        monkeypatch.setattr(figures, "compare", lambda *_, found=(verdict, ratio): {
            "metric": "cpu_us", "verdict": VERDICTS[found[0]], "ratio": found[1],
            "low": 2.4, "high": 2.6, "rounds": 4})
        assert figures.than({}, "") == words


def test_calls_are_listed_by_what_they_are_for(reference):
    """With the sum of each purpose; none is lost, and rare ones are left out."""
    rows = figures.by_purpose([{"accept4": 1, "close": 2, "read": 3, "all": 6.04},
                               {"accept4": 1, "poll": 1, "strange": 1, "brk": 0.04, "all": 3.04}])
    assert rows == [("connection", True, [3, 1]), ("accept4", False, [1, 1]),
                    ("close", False, [2, 0]), ("Redis", True, [3, 0]), ("read", False, [3, 0]),
                    ("waiting", True, [0, 1]), ("poll", False, [0, 1]),
                    ("others", True, [0, 1]), ("strange", False, [0, 1])]
    for experiment in reference.experiments.values():
        told = [one for name, one in experiment["calls"].items() if name.split("/")[0] in SEVEN]
        assert not [what for what, *_ in figures.by_purpose(told) if what == "others"]


def test_book_and_report_compare_alike(reference):
    """Both correct the CPU times by how fast the cores were."""
    [told] = [one for one in reference.experiments["guestbook"]["comparisons"] if
              (one["server"], one["x"], one["metric"]) == ("forking", 100, "cpu_us")]
    found = figures.compare({"guestbook": reference}, f"guestbook 100 forking {told['base']}")
    assert found["words"] == told["words"]


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
SMALL = {   # a book; in its run, poll costs 30 microseconds
    "index": """# A page

It costs {value}`guestbook.poll[100].cpu_us | 1` microseconds;
{value}`1234.5`, {value}`12.34`, {value}`-1.234`, {value}`'a word'`.

:::{claim} guestbook.poll[100].cpu_us < 40
Poll is cheap.
:::

:::{metrics}
:::

:::{toctree}
tutorial/wrong
tutorial/right
tutorial/wrong_guess
:::
""",
    "tutorial/wrong": """# Wrong

{value}`guestbook.poll[7].rate`

:::{claim} guestbook.poll[100].cpu_us < 20
Poll is cheaper.
:::

:::{claim} guestbook.poll[7].rate > 1
Fast.
:::
""",
    "tutorial/right": GUESS.format(">"), "tutorial/wrong_guess": GUESS.format("<")}


@pytest.fixture(scope="module")
def small(book, run, tmp_path_factory):
    """A function that builds SMALL; `strict`: as make book does, else as with RUN. Returns the
    exit status, what was printed, and the pages by name. (Only the builder `html` makes those of
    the annotated source.)"""
    folder = tmp_path_factory.mktemp("small")
    (folder / "docs/tutorial").mkdir(parents=True)
    for name, text in SMALL.items():
        (folder / f"docs/{name}.md").write_text(text)

    def build(strict):
        done = subprocess.run(
            [book.parent / "book-venv/bin/python", "-m", "sphinx", "-b", "dirhtml", "-E", "-q",
             "-W", "--keep-going", "-D", f"book_run={run.folder}", "-D", f"book_strict={strict}",
             "-c", DOCS, folder / "docs", folder / "out"],
            env={"PYTHONPATH": str(TOP), "PATH": "/usr/bin"}, text=True,
            check=False, capture_output=True, timeout=BUILD_LIMIT)
        return done.returncode, done.stdout + done.stderr, {
            name: (folder / f"out/{name}/index.html".replace("/index/", "/")).read_text("utf-8")
            for name in SMALL}
    return build


def test_what_the_run_does_not_support_breaks_the_book(small):
    """A claim that holds is prose. One that does not is named, and so is a figure that is
    missing."""
    status, output, html = small(strict=1)
    assert status != 0
    assert sorted(re.findall(r"(\w+)\.md.*(does not hold|there is no 7)", output)) == [
        ("wrong", "does not hold"), ("wrong", "there is no 7"), ("wrong", "there is no 7"),
        ("wrong_guess", "does not hold")], output
    assert output.count("WARNING") == 4, output
    assert "30.0 microseconds;\n1,234, 12.3, −1.23, a word." in html["index"]
    assert "Poll is cheap." in html["index"] and "claim-fails" not in html["index"]


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


# ------------------------------------------------------- pictures and sources

@pytest.mark.parametrize("name", pictures.PICTURES)
def test_picture_is_told_and_has_a_dark_twin(name):
    """It says in words what it shows, in the colours of our other pictures,
    each of which has its like on a dark page."""
    svg, words = pictures.picture(name)
    assert ElementTree.fromstring(svg).get("viewBox") and len(words) > 40
    known = {*(colour[0] for colour in vars(styles).values()
               if isinstance(colour, tuple)),
             *(kind[1] for kind in states.KINDS.values())}
    assert set(re.findall("#[0-9a-f]{6}", svg)) <= known


def test_page_of_a_source_shows_each_line():
    index = source.Index()
    for path in source.files():
        html = re.sub(r"<[^>]+>", "", source.file_page(path, index))
        missing = [word for word in re.findall(r"\b\w{4,}\b", index.texts[path])
                   if word not in html]
        assert not missing, path


def test_difference_without_a_note_breaks_the_book(monkeypatch):
    """So does a note without a difference. All pairs are in the book."""
    assert 'class="note"' in pairs.page("01-02")[1]
    for notes in ([], [{"at": "no such line", "text": ""}]):
        monkeypatch.setattr("tomllib.loads", lambda _, found=notes: {"note": found})
        with pytest.raises(pairs.PairError):
            pairs.page("01-02")


def test_quotation_of_what_is_not_there_breaks_the_book():
    assert source.quote("07_epoll/main.c", "serve_clients").endswith("\n}")
    with pytest.raises(source.SourceError):
        source.quote("07_epoll/main.c", "no_such_function")


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
            end, answer = time.monotonic() + 240, None
            while not answer:
                try:
                    answer = urllib.request.urlopen(
                        f"http://127.0.0.1:{port}/", timeout=60).read()
                except urllib.error.URLError as error:
                    assert time.monotonic() < end, error
                    time.sleep(0.02)
            assert answer == b"hello\n"
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


# --------------------------------------------------------------- the real book

@pytest.mark.parametrize("path", CHAPTERS, ids=lambda one: one.stem)
def test_chapter_is_short_and_has_its_parts(path):
    text = path.read_text()
    prose = re.sub(r"^:::.*$|\{\w+\}`[^`]*`", "x", text, flags=re.M)
    assert len(prose.split()) <= 1300
    for heading in ("The idea", "The lines that matter", "What it looks like",
                    "What it costs", "The curve", "What breaks it",
                    "Exercises"):
        assert f"\n## {heading}\n" in text
    assert ":::{picture}" in text and ":::{timeline}" in text


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
    """From each kind of page, the links lead there; in the source, that is marked."""
    html = (book / f"{page}.html").read_text()
    tree = html[html.index('class="sidebar-tree"'):]
    up = "../" * page.count("/")
    found = re.findall(r'<li class="toctree-l1( current current-page)?"><a class="reference '
                       r'internal" '
                       rf'href="(?:\./)?{up}(source/index|simulator|slides/index).html"', tree)
    assert found == [(" current current-page" if page.startswith("source/") else "",
                      "source/index"), ("", "simulator"), ("", "slides/index")]
