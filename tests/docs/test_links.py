"""Every relative link leads somewhere, and every #anchor to a heading."""

import re
from urllib.parse import unquote

from tests.docs.conftest import GUIDES, PAGES, READ, TOP, name_of, tokens


def broken(path):
    """Yield (target, why) of the links in a document that lead nowhere."""
    for _, token in tokens(path):
        target = unquote(str(token.attrs.get("href") or token.attrs.get("src", "")))
        if not target or re.match(r"https?://|mailto:", target):
            continue
        where, _, anchor = target.partition("#")
        there = (path.parent / where).resolve() if where else path
        if not there.exists():
            yield target, "there is no such file"
        elif TOP not in [there, *there.parents]:
            yield target, "leads out of the repository"
        elif anchor and anchor not in {one.attrs.get("id")
                                       for _, one in tokens(there)}:
            yield target, "there is no such heading"


def test_links_lead_somewhere():
    """Files, folders, pictures, headings."""
    wrong = [f"{name_of(path)}: {target}: {why}" for path in PAGES + GUIDES + READ
             for target, why in broken(path)]
    assert not wrong, "\n".join(wrong)
