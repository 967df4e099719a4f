"""docs/howto/add_a_page.md, taken at its word: its files, added to a copy of the
sources, make the same page in all seven servers."""

import contextlib
import os
import re
import shutil
import subprocess
from email.utils import formatdate

import pytest

from tests.support.guest import URLENCODED
from tests.support.processes import make_folder, remove_folder
from tests.support.servers import FOLDERS, SMALL_POOL, TOP, Server, run

PAGE = TOP / "docs/howto/add_a_page.md"
FOLLOWS = re.compile(r"`((?:common|templates)/[\w/.]+)`[^`]*?```\w+\n(.*?)^```",
                     re.DOTALL | re.MULTILINE)
VISITORS = re.compile(r"^```\n(static void on_visitors.*?)^```", re.DOTALL | re.MULTILINE)
INCLUDES = """#include <hiredis/hiredis.h>
#include "http_response.h"
#include "page.h"
"""
# Some of what a page can do wrong, by its query; tests/unit/test_page.c has the rest.
FAULTY = INCLUDES + """
static void begin(struct http_exchange *x, const redisReply *reply)
{
    (void)reply;
    response_begin(x, 200);
}
static void ask(struct http_exchange *x)
{
    if (slice_equal(x->request.query, SLICE("type")))
        page_ask(x, begin, REDIS_REPLY_STRING, "INCR", "n", NULL);
    if (slice_equal(x->request.query, SLICE("client")))
        response_error(x, 404, page_client(x));
}
const struct page page_faulty = {.path = "/faulty", .methods = HTTP_GET,
                                 .on_request = ask};
static void show(struct http_exchange *x)
{
    page_show(x, 200, NULL, 0);
}
const struct page page_plain = {.path = "/plain", .methods = HTTP_GET,
                                .on_request = show, .template = "plain"};
static const char *const places[] = {"$NAME$", NULL};
const struct page page_empty = {.path = "/empty", .methods = HTTP_GET, .on_request = show,
                                .template = "empty", .places = places};
"""
# What the server says at its start about a wrong page.
WRONG_PAGES = [
    ('.path = "wrong", .methods = HTTP_GET, .on_request = show',
     'a page has the path "wrong"; a path begins with /'),
    ('.path = "/hello", .methods = HTTP_GET, .on_request = show', "two pages have the path /hello"),
    ('.path = "/wrong", .on_request = show', "the page /wrong does not take GET: see .methods"),
    ('.path = "/wrong", .methods = HTTP_GET', "the page /wrong has no .on_request")]
FAULTS = [                      # query, what the warning says, status
    ("", "neither answers nor asks", 500),
    ("client", "asks for its client without names_client", 500),
    ("type", "gets an integer from INCR, not a string", 503)]


class Tree:
    """A copy of the sources, to which pages can be added; those of the howto may be there already,
    where a reader followed it."""

    def __init__(self):
        self.top = make_folder("tree")
        for name in ("Makefile", "scripts", "common", "public", "templates",
                     *FOLDERS.values()):
            copy = shutil.copytree if (TOP / name).is_dir() else shutil.copy2
            copy(TOP / name, self.top / name)
        # The objects come along: make compiles what is new.
        plain = self.top / "build/default"
        plain.mkdir(parents=True)
        if (TOP / "build/default/flags").exists():
            shutil.copy2(TOP / "build/default/flags", plain)
            for name in ("common", *FOLDERS.values()):
                shutil.copytree(TOP / "build/default" / name, plain / name)
        (self.top / "build/deps").symlink_to(TOP / "build/deps")

    def add(self, path, text):
        """Write a file; in the list of pages, a line that is not there yet."""
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        before = file.read_text(encoding="utf-8") if file.name == "list.h" else ""
        if text not in before:
            file.write_text(before + text, encoding="utf-8")

    def make(self, target="all"):
        """Build all seven, or one. A warning is an error."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("MAKE", "MFLAGS"))}
        done = subprocess.run(
            ["make", "-s", "-o", "build/default/flags", "WERROR=1", target],
            cwd=self.top, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout

    @contextlib.contextmanager
    def server(self, name, redis="none"):
        """Run one of the servers."""
        server = Server(self.top / name, "-p", 0, "--root", self.top, "--redis", redis,
                        *SMALL_POOL.get(name, ()))
        try:
            yield server
            server.stop()
        finally:
            server.end()


@pytest.fixture(scope="module")
def tree(bin_dir):
    """A Tree with the pages of the howto, and with faulty ones."""
    if bin_dir != TOP:
        pytest.skip("the copy is built in the ordinary way")
    instance = Tree()
    files = FOLLOWS.findall(PAGE.read_text())
    assert [path for path, _ in files] == [
        "templates/votes/index.html", "common/pages/votes.c", "common/pages/list.h"]
    for path, text in files:
        instance.add(path, text)
    instance.add("common/pages/visitors.c", INCLUDES + VISITORS.search(PAGE.read_text())[1])
    instance.add("templates/visitors/index.html", "<ol>$VISITORS$</ol>")
    instance.add("common/pages/faulty.c", FAULTY)
    instance.add("templates/plain/index.html", "<p>No place: $5\n")
    instance.add("templates/empty/index.html", "<p>$NAME$\n")
    for name in ("visitors", "faulty", "plain", "empty"):
        instance.add("common/pages/list.h", f"PAGE({name})\n")
    instance.make()
    yield instance
    remove_folder(instance.top)


def vote(server, method="POST", body=b""):
    """Return the counts that the page shows, or its status."""
    response = server.request("/votes", method, [URLENCODED] if body else [], body)
    found = re.search(rb"Tabs: (\d+)\. Spaces: (\d+)\.", response.body)
    return [int(n) for n in found.groups()] if response.status == 200 else response.status


def test_the_pages_that_the_howto_builds(tree, redis):
    """Of the visitors, the last five are shown, newest first, with or without a log."""
    for name in FOLDERS:
        redis("FLUSHALL")
        with tree.server(name, redis.address) as server:
            assert vote(server, "GET") == [0, 0]
            assert vote(server, body=b"for=tabs") == [1, 0]
            assert vote(server, body=b"for=spaces") == [1, 1]
            assert vote(server, body=b"for=tabs") == [2, 1] == vote(server, "GET")
            assert vote(server, body=b"for=vi") == 400
            assert vote(server, "PUT", b"for=tabs") == 405
            for n in range(6):
                with server.connect(source=f"127.0.0.{n + 1}") as client:
                    shown = client.request("/visitors")
            visits = re.findall(rb"<li>(.*?), (\w\w\w, \d\d \w\w\w \d{4} [\d:]{8} GMT)</li>",
                                shown.body)
            assert [address for address, _ in visits] == [
                b"127.0.0.%d" % n for n in (6, 5, 4, 3, 2)]
            assert formatdate(usegmt=True)[:11].encode() in visits[0][1]
        with tree.server(name) as server:       # without Redis
            assert vote(server, "GET") == 503
            assert server.request("/hello").status == 200


@pytest.mark.parametrize("page, text, sentence", [
    ("votes", None, "the template of the page /votes"), ("votes", "", "is empty"),
    ("votes", "a\0b", "NUL byte"),
    ("votes", "<p>$TABS$ $TABBS$", "$TABBS$, which the page /votes does not fill"),
    ("plain", "<p>$PRICE$", "$PRICE$, which the page /plain does not fill")])
def test_a_wrong_template_is_a_sentence(tree, own_site, page, text, sentence):
    for other in ("visitors", "votes", "plain", "empty"):
        shutil.copytree(tree.top / "templates" / other, own_site.root / "templates" / other)
    template = own_site.root / f"templates/{page}/index.html"
    template.unlink()
    if text is not None:
        template.write_text(text)
    done = run(tree.top / "iterative", "-p", "0", "--root", own_site.root)
    assert done.returncode == 1
    assert f"templates/{page}/index.html" in done.stderr
    assert sentence in done.stderr


@pytest.mark.parametrize("name", ["prethreaded", "poll"])
def test_a_faulty_page_is_an_error_and_a_warning(tree, redis, name):
    """On a kept connection, whose next answer is where it belongs."""
    for query, fault, status in FAULTS:
        with tree.server(name, redis.address) as server:
            with server.connect() as client:
                assert client.request("/faulty?" + query).status == status
                assert client.request("/hello").body == b"Hello, World!"
                assert client.request("/plain").body == b"<p>No place: $5\n"
            assert f"the page /faulty {fault}" in server.stderr()
            assert f"gets a {status}" in server.stderr()


def test_a_place_without_a_value_is_an_error_and_a_warning(tree):
    """Its name is not shown to a client."""
    with tree.server("epoll") as server:
        assert server.request("/empty").status == 500
        assert "the page /empty has no value for a place of its template" in server.stderr()


@pytest.mark.parametrize("page, sentence", WRONG_PAGES)
def test_a_wrong_page_is_a_sentence_at_the_start(tree, page, sentence):
    """The other pages cannot hide what is wrong with one."""
    wrong = tree.top / "common/pages/wrong.c"
    lists = tree.top / "common/pages/list.h"
    before = lists.read_text()
    wrong.write_text(INCLUDES + """
__attribute__((unused)) static void show(struct http_exchange *x)
{
    response_error(x, 404, NULL);
}
const struct page page_wrong = {%s};
""" % page)
    lists.write_text(before + "PAGE(wrong)\n")
    try:
        tree.make("iterative")
        done = run(tree.top / "iterative", "-p", "0", "--root", tree.top)
    finally:
        lists.write_text(before)
        wrong.unlink()
    assert done.returncode == 1
    assert sentence in done.stderr
