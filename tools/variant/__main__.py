"""Variants: each is a patch that adds one improvement to a plain server.

    python3 -m tools.variant                   checks all: applies, builds, starts them
    python3 -m tools.variant check NAME...     checks these
    python3 -m tools.variant build NAME        builds it in build/variants/NAME/
    python3 -m tools.variant diff NAME         writes the patch from that folder again
    python3 -m tools.variant port NAME         fits a patch that no longer applies
    python3 -m tools.variant pages             fills line counts and the index
    python3 -m tools.variant measure NAME      compares its CPU time, fills its page

variants/NAME.patch is the patch, variants/NAME.md its page. variants/NAME.py has a function
check(server) that tests what is special about it, and perhaps effect(server), which returns
milliseconds that the variant improves. The head of the page says what the patch is for:

    # NAME: what it does in one line

    - Server: 05_prethreaded             one or more, divided by blanks
    - Options: --workers 2               (optional) how to start it
    - Load: one-shot-100                 (optional) what is measured: a key of LOADS

Words such as CC=clang are passed to make. `check` closes with the line `N passed, N failed`.
"""

import argparse
import os
import sys

from tools.kit import TOP
from tools.variant import check, copy, measure, pages
from tools.variant.what import VariantError, names, read


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", nargs="?", default="check", choices=(
        "check", "build", "diff", "port", "pages", "measure"))
    parser.add_argument("words", nargs="*", metavar="NAME|VARIABLE=VALUE")
    parser.add_argument("--rounds", type=int, default=os.environ.get("ROUNDS") or 6)
    parser.add_argument("--seconds", type=float, default=os.environ.get("SECONDS") or 2)
    options = parser.parse_args()
    words = [word for word in options.words if "=" in word]
    wanted = [word for word in options.words if "=" not in word]
    if options.command == "check":
        return check.check(wanted or names())
    if options.command == "pages":
        return pages.fill_pages()
    if not wanted:
        raise VariantError(f"{options.command} needs a name: {' '.join(names())}")
    for variant in map(read, wanted):
        if options.command == "build":
            flavour = dict(word.split("=", 1) for word in words).get("SANITIZE", "default")
            for path in copy.build(variant, words, flavour):
                print(path.relative_to(TOP))
        elif options.command in ("diff", "port"):
            (copy.write_patch if options.command == "diff" else copy.port)(variant)
            print(pages.cost_in_words(variant))
        else:
            measure.measure(variant, words, options.rounds, options.seconds)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VariantError as error:
        sys.exit(f"variant: {error}")
