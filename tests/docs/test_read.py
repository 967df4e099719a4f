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
LIMIT = 600_000         # bytes of all pictures
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


def test_the_list_of_pages_begins_with_what_was_counted(made):
    """Then it says why, and has the curves."""
    text = (made / "README.md").read_text()
    found = [text.index(words) for words in (
        "\n## What waiting costs\n", "\n| server | instructions | system calls |",
        "(fooling_yourself.md#1-the-load-tool-was-the-limit)", "pictures/curve-guestbook-rate.svg",
        "pictures/published-guestbook.svg", "\n## The tutorial\n")]
    assert found == sorted(found) and text.index("<img") > found[2]


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


CHART = '<g fill="none" stroke-miterlimit="10"><g><path d="M0,0h9v8h-9Z"/>%s</g></g>'
DRAWN = (
    # points of a curve, and lines next to each other
    (CHART % "".join(f'<path transform="translate({x},2)" d="M0,1Z" fill="#fff"/>'
                     for x in (1, 2, 3.04, 4)),
     '<defs fill="none" stroke-miterlimit="10"><marker id="m0" markerUnits="userSpaceOnUse" '
     'overflow="visible"><path d="M0,1Z" fill="#fff"/></marker></defs>'
     '<g fill="none" stroke-miterlimit="10">'
     '<polyline points="1,2 2,2 3,2 4,2" style="marker:url(#m0)"/></g>'),
    (CHART % '<line transform="translate(1,2)" x2="0" y2="-5" stroke="#111" stroke-width="1"/>'
             '<line transform="translate(3,2)" x2="4" y2="0" stroke="#111" stroke-width="1"/>',
     '<g fill="none" stroke-miterlimit="10"><path d="M1,2v-5M3,2h4" stroke="#111"/></g>'),
    # bars: the second red one covers the blue one, so it stays behind it
    ("".join(f"\n<rect x='{x}' y='1' width='{width}' height='4' fill='{fill}'>"
             "<title>a</title></rect>" for x, width, fill in (
                 (0, 2, "red"), (2, 2, "blue"), (3, 2, "red"), (9, 1, "blue")))
     + "\n", '\n<path stroke="red" stroke-width="4" d="M0,3h2"/>\n<path stroke="blue" '
     'stroke-width="4" d="M2,3h2M9,3h1"/>\n<path stroke="red" stroke-width="4" d="M3,3h2"/>\n'),
    # shapes to cut to
    ("".join(f'<g clip-path="url(#clip{n}7)"/>' for n in (2, 3)) + "<defs>" + "".join(
        f'<clipPath id="clip{n}7"><rect/></clipPath>' for n in (2, 3)) + "</defs>",
     '<clipPath id="c0"><rect/></clipPath>' + 2 * '<g clip-path="url(#c0)"/>'),
    # words
    ('<text font-size="9" transform="translate(1,2)">a</text><text font-size="9" x="1">b</text>'
     '<text font-size="8">c</text><text x="1"></text>',
     '<text x="1" y="2">a</text><text x="1">b</text><text font-size="8">c</text>'),
)


@pytest.mark.parametrize("drawn, kept", DRAWN)
def test_a_picture_takes_less_room(drawn, kept):
    """But shows the same."""
    head = '<svg font-size="9">' if "font-size" in drawn else "<svg>"
    assert svgs.small(f"<svg>{drawn}</svg>") == f"{head}{kept}</svg>\n"


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
