"""Sphinx settings of the book: `make book`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

project = "zerohttpd"
author = "the zerohttpd authors"
copyright = "2026 the zerohttpd authors"       # the name that Sphinx asks for
html_title = "zerohttpd: one web server, seven ways to wait"
extensions = ["myst_parser", "tools.book.extension", "tools.book.exact", "tools.book.guess",
              "tools.book.published", "tools.book.read", "tools.book.steps", "tools.book.trivial"]
myst_enable_extensions = ["colon_fence", "deflist", "attrs_block", "attrs_inline"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]
include_patterns = ["index.md", "tutorial/**", "howto/**", "explanation/**", "reference/**"]
nitpicky = True
html_theme = "furo"
html_static_path = ["../tools/book/static"]
html_css_files = ["book.css", "print.css"]
html_js_files = [("book.js", {"defer": "defer"})]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0b5cad",
                            "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#7db8f0",
                           "color-brand-content": "#7db8f0"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
