"""The cost comes first, and of it what was counted: on the first page, and in each chapter."""

import re

import pytest

from tests.docs.conftest import CHAPTERS, DOCS
from tools.book import figures
from tools.exact import results
from tools.kit.servers import ARCHITECTURES

HEADS = ["server", "instructions", "system calls", "context switches", "page faults", "CPU µs"]


def tables(html):
    """Return the tables of a page, each a list of rows of cells, as text."""
    def inside(name, text):
        return re.findall(rf"<{name}\b.*?</{name}>", text, re.DOTALL)

    return [[[re.sub(r"<[^>]+>", "", cell).strip() for cell in inside("t[hd]", row)]
             for row in inside("tr", table)] for table in inside("table", html)]


def counted(reference, server, x=100):
    """Return what the row of a server says of the guestbook, but for the CPU time."""
    cost = results.read(DOCS / "results" / "exact").cell(server, "guestbook")
    cell = figures.everything(reference, {}).guestbook[server][x]
    return [f"{cost.total / 1e3:.1f} ({cost.user / 1e3:.1f})", f"{cell.calls.all:.1f}",
            f"{cell.switches:.2f}", f"{cell.faults:.2f}"]


def test_the_first_page_begins_with_what_was_counted(book, reference):
    """Before any curve, and says why below."""
    html = (book / "index.html").read_text("utf-8")
    section = html[html.index('<section id="what-waiting-costs">'):]
    heads, *rows = tables(section)[0]
    assert heads == HEADS
    assert [row[0] for row in rows] == [one.folder for one in ARCHITECTURES]
    assert [row[1:5] for row in rows] == [counted(reference, one.name) for one in ARCHITECTURES]
    after = section[section.index("</table>"):]
    why, curve, theirs = (after.index(words) for words in (
        "fooling_yourself.html#the-load-tool-was-the-limit", "curve-guestbook-rate-light.svg",
        "published-guestbook-light.svg"))
    assert "<img" not in section[:section.index("</table>")] and why < curve < theirs


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda one: one.stem)
def test_a_chapter_begins_with_what_was_counted(path):
    """Of its server and another one; then come the times."""
    text = path.read_text("utf-8").split("\n## What it costs\n")[1]
    server = next(one.name for one in ARCHITECTURES if one.folder == path.stem)
    first, then = re.findall(r"^:::\{[\w-]+\} [^\n]*", text, re.MULTILINE)[:2]
    both = first.split()[3:]
    assert first.startswith(":::{exact-costs} guestbook 100 ") and len(both) == 2
    assert server in both and then == f":::{{costs}} guestbook {server}"
    assert f"{first}\n:also: answer\n:::" in text


def test_a_chapter_has_two_servers_and_two_pages(book, reference):
    heads, *rows = tables((book / "tutorial" / "07_epoll.html").read_text("utf-8").split(
        '<section id="what-it-costs">')[1])[0]
    assert heads == ["server", "instructions, guestbook", "instructions, answer", *HEADS[2:5]]
    cost = results.read(DOCS / "results" / "exact").cell("epoll", "answer")
    instructions, *others = counted(reference, "epoll")
    assert rows[1] == ["07_epoll", instructions,
                       f"{cost.total / 1e3:.1f} ({cost.user / 1e3:.1f})", *others]


def test_what_is_not_known_is_a_dash():
    assert figures.thousands(None) == figures.known(None, 1) == "–"
    assert figures.thousands({"user": 1500, "kernel": 20_000}) == "21.5 (1.5)"
    assert figures.known(0.0064, 2) == "0.01"


def test_costs_at_a_rate_have_times_in_place_of_rates(book):
    """All servers have the same rate there."""
    first, second = tables((book / "explanation" / "which_to_choose.html").read_text("utf-8"))[:2]
    assert first[0] == ["server", "CPU µs", "context switches", "MiB", "99 % within, ms"]
    assert second[0][:4] == ["server", "CPU µs", "rate reached", "context switches"] or \
        "one core can do" in second[0]
