"""docs/howto/add_a_page.md, taken at its word: its files, added to a copy of the
sources, make the same page in all seven servers."""

import os
import re
import shutil
import subprocess
from email.utils import formatdate

import pytest

from tests.support.processes import make_folder, remove_folder
from tests.support.servers import FOLDERS, SMALL_POOL, TOP, Server

PAGE = TOP / "docs/howto/add_a_page.md"
FOLLOWS = re.compile(r"`((?:common|templates)/[\w/.]+)`[^`]*?```\w+\n(.*?)^```",
                     re.DOTALL | re.MULTILINE)

VISITORS = re.compile(r"^```\n(static void on_visitors.*?)^```", re.DOTALL | re.MULTILINE)


class Tree:
    """A copy of the sources, to which pages can be added."""

    def __init__(self):
        self.top = make_folder("tree")
        for name in ("Makefile", "scripts", "common", "public", "templates",
                     *FOLDERS.values()):
            source = TOP / name
            if source.is_dir():
                shutil.copytree(source, self.top / name)
            else:
                shutil.copy2(source, self.top / name)
        # The objects come along: make compiles what is new.
        plain = self.top / "build/default"
        if (TOP / "build/default/flags").exists():
            plain.mkdir(parents=True)
            shutil.copy2(TOP / "build/default/flags", plain)
            for name in ("common", *FOLDERS.values()):
                shutil.copytree(TOP / "build/default" / name, plain / name)
        (self.top / "build").mkdir(exist_ok=True)
        (self.top / "build/deps").symlink_to(TOP / "build/deps")

    def add(self, path, text):
        """Write a file; lines for one that is there go to its end."""
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        before = file.read_text() if file.exists() else ""
        file.write_text(before + text)

    def make(self):
        """Build all seven. A warning is an error."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("MAKE", "MFLAGS"))}
        done = subprocess.run(
            ["make", "-s", "-o", "build/default/flags", "WERROR=1", "all"],
            cwd=self.top, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout


@pytest.fixture(scope="session")
def tree():
    instance = Tree()
    files = FOLLOWS.findall(PAGE.read_text())
    assert [path for path, _ in files] == [
        "templates/votes/index.html", "common/pages/votes.c",
        "common/pages/list.h"]
    for path, text in files:
        instance.add(path, text)
    found = VISITORS.search(PAGE.read_text())
    instance.add("common/pages/visitors.c", """#include <hiredis/hiredis.h>
#include "http_response.h"
#include "page.h"
""" + found[1])
    instance.add("common/pages/list.h", "PAGE(visitors)\n")
    instance.add("templates/visitors/index.html", "<ol>$VISITORS$</ol>")
    instance.make()
    yield instance
    remove_folder(instance.top)


@pytest.fixture
def votes(tree, server_name, redis):
    """The server with the page, and no votes yet."""
    redis("FLUSHALL")
    server = Server(tree.top / server_name, "-p", 0, "--root", tree.top,
                    "--redis", redis.address, *SMALL_POOL.get(server_name, ()))
    yield server
    server.stop()


def counts(response):
    assert response.status == 200
    return [int(n) for n in re.search(rb"Tabs: (\d+)\. Spaces: (\d+)\.",
                                      response.body).groups()]


def test_the_page_that_the_howto_builds(votes):
    form = [("Content-Type", "application/x-www-form-urlencoded")]
    assert counts(votes.request("/votes")) == [0, 0]
    assert counts(votes.request("/votes", "POST", form, b"for=tabs")) == [1, 0]
    assert counts(votes.request("/votes", "POST", form, b"for=spaces")) == [1, 1]
    assert counts(votes.request("/votes", "POST", form, b"for=tabs")) == [2, 1]
    assert counts(votes.request("/votes")) == [2, 1]
    assert votes.request("/votes", "POST", form, b"for=vi").status == 400
    assert votes.request("/votes", "PUT", form, b"for=tabs").status == 405
    assert votes.request("/hello").body == b"Hello, World!"


def test_the_page_of_the_last_visitors(votes):
    """Six visits; the last five are shown, newest first, with or without a log."""
    for n in range(6):
        with votes.connect(source=f"127.0.0.{n + 1}") as client:
            shown = client.request("/visitors")
    assert shown.status == 200
    visits = re.findall(rb"<li>(.*?), (\w\w\w, \d\d \w\w\w \d{4} [\d:]{8} GMT)</li>", shown.body)
    assert [address for address, _ in visits] == [b"127.0.0.%d" % n for n in (6, 5, 4, 3, 2)]
    assert formatdate(usegmt=True)[:11].encode() in visits[0][1]


def test_it_needs_redis(tree, server_name):
    server = Server(tree.top / server_name, "-p", 0, "--root", tree.top,
                    "--redis", "none", *SMALL_POOL.get(server_name, ()))
    assert server.request("/votes").status == 503
    assert server.request("/hello").status == 200
    server.stop()


@pytest.mark.parametrize("text, sentence", [
    (None, "cannot open"), ("", "is empty"), ("a\0b", "NUL byte"),
    ("<p>$TABS$ $TABBS$", "$TABBS$, which the page /votes does not fill")])
@pytest.mark.only("iterative")
def test_a_wrong_template_is_a_sentence(tree, server_name, own_site, text,
                                        sentence):
    template = own_site.root / "templates/votes/index.html"
    template.parent.mkdir()
    if text is not None:
        template.write_text(text)
    done = subprocess.run([tree.top / server_name, "-p", "0", "--root", own_site.root],
                          stdin=subprocess.DEVNULL, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=60)
    assert done.returncode == 1
    assert "templates/votes/index.html" in done.stderr
    assert sentence in done.stderr


@pytest.mark.only("iterative")
def test_a_page_may_fill_no_place(faulty_tree, server_name, own_site):
    template = own_site.root / "templates/plain/index.html"
    template.parent.mkdir()
    template.write_text("<p>$PRICE$")
    done = subprocess.run([faulty_tree.top / server_name, "-p", "0", "--root",
                           own_site.root], stdin=subprocess.DEVNULL, text=True,
                          check=False, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert "$PRICE$, which the page /plain does not fill" in done.stderr


FAULTY = """
#include <hiredis/hiredis.h>
#include "http_response.h"
#include "page.h"
static void again(struct http_exchange *x, const redisReply *reply)
{
    (void)reply;
    page_ask(x, again, REDIS_REPLY_INTEGER, "INCR", "n", NULL);
}
static void begin(struct http_exchange *x, const redisReply *reply)
{
    (void)reply;
    response_begin(x, 200);
}
static void ask(struct http_exchange *x)
{
    if (slice_equal(x->request.query, SLICE("again")))
        again(x, NULL);
    if (slice_equal(x->request.query, SLICE("begin")))
        begin(x, NULL);
    if (slice_equal(x->request.query, SLICE("begin-later")))
        page_ask(x, begin, REDIS_REPLY_INTEGER, "INCR", "n", NULL);
    if (slice_equal(x->request.query, SLICE("add"))) {
        response_error(x, 404, NULL);
        response_field(x, "X", SLICE("y"));
    }
    if (slice_equal(x->request.query, SLICE("show")))
        page_show(x, 200, NULL, 0);
    if (slice_equal(x->request.query, SLICE("type")))
        page_ask(x, begin, REDIS_REPLY_STRING, "INCR", "n", NULL);
    if (slice_equal(x->request.query, SLICE("client")))
        response_error(x, 404, page_client(x));
    if (slice_equal(x->request.query, SLICE("refused")))
        page_ask(x, begin, REDIS_REPLY_STRING, "NONSENSE", NULL);
}
const struct page page_faulty = {.path = "/faulty", .methods = HTTP_GET,
                                 .on_request = ask};
static void show(struct http_exchange *x)
{
    page_show(x, 200, NULL, 0);
}
const struct page page_plain = {.path = "/plain", .methods = HTTP_GET,
                                .on_request = show, .template = "plain"};
"""


@pytest.fixture(scope="session")
def faulty_tree():
    instance = Tree()
    instance.add("common/pages/faulty.c", FAULTY)
    instance.add("common/pages/list.h", "PAGE(faulty)\nPAGE(plain)\n")
    instance.add("templates/plain/index.html", "<p>No place: $5\n")
    instance.make()
    yield instance
    remove_folder(instance.top)


@pytest.mark.parametrize("query, fault, status", [
    ("again", "asks Redis too many commands", 500),
    ("", "neither answers nor asks", 500),
    ("begin", "begins an answer and does not end it", 500),
    ("begin-later", "begins an answer and does not end it", 500),
    ("add", "adds to an answer that it has ended", 500),
    ("show", "shows a template that it does not name", 500),
    ("client", "asks for its client without names_client", 500),
    ("type", "gets a reply of another type", 503),
    ("refused", "gets an error from Redis", 503)])
def test_a_faulty_page_is_an_error_and_a_warning(faulty_tree, server_name, redis,
                                                 query, fault, status):
    """On a kept connection, whose next answer is where it belongs."""
    server = Server(faulty_tree.top / server_name, "-p", 0, "--root",
                    faulty_tree.top, "--redis", redis.address,
                    *SMALL_POOL.get(server_name, ()))
    with server.connect() as client:
        assert client.request("/faulty?" + query).status == status
        assert client.request("/hello").body == b"Hello, World!"
        assert client.request("/plain").body == b"<p>No place: $5\n"
    assert f"the page /faulty {fault}" in server.stderr()
    assert f"gets a {status}" in server.stderr()
    server.stop()
