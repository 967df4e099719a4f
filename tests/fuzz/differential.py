"""Feed the same requests to our parser and to others, and explain each difference.

    python3 -m tests.fuzz.differential                  30,000 requests, always the same
    python3 -m tests.fuzz.differential --seed 7 --count 100000
    python3 -m tests.fuzz.differential --show fold      requests that differ by this

The others are joyent's http-parser (once in Node.js; Debian's libhttp-parser-dev) and h11 (Debian's
python3-h11). A third of the requests are valid, a third are valid ones with a few bytes changed, a
third have framing that two parsers may read in two ways.

Where ours and another differ, the difference must be of a known kind, and that is proved: each kind
comes with a repair that takes just this peculiarity out of a request. When the repaired request
makes no difference any more, the kind (or the smallest set of kinds) is the explanation. The kinds
are in differential.md, with why ours is as it is. A difference that no kind explains fails the
test; so does a kind that no request shows, or that the table lacks.

Closes with `N passed, N failed`.
"""

import argparse
import collections
import json
import re
import struct
import subprocess
import sys
from pathlib import Path

import h11

from tests.fuzz.kinds import KINDS, MOST_AT_ONCE
from tests.fuzz.generator import Generator

TOP = Path(__file__).resolve().parent.parent.parent
TABLE = Path(__file__).with_suffix(".md")


# ------------------------------------------------------------- the parsers
#
# Each takes a list of requests and returns a list of verdicts: a dict with
# "outcome" (whole, half, wrong), for whole ones what was understood.

def ask_program(name):
    """Return a function that has a program (see parse.h) parse requests."""
    def ask(requests):
        result = subprocess.run(
            [TOP / "build/default/fuzz" / name], stdout=subprocess.PIPE,
            input=b"".join(struct.pack("<I", len(r)) + r for r in requests), check=True)
        return [json.loads(line) for line in result.stdout.splitlines()]
    return ask


def ask_h11(requests):
    """Have h11 parse requests."""
    return [h11_verdict(request) for request in requests]


def h11_verdict(request):
    connection = h11.Connection(h11.SERVER)
    body = b""
    try:
        if request:  # no bytes mean end of file to h11
            connection.receive_data(request)
        head = event = connection.next_event()
        while event is not h11.NEED_DATA and not isinstance(event, h11.EndOfMessage):
            if isinstance(event, h11.Data):
                body += event.data
            event = connection.next_event()
    except h11.RemoteProtocolError as error:
        return {"outcome": "wrong", "reason": str(error)}
    if event is h11.NEED_DATA:
        return {"outcome": "half"}
    return {"outcome": "whole", "method": head.method.hex(),
            "target": head.target.hex(), "body": body.hex(),
            "minor_version": min(int(head.http_version[2:]), 1),
            "keep_alive": connection.their_state is h11.DONE,
            "used": len(request) - len(connection.trailing_data[0])}


def agree(ours, theirs):
    """Did two parsers read a request in the same way?"""
    fields = ("method", "target", "body", "minor_version", "keep_alive", "used")
    return ours["outcome"] == theirs["outcome"] and (
        ours["outcome"] != "whole" or all(ours[name] == theirs[name] for name in fields))


# ------------------------------------------------------------ explaining

def repairs(request, kinds, number):
    """Yield (names, repaired request) for all `number` kinds that change it."""
    if number == 0:
        yield (), request
        return
    for at, name in enumerate(kinds):
        repaired = KINDS[name](request)
        if repaired != request:
            for names, more in repairs(repaired, kinds[at + 1:], number - 1):
                yield (name, *names), more


def explain(requests, ours, theirs, ask_ours, ask_theirs):
    """Explain where a parser differs from ours.

    Returns a dict from the index of a request to the names of the kinds that
    explain its difference together, () where nothing does.
    """
    explained = {i: () for i, request in enumerate(requests) if not agree(ours[i], theirs[i])}
    for number in range(1, MOST_AT_ONCE + 1):
        trials = [(i, names, repaired) for i, explanation in explained.items() if not explanation
                  for names, repaired in repairs(requests[i], list(KINDS), number)]
        messages = [repaired for _, _, repaired in trials]
        for (i, names, _), a, b in zip(trials, ask_ours(messages), ask_theirs(messages)):
            if not explained[i] and agree(a, b):
                explained[i] = names
    return explained


def table_of_kinds():
    """Return {kind: names of the parsers that show it} from differential.md."""
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", TABLE.read_text(), re.M)
    return {name: set(parsers.split(", ")) for name, parsers in rows}


def describe(verdict):
    """Return a verdict in words."""
    if verdict["outcome"] == "whole":
        return (f"whole: {bytes.fromhex(verdict['method'])} {bytes.fromhex(verdict['target'])}, "
                f"body {bytes.fromhex(verdict['body'])}, "
                f"{'goes on' if verdict['keep_alive'] else 'closes'}")
    return f"{verdict['outcome']} {verdict.get('reason', '')}"


class Comparison:
    """What comparing with the other parsers has brought."""

    def __init__(self, requests, others):
        ask_ours = ask_program("parse_ours")
        self.requests = requests
        self.ours = ask_ours(requests)
        self.theirs = {name: ask(requests) for name, ask in others.items()}
        self.explained = {
            name: explain(requests, self.ours, self.theirs[name], ask_ours, ask)
            for name, ask in others.items()}
        self.seen = {name: collections.Counter(
            kind for names in explained.values() for kind in names)
            for name, explained in self.explained.items()}

    def show(self, parser, index):
        """Print one request and what was made of it."""
        print(f"    {self.requests[index]}\n        ours: {describe(self.ours[index])}\n"
              f"        {parser}: {describe(self.theirs[parser][index])}")

    def show_kind(self, kind, most):
        """Print the shortest requests that differ by this kind alone."""
        for parser, explained in self.explained.items():
            found = [i for i, names in explained.items() if names == ((kind,) if kind else ())]
            for i in sorted(found, key=lambda i: len(self.requests[i]))[:most]:
                self.show(parser, i)

    def print_summary(self):
        """Print how many requests each parser read otherwise, and by what."""
        outcomes = collections.Counter(v["outcome"] for v in self.ours)
        print(f"{len(self.requests)} requests, to us "
              + ", ".join(f"{n} {name}" for name, n in outcomes.most_common()))
        parsers = list(self.explained)
        print(f"\n{'read otherwise by':<22}" + "".join(f"{name:>12}" for name in parsers))
        for label, counts in [
                ("", {p: len(self.explained[p]) for p in parsers}),
                *((kind, {p: self.seen[p][kind] for p in parsers})
                  for kind in KINDS),
                ("unexplained", {p: self.unexplained(p) for p in parsers})]:
            print(f"{label:<22}" + "".join(f"{counts[p] or '-':>12}" for p in parsers))
        print()

    def unexplained(self, parser):
        """Return how many of a parser's differences nothing explains."""
        return sum(not names for names in self.explained[parser].values())


def available_parsers():
    """Build the programs; return {name: function that asks the parser}."""
    others = {"h11": ask_h11}
    programs = ["parse_ours"]
    if Path("/usr/include/http_parser.h").exists():
        programs.append("parse_http_parser")
        others["http-parser"] = ask_program("parse_http_parser")
    else:
        print("This system has no http-parser: compared with h11 alone.")
    subprocess.run(["make", "-s", *(f"build/default/fuzz/{program}" for program in programs)],
                   cwd=TOP, check=True)
    return others


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=30000)
    parser.add_argument("--show", metavar="KIND", choices=list(KINDS))
    options = parser.parse_args()
    others = available_parsers()
    result = Comparison(Generator(options.seed).requests(options.count), others)
    if options.show:
        result.show_kind(options.show, 5)
        return 0
    result.print_summary()

    passed = failed = 0
    for name in others:
        if result.unexplained(name):
            failed += 1
            print(f"FAILED: {name} reads requests otherwise, and nothing explains it:")
        else:
            passed += 1
    result.show_kind(None, 5)

    # The table has to be true of the usual requests; others may show less.
    usual = (options.seed, options.count) == (1, 30000)
    table = table_of_kinds()
    for kind in sorted(set(KINDS) | set(table)):
        seen = {name for name in others if result.seen[name][kind]}
        known = table.get(kind, set()) & set(others)
        if kind in KINDS and seen <= known and (seen == known or not usual):
            passed += 1
        else:
            failed += 1
            print(f"FAILED: {TABLE.name} says of '{kind}': {known or 'nothing'}"
                  f"; it was seen with {seen or 'none'}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
