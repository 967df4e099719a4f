"""Files below public/: their fields, their types, and what changes."""

import os
import time

import pytest

from tests.support.client import parse_date
from tests.support.processes import wait_for
from tests.support.servers import TOP

pytestmark = pytest.mark.protocol

CONTENT = bytes(i % 251 for i in range(1000))
LARGE = bytes(i * 7 % 253 for i in range(300_000))  # more than is kept in memory


# What a file's answer says

def test_a_file(server, site):
    site.write("static/a-file.txt", CONTENT)
    response = server.request("/static/a-file.txt")
    assert response.status == 200
    assert response.body == CONTENT
    assert response.get("Accept-Ranges") == "bytes"
    changed = (site.public / "static/a-file.txt").stat().st_mtime
    assert parse_date(response.get("Last-Modified")) == int(changed)
    etag = response.get("ETag")
    assert etag.startswith('"') and etag.endswith('"') and len(etag) > 2


def test_a_large_file(server, site):
    site.write("static/a-large-file.bin", LARGE)
    with server.connect() as connection:
        for _ in range(2):
            assert connection.request("/static/a-large-file.bin").body == LARGE


def test_an_empty_file(server, site):
    site.write("static/empty.txt", b"")
    with server.connect() as connection:
        response = connection.request("/static/empty.txt")
        assert response.status == 200
        assert response.get("Content-Length") == "0"
        assert connection.request("/answer").status == 200


def test_media_types(server, site):
    """All of them are in tests/unit/test_static_file.c."""
    for name, kind in [("a.html", "text/html; charset=utf-8"), ("a.tar.png", "image/png"),
                       ("A.JS", "text/javascript; charset=utf-8"),
                       ("a.unknown", "application/octet-stream")]:
        site.write(f"static/types/{name}", b"x")
        assert server.request(f"/static/types/{name}").get("Content-Type") == kind


def test_the_project_s_own_text_files_name_their_charset(server):
    public = TOP / "public"
    for path in public.rglob("*"):
        if path.suffix in (".html", ".css", ".js", ".txt"):
            response = server.request(f"/{path.relative_to(public)}")
            assert response.status == 200
            assert response.get("Content-Type").endswith("; charset=utf-8")


def test_a_folder_is_its_index(server, site):
    site.write("static/folder/index.html", b"<title>index</title>")
    for _ in range(2):
        response = server.request("/static/folder/")
        assert response.status == 200
        assert response.body == b"<title>index</title>"


def test_a_folder_without_its_slash_keeps_the_query(server):
    for query in "?a=b", "?", "?x=%0d%0aX:%20y":
        response = server.request("/pictures" + query)
        assert response.status == 301
        assert response.get("Location") == "/pictures/" + query
        assert response.get("X") is None


@pytest.mark.slow
def test_a_changed_file_is_served_new_within_a_second(server, site):
    """Asked for all the time, so that a worker has it open. Every answer is
    whole: the old file or the new one. (A file that is overwritten in place,
    instead of replaced, may be cut for half a second.)

    The second is counted from answer to answer, so that a slow machine cannot
    break it: what was asked for more than a second after the change is new."""
    site.write("static/changing.txt", b"old")
    with server.connect() as connection:
        for _ in range(3):
            assert connection.request("/static/changing.txt").body == b"old"
        for content in [b"newer", b"nil"]:
            site.write("static/changing.tmp", content, age=0).rename(
                site.public / "static/changing.txt")
            changed = time.monotonic()
            while True:
                asked = time.monotonic()
                body = connection.request("/static/changing.txt").body
                if asked > changed + 1.0:
                    break
                time.sleep(0.05)
            assert body == content


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


@pytest.mark.slow
def test_a_change_shows_in_the_etag(server, site):
    site.write("static/tagged.txt", b"one")
    before = server.request("/static/tagged.txt").get("ETag")
    assert server.request("/static/tagged.txt").get("ETag") == before
    site.write("static/tagged.txt", b"two", age=1800)
    wait_for(lambda: server.request("/static/tagged.txt").get("ETag")
             != before, "another ETag")


def test_many_files(server, site):
    """More than any cache of open files holds."""
    for i in range(120):
        site.write(f"static/many/{i}.txt", b"%d" % i)
    with server.connect() as connection:
        for _ in range(2):
            for i in range(120):
                assert connection.request(
                    f"/static/many/{i}.txt").body == b"%d" % i
