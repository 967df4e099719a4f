"""docs/read/: what a forge shows of the book is what its sources say."""

import re
import subprocess
from itertools import zip_longest

import pytest
from markdown_it import MarkdownIt

from tests.docs.conftest import BUILD_LIMIT, DOCS, READ, TOP
from tools.book import svg as svgs

FORGE = MarkdownIt("gfm-like", {"linkify": False})
SOURCES = {path.name: path for part in ("tutorial", "explanation")
           for path in (DOCS / part).glob("*.md")} | {
    "glossary.md": DOCS / "reference" / "glossary.md"}
PICTURES = sorted((DOCS / "read" / "pictures").iterdir())
LIMIT = 1_000_000       # bytes of all pictures
MOVED = 3               # pixels by which another machine's fonts may move something
STALE = "docs/read/ is stale: make docs-read"
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)")
EXACT = re.compile(r"#\w+|>[^<]+<")        # colours and words

# What is not running text in a source, and the text of what is.
NOT_PROSE = re.compile(
    r"^(?P<indent> *)(?P<fence>```+|~~~+).*?^(?P=indent)(?P=fence)$|(?<=\n\n)(?: {4}[^\n]*\n)+"
    r"|^:::\{guess\}.*?^:::$|^ *:::[^\n]*$|^:\w[\w-]*:[^\n]*$|^\([\w-]+\)=$|^ *\|[^\n]*$"
    r"|<!--.*?-->", re.MULTILINE | re.DOTALL)
INCLUDE = re.compile(r"^:::\{include\} (\S+)\n:::$", re.MULTILINE)
FIGURE = re.compile(r"\{(?:value|than|ratio)\}`[^`]*`")
MARKUP = (
    (re.compile(r"\{term\}`([^`<]*?)(?:\s*<[^`>]+>)?`", re.DOTALL), r"\1"),
    (re.compile(r"\[([^]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"(`+)(.+?)\1|</?a\b[^>]*>|\*\*|(?<!\w)\*(?=\w)|(?<=[\w.?!:)])\*(?!\w)",
                re.DOTALL), lambda found: found[2] or ""))
BREAK = re.compile(r"\n\s*\n|^ *(?:[-*+]|\d+\.|#+) +", re.MULTILINE)


def plain(text):
    """Return text with single blanks and straight quotation marks."""
    for curly, straight in ("“\"", "”\"", "’'", "‘'", "–-", "—-"):
        text = text.replace(curly, straight)
    return " ".join(text.replace("…", "...").replace("--", "-").split())


def shown(text):
    """Return the words that a forge shows of a page in Markdown."""
    said = []
    for block in FORGE.parse(text):
        said += [one.content if one.type in ("text", "code_inline") else
                 " " if one.type == "softbreak" else "" for one in block.children or ()]
        said.append(" ")
    return plain("".join(said))


def sentences(source):
    """Yield the sentences of a source, with \\0 for each figure."""
    text = INCLUDE.sub(lambda found: (source.parent / found[1]).read_text(), source.read_text())
    for block in BREAK.split(FIGURE.sub("\0", NOT_PROSE.sub("\n", text))):
        for markup, instead in MARKUP:
            block = markup.sub(instead, block)
        yield from filter(None, re.split(r"(?<=[.?!:]) ", plain(block)))


def missing(source, page):
    """Return the sentences of a source that are not in the text of its page."""
    text = shown(page)
    return [one for one in sentences(source) if not re.search(
        ".{1,80}?".join(map(re.escape, one.split("\0"))), text)]


def alike(one, other):
    """Return whether two SVGs are the same but for where text of other fonts moves things."""
    return EXACT.findall(one) == EXACT.findall(other) and all(
        a == b if place % 2 == 0 or None in (a, b) else abs(float(a) - float(b)) <= MOVED
        for place, (a, b) in enumerate(zip_longest(NUMBER.split(one), NUMBER.split(other))))


@pytest.fixture(scope="module", name="made")
def made_pages(book, tmp_path_factory):
    """The folder of pages made from the sources as they are now."""
    folder = tmp_path_factory.mktemp("read")
    done = subprocess.run(
        [TOP / "build/book-venv/bin/python", "-m", "sphinx", "-b", "read", "-a", "-q", "-W",
         "-d", book / ".doctrees", DOCS, folder], cwd=TOP, text=True, check=False,
        capture_output=True, timeout=BUILD_LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_pages_are_those_of_the_sources(made):
    assert {path.name for path in made.glob("*.md")} == {path.name for path in READ}, STALE
    for path in READ:
        assert path.read_text() == (made / path.name).read_text(), f"{path.name}: {STALE}"


def test_pictures_are_those_of_the_sources(made):
    made = {path.name: path.read_text() for path in (made / "pictures").iterdir()}
    assert set(made) == {path.name for path in PICTURES}, STALE
    old = [path.name for path in PICTURES if not alike(path.read_text(), made[path.name])]
    assert not old, STALE


def test_one_file_has_both_themes():
    """Nothing but colours may differ, and each has one other."""
    light = '<svg width="9"><rect fill="#fff"/><path stroke="#fff" fill="none"/></svg>'
    dark = light.replace('fill="#fff"', 'fill="#111"')
    assert svgs.themed(light, dark) == light.replace(
        '"9">', '"9"><style>@media (prefers-color-scheme:dark){[fill="#fff"]{fill:#111}}</style>')
    for light, dark in ((light, dark.replace("9", "8")), (light, dark[:-6] + '<g id="a"/></svg>'),
                        (light.replace("none", "#fff"), dark)):
        with pytest.raises(ValueError):
            svgs.themed(light, dark)


def test_pages_have_each_sentence_of_their_sources():
    for name, source in SOURCES.items():
        assert not missing(source, (DOCS / "read" / name).read_text()), name
        assert len([*sentences(source)]) > 20, name


def test_a_missing_sentence_is_found(tmp_path):
    """Also one with a figure, and what follows a % at the start of a line, which MyST takes
    for a comment."""
    source = tmp_path / "page.md"
    source.write_text("# A page\n\nIt has *one* thing. It costs {value}`x.y | 1` µs with\n"
                      "[two](x.md). About {value}`z`\n% is `idle`.\n\n- A {term}`worker`, too.\n")
    page = ("# A page\n\nIt has *one* thing. It costs 7.1 µs with [two](y.md). About 5 % is "
            "`idle`.\n\n- A [worker](glossary.md#worker), too.\n")
    assert missing(source, page) == []
    for gone in ("thing", "7.1", "% is `idle`", "- A [worker](glossary.md#worker), too.",
                 "# A page"):
        assert missing(source, page.replace(gone, "")), gone


def test_pages_are_what_a_forge_renders():
    """No markup of the sources, no HTML but that of pictures and notes, each picture in words."""
    for path in READ:
        text = path.read_text()
        prose = re.sub(r"^(`{3,}).*?^\1$|(`+)[^`].*?\2", "", text, flags=re.MULTILINE | re.DOTALL)
        assert not re.search(r":::|\{\w+\}$", prose, re.MULTILINE), path.name
        assert {*re.findall(r"<([a-z]+)", prose)} <= {"img", "sub"}, path.name
        for picture in re.findall(r"<img.*?>", text, re.DOTALL):
            [source] = re.findall(r' src="(.*?)"', picture)
            assert (path.parent / source).is_file(), (path.name, source)
            assert re.search(r'alt="[^"]{10}.*?" ', picture), (path.name, source)


def test_pictures_are_small_and_complete():
    """An <img> loads nothing else and runs no script. Each picture is on a page, and has colours
    for both themes."""
    pages = "".join(path.read_text() for path in READ)
    for path in PICTURES:
        svg = path.read_text()
        assert f'"pictures/{path.name}"' in pages
        assert not re.search(r"<script|<image|<foreignObject|@import|href=.(?!#)|\son\w+=",
                             svg), path.name
        assert svg.count("<style>") == svg.count("prefers-color-scheme:dark") == 1, path.name
    assert sum(path.stat().st_size for path in PICTURES) <= LIMIT
