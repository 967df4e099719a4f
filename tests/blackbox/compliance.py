"""The cases of a public compliance suite, as data: what is sent and what is right.

The suite is Http11Probe (https://github.com/MDA2AV/Http11Probe), which sends the same
215 requests to many servers and publishes their answers. Each case here has the name
that it has there, but our words and our pages. The suite posts to "/". Here a form
goes to /guestbook, and other content to /answer. That page takes no POST, so the answer
is 405, but only after the server has read the whole request.

Each case is sent with a good request right behind it. What is expected:

    refused(400)   one of these statuses; the connection ends, and the request behind
                   is not answered
    served(200)    this status; the connection is kept, and the request behind is
                   answered
    last(200)      this status; the connection ends, and the request behind is not
                   answered
    waits()        no answer yet, because the request is not complete (sent alone)

`legal` names a row of the table "Legal, and why" in docs/reference/promises.md: the
suite would prefer something else there, or counts it as a fault.
"""

import dataclasses
import random

from tests.support.guest import form

FORM = form("Ada", "Hello")
SECRET = b"secret-token-123"


@dataclasses.dataclass(frozen=True)
class Expected:
    """How a request ends."""

    kind: str
    statuses: tuple = ()
    then: int = 200         # the status of the request behind, where it is answered
    field: str = ""         # of the answer: it must be there


@dataclasses.dataclass(frozen=True)
class Case:
    """One case; see above."""

    what: str
    send: bytes
    expected: Expected
    section: str            # of an RFC
    legal: str = ""


def refused(*statuses):
    """The parser cannot find the end of the request."""
    return Expected("refused", statuses or (400,))


def served(status=200, **more):
    """It is well-formed; the page may still say no."""
    return Expected("served", (status,), **more)


def last(status=200):
    """It is answered, and ends the connection."""
    return Expected("last", (status,))


def waits():
    """It is not complete."""
    return Expected("waits")


def head(line, *lines, host=b"Host: a"):
    """A request without content, of raw lines."""
    return b"\r\n".join([line, *([host] if host else []), *lines, b"", b""])


def get(*lines, line=b"GET /answer HTTP/1.1", **more):
    """A GET request with these further lines."""
    return head(line, *lines, **more)


def post(*lines, body=b"", line=b"POST /answer HTTP/1.1"):
    """A POST request with these further lines."""
    return head(line, *lines) + body


def sign(*lines, body, version=b"1.1"):
    """A guest signs the guestbook, with these further lines."""
    return head(b"POST /guestbook HTTP/" + version,
                b"Content-Type: application/x-www-form-urlencoded", *lines) + body


CHUNKED = b"Transfer-Encoding: chunked"
FIVE = b"Content-Length: 5"
EMPTY = b"0\r\n\r\n"
SOCKET = (b"Upgrade: websocket", b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
OTHER = get(line=b"GET /hello HTTP/1.1")    # smuggled: it must never be answered


def chunks(data, *more):
    """A chunked POST request with this framed body."""
    return post(CHUNKED, *more, body=data)


def signed_in_chunks(size=b"%x" % len(FORM), end=EMPTY):
    """A chunked form of one chunk."""
    return sign(CHUNKED, body=size + b"\r\n" + FORM + b"\r\n" + end)


def smuggle(*lines, before=EMPTY, length=b"%d", other=OTHER):
    """A POST request whose body, by one of two framings, holds another request."""
    body = before + other
    return post(*[line.replace(b"LENGTH", length % len(body)) for line in lines],
                body=body)


# Request lines

LINES = {
    "COMP-BASELINE": Case("an ordinary request", get(), served(), "9112, 3"),
    "RFC9112-2.2-BARE-LF-REQUEST-LINE": Case(
        "LF alone ends the request line", b"GET /answer HTTP/1.1\nHost: a\r\n\r\n",
        served(), "9112, 2.2", "lines of a head that end in LF alone"),
    "RFC9112-2.2-BARE-LF-HEADER": Case(
        "LF alone ends a field line", b"GET /answer HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
        served(), "9112, 2.2", "lines of a head that end in LF alone"),
    "RFC9112-3-CR-ONLY-LINE-ENDING": Case(
        "CR alone ends the request line", b"GET /answer HTTP/1.1\rHost: a\r\n\r\n",
        refused(), "9112, 2.2"),
    "COMP-LEADING-CRLF": Case(
        "empty lines before the request line", b"\r\n\r\n" + get(), served(),
        "9112, 2.2", "empty lines before a request"),
    "MAL-WHITESPACE-ONLY-LINE": Case(
        "a line of spaces only", b"   \r\n\r\n", refused(), "9112, 3"),
    "RFC9112-3-MULTI-SP-REQUEST-LINE": Case(
        "two spaces after the method", get(line=b"GET  /answer HTTP/1.1"), refused(),
        "9112, 3"),
    "COMP-REQUEST-LINE-TAB": Case(
        "a tab after the method", get(line=b"GET\t/answer HTTP/1.1"), refused(),
        "9112, 3"),
    "RFC9112-3-MISSING-TARGET": Case(
        "no target", get(line=b"GET HTTP/1.1"), refused(), "9112, 3"),
    "COMP-SPACE-IN-TARGET": Case(
        "a space in the target", get(line=b"GET /ans wer HTTP/1.1"), refused(),
        "9112, 3.2"),
    "RFC9112-3.2-FRAGMENT-IN-TARGET": Case(
        "a fragment in the target", get(line=b"GET /answer#frag HTTP/1.1"), refused(),
        "9112, 3.2"),
    "RFC9112-2.3-HTTP09-REQUEST": Case(
        "a request of HTTP/0.9", b"GET /\r\n", refused(), "9112, 2.3"),
    "RFC9112-2.3-INVALID-VERSION": Case(
        "version 9.9", get(line=b"GET /answer HTTP/9.9"), refused(400, 505),
        "9112, 2.3"),
    "COMP-VERSION-MISSING-MINOR": Case(
        "a version without minor digit", get(line=b"GET /answer HTTP/1"), refused(),
        "9112, 2.3"),
    "COMP-VERSION-LEADING-ZEROS": Case(
        "a version of two digits each", get(line=b"GET /answer HTTP/01.01"),
        refused(), "9112, 2.3"),
    "COMP-VERSION-WHITESPACE": Case(
        "a space in the version", get(line=b"GET /answer HTTP/ 1.1"), refused(),
        "9112, 2.3"),
    "COMP-VERSION-CASE": Case(
        "the version in lower case", get(line=b"GET /answer http/1.1"), refused(),
        "9112, 2.3"),
    "COMP-HTTP12-VERSION": Case(
        "version 1.2", get(line=b"GET /answer HTTP/1.2"), served(), "9110, 2.5",
        "HTTP/1.2 is served as 1.1"),
    "MAL-H2-PREFACE": Case(
        "the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        refused(400, 505), "9113, 3.4"),
    "COMP-METHOD-CASE": Case(
        "the method in lower case", get(line=b"get /answer HTTP/1.1"),
        served(501), "9110, 9.1"),
    "COMP-UNKNOWN-METHOD": Case(
        "an unknown method", get(line=b"FOOBAR /answer HTTP/1.1"),
        served(501), "9110, 9.1"),
    "COMP-METHOD-CONNECT": Case(
        "CONNECT, sent to a server that is no proxy",
        head(b"CONNECT example.com:443 HTTP/1.1", host=b"Host: example.com:443"),
        served(501), "9110, 9.3.6"),
    "COMP-METHOD-TRACE": Case(
        "TRACE", head(b"TRACE /answer HTTP/1.1"), served(405), "9110, 9.3.8"),
    "COMP-TRACE-WITH-BODY": Case(
        "TRACE with content", head(b"TRACE /answer HTTP/1.1", FIVE) + b"hello",
        served(405), "9110, 9.3.8"),
    "COMP-TRACE-SENSITIVE": Case(
        "TRACE with a secret, which the answer must not repeat",
        head(b"TRACE /answer HTTP/1.1", b"Authorization: Bearer " + SECRET),
        served(405), "9110, 9.3.8"),
    "COMP-405-ALLOW": Case(
        "a method that the page does not take; Allow names those that it takes",
        head(b"DELETE / HTTP/1.1"), served(405, field="Allow"), "9110, 15.5.6"),
    "COMP-OPTIONS-ALLOW": Case(
        "OPTIONS; Allow names the methods", head(b"OPTIONS / HTTP/1.1"),
        served(204, field="Allow"), "9110, 9.3.7"),
    "COMP-NO-CL-IN-204": Case(
        "a 204 has no length", head(b"OPTIONS /answer HTTP/1.1"), served(204),
        "9110, 8.6"),
    "COMP-OPTIONS-STAR": Case(
        "OPTIONS of the server itself", head(b"OPTIONS * HTTP/1.1"), served(204),
        "9112, 3.2.4"),
    "COMP-ASTERISK-WITH-GET": Case(
        "an asterisk for another method", get(line=b"GET * HTTP/1.1"), refused(),
        "9112, 3.2.4"),
    "COMP-ABSOLUTE-FORM": Case(
        "a target with scheme and host", get(line=b"GET http://a/answer HTTP/1.1"),
        served(), "9112, 3.2.2"),
    "SMUG-ABSOLUTE-URI-HOST-MISMATCH": Case(
        "a target with another host than the Host field",
        get(line=b"GET http://other.example.com/answer HTTP/1.1"), served(),
        "9112, 3.2.2", "a target with another host than the Host field"),
    "COMP-LONG-URL-OK": Case(
        "a target of 7,901 bytes; a server should accept 8,000",
        get(line=b"GET /" + 7900 * b"a" + b" HTTP/1.1"), served(404), "9112, 3"),
    "MAL-LONG-URL": Case(
        "a target of 100 KB", get(line=b"GET /" + 100_000 * b"A" + b" HTTP/1.1"),
        refused(414), "9110, 15.5.15"),
    "MAL-LONG-METHOD": Case(
        "a method of 100 KB", get(line=100_000 * b"A" + b" / HTTP/1.1"),
        refused(501), "9112, 3", "more than a limit"),
    "MAL-NUL-IN-URL": Case(
        "NUL in the target", get(line=b"GET /\0test HTTP/1.1"), refused(),
        "9112, 3.2"),
    "MAL-NON-ASCII-URL": Case(
        "a target in UTF-8", get(line=b"GET /caf\xc3\xa9 HTTP/1.1"), refused(),
        "9112, 3.2"),
    "MAL-URL-OVERLONG-UTF8": Case(
        "an overlong form of a slash in the target",
        get(line=b"GET /\xc0\xaf HTTP/1.1"), refused(), "9112, 3.2"),
    "MAL-URL-BACKSLASH": Case(
        "a backslash in the path is no slash",
        get(line=b"GET /path\\file HTTP/1.1"), served(404), "9112, 3.2",
        "visible ASCII in a target that a URI must encode"),
    "MAL-URL-PERCENT-NULL": Case(
        "an encoded NUL does not end the path",
        get(line=b"GET /answer%00.html HTTP/1.1"), served(404), "9110, 15.5.5",
        "encoded control bytes in a path"),
    "MAL-URL-PERCENT-CRLF": Case(
        "an encoded line end does not begin a field",
        get(line=b"GET /path%0d%0aX-Injected:%20true HTTP/1.1"), served(404),
        "9110, 15.5.5", "encoded control bytes in a path"),
    "MAL-BINARY-GARBAGE": Case(
        "256 random bytes", random.Random(42).randbytes(256), refused(), "9112, 3"),
    "MAL-EMPTY-REQUEST": Case("nothing at all", b"", waits(), "9112, 9.5"),
    "MAL-INCOMPLETE-REQUEST": Case(
        "a head without its end", b"GET /answer HTTP/1.1\r\nHost: a\r\nX: value",
        waits(), "9112, 2.1"),
    "SMUG-PIPELINE-SAFE": Case(
        "a request behind a request", get(), served(), "9112, 9.3.2"),
}

# Fields

FIELDS = {
    "RFC9112-7.1-MISSING-HOST": Case(
        "no Host", get(host=None), refused(), "9112, 3.2"),
    "RFC9110-5.4-DUPLICATE-HOST": Case(
        "two Hosts", get(b"Host: other.example.com"), refused(), "9112, 3.2"),
    "COMP-DUPLICATE-HOST-SAME": Case(
        "the same Host twice", get(b"Host: a"), refused(), "9112, 3.2"),
    "COMP-HOST-EMPTY-VALUE": Case(
        "an empty Host", get(host=b"Host: "), refused(), "9110, 4.2.1"),
    "COMP-HOST-WITH-USERINFO": Case(
        "a Host with a user", get(host=b"Host: user@a"), refused(), "9112, 3.2"),
    "COMP-HOST-WITH-PATH": Case(
        "a Host with a path", get(host=b"Host: a/path"), refused(), "9112, 3.2"),
    "SMUG-MULTIPLE-HOST-COMMA": Case(
        "a list of Hosts", get(host=b"Host: a, other.example.com"), refused(),
        "9110, 7.2"),
    "COMP-HTTP10-NO-HOST": Case(
        "no Host in HTTP/1.0", get(line=b"GET /answer HTTP/1.0", host=None), last(),
        "9112, 3.2", "HTTP/1.0 without Host"),
    "RFC9112-5.1-OBS-FOLD": Case(
        "a folded line", get(b"X: value", b" continued"), refused(), "9112, 5.2"),
    "RFC9110-5.6.2-SP-BEFORE-COLON": Case(
        "a space before the colon", get(b"X : value"), refused(), "9112, 5.1"),
    "COMP-WHITESPACE-BEFORE-HEADERS": Case(
        "a line of one space before the fields",
        b"GET /answer HTTP/1.1\r\n \r\nHost: a\r\n\r\n", refused(), "9112, 2.2"),
    "RFC9112-5-EMPTY-HEADER-NAME": Case(
        "an empty name", get(b": value"), refused(), "9112, 5"),
    "RFC9112-5-INVALID-HEADER-NAME": Case(
        "a bracket in a name", get(b"Bad[Name: value"), refused(), "9110, 5.1"),
    "RFC9112-5-HEADER-NO-COLON": Case(
        "no colon", get(b"NoColonHere"), refused(), "9112, 5"),
    "MAL-NON-ASCII-HEADER-NAME": Case(
        "a name in UTF-8", get(b"X-T\xc3\xabst: value"), refused(), "9110, 5.1"),
    "MAL-NUL-IN-HEADER-VALUE": Case(
        "NUL in a value", get(b"X: val\0ue"), refused(), "9110, 5.5"),
    "MAL-CONTROL-CHARS-HEADER": Case(
        "control bytes in a value", get(b"X: abc\x07\x08\x0bdef"), refused(),
        "9110, 5.5"),
    "SMUG-BARE-CR-HEADER-VALUE": Case(
        "CR alone in a value", post(FIVE, b"X: val\rue", body=b"hello"), refused(),
        "9112, 2.2"),
    "MAL-LONG-HEADER-VALUE": Case(
        "a value of 100 KB", get(b"X: " + 100_000 * b"B"), refused(431),
        "6585, 5"),
    "MAL-LONG-HEADER-NAME": Case(
        "a name of 100 KB", get(100_000 * b"A" + b": v"), refused(431), "6585, 5"),
    "MAL-MANY-HEADERS": Case(
        "10,000 fields", get(*[b"X-H-%d: value" % i for i in range(10_000)]),
        refused(431), "6585, 5"),
    "COMP-EXPECT-UNKNOWN": Case(
        "an expectation that cannot be met", get(b"Expect: 200-ok"), refused(417),
        "9110, 10.1.1"),
    "COMP-CONNECTION-CLOSE": Case(
        "Connection: close", get(b"Connection: close"), last(), "9112, 9.6"),
    "COMP-HTTP10-DEFAULT-CLOSE": Case(
        "HTTP/1.0, whose connections are not persistent",
        get(line=b"GET /answer HTTP/1.0"), last(), "9112, 9.3"),
    "COMP-HEAD-NO-BODY": Case(
        "HEAD", head(b"HEAD /answer HTTP/1.1"), served(), "9110, 9.3.2"),
    "COMP-DATE-HEADER": Case(
        "the answer has a Date", get(), served(field="Date"), "9110, 6.6.1"),
    "COMP-DATE-FORMAT": Case(
        "the Date has the preferred form", get(line=b"GET / HTTP/1.1"),
        served(field="Date"), "9110, 5.6.7"),
    "COMP-CONTENT-TYPE": Case(
        "the answer has a Content-Type", get(line=b"GET / HTTP/1.1"),
        served(field="Content-Type"), "9110, 8.3"),
    "COMP-ACCEPT-NONSENSE": Case(
        "a client that accepts only an unknown type",
        get(b"Accept: application/x-nonsense"), served(), "9110, 12.4.1", "Accept"),
    "COMP-RANGE-INVALID": Case(
        "a malformed Range", get(b"Range: bytes=abc-xyz", line=b"GET / HTTP/1.1"),
        served(), "9110, 14.2"),
    "MAL-RANGE-OVERLAPPING": Case(
        "a thousand ranges of the whole file",
        get(b"Range: bytes=" + b",".join(1000 * [b"0-"]), line=b"GET / HTTP/1.1"),
        served(), "9110, 14.2", "several ranges"),
    "COMP-RANGE-POST": Case(
        "a Range has no effect on POST",
        sign(b"Content-Length: %d" % len(FORM), b"Range: bytes=0-10", body=FORM),
        served(303), "9110, 14.2"),
    "COMP-DUPLICATE-CT": Case(
        "two types of content",
        post(FIVE, b"Content-Type: text/plain", b"Content-Type: text/html",
             body=b"hello", line=b"POST /guestbook HTTP/1.1"), served(415),
        "9110, 5.3"),
    "COMP-POST-UNSUPPORTED-CT": Case(
        "a type of content that the page does not take",
        post(FIVE, b"Content-Type: application/x-nonsense", body=b"hello",
             line=b"POST /guestbook HTTP/1.1"), served(415), "9110, 15.5.16"),
    "COMP-UPGRADE-POST": Case(
        "POST cannot open a web socket",
        post(b"Connection: Upgrade", *SOCKET, b"Sec-WebSocket-Version: 13"),
        served(405), "6455, 4.1"),
    "COMP-UPGRADE-MISSING-CONN": Case(
        "Upgrade without Connection", get(*SOCKET, b"Sec-WebSocket-Version: 13"),
        served(), "9110, 7.8"),
    "COMP-UPGRADE-UNKNOWN": Case(
        "an upgrade to an unknown protocol",
        get(b"Connection: Upgrade", b"Upgrade: totally-made-up/1.0"), served(),
        "9110, 7.8"),
    "COMP-UPGRADE-INVALID-VER": Case(
        "a web socket of version 99",
        get(b"Connection: Upgrade", *SOCKET, b"Sec-WebSocket-Version: 99"), served(),
        "9110, 7.8", "Upgrade"),
    "COMP-UPGRADE-HTTP10": Case(
        "an upgrade from HTTP/1.0",
        get(b"Connection: Upgrade", *SOCKET, b"Sec-WebSocket-Version: 13",
            line=b"GET /answer HTTP/1.0"), last(), "9110, 7.8"),
}

# Lengths

LENGTHS = {
    "RFC9112-6.1-CL-NON-NUMERIC": Case(
        "letters", post(b"Content-Length: abc"), refused(), "9112, 6.3"),
    "RFC9112-6.1-CL-PLUS-SIGN": Case(
        "a plus sign", post(b"Content-Length: +5", body=b"hello"), refused(),
        "9110, 8.6"),
    "COMP-POST-CL-BODY": Case(
        "content as long as the length says",
        sign(b"Content-Length: %d" % len(FORM), body=FORM), served(303), "9112, 6.2"),
    "COMP-POST-CL-ZERO": Case(
        "no content and a length of 0", post(b"Content-Length: 0"),
        served(405), "9112, 6.2", "POST to a page that takes none"),
    "COMP-POST-NO-CL-NO-TE": Case(
        "no content and no length", post(), served(405), "9112, 6.3",
        "POST to a page that takes none"),
    "COMP-POST-CL-UNDERSEND": Case(
        "less content than the length says", post(b"Content-Length: 10", body=b"hello"),
        waits(), "9112, 8"),
    "COMP-GET-WITH-CL-BODY": Case(
        "GET with content", get(FIVE) + b"hello", served(), "9110, 9.3.1",
        "content of GET, HEAD and OPTIONS"),
    "SMUG-HEAD-CL-BODY": Case(
        "HEAD with content", head(b"HEAD /answer HTTP/1.1", FIVE) + b"hello",
        served(), "9110, 9.3.2", "content of GET, HEAD and OPTIONS"),
    "SMUG-OPTIONS-CL-BODY": Case(
        "OPTIONS with content", head(b"OPTIONS /answer HTTP/1.1", FIVE) + b"hello",
        served(204), "9110, 9.3.7", "content of GET, HEAD and OPTIONS"),
    "SMUG-GET-CL-BODY-DESYNC": Case(
        "the content of GET is no request",
        get(b"Content-Length: %d" % len(OTHER)) + OTHER, served(), "9110, 9.3.1",
        "content of GET, HEAD and OPTIONS"),
    "SMUG-GET-CL-PREFIX-DESYNC": Case(
        "the content of GET is no beginning of a request",
        get(b"Content-Length: %d" % len(OTHER[:-2])) + OTHER, served(), "9110, 9.3.1",
        "content of GET, HEAD and OPTIONS"),
    "SMUG-OPTIONS-CL-BODY-DESYNC": Case(
        "the content of OPTIONS is no request",
        head(b"OPTIONS /answer HTTP/1.1", b"Content-Length: %d" % len(OTHER)) + OTHER,
        served(204), "9110, 9.3.7", "content of GET, HEAD and OPTIONS"),
    "SMUG-CL0-BODY-POISON": Case(
        "a byte after content of length 0 starts the next request",
        post(b"Content-Length: 0", body=b"X"), served(405, then=501), "9112, 6.2",
        "POST to a page that takes none"),
    "MAL-CL-OVERFLOW": Case(
        "a number beyond 64 bits", post(b"Content-Length: 99999999999999999999"),
        refused(413), "9110, 8.6", "more than a limit"),
    "MAL-POST-CL-HUGE-NO-BODY": Case(
        "more content than any page takes", post(b"Content-Length: 999999999"),
        refused(413), "9110, 15.5.14", "more than a limit"),
    "MAL-CL-EMPTY": Case(
        "an empty value", post(b"Content-Length: "), refused(), "9110, 8.6"),
    "MAL-CL-TAB-BEFORE-VALUE": Case(
        "a tab before the number", post(b"Content-Length:\t5", body=b"hello"),
        served(405), "9110, 5.5", "white space around a value"),
    "SMUG-CL-EXTRA-LEADING-SP": Case(
        "two spaces before the number", post(b"Content-Length:  5", body=b"hello"),
        served(405), "9110, 5.5", "white space around a value"),
    "SMUG-CL-TRAILING-SPACE": Case(
        "a space after the number", post(b"Content-Length: 5 ", body=b"hello"),
        served(405), "9110, 5.5", "white space around a value"),
    "SMUG-CL-LEADING-ZEROS": Case(
        "zeros before the number", post(b"Content-Length: 005", body=b"hello"),
        served(405), "9110, 8.6", "zeros before a number"),
    "SMUG-CL-DOUBLE-ZERO": Case(
        "two zeros", post(b"Content-Length: 00"), served(405), "9110, 8.6",
        "zeros before a number"),
    "SMUG-CL-LEADING-ZEROS-OCTAL": Case(
        "a zero before the number does not make it octal",
        post(b"Content-Length: 0200", body=200 * b"A"), served(405), "9110, 8.6",
        "zeros before a number"),
    "SMUG-CL-NEGATIVE": Case(
        "a negative number", post(b"Content-Length: -1"), refused(), "9110, 8.6"),
    "SMUG-CL-NEGATIVE-ZERO": Case(
        "a sign before zero", post(b"Content-Length: -0"), refused(), "9110, 8.6"),
    "SMUG-CL-OCTAL": Case(
        "an octal number", post(b"Content-Length: 0o5", body=b"hello"), refused(),
        "9110, 8.6"),
    "SMUG-CL-HEX-PREFIX": Case(
        "a hexadecimal number", post(b"Content-Length: 0x5", body=b"hello"),
        refused(), "9110, 8.6"),
    "SMUG-CL-UNDERSCORE": Case(
        "an underscore in the number", post(b"Content-Length: 1_0",
                                            body=b"helloworld"),
        refused(), "9110, 8.6"),
    "SMUG-CL-INTERNAL-SPACE": Case(
        "a space in the number", post(b"Content-Length: 1 0", body=b"hello12345"),
        refused(), "9110, 8.6"),
    "SMUG-DUPLICATE-CL": Case(
        "two lengths", post(FIVE, b"Content-Length: 10", body=b"helloworld"),
        refused(), "9112, 6.3"),
    "SMUG-CL-COMMA-DIFFERENT": Case(
        "a list of two lengths", post(b"Content-Length: 5, 10", body=b"hello"),
        refused(), "9112, 6.3"),
    "SMUG-CL-COMMA-SAME": Case(
        "a list of the same length", post(b"Content-Length: 5, 5", body=b"hello"),
        refused(), "9110, 8.6"),
    "SMUG-CL-COMMA-TRIPLE": Case(
        "a list of three", post(b"Content-Length: 5, 5, 5", body=b"hello"),
        refused(), "9110, 8.6"),
    "SMUG-DUPLICATE-CL-SMUGGLED-GET": Case(
        "two lengths, between which there is a request",
        smuggle(b"Content-Length: 4", b"Content-Length: LENGTH", before=b"PING"),
        refused(), "9112, 6.3"),
    "NORM-UNDERSCORE-CL": Case(
        "a name with an underscore is another name",
        post(b"Content-Length: 11", b"Content_Length: 99", body=b"hello world"),
        served(405), "9110, 5.1"),
    "NORM-SP-BEFORE-COLON-CL": Case(
        "a space before the colon of a length",
        post(b"Content-Length: 11", b"Content-Length : 5", body=b"hello world"),
        refused(), "9112, 5.1"),
    "NORM-TAB-IN-NAME": Case(
        "a tab in the name",
        post(b"Content-Length: 11", b"Content\tLength: 99", body=b"hello world"),
        refused(), "9110, 5.1"),
    "COMP-NO-1XX-HTTP10": Case(
        "no interim answer to HTTP/1.0",
        sign(b"Expect: 100-continue", b"Content-Length: %d" % len(FORM), body=FORM,
             version=b"1.0"), last(303), "9110, 15.2"),
    "SMUG-EXPECT-100-CL": Case(
        "content sent without waiting for the 100",
        sign(b"Content-Length: %d" % len(FORM), b"Expect: 100-continue", body=FORM),
        served(303), "9110, 10.1.1"),
    "SMUG-EXPECT-100-CL-DESYNC": Case(
        "that content is no request",
        post(b"Content-Length: %d" % len(OTHER), b"Expect: 100-continue", body=OTHER),
        served(405), "9110, 10.1.1", "POST to a page that takes none"),
}

# Codings, alone and against a length

CODINGS = {
    "COMP-UNKNOWN-TE-501": Case(
        "a coding that is not chunked", post(b"Transfer-Encoding: gzip"),
        refused(400, 501), "9112, 6.3"),
    "SMUG-TE-NOT-FINAL-CHUNKED": Case(
        "chunked is not the last",
        post(b"Transfer-Encoding: chunked, gzip", body=EMPTY), refused(), "9112, 6.3"),
    "SMUG-CL-TE-BOTH": Case(
        "a length before chunked",
        post(b"Content-Length: 15", CHUNKED, body=b"5\r\nhello\r\n" + EMPTY),
        refused(), "9112, 6.1"),
    "SMUG-CLTE-PIPELINE": Case(
        "a length that is shorter than the chunks",
        post(b"Content-Length: 4", CHUNKED, body=EMPTY), refused(), "9112, 6.1"),
    "SMUG-TECL-PIPELINE": Case(
        "a length that is longer than the chunks",
        post(CHUNKED, b"Content-Length: 30", body=EMPTY), refused(), "9112, 6.1"),
    "SMUG-CLTE-CONN-CLOSE": Case(
        "a length that is as long as the chunks, first",
        post(FIVE, CHUNKED, body=EMPTY), refused(), "9112, 6.1"),
    "SMUG-TECL-CONN-CLOSE": Case(
        "a length that is as long as the chunks, last",
        post(CHUNKED, FIVE, body=EMPTY), refused(), "9112, 6.1"),
    "SMUG-CLTE-DESYNC": Case(
        "a length that is a byte longer", post(b"Content-Length: 6", CHUNKED,
                                               body=EMPTY + b"X"),
        refused(), "9112, 6.1"),
    "SMUG-TECL-DESYNC": Case(
        "a byte behind the chunks and a longer length",
        post(CHUNKED, b"Content-Length: 30", body=EMPTY + b"X"), refused(),
        "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-GET": Case(
        "a request behind the chunks", smuggle(b"Content-Length: LENGTH", CHUNKED),
        refused(), "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-HEAD": Case(
        "a HEAD behind the chunks",
        smuggle(b"Content-Length: LENGTH", CHUNKED,
                other=OTHER.replace(b"GET", b"HEAD")),
        refused(), "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-GET-CL-PLUS": Case(
        "the same, the length with a sign",
        smuggle(b"Content-Length: LENGTH", CHUNKED, length=b"+%d"), refused(),
        "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-GET-CL-NON-NUMERIC": Case(
        "the same, the length with a letter",
        smuggle(b"Content-Length: LENGTH", CHUNKED, length=b"%dx"), refused(),
        "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-GET-TE-OBS-FOLD": Case(
        "the same, chunked on a folded line",
        smuggle(b"Transfer-Encoding:\r\n chunked", b"Content-Length: LENGTH"),
        refused(), "9112, 5.2"),
    "SMUG-CLTE-SMUGGLED-GET-TE-TRAILING-SPACE": Case(
        "the same, a space behind chunked",
        smuggle(b"Content-Length: LENGTH", CHUNKED + b" "), refused(), "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-GET-TE-LEADING-COMMA": Case(
        "the same, a comma before chunked",
        smuggle(b"Content-Length: LENGTH", b"Transfer-Encoding: , chunked"),
        refused(), "9112, 6.1"),
    "SMUG-CLTE-SMUGGLED-GET-TE-CASE-MISMATCH": Case(
        "the same, chunked with a capital",
        smuggle(b"Content-Length: LENGTH", b"Transfer-Encoding: Chunked"), refused(),
        "9112, 6.1"),
    "SMUG-TECL-SMUGGLED-GET": Case(
        "a request behind the chunks, the length last",
        smuggle(CHUNKED, b"Content-Length: LENGTH"), refused(), "9112, 6.1"),
    "SMUG-TE-DUPLICATE-HEADERS-SMUGGLED-GET": Case(
        "the same, with two codings",
        smuggle(CHUNKED, b"Transfer-Encoding: identity", b"Content-Length: LENGTH"),
        refused(), "9112, 6.1"),
    "SMUG-OPTIONS-TE-OBS-FOLD": Case(
        "the same for OPTIONS, chunked on a folded line",
        head(b"OPTIONS /answer HTTP/1.1", b"Transfer-Encoding:\r\n chunked", FIVE)
        + b"hello", refused(), "9112, 5.2"),
    "SMUG-TE-DUPLICATE-HEADERS": Case(
        "two codings and a length",
        post(CHUNKED, b"Transfer-Encoding: identity", FIVE, body=b"hello"),
        refused(), "9112, 6.1"),
    "SMUG-TE-HTTP10": Case(
        "chunked in HTTP/1.0",
        post(CHUNKED, FIVE, body=b"hello", line=b"POST /answer HTTP/1.0"), refused(),
        "9112, 6.1"),
    "SMUG-TE-OBS-FOLD": Case(
        "chunked on a folded line",
        post(b"Transfer-Encoding:\r\n chunked", FIVE, body=b"hello"), refused(),
        "9112, 5.2"),
    "SMUG-TE-SP-BEFORE-COLON": Case(
        "a space before the colon",
        post(b"Transfer-Encoding : chunked", FIVE, body=b"hello"), refused(),
        "9112, 5.1"),
    **{name: Case(what, post(b"Transfer-Encoding:" + value, FIVE, body=b"hello"),
                  refused(), "9112, 6.1")
       for name, what, value in [
           ("SMUG-TE-XCHUNKED", "not quite chunked", b" xchunked"),
           ("SMUG-TE-TRAILING-SPACE", "a space behind chunked", b" chunked "),
           ("SMUG-TE-TAB-BEFORE-VALUE", "a tab before chunked", b"\tchunked"),
           ("SMUG-TE-DOUBLE-CHUNKED", "chunked twice", b" chunked, chunked"),
           ("SMUG-TE-CASE-MISMATCH", "chunked with a capital", b" Chunked"),
           ("SMUG-TE-LEADING-COMMA", "a comma before chunked", b" , chunked"),
           ("SMUG-TE-TRAILING-COMMA", "a comma behind chunked", b" chunked,"),
           ("SMUG-TE-EMPTY-VALUE", "an empty value", b" "),
           ("SMUG-TE-IDENTITY", "identity, which is no longer a coding", b" identity"),
           ("SMUG-TE-VTAB", "a vertical tab before chunked", b" \x0bchunked"),
           ("SMUG-TE-FORMFEED", "a form feed before chunked", b" \x0cchunked"),
           ("SMUG-TE-NULL", "NUL behind chunked", b" chunked\0"),
           ("SMUG-CHUNKED-WITH-PARAMS", "chunked with a parameter",
            b" chunked;ext=val")]},
    "SMUG-TRANSFER_ENCODING": Case(
        "a name with an underscore is another name",
        post(b"Transfer_Encoding: chunked", FIVE, body=b"hello"), served(405),
        "9110, 5.1", "unknown fields"),
    "NORM-UNDERSCORE-TE": Case(
        "the same with more content",
        post(b"Content-Length: 11", b"Transfer_Encoding: chunked",
             body=b"hello world"), served(405), "9110, 5.1"),
    "NORM-CASE-TE": Case(
        "the name in capitals is the same name",
        post(b"Content-Length: 11", b"TRANSFER-ENCODING: chunked",
             body=b"hello world"), refused(), "9110, 5.1"),
}

# Chunks

CHUNKS = {
    "COMP-CHUNKED-BODY": Case(
        "one chunk", signed_in_chunks(), served(303), "9112, 7.1"),
    "COMP-CHUNKED-MULTI": Case(
        "two chunks",
        sign(CHUNKED, body=b"5\r\n%b\r\n%x\r\n%b\r\n" % (
            FORM[:5], len(FORM) - 5, FORM[5:]) + EMPTY), served(303), "9112, 7.1"),
    "COMP-CHUNKED-EMPTY": Case(
        "the last chunk only", chunks(EMPTY), served(405), "9112, 7.1",
        "POST to a page that takes none"),
    "COMP-CHUNKED-NO-FINAL": Case(
        "no last chunk", chunks(b"5\r\nhello\r\n"), waits(), "9112, 8"),
    "COMP-CHUNKED-EXTENSION": Case(
        "an extension", signed_in_chunks(b"%x;ext=value" % len(FORM)), served(303),
        "9112, 7.1.1"),
    "COMP-CHUNKED-TRAILER-VALID": Case(
        "a trailer", signed_in_chunks(end=b"0\r\nX-Checksum: abc\r\n\r\n"),
        served(303), "9112, 7.1.2"),
    "COMP-CHUNKED-HEX-UPPERCASE": Case(
        "a size in capitals",
        sign(CHUNKED, body=b"A\r\n%b\r\n%x\r\n%b\r\n" % (
            FORM[:10], len(FORM) - 10, FORM[10:]) + EMPTY), served(303), "9112, 7.1"),
    **{name: Case(f"a trailer that belongs in the head: {line.decode()}",
                  signed_in_chunks(end=b"0\r\n" + line + b"\r\n\r\n"), served(303),
                  "9110, 6.5.1", "trailers")
       for name, line in [
           ("SMUG-TRAILER-CL", b"Content-Length: 50"),
           ("SMUG-TRAILER-TE", b"Transfer-Encoding: chunked"),
           ("SMUG-TRAILER-HOST", b"Host: evil.example.com"),
           ("SMUG-TRAILER-AUTH", b"Authorization: Bearer evil"),
           ("SMUG-TRAILER-CONTENT-TYPE", b"Content-Type: text/evil")]},
    **{name: Case(what, chunks(data), refused(), section)
       for name, what, data, section in [
           ("SMUG-CHUNK-BARE-SEMICOLON", "a semicolon without extension",
            b"5;\r\nhello\r\n" + EMPTY, "9112, 7.1.1"),
           ("SMUG-CHUNK-EXT-INVALID-TOKEN", "a bracket in an extension's name",
            b"5;bad[=x\r\nhello\r\n" + EMPTY, "9112, 7.1.1"),
           ("SMUG-CHUNK-EXT-CTRL", "NUL in an extension",
            b"5;\0ext\r\nhello\r\n" + EMPTY, "9112, 7.1.1"),
           ("SMUG-CHUNK-EXT-CR", "CR alone in an extension",
            b"5;a\rX\r\nhello\r\n" + EMPTY, "9112, 7.1.1"),
           ("SMUG-CHUNK-EXT-LF", "LF alone ends a size line with extension",
            b"5;\nhello\r\n" + EMPTY, "9112, 7.1.1"),
           ("SMUG-CHUNK-UNDERSCORE", "an underscore in a size",
            b"1_0\r\nhello world!!!!!\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-HEX-PREFIX", "0x before a size",
            b"0x5\r\nhello\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-SIZE-PLUS", "a sign before a size",
            b"+5\r\nhello\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-NEGATIVE", "a negative size",
            b"-1\r\nhello\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-LEADING-SP", "a space before a size",
            b" 5\r\nhello\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-SIZE-TRAILING-OWS", "a space behind a size",
            b"5 \r\nhello\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-MISSING-TRAILING-CRLF", "data without its line end",
            b"5\r\nhello" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-SPILL", "more data than its size",
            b"5\r\nhello!!\r\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-LF-TERM", "LF alone ends the data",
            b"5\r\nhello\n" + EMPTY, "9112, 7.1"),
           ("SMUG-CHUNK-LF-TRAILER", "LF alone ends the trailers",
            b"5\r\nhello\r\n0\r\n\n", "9112, 7.1"),
           ("SMUG-CHUNK-BARE-CR-TERM", "CR alone ends a size line",
            b"5\rhello\r\n" + EMPTY, "9112, 2.2"),
           ("SMUG-CHUNK-INVALID-SIZE-DESYNC", "a sign before the size of the last",
            b"+0\r\n\r\nX", "9112, 7.1")]},
    "MAL-CHUNK-SIZE-OVERFLOW": Case(
        "a size beyond 64 bits", chunks(b"FFFFFFFFFFFFFFFF0\r\nhello\r\n" + EMPTY),
        refused(413), "9112, 7.1", "more than a limit"),
    "MAL-CHUNK-EXT-64K": Case(
        "an extension of 64 KB",
        chunks(b"5;ext=" + 65_536 * b"a" + b"\r\nhello\r\n" + EMPTY), refused(413),
        "9112, 7.1.1", "more than a limit"),
}

# Caches and cookies

BEFORE = b"If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT"


def style(*lines):
    """GET of a file. ETAG and DATE in a line stand for what its first answer had."""
    return get(*lines, line=b"GET /style.css HTTP/1.1")


def echo(cookie):
    """A page that shows a value, asked for with a Cookie field."""
    return get(b"Cookie: " + cookie, line=b"GET /echo?value=x HTTP/1.1")


CACHES = {
    "CAP-ETAG-304": Case(
        "the client's copy is current", style(b"If-None-Match: ETAG"), served(304),
        "9110, 13.1.2"),
    "CAP-ETAG-IN-304": Case(
        "the 304 repeats the tag", style(b"If-None-Match: ETAG"),
        served(304, field="ETag"), "9110, 15.4.5"),
    "CAP-ETAG-WEAK": Case(
        "a weak comparison", style(b"If-None-Match: W/ETAG"), served(304),
        "9110, 13.1.2"),
    "CAP-INM-WILDCARD": Case(
        "any representation", style(b"If-None-Match: *"), served(304),
        "9110, 13.1.2"),
    "CAP-INM-PRECEDENCE": Case(
        "the tag counts, not the date", style(b"If-None-Match: ETAG", BEFORE),
        served(304), "9110, 13.1.3"),
    "CAP-INM-UNQUOTED": Case(
        "a tag without quotes is none", style(b"If-None-Match: BARE"), served(),
        "9110, 8.8.3"),
    "CAP-LAST-MODIFIED-304": Case(
        "not changed since", style(b"If-Modified-Since: DATE"), served(304),
        "9110, 13.1.3"),
    "CAP-IMS-FUTURE": Case(
        "a date in the future",
        style(b"If-Modified-Since: Thu, 01 Jan 2099 00:00:00 GMT"), served(304),
        "9110, 13.1.3", "If-Modified-Since with a date in the future"),
    "CAP-IMS-INVALID": Case(
        "not a date", style(b"If-Modified-Since: not-a-date"), served(),
        "9110, 13.1.3"),
    "COOK-ECHO": Case(
        "a cookie", echo(b"foo=bar"), served(), "6265, 4.2", "cookies"),
    "COOK-EMPTY": Case("an empty field", echo(b""), served(), "6265, 4.2"),
    "COOK-MALFORMED": Case(
        "not a cookie", echo(b"===;;;"), served(), "6265, 4.2"),
    "COOK-MULTI-HEADER": Case(
        "two fields", echo(b"a=1\r\nCookie: b=2"), served(), "6265, 5.4", "cookies"),
    "COOK-NUL": Case("NUL", echo(b"foo=\0bar"), refused(), "9110, 5.5"),
    "COOK-CONTROL-CHARS": Case(
        "control bytes", echo(b"foo=\x01\x02\x03"), refused(), "9110, 5.5"),
    "COOK-OVERSIZED": Case(
        "64 KB", echo(b"big=" + 65_536 * b"A"), refused(431), "6585, 5"),
    "COOK-MANY-PAIRS": Case(
        "a thousand", echo(b"; ".join(b"k%d=v%d" % (i, i) for i in range(1000))),
        served(), "6265, 4.2"),
    "COOK-PARSED-BASIC": Case(
        "one cookie to parse", echo(b"foo=bar"), served(), "6265, 5.2", "cookies"),
    "COOK-PARSED-MULTI": Case(
        "three", echo(b"a=1; b=2; c=3"), served(), "6265, 5.2", "cookies"),
    "COOK-PARSED-EMPTY-VAL": Case(
        "a cookie without a value", echo(b"foo="), served(), "6265, 5.2", "cookies"),
    "COOK-PARSED-SPECIAL": Case(
        "values with spaces and signs", echo(b"a=hello world; b=x=y"), served(),
        "6265, 5.2", "cookies"),
}

CASES = {**LINES, **FIELDS, **LENGTHS, **CODINGS, **CHUNKS, **CACHES}
