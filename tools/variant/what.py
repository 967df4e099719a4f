"""Which variants there are: a Variant each, as the head of its page says it."""

import dataclasses
import re
import shlex
from pathlib import Path

from tools.kit import TOP

# What clients do, as the TOML file of a study says it, and in words.
LOADS = {
    "one-shot-100": ("keep_alive = false", "`/answer`, each on a new connection"),
    "file-10k": ('path = "/10k"', "`/10k`, on kept connections"),
    "guestbook": ('path = "/guestbook"\nkeep_alive = false',
                  "`/guestbook`, each on a new connection"),
}


class VariantError(Exception):
    """A variant is not complete, does not apply or does not build."""


@dataclasses.dataclass(frozen=True)
class Variant:
    """One variant: what the head of its page says."""

    name: str
    about: str
    folders: tuple          # ("05_prethreaded",)
    options: tuple
    load: str
    top: Path = TOP
    place: str = "build/variants"   # below top; a check leaves the copies there alone

    @property
    def patch(self):
        return self.top / "variants" / f"{self.name}.patch"

    @property
    def page(self):
        return self.top / "variants" / f"{self.name}.md"

    @property
    def copy(self):
        """The folder that the patched sources are in."""
        return self.top / self.place / self.name

    @property
    def servers(self):
        """The names of its executables."""
        return [folder.split("_")[1] for folder in self.folders]


def read(name, top=TOP):
    """Return the Variant called `name`. Raises VariantError."""
    page = top / "variants" / f"{name}.md"
    if not page.exists():
        raise VariantError(f"there is no variants/{name}.md; there are: " + " ".join(names(top)))
    text = page.read_text()
    title = re.match(rf"# {re.escape(name)}: (.+)\n", text)
    told = dict(re.findall(r"^- (Server|Options|Load): `?(.+?)`?$", text, re.MULTILINE))
    folders = tuple(told.get("Server", "").split())
    if not title or not folders:
        raise VariantError(f"variants/{name}.md must begin with "
                           f"`# {name}: ...` and `- Server: ...`")
    load = told.get("Load", "one-shot-100")
    if load not in LOADS:
        raise VariantError(f"variants/{name}.md: there is no load {load!r}; "
                           "there are " + ", ".join(LOADS))
    return Variant(name, title[1], folders, tuple(shlex.split(told.get("Options", ""))), load, top)


def names(top=TOP):
    """Return the names of all variants."""
    return sorted(page.stem for page in (top / "variants").glob("*.md") if page.stem != "README")
