#!/usr/bin/env python3
"""Guards what a request costs: user-space instructions, counted by callgrind.

Instructions do not depend on how busy the machine is, so a test can compare
them: for the keep-alive and the one-shot path of three servers (one blocking
process, one blocking thread of a pool, one event loop) the count must not grow
by more than 5 % over the figure in instructions.json, unless that figure is
changed in the same commit. Another compiler makes other instructions, so there
are figures for each major version of gcc; one without figures of its own may
need 15 % more than the newest that has some:

    python3 -m tests.cost.instructions --update

To count another request or another program, name them; the program's options
may follow:

    python3 -m tests.cost.instructions --path /hello build/variants/reply-arena/epoll

callgrind.py says how it counts.
"""

import argparse
import json
import pathlib
import subprocess
import sys

from tests.cost.callgrind import TOP, Talk, per_request

FIGURES = pathlib.Path(__file__).with_name("instructions.json")
ALLOWED_GROWTH, ALLOWED_ELSEWHERE = 1.05, 1.15

SERVERS = {
    "iterative": [],
    "prethreaded": ["--threads", "1"],
    "epoll": [],
}
TALKS = {
    "keep-alive": Talk(),
    "one-shot": Talk(keep_alive=False),
}


def measure():
    """Returns {"epoll keep-alive": instructions per request, ...}."""
    return {f"{server} {name}": round(per_request(TOP / server, options, talk))
            for server, options in SERVERS.items()
            for name, talk in TALKS.items()}


def compiler():
    """Return the major version of gcc, as text."""
    return subprocess.run(["gcc", "-dumpversion"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip().split(".")[0]


def allowed(figures, gcc):
    """Return ({what: instructions}, growth) that are valid for a version of gcc."""
    if gcc in figures:
        return figures[gcc], ALLOWED_GROWTH
    return figures[max(figures, key=int)], ALLOWED_ELSEWHERE


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true",
                        help="write what is measured to instructions.json")
    parser.add_argument("--path", default="/answer",
                        help="what is asked for, on one connection")
    parser.add_argument("program", nargs=argparse.REMAINDER,
                        help="what is asked, instead of the three servers")
    arguments = parser.parse_args()
    if arguments.program:
        program, *options = arguments.program
        print(round(per_request(TOP / program, options, Talk(arguments.path))))
        return 0
    measured = measure()
    figures, gcc = json.loads(FIGURES.read_text()), compiler()
    if arguments.update:
        figures[gcc] = measured
        FIGURES.write_text(json.dumps(figures, indent=2) + "\n")
    committed, growth = allowed(figures, gcc)
    failed = 0
    for name, now in measured.items():
        before = committed[name]
        fine = now <= before * growth
        failed += not fine
        print(f"{'ok' if fine else 'FAILED':6} {name:24} {now:6} instructions "
              f"per request, {now / before:.3f} of the committed {before}")
    print(f"{len(measured) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
