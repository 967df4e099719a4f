"""The search of the book also finds the annotated source, whose pages are made of no documents."""

from docutils import nodes
from docutils.utils import new_document

from tools.book import source


def index_source(app):
    """Add the pages of files to the index: their names, and all words of theirs."""
    if app.builder.name != "html":      # the slides have no search
        return []
    for path, text in source.Index().texts.items():
        name, title = source.page_name(path), nodes.title("", path)
        words = new_document(name)
        words += nodes.section("", title, nodes.paragraph("", text))
        app.builder.index_page(name, words, path)
        # Or it would be pruned from the index, which names documents by title.
        app.env.all_docs[name], app.env.titles[name] = 0, title
    return []


def setup(app):
    """Register it: before the index is written."""
    app.connect("html-collect-pages", index_source)
