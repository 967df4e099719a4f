"""Sphinx settings of the slides: `make slides`. Each page is a presentation by reveal.js."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

project = "zerohttpd"
author = "the zerohttpd authors"
html_title = "zerohttpd"
extensions = ["myst_parser", "tools.book.extension", "tools.book.exact", "tools.book.slides"]
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["config.cache"]
# Of reveal.js, what no slide uses; some of it would ask other hosts.
exclude_patterns = [
    *(f"revealjs/plugin/{name}" for name in ("markdown", "math", "search")),
    "revealjs/plugin/notes/speaker-view.html", "revealjs/css",
    "revealjs/dist/theme/[!w]*.css", "**/*.esm.js", "**/*.map"]
nitpicky = True
html_copy_source = False
book_home = "../"       # they are in a folder of the book
revealjs_static_path = ["../../tools/book/static"]
revealjs_style_theme = "white"
revealjs_css_files = ["slides.css"]
revealjs_script_files = []
revealjs_script_conf = {
    "width": 1280, "height": 720, "margin": 0, "center": False, "hash": True,
    "slideNumber": "c/t", "controlsLayout": "edges",
    "transition": "none", "pdfSeparateFragments": False}
revealjs_script_plugins = [
    {"name": f"Reveal{name.title()}", "src": f"revealjs/plugin/{name}/{name}.js"}
    for name in ("notes", "highlight", "zoom")]
