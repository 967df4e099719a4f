"""The book as plain Markdown: from the nodes of a page that Sphinx has read to text that a
forge renders. tools/book/read.py makes pages of it.

A node of which Sphinx's own formats know nothing (a picture, a frame) is raw HTML. It tells
this module by an attribute what to write in its place: `said`, a text in Markdown, or
`picture`, its name, words and two SVGs. Other raw HTML is for a browser, and left out.
"""

import re

from docutils import nodes
from sphinx.errors import SphinxError

# With these, a paragraph would become a list, a heading or a quotation.
AT_START = re.compile(r"^(#{1,6}|[-+>]|\d+[.)])(?=\s|$)")
SPECIAL = re.compile(r"[\\`*\[\]$]|<(?=[\w/!?])|&(?=#?\w+;)|(?<!\w)_|_(?!\w)|~~")
TEXT = {"emphasis": "*{}*", "strong": "**{}**", "inline": "{}"}


class UnknownNode(SphinxError):
    """A page has something that this module cannot write."""


def words(text):
    """Return text with what Markdown would take for markup escaped."""
    return SPECIAL.sub(lambda found: "".join("\\" + one for one in found[0]),
                       text.replace("\n", " "))


def code(text):
    """Return a code span, with more ticks around it than are inside."""
    text = text.replace("\n", " ")
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    room = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{ticks}{room}{text}{room}{ticks}"


def slug(title, taken):
    """Return the anchor that a forge gives a heading, and note it in `taken`, a Counter."""
    name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    taken[name] += 1
    return name if taken[name] == 1 else f"{name}-{taken[name] - 1}"


def indented(text, by):
    """Return text with its lines but the first one indented, as in an item of a list."""
    return text.replace("\n", "\n" + " " * by).replace("\n" + " " * by + "\n", "\n\n")


class Writer:
    """Writes one page. `link(uri)` returns where a link of the page leads, `file(path)` the
    link to a file of the collection or None, `picture(name, words, light, dark)` a picture."""

    def __init__(self, link, file, picture):
        self.link, self.file, self.picture = link, file, picture

    # ------------------------------------------------------------ inside a line

    def line(self, node):
        """Return what the children of a node are in a line of text."""
        return "".join(map(self.part, node.children))

    def part(self, node):
        """Return one part of a line."""
        kind = type(node).__name__
        if isinstance(node, nodes.Text):
            return words(str(node))
        if kind in TEXT:
            return TEXT[kind].format(self.line(node))
        if kind == "literal":
            where = self.file(node.astext())
            return f"[{code(node.astext())}]({where})" if where else code(node.astext())
        if kind == "reference":
            return self.reference(node)
        if kind in ("raw", "index", "target", "comment"):
            return node.get("said", "")
        raise UnknownNode(f"{kind} in a line: {node.astext()[:60]}")

    def reference(self, node):
        """Return a link. Its text is never one itself."""
        inside = "".join(code(one.astext()) if isinstance(one, nodes.literal)
                         else self.part(one) for one in node.children)
        where = self.link(node.get("refuri") or "#" + node["refid"])
        return f"[{inside}]({where})"

    # ------------------------------------------------------------------- blocks

    def blocks(self, node, level=0):
        """Return the children of a node, with an empty line between any two."""
        made = (self.block(one, level) for one in node.children)
        return "\n\n".join(filter(None, made))

    def block(self, node, level):
        """Return one block."""
        kind = type(node).__name__
        method = getattr(self, f"visit_{kind}", None)
        if method:
            return method(node, level)
        if kind in ("container", "glossary", "definition_list", "definition"):
            return self.blocks(node, level)
        if kind in ("comment", "compound", "index", "target"):    # "compound": a toctree
            return ""
        raise UnknownNode(f"{kind}: {node.astext()[:60]}")

    def visit_section(self, node, level):
        """A section: its headings are one level below."""
        return self.blocks(node, level + 1)

    def visit_title(self, node, level):
        """A heading."""
        return f"{'#' * level} {self.line(node)}"

    def visit_paragraph(self, node, _level):
        """A paragraph, on one line, because a line may begin with anything; notes small."""
        text = AT_START.sub(lambda found: found[1][:-1] + "\\" + found[1][-1],
                            self.line(node).strip())
        return f"<sub>{text}</sub>" if "run-note" in node["classes"] else text

    def visit_raw(self, node, _level):
        """What stands for raw HTML."""
        if "picture" in node:
            return self.picture(*node["picture"])
        return node.get("said", "")

    def visit_literal_block(self, node, _level):
        """Code."""
        text = node.astext().rstrip("\n")
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
        language = node.get("language", "")
        return f"{fence}{'' if language in ('none', 'default') else language}\n{text}\n{fence}"

    def visit_bullet_list(self, node, level):
        """A list, also one with numbers."""
        made = []
        for number, item in enumerate(node.children, node.get("start", 1)):
            mark = f"{number}. " if isinstance(node, nodes.enumerated_list) else "- "
            made.append(mark + indented(self.blocks(item, level), len(mark)))
        return ("\n\n" if any("\n\n" in one for one in made) else "\n").join(made)

    visit_enumerated_list = visit_bullet_list

    def visit_definition_list_item(self, node, level):
        """A term of the glossary: a heading, because a forge can link to it."""
        return "\n\n".join(
            f"{'#' * (level + 1)} {self.line(one)}" if isinstance(one, nodes.term)
            else self.block(one, level) for one in node.children)

    def visit_table(self, node, _level):
        """A table; each column is aligned as its head is."""
        rows = [row.children for row in node.findall(nodes.row)]
        lines = [[" ".join(self.line(one) for one in entry.children).replace("|", "\\|").strip()
                  for entry in row] for row in rows]
        marks = ["--:" if "text-right" in entry["classes"] else ":--" for entry in rows[0]]
        return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], marks, *lines[1:]])
