"""Submissions that want points for what they do not do. They gain nothing, and
none makes itself ungradable: the exit status is 1.

A submission is tests/labs/cheats/NAME.c, or a server of the collection that
leaves to common/ what the lab asks for.
"""

import os
import re
import shutil
from pathlib import Path

import pytest

from labs.grade import lab as labs, sandbox
from labs.grade.redis import Redis
from tests.labs.grading import FULL, TOP, Graded, apart
from tools.kit import redis as kit_redis

CHEATS = Path(__file__).parent / "cheats"
INSTALLED = Path("/usr/local/bin/zerohttpd-cheat-iterative")


@pytest.mark.parametrize("name", ["01", "03", "06", "07"] if FULL else ["01", "06"])
def test_common_does_not_do_the_work(name, tmp_path, source):
    """The main.c of the collection calls what the lab asks for, or has no file
    for it: common/ would do that."""
    lab = labs.find(name)
    shutil.copy(lab.solution / "main.c", source)
    graded = Graded(name, source, tmp_path)
    assert graded.status == 1 and graded.points == 0, graded.output
    assert any(word in graded.output for word in (*lab.forbidden, *lab.required))


@pytest.mark.parametrize("name", [lab.name for lab in labs.all_folders()])
def test_nothing_of_the_product_can_be_called(name):
    """`forbidden` names all that its files give to other files. Lab 09 has no file in common/, and
    may use neither of the two drivers there."""
    lab = labs.find(name)
    given = set()
    product = [path for path in lab.product if path.startswith("common/")]
    if lab.product and not product:
        product = labs.find("07").product
        given = {"serve_blocking", "blocking_worker_init"}
    for path in product:
        header = (TOP / path).with_suffix(".h")
        text = (header if header.exists() else TOP / "common/event_loop.h").read_text()
        exported = set(re.findall(r"^\w[\w ]*[ *](\w+)\(", text, re.MULTILINE))
        given |= {word for word in exported
                  if re.search(rf"^\w.*\b{word}\(", (TOP / path).read_text(), re.MULTILINE)}
    assert given == set(lab.forbidden)


def test_an_empty_file_does_not_do_the_work(tmp_path, source):
    """The file that lab 06 asks for is there, and common/ would do the work."""
    for path in labs.find("06").solution_files():
        shutil.copy(path, source)
    (source / "event_loop.c").write_text("")
    graded = Graded("06", source, tmp_path)
    assert graded.status == 1 and graded.points == 0, graded.output
    assert "event_loop_serve()" in graded.output


# How main.c of 01 could call accept_next() of common/ without its name.
ARGUMENTS = "(const struct server *, void (*)(void *), void *)"
TRICKS = {
    "another name": f"int mine{ARGUMENTS} __asm__(\"accept_next\");\n"
                    "#define accept_next mine",
    "a weak definition": f"__attribute__((weak)) int accept_next{ARGUMENTS};\n"
                         "__attribute__((weak)) int accept_next(const struct server *a, "
                         "void (*b)(void *), void *c) {(void)a; (void)b; (void)c; return -1;}\n"
                         "void event_loop_serve(void *, void *);\n"
                         "void *volatile common_links_it = (void *)event_loop_serve;",
    "its source": '#include "../common/accept.c"',
    "the dynamic linker": "#include <dlfcn.h>\n"
                          f"#define accept_next ((int (*){ARGUMENTS})"
                          "dlsym(RTLD_DEFAULT, \"accept_next\"))"}


@pytest.mark.parametrize("trick", TRICKS)
def test_no_trick_calls_the_product(trick, tmp_path, source):
    text = labs.find("01").solution_files()[0].read_text()
    include = '#include "../common/accept.h"'
    assert include in text
    (source / "main.c").write_text(text.replace(include, f'#include "server.h"\n{TRICKS[trick]}'))
    graded = Graded("01", source, tmp_path, "-k", "answers_every_page")
    assert graded.status == 1 and graded.points == 0, graded.output


def test_the_name_of_a_thread_says_nothing(tmp_path, source):
    for path in labs.find("06").solution_files()[1:]:
        shutil.copy(path, source)
    shutil.copy(CHEATS / "threads_with_false_names.c", source / "main.c")
    graded = Graded("06", source, tmp_path, "-k", "one_process_one_thread")
    assert graded.points == 0 and graded.status == 1, graded.output


def test_the_port_of_redis(tmp_path):
    """It fails the test in which it took the port, and can be graded."""
    graded = Graded("01", CHEATS / "takes_port_of_redis.c", tmp_path,
                    "-k", "answers_503_without_redis")
    assert graded.status == 1 and graded.points == 0, graded.output
    test = graded.result["tests"]["answers_503_without_redis"]
    assert "port" in test["seen"] or "503" in test["seen"], graded.output


def test_a_submission_cannot_harm_redis(tmp_path):
    """It fills Redis, and gives it orders: others would not get a guestbook."""
    graded = Graded("01", CHEATS / "fills_redis.c", tmp_path,
                    "-k", "answers_503_without_redis or keeps_a_connection")
    assert graded.result is not None and graded.status == 1, graded.output
    assert graded.result["tests"]["keeps_a_connection"]["passed"], graded.output


def test_redis_does_not_grow():
    """What may harm it, it refuses: see tests/bench/test_redis.py."""
    with Redis() as redis:
        replies = [kit_redis.ask(("127.0.0.1", redis.port),
                                 kit_redis.command("SET", number, 900_000 * "x"))
                   for number in range(90)]
    assert replies[0].startswith(b"+OK") and replies[-1].startswith(b"-OOM")


@apart
def test_nothing_tells_that_a_grader_looks(tmp_path):
    graded = Graded("01", CHEATS / "behaves_when_it_knows_the_grader.c", tmp_path,
                    "-k", "answers_every_page")
    assert graded.status == 1 and graded.points == 0, graded.output


@apart
@pytest.mark.skipif(not os.access(INSTALLED.parent, os.W_OK),
                    reason="nothing can be installed here")
def test_an_installed_server_is_out_of_reach(tmp_path):
    try:
        shutil.copy(TOP / "iterative", INSTALLED)
        graded = Graded("01", CHEATS / "runs_an_installed_server.c", tmp_path,
                        "-k", "answers_every_page")
    finally:
        INSTALLED.unlink(missing_ok=True)
    assert graded.status == 1 and graded.points == 0, graded.output


@pytest.mark.skipif(os.getuid() != 0, reason="chroot(2) needs root")
def test_limits_only_in_a_chroot(tmp_path):
    """Namespaces can be made there, and nothing can be mounted in them."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.chroot(tmp_path)
        os.write(writer, repr(sandbox.enter()).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as said:
        text = said.read()
    os.waitpid(child, 0)
    assert "namespaces=False" in text and "mount /" in text
