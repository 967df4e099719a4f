"""The kinds of difference between two parsers, and a repair for each.

A repair returns the request without the peculiarity, or unchanged."""

import collections
import re

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
        line = re.match(rb"([0-9A-Fa-f\x80-\xff]+)([; \t][^\r]*)?(\r.|\r?\Z)", rest, re.S)
        if not line:
            return head, chunks, b"", rest
        size, rest = number_in(line[1]), rest[line.end():]
        two = 2 if size else 0  # the last chunk ends with its line
        chunks.append(Chunk(line[1], line[2] or b"", line[3], rest[:size], rest[size:size + two]))
        rest = rest[size + two:]
    trailers = re.match(rb"(?:[^\r\n][^\n]*\n)*(?:\r.|\n|[^\n]*\Z)?", rest, re.S)[0]
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
    return re.sub(START + rb"([^ \r\n]+ [^ \r\n]+) *(?=\r?\n)", rb"\1\2 HTTP/1.1", request)


def with_valid_version(request):
    """Put HTTP/1.1 where a version should be and is none."""
    return re.sub(START + rb"([^ \r\n]+ [^ \r\n]+) +(?!HTTP/\d\.\d(?:\r?\n|$))"
                  rb"[^\r\n]+", rb"\1\2 HTTP/1.1", request)


def last_coding(request):
    """Leave the last Transfer-Encoding only."""
    return in_head(rb"(?im)^transfer-encoding:[^\n]*\n(?=(?s:.*)^transfer-encoding:)", b"")(request)


def with_single_spaces(request):
    """Leave one space where the request line has several."""
    return re.sub(START + rb"([^\r\n]+)", lambda m: m[1] + re.sub(rb" +", b" ", m[2]), request)


def without_spaces_in_names(request):
    """Take spaces and tabs out of the names of fields, trailers' too."""
    def change(fields):  # only the first cannot be folded
        return re.sub(rb"(?m)(?:\A|^(?!\s))[^\r\n:]+(?=:)",
                      lambda m: re.sub(rb"[ \t]", b"", m[0]), fields)
    head, chunks, trailers, rest = take_apart(request)
    line = re.match(START + rb"[^\n]*\n?", head)[0]
    return put_together(line + change(head[len(line):]), chunks, change(trailers), rest)


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
