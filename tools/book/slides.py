"""What the slides need besides sphinx-revealjs: notes with code and lists, and links to the book.

The slides are built into a folder of the book, from sources in a folder of docs/. So a link
to a chapter's source, which works where the sources are read, is one to its page there.
"""

import re

from sphinx_revealjs._ext.notes import revealjs_notes

TO_BOOK = re.compile(r"\[([^]]+)\]\((\.\./\w+/\w+)\.md\)")


def link_to_book(_app, _page, text):
    """Let links to pages of the book lead to what is built of them."""
    text[0] = TO_BOOK.sub(r'<a href="\2.html">\1</a>', text[0])


def open_notes(translator, _node):
    """Begin what only the speaker view shows."""
    translator.body.append('<aside class="notes">')


def close_notes(translator, _node):
    """End it."""
    translator.body.append("</aside>\n")


def setup(app):
    """Register both; sphinx-revealjs would write the notes as one line of text."""
    app.setup_extension("sphinx_revealjs")
    app.add_node(revealjs_notes, override=True, revealjs=(open_notes, close_notes))
    app.connect("source-read", link_to_book)
