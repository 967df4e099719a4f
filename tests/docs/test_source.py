"""The annotated source and the pages side by side: what they say, and how they stand in a
window."""

import json
import re
from html import escape

import pytest

from tests.docs.test_access import resize
from tools.book import pairs, source


@pytest.fixture(scope="module", name="index")
def made_index():
    """Where the names of the C files are defined and used."""
    return source.Index()


def test_page_of_a_source_shows_each_line(index):
    """A drawing in a comment stays as it is."""
    for path in source.files():
        page = source.file_page(path, index)
        shown = re.sub(r"<[^>]+>", "", page)
        missing = [word for word in re.findall(r"\b\w{4,}\b", index.texts[path])
                   if word not in shown]
        missing += [line for line in re.findall(r"^ \* (  .*--.*)$", index.texts[path], re.M)
                    if escape(line) not in page]
        assert not missing, path


@pytest.mark.parametrize("path, name, users", [
    ("06_poll/main.c", "watch", {("serve_clients", "06_poll/main.c")}),
    ("02_forking/main.c", "reap_children", {("main", "02_forking/main.c")}),
    ("common/server.c", "server_finish", {("main", f"{name}/main.c") for name in pairs.SEVEN})])
def test_function_says_what_uses_it(index, path, name, users):
    """A function of its name in another file is not it. A function that takes its address uses it,
    too."""
    assert index.users[index.find(name, path)] == users
    assert index.used_by([name], path).count("<a ") == len(users)


def test_search_finds_the_source(book):
    """By its words and by its name."""
    found = json.loads((book / "searchindex.js").read_text()[len("Search.setIndex("):-1])
    names = [found["docnames"][place] for place in found["terms"]["pollin"]]
    assert "source/06_poll-main-c" in names
    assert "06_poll/main.c" in found["titles"]


def test_quotation_of_what_is_not_there_breaks_the_book():
    assert source.quote("07_epoll/main.c", "serve_clients").endswith("\n}")
    with pytest.raises(source.SourceError):
        source.quote("07_epoll/main.c", "no_such_function")


def test_difference_without_a_note_breaks_the_book(monkeypatch):
    """So does a note without a difference."""
    for notes in ([], [{"at": "no such line", "text": ""}]):
        monkeypatch.setattr("tomllib.loads", lambda _, found=notes: {"note": found})
        with pytest.raises(pairs.PairError):
            pairs.page("01-02")


def test_words_that_differ_are_marked():
    """Of lines that are alike; others stand next to each other without a mark."""
    assert pairs.marked("    .name = \"poll\", x};", "    .name = \"epoll\", x};") == (
        "    .name = &quot;<mark>poll</mark>&quot;, x};",
        "    .name = &quot;<mark>epoll</mark>&quot;, x};")
    assert pairs.marked("{", "int i = 0;") == ("{", "int i = 0;")


PLACES = """const box = e => e.getBoundingClientRect(),
  all = s => [...document.querySelectorAll(s)],
  lines = all(".pair pre > span").filter(e => box(e).height);
return {
  wide: lines.filter(e => e.scrollWidth > e.clientWidth + 1 || box(e).height > 1.5 * 1.6 *
    parseFloat(getComputedStyle(e).fontSize)).map(e => e.textContent),
  used: box(document.querySelector("article")).width / document.documentElement.clientWidth,
  notes: all(".pair .note").map(e => {
    const line = box(e.previousElementSibling), note = box(e);
    return [note.left - line.right, note.top - line.top, note.top - line.bottom]; }),
  gaps: all(".pair .new").map((e, n, them) => n && box(e).top - box(them[n - 1]).bottom)
    .filter(gap => gap > 1).length};"""


@pytest.mark.parametrize("pair", pairs.PAIRS)
def test_two_files_fit_into_a_window(browser, book, pair):
    """No line is wrapped or cut, and the window is used; a note stands next to its line, or, where
    there is no room, directly below it."""
    browser.get((book / f"source/{pair}.html").as_uri())
    for width in (1280, 1600):
        resize(browser, width)
        found = browser.execute_script(PLACES)
        assert not found["wide"] and found["used"] > 0.95, (width, found)
        assert found["notes"] and all(
            right >= 0 and abs(above) < 1 if width == 1600 else abs(below) < 1
            for right, above, below in found["notes"]), (width, found)
        assert width == 1280 or found["gaps"] <= len(found["notes"])


@pytest.mark.parametrize("width, beside", [(800, False), (1280, True)])
def test_comments_stand_beside_the_code(browser, book, width, beside):
    """Where there is room; the window is used, and no drawing and no code is cut."""
    resize(browser, width)
    browser.get((book / "source/06_poll-main-c.html").as_uri())
    found = browser.execute_script("""const box = e => e.getBoundingClientRect(),
      [said, code] = document.querySelectorAll(".chunk:not(.drawn)")[1].children;
    return [box(said).right <= box(code).left,
      box(document.querySelector("article")).width / document.documentElement.clientWidth,
      [...document.querySelectorAll(".chunk pre")].filter(
        e => e.scrollWidth > e.clientWidth).length]""")
    assert found[0] == beside and found[1] > 0.7 and not found[2], found
