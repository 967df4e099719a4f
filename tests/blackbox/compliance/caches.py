"""Caches and cookies."""

from tests.blackbox.compliance.make import Case, get, refused, served

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
