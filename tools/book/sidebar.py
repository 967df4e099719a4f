"""The sidebar of the book: furo's, then the source, the simulator and the slides."""

KEY, HEADING = "furo_navigation_tree", 'role="heading"'
ALSO = {"source/index.html": "Annotated source", "simulator.html": "Simulator",
        "slides/index.html": "Slides for lectures"}


def complete(_app, page, _template, context, _doctree):
    """Add the pages that no toctree can have, because they are not made of documents; and give
    headings a level, which screen readers need and Sphinx leaves out."""
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


def setup(app):
    """Register it, after furo."""
    app.connect("html-page-context", complete, priority=900)
