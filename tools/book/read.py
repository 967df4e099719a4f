"""docs/read/: the chapters and the explanations as a forge shows them, with their figures,
tables, code and pictures. `make docs-read` writes it from the pages that `make book` has read,
and a test compares.

A link leads to another page of docs/read/, to the source of a page that is not there, or to
the file that it names. Pictures are the book's, without what an <img> does not show. Of the
book's first page, README.md has its sentence, and what the seven cost.
"""

import collections
import re
from html import escape
from pathlib import Path
from urllib.parse import urldefrag

from docutils import nodes
from sphinx.builders import Builder

from tools.book import markdown, svg
from tools.book.data import lab_of
from tools.kit import TOP

FOLDER, PICTURES = "read", "pictures"
GLOSSARY, FIRST = "reference/glossary", "index"
COSTS = "what-waiting-costs"        # the section of the first page that README.md has
PARTS = {"tutorial": "The tutorial", "explanation": "Explanations"}
# Folders whose files a page names as code; others may be there or not.
NAMED = re.compile(r"(?:0[1-9]_\w+|common|docs|labs|public|scripts|tests|tools|variants)"
                   r"(?:/[\w.-]+)+/?")
MADE = "<!-- Made by `make docs-read` from {}: change it there. -->\n\n"
FOOT = "\n\n---\n\n[All pages](README.md)\n"
TO_READERS = """# {title}

{says}

These pages are made from the book's sources, with the figures of the
[committed run](../reference/machines.md). `make book` builds the whole book: there the
pictures move, each line of the servers has its comment next to it, and a page can show the
figures of your own machine.
"""


def place(name):
    """Return where a page is, below docs/: (its name in the book) -> its path."""
    if name == FIRST:
        return f"{FOLDER}/README.md"
    part = name.partition("/")[0]
    return f"{FOLDER}/{name.rpartition('/')[2]}.md" if part in PARTS or name == GLOSSARY \
        else f"{name}.md"


def anchors(doctree):
    """Return {id of Sphinx: anchor on a forge} of the headings and terms of a page."""
    found, taken = {}, collections.Counter()
    for node in doctree.findall(lambda one: isinstance(one, (nodes.section, nodes.term))):
        title = node if isinstance(node, nodes.term) else node.next_node(nodes.title)
        name = markdown.slug(title.astext(), taken)
        found |= dict.fromkeys(node["ids"], name)
    return found


class Read(Builder):
    """The builder: it writes all pages, each time."""

    name = format = FOLDER
    allow_parallel = False
    anchors = {}        # of each page, by its path below docs/

    def get_outdated_docs(self):
        """All are written each time."""
        return sorted(self.env.found_docs)

    def get_target_uri(self, docname, typ=None):
        """Return where a page is, below docs/."""
        return place(docname)

    def write(self, *_args, **_named):
        """Write the pages, and the list of them."""
        (Path(self.outdir) / PICTURES).mkdir(parents=True, exist_ok=True)
        raw = {name: self.env.get_doctree(name) for name in self.env.found_docs}
        self.anchors.update((place(name), anchors(tree)) for name, tree in raw.items())
        order = [name for name in self.env.toctree_includes[FIRST]
                 if place(name).startswith(f"{FOLDER}/")]
        pages = {name: self.env.get_and_resolve_doctree(name, self) for name in order}
        for name, doctree in pages.items():
            self.write_page(name, doctree)
        self.write_list(pages, self.env.get_and_resolve_doctree(FIRST, self))

    def writer(self, name):
        """Return the markdown.Writer of a page."""
        def link(uri):
            if re.match(r"https?://|mailto:", uri):
                return uri
            path, mark = urldefrag(uri)
            there = place(name) if not path else str(
                (TOP / "docs" / FOLDER / path).resolve().relative_to(TOP / "docs"))
            return path + ("#" + self.anchors[there][mark] if mark else "")

        def file(path):
            if not NAMED.fullmatch(path) or not (TOP / path).exists():
                return None
            docs, here = place(path.removeprefix("docs/").removesuffix(".md")), f"{FOLDER}/"
            return docs.removeprefix(here) if docs.startswith(here) else f"../../{path}"

        return markdown.Writer(link, file, self.picture)

    def picture(self, name, said, light, dark):
        """Write the file of a picture, light or dark as the reader's theme is; return its tag."""
        file = f"{PICTURES}/{name}.svg"
        (Path(self.outdir) / file).write_text(
            svg.themed(svg.small(light), svg.small(dark)), encoding="utf-8")
        return f'<img alt="{escape(said)}" src="{file}" width="{svg.width(light)}">'

    def write_page(self, name, doctree):
        """Write one page."""
        text = self.writer(name).blocks(doctree)
        folder = name.partition("/")[2]
        lab = lab_of(name)
        if lab and (TOP / folder / "main.c").is_file():     # of a server
            head, rest = text.split("\n\n", 1)
            text = (f"{head}\n\n[Its code](../../{folder}/main.c), "
                    f"[its lab](../../labs/{lab[0].name}/README.md)\n\n{rest}")
        path = Path(self.outdir) / Path(place(name)).name
        path.write_text(MADE.format(f"docs/{name}.md") + text + FOOT, encoding="utf-8")

    def write_list(self, pages, index):
        """Write README.md: what the book is, what the seven cost, and each page with its
        question."""
        costs = next(one for one in index.findall(nodes.section) if COSTS in one["ids"])
        writer = self.writer(FIRST)
        made = [TO_READERS.format(title=writer.line(index.next_node(nodes.title)),
                                  says=writer.line(index.next_node(nodes.paragraph))),
                writer.block(costs, 1)]
        for part, title in PARTS.items():
            made.append(f"## {title}\n\n" + "\n".join(
                self.entry(name, tree) for name, tree in pages.items()
                if name.startswith(part + "/")))
        made.append("The words are explained in the [glossary](glossary.md).\n")
        (Path(self.outdir) / "README.md").write_text(
            MADE.format("docs/") + "\n\n".join(one.strip("\n") for one in made) + "\n",
            encoding="utf-8")

    def entry(self, name, doctree):
        """Return a page's line of the list: its title, and the question below that, if any."""
        title = doctree.next_node(nodes.title)
        asked = next((one.children[0] for one in doctree.findall(nodes.paragraph)
                      if len(one.children) == 1 and isinstance(one.children[0], nodes.emphasis)),
                     None)
        writer = self.writer(name)
        return f"- [{writer.line(title)}]({Path(place(name)).name})" + (
            f": {writer.line(asked)}" if asked else "")


def setup(app):
    """Register the builder."""
    app.add_builder(Read)
