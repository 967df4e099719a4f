"""Files below public/: their fields, conditional requests and ranges (RFC 9110, 13 and 14), and
what changes. All that a field may say stands in tests/unit/test_static_file.c."""

import os
import time

import pytest

from tests.support.client import parse_date
from tests.support.processes import wait_for
from tests.support.servers import TOP

pytestmark = pytest.mark.protocol

SIZE = 1000
CONTENT = bytes(i % 251 for i in range(SIZE))
LARGE = bytes(i * 7 % 253 for i in range(300_000))      # more than is kept in memory
PART = ("Range", "bytes=0-9")

# Fields and the status that they lead to; see `filled_in`.
CONDITIONS = [
    ([("If-None-Match", "ETAG")], 304),
    ([("If-None-Match", '"a" ,W/ETAG , "b"')], 304),
    ([("If-None-Match", '"other"'), ("If-Modified-Since", "DATE")], 200),
    ([("If-Modified-Since", "DATE")], 304),
    ([("If-Modified-Since", "OLDER")], 200),
    ([("If-Modified-Since", "Sun, 31 Feb 2030 00:00:00 GMT")], 200),
    ([("If-Modified-Since", "Mon, 01 Jan 2030 00:00:00 GMT")], 200),    # a Tuesday
    ([("If-Match", "ETAG"), ("If-None-Match", "ETAG")], 304),
    ([("If-Match", '"other"'), PART], 412),
    ([("If-Unmodified-Since", "OLDER")], 412),
    ([("If-Range", "ETAG"), PART], 206),
    ([("If-Range", "NEWER"), PART], 200)]           # not older: other


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


# What a file's answer says

def test_a_file(server, site, file):
    response = server.request(file)
    assert response.status == 200
    assert response.body == CONTENT
    assert response.get("Accept-Ranges") == "bytes"
    changed = (site.public / file.strip("/")).stat().st_mtime
    assert parse_date(response.get("Last-Modified")) == int(changed)
    etag = response.get("ETag")
    assert etag.startswith('"') and etag.endswith('"') and len(etag) > 2


def test_an_empty_file(server, site):
    site.write("static/empty.txt", b"")
    with server.connect() as connection:
        response = connection.request("/static/empty.txt")
        assert response.status == 200
        assert response.get("Content-Length") == "0"
        assert connection.request("/answer").status == 200


def test_the_project_s_own_text_files_name_their_charset(server):
    public = TOP / "public"
    for path in public.rglob("*"):
        if path.suffix in (".html", ".css", ".js", ".txt"):
            response = server.request(f"/{path.relative_to(public)}")
            assert response.status == 200
            assert response.get("Content-Type").endswith("; charset=utf-8")


def test_a_folder_without_its_slash_keeps_the_query(server):
    for query in "?a=b", "?", "?x=%0d%0aX:%20y":
        response = server.request("/pictures" + query)
        assert response.status == 301
        assert response.get("Location") == "/pictures/" + query
        assert response.get("X") is None


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


def test_ranges(server, site, file):
    site.write("static/large.bin", LARGE)
    for path, content, value, first, last in [
            (file, CONTENT, "bytes=0-0", 0, 0), (file, CONTENT, "bytes=500-", 500, 999),
            (file, CONTENT, "bytes=990-99999999999999999999999", 990, 999),
            (file, CONTENT, "bytes=-10", 990, 999),
            ("/static/large.bin", LARGE, "bytes=150000-249999", 150_000, 249_999),
            ("/static/large.bin", LARGE, "bytes=-1", len(LARGE) - 1, len(LARGE) - 1)]:
        whole = server.request(path)
        assert whole.body == content
        part = server.request(path, fields=[("Range", value)])
        assert part.status == 206, value
        assert part.get("Content-Range") == f"bytes {first}-{last}/{len(content)}"
        assert part.body == content[first:last + 1], value
        for name in ["ETag", "Last-Modified", "Content-Type"]:
            assert part.get(name) == whole.get(name)


def test_ranges_behind_the_end(server, site, file):
    site.write("static/empty.txt", b"")
    for path, value, size in [(file, "bytes=1000-", SIZE), (file, "bytes=-0", SIZE),
                              ("/static/empty.txt", "bytes=0-", 0)]:
        response = server.request(path, fields=[("Range", value)])
        assert response.status == 416, value
        assert response.get("Content-Range") == f"bytes */{size}"


# What changes

@pytest.mark.slow
def test_a_changed_file_is_served_new_within_a_second(server, site):
    """Asked for all the time, so that a worker has it open. Every answer is
    whole: the old file or the new one. (A file that is overwritten in place,
    instead of replaced, may be cut for half a second.)

    The second is counted from answer to answer, so that a slow machine cannot
    break it: what was asked for more than a second after the change is new."""
    site.write("static/changing.txt", b"old")
    with server.connect() as connection:
        etag = connection.request("/static/changing.txt").get("ETag")
        for _ in range(3):
            response = connection.request("/static/changing.txt")
            assert (response.body, response.get("ETag")) == (b"old", etag)
        for content in [b"newer", b"nil"]:
            site.write("static/changing.tmp", content, age=0).rename(
                site.public / "static/changing.txt")
            changed = time.monotonic()
            while True:
                asked = time.monotonic()
                response = connection.request("/static/changing.txt")
                if asked > changed + 1.0:
                    break
                time.sleep(0.05)
            assert response.body == content and response.get("ETag") != etag


@pytest.mark.slow
def test_a_replaced_file_is_served_new_though_size_and_time_are_the_same(
        server, site):
    """As a careless copy tool leaves it: only the inode tells."""
    path = site.write("static/replaced.txt", b"one", age=3600)
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    assert server.request("/static/replaced.txt").body == b"one"
    other = site.write("static/replaced.tmp", b"two")
    os.utime(other, ns=times)
    other.rename(path)
    wait_for(lambda: server.request("/static/replaced.txt").body == b"two",
             "the new content")


@pytest.mark.slow
def test_a_removed_file_is_gone_and_a_new_one_is_there(server, site):
    path = site.write("static/coming-and-going.txt", b"here")
    url = "/static/coming-and-going.txt"
    assert server.request(url).status == 200
    path.unlink()
    wait_for(lambda: server.request(url).status == 404, "a 404")
    site.write("static/coming-and-going.txt", b"again")
    wait_for(lambda: server.request(url).body == b"again", "the new file")


def test_many_files(server, site):
    """More than any cache of open files holds."""
    for i in range(120):
        site.write(f"static/many/{i}.txt", b"%d" % i)
    with server.connect() as connection:
        for _ in range(2):
            for i in range(120):
                assert connection.request(
                    f"/static/many/{i}.txt").body == b"%d" % i
