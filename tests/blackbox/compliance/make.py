"""What is sent, and what is right: the words that the cases are written in."""

import dataclasses

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
