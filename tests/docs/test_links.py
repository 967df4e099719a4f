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


def test_check_finds_what_is_broken(tmp_path, monkeypatch):
    """A missing file, a missing heading, a link that leads out."""
    monkeypatch.setattr(f"{__name__}.TOP", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# One `x` & two\n\n# One\n\n# One\n\n"
                    "[a](#one-x--two) [b](#one-1) [c](page.md)\n"
                    "[d](no.md) [e](#no) [f](/etc/passwd) `[g](no.md)`\n")
    assert [target for target, _ in broken(page)] == [
        "no.md", "#no", "/etc/passwd"]
