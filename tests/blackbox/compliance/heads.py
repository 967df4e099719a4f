"""Request lines and fields."""

import random

from tests.blackbox.compliance.make import (Case, FIVE, FORM, SECRET, SOCKET, get, head,
    last, post, refused, served, sign, waits)

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
