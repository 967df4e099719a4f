#!/usr/bin/env python3
"""Feed the same requests to our parser and to others, and explain each difference.

    tests/fuzz/differential.py                  30,000 requests, always the same
    tests/fuzz/differential.py --seed 7 --count 100000
    tests/fuzz/differential.py --show fold      requests that differ by this

The others are joyent's http-parser (once in Node.js; Debian's
libhttp-parser-dev) and h11 (Debian's python3-h11). A third of the requests are
valid, a third are valid ones with a few bytes changed, a third have framing
that two parsers may read in two ways.

Where ours and another differ, the difference must be of a known kind, and that
is proved: each kind comes with a repair that takes just this peculiarity out of
a request. When the repaired request makes no difference any more, the kind (or
the smallest set of kinds) is the explanation. The kinds are in
differential.md, with why ours is as it is. A difference that no kind explains
fails the test; so does a kind that no request shows, or that the table lacks.

Closes with `N passed, N failed`.
"""

import argparse
import collections
import itertools
import json
import random
import re
import struct
import subprocess
import sys
from pathlib import Path

import h11

TOP = Path(__file__).resolve().parent.parent.parent
TABLE = Path(__file__).with_suffix(".md")
NEXT = b"GET /next HTTP/1.1\r\nHost: a\r\n\r\n"


# ------------------------------------------------------------ the requests

class Generator:
    """Makes requests; the same seed makes the same ones."""

    METHODS = [b"GET"] * 6 + [b"HEAD", b"POST", b"POST", b"OPTIONS", b"PUT",
                              b"DELETE", b"PATCH", b"BREW"]
    NAMES = [b"Accept", b"User-Agent", b"Cookie", b"X-Test", b"Content-Type",
             b"Range", b"If-None-Match", b"Connection"]
    CONNECTION = [b"close", b"keep-alive", b"Keep-Alive, x", b"x, close",
                  b"keep-alive, close", b"upgrade"]
    HOSTS = [b"a"] * 40 + [b"a:80", b"[::1]", b"a:b", b"a:1:2", b"a:99999", b"[",
                           b"]", b"[::1", b"::1", b"%zz", b"%41", b""]
    LENGTHS = [b"0", b"3", b"5", b"05", b"+5", b"-1", b"5 ", b"5, 5", b"5,6",
               b"0x5", b"5.0", b"", b"99999999999999999999", b"70000", b"5;",
               b"5 5", b"\x0b5", b"5\x00", b"5\t"]
    VERSIONS = [b"1.1"] * 30 + [b"1.0"] * 8 + [b"1.7", b"2.0"]
    CODINGS = [b"chunked", b"Chunked", b" chunked", b"chunked ",
               b"gzip, chunked", b"chunked, gzip", b"chunked, chunked",
               b"identity", b"gzip", b"xchunked", b"chunked;x", b'"chunked"',
               b"\x0bchunked", b",chunked", b"chunked,", b""]
    SIZES = [b"5", b"05", b"5 ", b" 5", b"5;x", b"5;", b"5;x=\"y\"", b"+5",
             b"0x5", b"5\n", b"G0", b"", b"ffffffffffffffff", b"5;\x00",
             b"10000000000000005", b"11170", b"5\r", b"5;\xe9", b"\xb05",
             b"5 ;x", b"5\t;x", b"5; x = y", b"5;x=\"y;\\\"\"", b"5;x=\"",
             b"5;x ", b"5;x=", b"5;x y", b"\xb05", b"\xff5"]
    BODIES = [b"hello", b"5\r\nhello\n0\r\n\r\n", b"5\r\nhelloX\r\n0\r\n\r\n",
              b"5\r\nhello\r\n0\r\nX: y\r\n\r\n", b"5\r\nhello\r\n0\n\n",
              b"5\r\nhello\r\n0\r\n y\r\n\r\n", b"0\r\n\r\n",
              b"5\r\nhello\r\n0\r\nX: y\r\n z\r\n\r\n",
              b"5\r\nhello\r\n0\r\nX : y\r\n\r\n",
              b"5\r\nhello\r\n0\r\nX\r\n\r\n",
              b"5\r\nhello\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n",
              b"5\r\nhello\r\n0\r\nContent-Length: x\r\n\r\n",
              b"5\r\nhello\r\n0\r\nConnection: close\r\n\r\n"]
    INTERESTING = [0, 9, 10, 11, 13, 32, 33, 34, 35, 43, 44, 45, 47, 48, 58,
                   59, 64, 127, 128, 255]

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.hosts = itertools.cycle(self.HOSTS)  # each as often as it stands

    def text(self, alphabet, most):
        return bytes(self.random.choice(alphabet)
                     for _ in range(self.random.randint(0, most)))

    def target(self, method):
        if method == b"OPTIONS" and self.random.random() < 0.5:
            return b"*"
        path = b"/" + self.text(b"abcxyz019-._~%/!$&'()*+,;=:@", 12)
        if self.random.random() < 0.3:
            path += b"?" + self.text(b"abc=&%19/?", 10)
        return path if self.random.random() > 0.06 else \
            b"http://example.org" + path

    def chunks(self, data):
        """The data in chunks of random sizes, with all that may be there."""
        pick, out = self.random.choice, b""
        while data:
            n = self.random.randint(1, len(data))
            out += pick([b"%x", b"%X", b"%04x"]) % n
            out += pick([b"", b"", b";x", b";a=b"]) + b"\r\n" + data[:n] + b"\r\n"
            data = data[n:]
        return out + b"0\r\n" + pick([b"", b"", b"X: y\r\n"]) + b"\r\n"

    def valid(self):
        """A request that RFC 9112 allows, perhaps with another behind it."""
        pick, chance = self.random.choice, self.random.random
        method = pick(self.METHODS)
        minor = 1 if chance() < 0.85 else 0
        fields = [] if minor == 0 and chance() < 0.5 else \
            [b"Host: " + pick([b"a", b"example.org", b"localhost:8000",
                               b"[::1]:80", b""])]
        for _ in range(self.random.randint(0, 4)):
            name = pick(self.NAMES)
            value = pick(self.CONNECTION) if name == b"Connection" else \
                self.text(b"abcdefgh ,;=/\"*0123456789-\t\xc3\xa9", 20)
            fields.append(pick([name, name.lower()]) + b":" +
                          pick([b" ", b"", b"\t", b"  "]) + value +
                          pick([b"", b"", b" "]))
        body = b""
        if chance() < (0.9 if method in (b"POST", b"PUT") else 0.15):
            data = self.text(b"abc\r\n =&%0", 40)
            if minor == 1 and chance() < 0.5:
                fields.append(b"Transfer-Encoding: chunked")
                body = self.chunks(data)
            else:
                fields.append(b"Content-Length: %d" % len(data))
                body = data
        self.random.shuffle(fields)
        end = b"\r\n" if chance() < 0.95 else b"\n"
        return (pick([b""] * 50 + [b"\r\n"]) + method + b" " +
                self.target(method) + b" HTTP/1.%d" % minor + end +
                b"".join(field + end for field in fields) + end + body +
                pick([b"", b"", NEXT]))

    def mutated(self):
        """A valid request with one to three changes."""
        message = bytearray(self.valid())
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randrange(len(message) + 1)
            byte = self.random.choice(self.INTERESTING +
                                      [self.random.randrange(256)])
            kind = self.random.random()
            if kind < 0.3:
                message[at:at + 1] = bytes([byte])
            elif kind < 0.55:
                message[at:at] = bytes([byte])
            elif kind < 0.8:
                del message[at:at + self.random.choice([1, 1, 1, 2, 5])]
            elif kind < 0.92:
                start = self.random.randrange(len(message) + 1)
                message[at:at] = message[start:start + 20]
            else:
                del message[at:]
        return bytes(message)

    def ambiguous(self):
        """A POST whose end depends on who reads it."""
        pick, chance = self.random.choice, self.random.random
        fields = [b"Host: " + next(self.hosts)]
        for _ in range(pick([0, 1, 1, 2])):
            fields.append(pick([b"Content-Length", b"content-length",
                                b"Content-Length ", b"Content_Length"]) +
                          pick([b": ", b":"]) + pick(self.LENGTHS))
        for _ in range(pick([0, 1, 1, 2])):
            fields.append(pick([b"Transfer-Encoding", b"transfer-encoding",
                                b"Transfer-Encoding",
                                pick([b"Transfer-Encoding\t",
                                      b"Transfer-Encoding-"])]) +
                          pick([b": ", b":", b":\t"]) + pick(self.CODINGS))
        for field in (b"Host: b", b"Host: a", b"X: y\r\n Content-Length: 5",
                      b"Expect: 100-continue", b"Expect: 200-ok"):
            if chance() < 0.05:
                fields.append(field)
        self.random.shuffle(fields)
        head = (b"POST / HTTP/%b\r\n" % pick(self.VERSIONS) +
                b"".join(field + b"\r\n" for field in fields) + b"\r\n")
        if chance() < 0.15:
            return head + pick(self.SIZES)  # the rest is to come
        body = pick(self.BODIES + [pick(self.SIZES) +
                                   b"\r\nhello\r\n0\r\n\r\n"] * 6)
        return head + body + NEXT

    def requests(self, count):
        """Return `count` requests, the three sorts in turn."""
        sorts = itertools.cycle([self.valid, self.mutated, self.ambiguous])
        return [next(sorts)() for _ in range(count)]


# ------------------------------------------------------------- the parsers
#
# Each takes a list of requests and returns a list of verdicts: a dict with
# "outcome" (whole, half, wrong), for whole ones what was understood.

def ask_program(name):
    """Return a function that has a program (see parse.h) parse requests."""
    def ask(requests):
        result = subprocess.run(
            [TOP / "build/default/fuzz" / name], stdout=subprocess.PIPE,
            input=b"".join(struct.pack("<I", len(r)) + r for r in requests),
            check=True)
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
        while event is not h11.NEED_DATA and \
                not isinstance(event, h11.EndOfMessage):
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
        ours["outcome"] != "whole" or
        all(ours[name] == theirs[name] for name in fields))


# --------------------------------------- the kinds of difference, and repairs
#
# A repair returns the request without the peculiarity, or unchanged.

START = rb"^([\r\n]*)"      # of the request line


def replace(pattern, by):
    """Make a repair that replaces whatever a pattern matches."""
    return lambda request: re.sub(pattern, by, request)


Chunk = collections.namedtuple("Chunk", "size behind line_end data data_end")

# What RFC 9112, 7.1.1 allows behind a chunk's size.
EXTENSIONS = re.compile(
    rb"""(?sx) (?: [ \t]* ; [ \t]* [\w!#-'*+.^`|~-]+
           (?: [ \t]* = [ \t]* (?: [\w!#-'*+.^`|~-]+
               | "(?: [^"\\\x00-\x08\n-\x1f\x7f]
                    | \\ [^\x00-\x08\n-\x1f\x7f] )*" ) )? )* \Z""")


def number_in(size):
    """Read a chunk's size, a byte above 0x7f as the digit 0."""
    return int(re.sub(rb"[\x80-\xff]", b"0", size), 16)


def has_coding(head):
    """Has it a Transfer-Encoding, if with a space behind the name?"""
    return re.search(rb"(?im)^transfer-encoding[ \t]*:", head)


def take_apart(request):
    """Take a request apart, as leniently as the most lenient parser does.

    Returns (head, chunks, trailers with their empty line, what follows). The
    last chunk may be cut short: some of its parts are short or empty then.
    Without Transfer-Encoding there are neither chunks nor trailers.
    """
    end = re.search(rb"[^\r\n]\r?\n\r?\n|$", request).end()
    head, rest = request[:end], request[end:]
    chunks, size = [], None
    if not has_coding(head):
        return head, chunks, b"", rest
    while size != 0:
        line = re.match(rb"([0-9A-Fa-f\x80-\xff]+)([; \t][^\r]*)?(\r.|\r?\Z)",
                        rest, re.S)
        if not line:
            return head, chunks, b"", rest
        size, rest = number_in(line[1]), rest[line.end():]
        two = 2 if size else 0  # the last chunk ends with its line
        chunks.append(Chunk(line[1], line[2] or b"", line[3], rest[:size],
                            rest[size:size + two]))
        rest = rest[size + two:]
    trailers = re.match(rb"(?:[^\r\n][^\n]*\n)*(?:\r.|\n|[^\n]*\Z)?", rest,
                        re.S)[0]
    return head, chunks, trailers, rest[len(trailers):]


def put_together(head, chunks, trailers, rest):
    """Undo take_apart()."""
    return b"".join([head, *map(b"".join, chunks), trailers, rest])


def in_head(pattern, by):
    """Make a repair that replaces what a pattern matches in the head."""
    def repair(request):
        head, *others = take_apart(request)
        return put_together(re.sub(pattern, by, head), *others)
    return repair


def in_chunks(change):
    """Make a repair that changes every chunk."""
    def repair(request):
        head, chunks, *others = take_apart(request)
        return put_together(head, map(change, chunks), *others)
    return repair


def in_trailers(pattern, by):
    """Make a repair that replaces what a pattern matches in the trailers."""
    def repair(request):
        *others, trailers, rest = take_apart(request)
        return put_together(*others, re.sub(pattern, by, trailers), rest)
    return repair


def in_fields(pattern, by):
    """Make a repair for the head and the trailers."""
    head, trailers = in_head(pattern, by), in_trailers(pattern, by)
    return lambda request: trailers(head(request))


def one_host(request):
    """Leave one Host field, with a name in it."""
    without = in_head(rb"(?im)^host[ \t]*:[^\n]*\n", b"")(request)
    return re.sub(rb"^([\r\n]*[^\n]+\n)", rb"\1Host: a\r\n", without, count=1)


def one_of_equal_lengths(request):
    """Leave out a Content-Length that says the same number once more."""
    seen = set()

    def keep(match):
        number = match[1].strip(b" \t\r").lstrip(b"0")
        known = number in seen
        seen.add(number)
        return b"" if known else match[0]
    return in_head(rb"(?im)^content-length:([^\n]*)\n", keep)(request)


def with_version(request):
    """Give a request line that ends with the target a version."""
    return re.sub(START + rb"([^ \r\n]+ [^ \r\n]+) *(?=\r?\n)",
                  rb"\1\2 HTTP/1.1", request)


def with_valid_version(request):
    """Put HTTP/1.1 where a version should be and is none."""
    return re.sub(START + rb"([^ \r\n]+ [^ \r\n]+) +(?!HTTP/\d\.\d(?:\r?\n|$))"
                  rb"[^\r\n]+", rb"\1\2 HTTP/1.1", request)


def last_coding(request):
    """Leave the last Transfer-Encoding only."""
    return in_head(rb"(?im)^transfer-encoding:[^\n]*\n(?=(?s:.*)^transfer-encoding:)",
                   b"")(request)


def with_single_spaces(request):
    """Leave one space where the request line has several."""
    return re.sub(START + rb"([^\r\n]+)",
                  lambda m: m[1] + re.sub(rb" +", b" ", m[2]), request)


def without_spaces_in_names(request):
    """Take spaces and tabs out of the names of fields, trailers' too."""
    def change(fields):  # only the first cannot be folded
        return re.sub(rb"(?m)(?:\A|^(?!\s))[^\r\n:]+(?=:)",
                      lambda m: re.sub(rb"[ \t]", b"", m[0]), fields)
    head, chunks, trailers, rest = take_apart(request)
    line = re.match(START + rb"[^\n]*\n?", head)[0]
    return put_together(line + change(head[len(line):]), chunks,
                        change(trailers), rest)


def without_length_if_chunked(request):
    """Leave Content-Length out where there is Transfer-Encoding."""
    head, *others = take_apart(request)
    if has_coding(head):
        head = re.sub(rb"(?im)^content-length:[^\n]*\n", b"", head)
    return put_together(head, *others)


def with_line_ends(request):
    """Give chunked framing a CRLF wherever there should be one."""
    def change(chunk):
        return chunk._replace(line_end=b"\r\n"[:len(chunk.line_end)],
                              data_end=b"\r\n"[:len(chunk.data_end)])
    request = in_chunks(change)(request)
    return in_trailers(rb"(?ms)\r?\n|^\r.", b"\r\n")(request)


def in_1_1(request):
    """Make a request with Transfer-Encoding one of HTTP/1.1."""
    head, *others = take_apart(request)
    if has_coding(head):
        head = head.replace(b" HTTP/1.0", b" HTTP/1.1", 1)
    return put_together(head, *others)


# The first that explains a difference counts; of several together, each is
# applied to what the one before it has left.
KINDS = {
    "empty-line": lambda request: request.lstrip(b"\r\n"),
    "lone-cr": in_fields(rb"\r(?!\n)", b""),
    "fold": in_head(rb"\r?\n[ \t]+", b" "),
    "two-spaces": with_single_spaces,
    "no-version": with_version,
    "malformed-version": with_valid_version,
    "other-version": in_head(rb" HTTP/[02-9]\.\d", b" HTTP/1.1"),
    "method": replace(START + rb"[!-~]+ ", rb"\1POST "),
    "target-byte": replace(
        START + rb"(\S+ )([^ \r\n]+)",
        lambda m: m[1] + m[2] + re.sub(rb"[^!-~]|#", b"x", m[3])),
    "target-form": replace(START + rb"(\S+) [^/\s]\S* ", rb"\1\2 / "),
    "space-in-name": without_spaces_in_names,
    "name-prefix": in_head(
        rb"(?im)^(transfer-encoding|content-length)[\w!#-'*+.^`|~-]+:", b"X:"),
    "control-byte": in_fields(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", b"x"),
    "expect": in_head(rb"(?im)^expect:[^\n]*\n", b""),
    "empty-element": in_head(
        rb"(?im)^(transfer-encoding:)[ \t]*(?:,[ \t]*)*([^\r\n]*?)[ \t,]*(?=\r?$)",
        rb"\1\2"),
    "coding": in_head(rb"(?im)^(transfer-encoding:)[^\r\n]*", rb"\1 chunked"),
    "two-codings": last_coding,
    "chunks-in-1.0": in_1_1,
    "length-and-chunks": without_length_if_chunked,
    "too-large": in_head(rb"(?im)^(content-length:[ \t]*)\d{5,}", rb"\g<1>5"),
    "list-of-lengths": in_head(
        rb"(?im)^(content-length:[ \t]*)(\d+), *\2", rb"\1\2"),
    "space-behind-length": in_head(
        rb"(?im)^(content-length:[ \t]*\d+)[ \t]+(?=\r?$)", rb"\1"),
    "equal-lengths": one_of_equal_lengths,
    "byte-in-size": in_chunks(lambda chunk: chunk._replace(
        size=re.sub(rb"[\x80-\xff]", b"0", chunk.size))),
    "huge-chunk": in_chunks(lambda chunk: chunk._replace(
        size=b"ffff" if number_in(chunk.size) > 0x10000 else chunk.size)),
    "chunk-line-end": with_line_ends,
    "space-before-extension": in_chunks(lambda chunk: chunk._replace(
        behind=re.sub(rb"^[ \t]+(?=;)", b"", chunk.behind))),
    "space-behind-size": in_chunks(lambda chunk: chunk._replace(
        behind=re.sub(rb"[ \t]+\Z", b"", chunk.behind))),
    "extension": in_chunks(lambda chunk: chunk._replace(
        behind=chunk.behind if EXTENSIONS.match(chunk.behind) else b"")),
    "trailer": in_trailers(rb"\r?\n[ \t]+", b" "),
    "field-in-trailer": in_trailers(
        rb"(?im)^(transfer-encoding|content-length|connection)(?=:)", b"X"),
    "host": one_host,
    "connection": in_head(rb"(?im)^connection:[^\n]*\n", b""),
    "half": lambda request: request + b"\r\n\r\n",
}
MOST_AT_ONCE = 6  # kinds in one explanation


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
    explained = {i: () for i, request in enumerate(requests)
                 if not agree(ours[i], theirs[i])}
    for number in range(1, MOST_AT_ONCE + 1):
        trials = [(i, names, repaired)
                  for i, explanation in explained.items() if not explanation
                  for names, repaired in
                  repairs(requests[i], list(KINDS), number)]
        messages = [repaired for _, _, repaired in trials]
        for (i, names, _), a, b in zip(trials, ask_ours(messages),
                                       ask_theirs(messages)):
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
        return (f"whole: {bytes.fromhex(verdict['method'])} "
                f"{bytes.fromhex(verdict['target'])}, "
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
        print(f"    {self.requests[index]}\n"
              f"        ours: {describe(self.ours[index])}\n"
              f"        {parser}: {describe(self.theirs[parser][index])}")

    def show_kind(self, kind, most):
        """Print the shortest requests that differ by this kind alone."""
        for parser, explained in self.explained.items():
            found = [i for i, names in explained.items()
                     if names == ((kind,) if kind else ())]
            for i in sorted(found, key=lambda i: len(self.requests[i]))[:most]:
                self.show(parser, i)

    def print_summary(self):
        """Print how many requests each parser read otherwise, and by what."""
        outcomes = collections.Counter(v["outcome"] for v in self.ours)
        print(f"{len(self.requests)} requests, to us "
              + ", ".join(f"{n} {name}" for name, n in outcomes.most_common()))
        parsers = list(self.explained)
        print(f"\n{'read otherwise by':<22}"
              + "".join(f"{name:>12}" for name in parsers))
        for label, counts in [
                ("", {p: len(self.explained[p]) for p in parsers}),
                *((kind, {p: self.seen[p][kind] for p in parsers})
                  for kind in KINDS),
                ("unexplained", {p: self.unexplained(p) for p in parsers})]:
            print(f"{label:<22}"
                  + "".join(f"{counts[p] or '-':>12}" for p in parsers))
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
    subprocess.run(["make", "-s", *(f"build/default/fuzz/{program}"
                                    for program in programs)],
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
            print(f"FAILED: {name} reads requests otherwise, and nothing "
                  "explains it:")
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
