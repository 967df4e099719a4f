"""The source, the simulator and the slides are made of no documents, so no toctree can have their
pages. They are added here: all three to the sidebar, below furo's links, and the source to the
search."""

from docutils import nodes
from docutils.utils import new_document

from tools.book import source
from tools.kit import TOP

KEY, HEADING = "furo_navigation_tree", 'role="heading"'
ALSO = {"source/index.html": "Annotated source", "simulator.html": "Simulator",
        "slides/index.html": "Slides for lectures"}


def complete(_app, page, _template, context, _doctree):
    """Add these pages to the sidebar; and give headings a level, which screen readers need and
    Sphinx leaves out."""
    if KEY not in context:      # the slides have no sidebar
        return
    links = "".join(
        f'<li class="toctree-l1{" current current-page" if here else ""}"><a class="reference '
        f'internal" href="{context["content_root"]}{target}">{title}</a></li>'
        for target, title in ALSO.items()
        for here in [target.startswith("source/") and page.startswith("source/")])
    more = (f'<p class="caption" {HEADING}><span class="caption-text">Code and demos</span></p>'
            f'<ul>{links}</ul>')
    context[KEY] = (context[KEY] + more).replace(HEADING, HEADING + ' aria-level="2"')


def index_source(app):
    """Add the pages of files to the index: their names, and all words of theirs."""
    if app.builder.name != "html":      # the slides have no search
        return []
    for path in source.files():
        name, title = source.page_name(path), nodes.title("", path)
        words = new_document(name)
        words += nodes.section("", title, nodes.paragraph(
            "", (TOP / path).read_text(encoding="utf-8")))
        app.builder.index_page(name, words, path)
        # Or it would be pruned from the index, which names documents by title.
        app.env.all_docs[name], app.env.titles[name] = 0, title
    return []


def setup(app):
    """Register both: after furo, and before the index is written."""
    app.connect("html-page-context", complete, priority=900)
    app.connect("html-collect-pages", index_source)
