"""What docs/fill.py is made of: one module for each kind of thing that a
chapter quotes.

    excerpt    lines of the C sources
    figures    measured and published numbers, and expressions over them
    blocks     tables and pictures that are made of figures
    costs      tables of performance.md, and its targets
    pictures   a curve as SVG
    markers    where in a Markdown file these stand
"""
