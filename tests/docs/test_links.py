"""Every relative link leads somewhere, and every #anchor to a heading."""

import re

import pytest

from conftest import GUIDES, PAGES, TOP, name_of

LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)\)")


def prose(path):
    """Return a document's text without code and without comments."""
    text = path.read_text()
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE)


def anchors(path):
    """Return the anchors of a document's headings, as GitHub makes them:
    lower case, without punctuation, a hyphen for each space, and a number
    behind a heading that there is twice."""
    found = []
    for heading in re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip()
        anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        times = sum(re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", one)
                    is not None for one in found)
        found.append(f"{anchor}-{times}" if times else anchor)
    return set(found)


def broken(path):
    """Yield (target, why) of the links in a document that lead nowhere."""
    for target in LINK.findall(prose(path)):
        if re.match(r"https?://|mailto:", target):
            continue
        where, _, anchor = target.partition("#")
        there = (path.parent / where).resolve() if where else path
        if not there.exists():
            yield target, "there is no such file"
        elif TOP not in [there, *there.parents]:
            yield target, "leads out of the repository"
        elif anchor and anchor not in anchors(there):
            yield target, "there is no such heading"


@pytest.mark.parametrize("path", PAGES + GUIDES, ids=name_of)
def test_links_lead_somewhere(path):
    """Files, folders, pictures, headings."""
    wrong = [f"{path.name}: {target}: {why}" for target, why in broken(path)]
    assert not wrong, "\n".join(wrong)


def test_check_finds_what_is_broken(tmp_path, monkeypatch):
    """A missing file, a missing heading, a link that leads out."""
    monkeypatch.setattr("test_links.TOP", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# One `x` & two\n\n# One\n\n# One\n\n"
                    "[a](#one-x--two) [b](#one-1) [c](page.md)\n"
                    "[d](no.md) [e](#no) [f](/etc/passwd) `[g](no.md)`\n")
    assert [target for target, _ in broken(page)] == [
        "no.md", "#no", "/etc/passwd", "no.md"]
