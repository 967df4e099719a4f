"""What pages say of patches: the lines to read, and the index."""

import re

from tools.kit import TOP
from tools.variant.what import VariantError, names, read


def block(kind, text, lines):
    """Return `text` with what stands between the markers of `kind` replaced.
    Raises VariantError when there are none."""
    new, count = re.subn(
        rf"(<!-- {kind} -->\n).*?(<!-- /{kind} -->)",
        lambda found: found[1] + "\n".join(lines) + "\n" + found[2], text, flags=re.DOTALL)
    if count != 1:
        raise VariantError(f"there must be one block <!-- {kind} --> ... <!-- /{kind} -->")
    return new


def lines_changed(patch):
    """Return {file: (lines added, lines removed)} of a patch."""
    found, file = {}, None
    for line in patch.splitlines():
        if line.startswith("+++ "):
            file = re.sub(r"^b/", "", line[4:].split("\t")[0])
            found[file] = (0, 0)
        elif line[:1] in ("+", "-") and not line.startswith("--- "):
            added, removed = found[file]
            found[file] = (added + (line[0] == "+"), removed + (line[0] == "-"))
    return found


def cost(variant):
    """Return (files, lines added, lines removed) of a variant's patch. Raises VariantError
    when there is none, or it changes nothing."""
    changed = lines_changed(variant.patch.read_text()) if variant.patch.exists() else {}
    if not changed:
        raise VariantError(f"there is no variants/{variant.name}.patch, or it changes nothing")
    return changed, *map(sum, zip(*changed.values()))


def cost_in_words(variant):
    """Return a sentence: what one has to read."""
    changed, added, removed = cost(variant)
    return (f"The patch adds {added} and removes {removed} line{'s' if removed != 1 else ''}, in "
            + ", ".join(f"`{file}`" for file in changed) + ".")


def filled(variant):
    """Return the page of a variant with its figures as they are now."""
    return block("lines", variant.page.read_text(), [cost_in_words(variant)])


def filled_index(top=TOP):
    """Return variants/README.md with the index as it is now."""
    rows = ["", "| variant | of | lines | what it adds |", "|---|---|---:|---|"]
    for name in names(top):
        one = read(name, top)
        _, added, removed = cost(one)
        numbers = ", ".join(folder[:2] for folder in one.folders)
        rows.append(f"| [{name}]({name}.md) | {numbers} | +{added} −{removed} | {one.about} |")
    return block("index", (top / "variants" / "README.md").read_text(), [*rows, ""])


def fill_pages(top=TOP):
    """Bring the line counts and the index up to date."""
    for name in names(top):
        variant = read(name, top)
        variant.page.write_text(filled(variant))
    (top / "variants" / "README.md").write_text(filled_index(top))


def check(path, text):
    """Raise VariantError unless the file holds `text`."""
    if path.read_text() != text:
        raise VariantError(f"{path.name} is not up to date: run python3 -m tools.variant pages")
