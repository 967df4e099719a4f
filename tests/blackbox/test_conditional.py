"""Files below public/: conditional requests and ranges (RFC 9110, 13 and 14). All that a field
may say stands in tests/unit/test_static_file.c."""

import os
import time

import pytest

from tests.support.client import parse_date

pytestmark = pytest.mark.protocol

SIZE = 1000
CONTENT = bytes(i % 251 for i in range(SIZE))
LARGE = bytes(i * 7 % 253 for i in range(300_000))      # more than is kept in memory
PART = ("Range", "bytes=0-9")

# Fields and the status that they lead to; see `filled_in`.
CONDITIONS = [
    ([("If-None-Match", "ETAG")], 304),
    ([("If-None-Match", "W/ETAG")], 304),
    ([("If-None-Match", '"a" ,W/ETAG , "b"')], 304),
    ([("If-None-Match", '"a"'), ("If-None-Match", "ETAG")], 304),
    ([("If-None-Match", "*")], 304),
    ([("If-None-Match", '"other"')], 200),
    ([("If-Modified-Since", "DATE")], 304),
    ([("If-Modified-Since", "OLDER")], 200),
    ([("If-Modified-Since", "yesterday")], 200),
    ([("If-Modified-Since", "Sun, 31 Feb 2030 00:00:00 GMT")], 200),
    ([("If-Modified-Since", "Mon, 01 Jan 2030 00:00:00 GMT")], 200),    # a Tuesday
    ([("If-Modified-Since", "DATE"), ("If-Modified-Since", "DATE")], 200),
    ([("If-None-Match", '"other"'), ("If-Modified-Since", "DATE")], 200),
    ([("If-None-Match", "ETAG"), ("If-Modified-Since", "OLDER")], 304),
    ([("If-Match", "ETAG")], 200),
    ([("If-Match", "W/ETAG")], 412),                # the comparison is the strong one
    ([("If-Match", '"other"')], 412),
    ([("If-Unmodified-Since", "DATE")], 200),
    ([("If-Unmodified-Since", "OLDER")], 412),
    # What is meant, then what is fresh, then the range: RFC 9110, 13.2.2.
    ([("If-Match", '"other"'), ("If-None-Match", "ETAG")], 412),
    ([("If-Match", "ETAG"), ("If-None-Match", "ETAG")], 304),
    ([("If-Match", "ETAG"), ("If-Unmodified-Since", "OLDER")], 200),
    ([("If-None-Match", "ETAG"), PART], 304),
    ([("If-Match", '"other"'), PART], 412),
    ([("If-Match", "ETAG"), PART], 206),
    ([("If-Range", "ETAG"), PART], 206),
    ([("If-Range", "DATE"), PART], 206),
    ([("If-Range", "W/ETAG"), PART], 200),
    ([("If-Range", "NEWER"), PART], 200),           # not older: other
    ([("If-Range", '"other"')], 200)]


@pytest.fixture(scope="module")
def file(site):
    """A text of SIZE bytes, an hour old."""
    site.write("static/file.txt", CONTENT)
    return "/static/file.txt"


def filled_in(fields, known):
    """Return the fields with what the client remembers of an answer."""
    changed = parse_date(known.get("Last-Modified"))
    words = {"ETAG": known.get("ETag")} | {
        word: time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(changed + later))
        for word, later in [("DATE", 0), ("OLDER", -1), ("NEWER", 1)]}
    for word, meant in words.items():
        fields = [(name, value.replace(word, meant)) for name, value in fields]
    return fields


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_conditions(server, file, method):
    """On one connection: nothing follows an answer that has no content."""
    with server.connect() as connection:
        known = connection.request(file)
        for fields, status in CONDITIONS:
            status = 200 if (method, status) == ("HEAD", 206) else status   # it has no ranges
            answer = connection.request(file, method, filled_in(fields, known))
            assert answer.status == status, fields
            if status != 412:
                assert answer.get("ETag") == known.get("ETag"), fields
            if method == "GET" and status < 300:
                assert answer.body == (CONTENT[:10] if status == 206 else CONTENT), fields


def test_dates_in_all_forms(server, file):
    """RFC 9110, 5.6.7."""
    changed = time.gmtime(parse_date(server.request(file).get("Last-Modified")))
    for style in "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y":
        assert server.request(file, fields=[
            ("If-Modified-Since", time.strftime(style, changed))]).status == 304


def test_ranges(server, file):
    whole = server.request(file)
    for value, first, last in [
            ("bytes=0-0", 0, 0), ("bytes=100-199", 100, 199), ("bytes=500-", 500, 999),
            ("bytes=990-99999999999999999999999", 990, 999), ("bytes=-10", 990, 999)]:
        part = server.request(file, fields=[("Range", value)])
        assert part.status == 206, value
        assert part.get("Content-Range") == f"bytes {first}-{last}/{SIZE}"
        assert part.body == CONTENT[first:last + 1], value
        for name in ["ETag", "Last-Modified", "Content-Type"]:
            assert part.get(name) == whole.get(name)


def test_ranges_of_a_large_file(server, site):
    site.write("static/large.bin", LARGE)
    for first, last in [(0, 9), (150_000, 249_999), (len(LARGE) - 1, len(LARGE) - 1)]:
        part = server.request("/static/large.bin", fields=[("Range", f"bytes={first}-{last}")])
        assert part.status == 206
        assert part.body == LARGE[first:last + 1]


def test_ranges_behind_the_end(server, site, file):
    site.write("static/empty.txt", b"")
    for path, value, size in [(file, "bytes=1000-", SIZE), (file, "bytes=-0", SIZE),
                              ("/static/empty.txt", "bytes=0-", 0)]:
        response = server.request(path, fields=[("Range", value)])
        assert response.status == 416, value
        assert response.get("Content-Range") == f"bytes */{size}"


def test_anything_but_one_range_is_the_whole_file(server, file):
    """RFC 9110, 14.2 lets a server ignore Range. Of two fields, neither is surely meant."""
    for values in [["bytes=5-4"], ["bytes=a-b"], ["items=0-1"], ["bytes=0-0,5-6"],
                   ["bytes=0-9", "bytes=0-9"], ["bytes=0-9", "nonsense"]]:
        response = server.request(file, fields=[("Range", value) for value in values])
        assert response.status == 200 and response.body == CONTENT, values


def test_if_range_by_the_date_of_a_change_just_now(server, site):
    """There may have been two in that second. The ETag tells them apart."""
    path = site.write("static/young.txt", CONTENT)
    soon = time.time() + 60     # however slow the machine is
    os.utime(path, (soon, soon))
    whole = server.request("/static/young.txt")
    for name, status in [("Last-Modified", 200), ("ETag", 206)]:
        assert server.request("/static/young.txt", fields=[
            PART, ("If-Range", whole.get(name))]).status == status
