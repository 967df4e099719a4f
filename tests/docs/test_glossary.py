"""The glossary: a chapter or explanation links each of its terms where it first uses it. (That a
linked term is there, make book checks.)"""

import functools
import re

from tests.docs.conftest import CHAPTERS, DOCS, name_of

GLOSSARY = DOCS / "reference" / "glossary.md"
READ_BY_LEARNERS = [*CHAPTERS, *sorted((DOCS / "explanation").glob("*.md"))]
# What is no running text, or cannot hold another link.
NOT_PROSE = re.compile(
    r"^(?P<fence>```+|~~~+).*?^(?P=fence)$"     # code, and directives of code
    r"|^:::\{guess\}.*?^:::$"                   # sentences of a drawing
    r"|^ *:::[^\n]*|^:\w[\w-]*:[^\n]*"          # the lines of a directive around its text
    r"|^#[^\n]*"                                # a heading
    r"|(?:\{\w+\})?(?P<ticks>`+)[^`]+(?P=ticks)"    # a role, code
    r"|\[[^]]*\]\([^)]*\)|<[^>]+>",             # a link, HTML
    re.MULTILINE | re.DOTALL)
ROLE = re.compile(r"\{term\}`([^`<]*?)(?:\s*<([^`>]+)>)?`", re.DOTALL)
# Ordinary words that look like a term, and a page about something else of that name.
OTHER_SENSE = {"round": r"(?! trip| robin|-)", "pool": r"(?! of buffers)",
               "scalability": r"(?! law)"}
OF_TLS = ("tls_and_http2.md", "handshake")


@functools.cache
def terms():
    """Return the terms of the glossary."""
    body = GLOSSARY.read_text().split(":::{glossary}\n")[1].split("\n:::")[0]
    return [line for line in body.splitlines() if line and line[0] != " "]


def lead(name):
    """Return a term in the form in which pages are searched for it."""
    return " ".join(name.split()).lower()


def unlinked(text):
    """Yield (line, words) where a page uses a term for the first time without a link to it."""
    linked = {}     # {term: where the first link to it is}
    for role in ROLE.finditer(text):
        linked.setdefault(lead(role[2] or role[1]), role.start())
    prose = NOT_PROSE.sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), text)
    for term in terms():
        word = r"\s+".join(map(re.escape, term.split()))
        ends = r"(?:ed|ing|s)?" if term == "preempt" else r"(?:es|s)?"
        first = re.search(rf"(?<![\w-]){word}{ends}(?![\w-]){OTHER_SENSE.get(term, '')}",
                          prose, re.IGNORECASE)
        if first and first.start() < linked.get(lead(term), len(text)):
            yield text.count("\n", 0, first.start()) + 1, " ".join(first[0].split())


def test_a_page_links_each_term_where_it_first_uses_it():
    wrong = [f"{name_of(path)}:{line}: write {{term}}`{words}`, or {{term}}`{words} <the term>`"
             for path in READ_BY_LEARNERS
             for line, words in unlinked(path.read_text()) if (path.name, words) != OF_TLS]
    assert not wrong, "\n".join(wrong)
