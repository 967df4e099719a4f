"""Files below public/: conditional requests and ranges (RFC 9110, 13 and 14)."""

import os
import time

import pytest

from tests.support.client import parse_date

pytestmark = pytest.mark.protocol

SIZE = 1000
CONTENT = bytes(i % 251 for i in range(SIZE))
LARGE = 300_000         # more than a server keeps in memory of a file


@pytest.fixture(scope="module")
def file(site):
    """A text of SIZE bytes, an hour old, as /static/file.txt."""
    site.write("static/file.txt", CONTENT)
    return "/static/file.txt"


@pytest.fixture(scope="module")
def large(site):
    """A file that is sent from the disk, as /static/large.bin."""
    site.write("static/large.bin", bytes(i * 7 % 253 for i in range(LARGE)))
    return "/static/large.bin"


def http_date(seconds):
    """Seconds since 1970 as an IMF-fixdate."""
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(seconds))


# Conditional requests (RFC 9110, 13)

def conditional(server, path, *fields, method="GET"):
    return server.request(path, method, fields)


@pytest.mark.parametrize("pattern", [
    "{}", "W/{}", '"other", {}', '{}, "other"', '"a" ,W/{} , "b"', "*"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_if_none_match_that_matches(server, file, pattern, method):
    etag = server.request(file).get("ETag")
    response = conditional(server, file,
                           ("If-None-Match", pattern.format(etag)),
                           method=method)
    assert response.status == 304
    assert response.get("ETag") == etag
    assert response.get("Content-Length") in (None, str(SIZE))


@pytest.mark.parametrize("value", ['"other"', 'W/"other"', '"a", "b"', '""',
                                   "nonsense"])
def test_if_none_match_that_does_not(server, file, value):
    response = conditional(server, file, ("If-None-Match", value))
    assert response.status == 200
    assert response.body == CONTENT


def test_an_etag_without_its_quotes_does_not_match(server, file):
    etag = server.request(file).get("ETag")
    assert conditional(server, file, (
        "If-None-Match", etag.strip('"'))).status == 200


def test_nothing_follows_a_304(server, file):
    etag = server.request(file).get("ETag")
    with server.connect() as connection:
        assert connection.request(
            file, fields=[("If-None-Match", etag)]).status == 304
        assert connection.request("/answer").body == b"42"


@pytest.mark.parametrize("style", [
    "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
    "%a %b %e %H:%M:%S %Y"], ids=["IMF-fixdate", "RFC 850", "asctime"])
@pytest.mark.parametrize("later, status", [(0, 304), (1, 304), (-1, 200)])
def test_if_modified_since(server, file, style, later, status):
    """All three forms of a date must be understood (RFC 9110, 5.6.7)."""
    changed = parse_date(server.request(file).get("Last-Modified"))
    date = time.strftime(style, time.gmtime(changed + later))
    assert conditional(server, file,
                       ("If-Modified-Since", date)).status == status


@pytest.mark.parametrize("value", [
    "yesterday", "", "Xxx, 01 Jan 2030 00:00:00 GMT", "1893456000",
    "Tue, 99 Jan 2030 00:00:00 GMT", "Tue, 01 Jan 2030 00:00:00 CET",
    "Sun, 31 Feb 2030 00:00:00 GMT", "Mon, 01 Jan 2030 00:00:00 GMT"])
def test_an_invalid_if_modified_since_is_ignored(server, file, value):
    assert conditional(server, file,
                       ("If-Modified-Since", value)).status == 200


def test_if_none_match_counts_more_than_if_modified_since(server, file):
    """RFC 9110, 13.2.2."""
    first = server.request(file)
    etag, date = first.get("ETag"), first.get("Last-Modified")
    old = http_date(parse_date(date) - 1000)
    assert conditional(server, file, ("If-None-Match", '"other"'),
                       ("If-Modified-Since", date)).status == 200
    assert conditional(server, file, ("If-None-Match", etag),
                       ("If-Modified-Since", old)).status == 304


@pytest.mark.parametrize("pattern, status", [
    ("{}", 200), ('"other", {}', 200), ("*", 200), ("W/{}", 412),
    ('"other"', 412)])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_if_match(server, file, pattern, status, method):
    """The comparison is the strong one (RFC 9110, 13.1.1)."""
    etag = server.request(file).get("ETag")
    with server.connect() as connection:
        assert connection.request(file, method, [
            ("If-Match", pattern.format(etag))]).status == status
        assert connection.request("/answer").body == b"42"


@pytest.mark.parametrize("name, match, no_match", [
    ("If-Match", 200, 412), ("If-None-Match", 304, 200)])
def test_etags_on_several_lines(server, file, name, match, no_match):
    """The lines of a list are one list (RFC 9110, 5.3)."""
    etag = server.request(file).get("ETag")
    for values, status in [((etag, '"other"'), match),
                           (('"other"', etag), match),
                           (("", '"a"', '"b", ' + etag), match),
                           (('"a"', '"b"'), no_match)]:
        response = conditional(server, file, *((name, v) for v in values))
        assert response.status == status, values


@pytest.mark.parametrize("name", ["If-Modified-Since", "If-Unmodified-Since"])
def test_two_dates_are_ignored(server, file, name):
    """RFC 9110, 13.1.3 and 13.1.4: more than one is none."""
    changed = parse_date(server.request(file).get("Last-Modified"))
    older = changed if name == "If-Modified-Since" else changed - 1
    date = (name, http_date(older))
    assert conditional(server, file, date).status in (304, 412)
    assert conditional(server, file, date, date).status == 200


@pytest.mark.parametrize("later, status", [(0, 200), (1, 200), (-1, 412)])
def test_if_unmodified_since(server, file, later, status):
    changed = parse_date(server.request(file).get("Last-Modified"))
    assert conditional(server, file, (
        "If-Unmodified-Since", http_date(changed + later))).status == status


def test_the_order_of_conditions(server, file):
    """RFC 9110, 13.2.2: what is meant, then what is fresh, then the range."""
    first = server.request(file)
    etag, date = first.get("ETag"), first.get("Last-Modified")
    old = http_date(parse_date(date) - 1000)
    for fields, status in [
            ([("If-Match", '"other"'), ("If-None-Match", etag)], 412),
            ([("If-Match", etag), ("If-None-Match", etag)], 304),
            ([("If-Match", etag), ("If-Unmodified-Since", old)], 200),
            ([("If-Unmodified-Since", old), ("If-None-Match", etag)], 412),
            ([("If-Match", etag), ("Range", "bytes=0-9")], 206),
            ([("If-Match", '"other"'), ("Range", "bytes=0-9")], 412)]:
        assert conditional(server, file, *fields).status == status


# Ranges (RFC 9110, 14)

@pytest.mark.parametrize("value, first, last", [
    ("bytes=0-0", 0, 0),
    ("bytes=0-99", 0, 99),
    ("bytes=100-199", 100, 199),
    ("bytes=999-999", 999, 999),
    ("bytes=990-5000", 990, 999),
    ("bytes=990-99999999999999999999999", 990, 999),
    ("bytes=500-", 500, 999),
    ("bytes=0-", 0, 999),
    ("bytes=-1", 999, 999),
    ("bytes=-10", 990, 999),
    ("bytes=-1000", 0, 999),
    ("bytes=-5000", 0, 999),
    ("Bytes=0-9", 0, 9),
])
def test_range(server, file, value, first, last):
    response = conditional(server, file, ("Range", value))
    assert response.status == 206
    assert response.get("Content-Range") == f"bytes {first}-{last}/{SIZE}"
    assert response.body == CONTENT[first:last + 1]
    whole = server.request(file)
    for name in ["ETag", "Last-Modified", "Content-Type"]:
        assert response.get(name) == whole.get(name)


@pytest.mark.parametrize("first, last", [(0, 9), (150_000, 249_999),
                                         (LARGE - 1, LARGE - 1)])
def test_range_of_a_large_file(server, large, site, first, last):
    response = conditional(server, large, ("Range", f"bytes={first}-{last}"))
    assert response.status == 206
    content = (site.public / "static/large.bin").read_bytes()
    assert response.body == content[first:last + 1]


@pytest.mark.parametrize("value", [
    "bytes=1000-", "bytes=1000-2000", "bytes=99999999999999999999-",
    "bytes=-0"])
def test_range_behind_the_end(server, file, value):
    response = conditional(server, file, ("Range", value))
    assert response.status == 416
    assert response.get("Content-Range") == f"bytes */{SIZE}"


@pytest.mark.parametrize("value", [
    "bytes=5-4", "bytes=-", "bytes=", "bytes=a-b", "bytes=1-2-3", "bytes 0-1",
    "bytes=+1-2", "bytes=1--2", "bytes=0x1-2", "items=0-1", "0-1", "",
    "bytes=1 -2x"])
def test_a_malformed_range_is_ignored(server, file, value):
    response = conditional(server, file, ("Range", value))
    assert response.status == 200
    assert response.body == CONTENT


@pytest.mark.parametrize("value", ["bytes=0-0,5-6", "bytes=0-1, -1",
                                   "bytes=0-,0-,0-,0-"])
def test_several_ranges_are_the_whole_file(server, file, value):
    """RFC 9110, 14.2 lets a server ignore Range; one range is all we do."""
    response = conditional(server, file, ("Range", value))
    assert response.status == 200
    assert response.body == CONTENT


@pytest.mark.parametrize("second", ["bytes=0-9", "bytes=20-29", "bytes=1000-",
                                    "nonsense"])
def test_two_range_fields_are_the_whole_file(server, file, second):
    """Nobody knows which of them was meant."""
    response = conditional(server, file, ("Range", "bytes=0-9"),
                           ("Range", second))
    assert response.status == 200
    assert response.body == CONTENT


def test_range_of_an_empty_file(server, site):
    site.write("static/empty.txt", b"")
    response = conditional(server, "/static/empty.txt", ("Range", "bytes=0-"))
    assert response.status == 416
    assert response.get("Content-Range") == "bytes */0"


def test_range_is_for_get_only(server, file):
    response = conditional(server, file, ("Range", "bytes=0-9"),
                           method="HEAD")
    assert response.status == 200
    assert response.get("Content-Length") == str(SIZE)


def test_if_range(server, file):
    """The part if the file is still the same, else the whole."""
    whole = server.request(file)
    part = ("Range", "bytes=0-9")
    date = whole.get("Last-Modified")
    for value, status in [
            (whole.get("ETag"), 206),
            (date, 206),
            ('"other"', 200),
            ("W/" + whole.get("ETag"), 200),    # must be a strong match
            (http_date(parse_date(date) - 1), 200),
            (http_date(parse_date(date) + 1), 200),  # not older: other
            ("nonsense", 200)]:
        response = conditional(server, file, part, ("If-Range", value))
        assert response.status == status, value
        assert response.body == (CONTENT[:10] if status == 206 else CONTENT)


def test_if_range_by_the_date_of_a_change_just_now(server, site):
    """There may have been two in that second. The ETag tells them apart."""
    path = site.write("static/young.txt", CONTENT)
    soon = time.time() + 60     # however slow the machine is
    os.utime(path, (soon, soon))
    whole = server.request("/static/young.txt")
    part = ("Range", "bytes=0-9")
    for name, status in [("Last-Modified", 200), ("ETag", 206)]:
        assert conditional(server, "/static/young.txt", part,
                           ("If-Range", whole.get(name))).status == status


def test_if_range_without_range_means_nothing(server, file):
    assert conditional(server, file, ("If-Range", '"other"')).status == 200


def test_a_fresh_copy_needs_no_range(server, file):
    """If-None-Match is looked at before Range (RFC 9110, 13.2.2)."""
    etag = server.request(file).get("ETag")
    assert conditional(server, file, ("If-None-Match", etag),
                       ("Range", "bytes=0-9")).status == 304
