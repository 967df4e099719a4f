"""What must not come of hostile names, and what a server gives up.

Paths, links, malformed and smuggled requests, escaping, the log and the policy
of every page are tested in tests/blackbox; what is left is here.
"""

import ctypes
import os
import pwd
import re
import shutil
import signal
import subprocess

import pytest

from tests.support.procfs import status
from tests.support.processes import session_members, wait_for
from tests.support.scenarios import half
from tests.support.servers import FOLDERS, run

pytestmark = pytest.mark.shared

HOSTILE = ["a\r\nX-Evil: 1", "a\nb", "50%0d%0aX-Evil: 1", "a b", "\u00fc",
           "q?x=1#y", "<b>&\"'", "%2e%2e", "a\\b", "\x7f\x1b[31m"]


def test_names_of_pictures_in_redirects(launch, own_site):
    """They come out of a folder, and may be anything that a file's may. The Location leads to
    the picture, and nowhere else."""
    pictures = own_site.public / "pictures"
    for picture in pictures.iterdir():
        picture.unlink()
    for name in HOSTILE:
        (pictures / name).write_text(name)
    server = launch(root=own_site.root)
    seen = set()

    def all_are_seen():
        response = server.request("/redirect")
        assert response.status == 302
        assert response.get("X-Evil") is None
        location = response.get("Location")
        assert location.isascii() and location.isprintable()
        assert not set(location) & set(' "<>\\^`{|}')
        seen.add(server.request(location).text)
        return len(seen) == len(HOSTILE)

    wait_for(all_are_seen, "each picture")
    assert seen == set(HOSTILE)


as_root = pytest.mark.skipif(os.geteuid() != 0,
                             reason="only root can become another")


@pytest.fixture
def secret(own_site):
    """A file that only root may read, and a folder with another."""
    folder = own_site.root / "secret"
    folder.mkdir(mode=0o700)
    for file in (own_site.root / "secret.txt", folder / "name.png"):
        file.write_text("only root may know this")
        file.chmod(0o600)
    return own_site.root / "secret.txt"


def is_untouched(secret):
    """Whether a root-only file has kept its owner, mode and content."""
    status_ = secret.stat()
    return (status_.st_uid, status_.st_mode & 0o777, secret.read_text()) == \
        (0, 0o600, "only root may know this")


@as_root
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_root_gives_no_file_away_as_a_log(executable, own_site, secret, link):
    """The folder of the log is the user's, and there is a link of the user's in it."""
    log = own_site.root / "logs/access.log"
    log.parent.mkdir()
    shutil.chown(log.parent, "nobody")
    link(secret, log)
    result = run(executable, "-p", 0, "--root", own_site.root, "--redis", "none",
                 "--user", "nobody", "--access-log", log)
    assert result.returncode == 1
    assert "access log" in result.stderr
    assert is_untouched(secret)


@as_root
def test_root_creates_no_file_for_the_user(executable, own_site):
    """A link to a place where only root may create a file."""
    log = own_site.root / "logs/access.log"
    log.parent.mkdir()
    shutil.chown(log.parent, "nobody")
    created = own_site.root / "created"
    log.symlink_to(created)
    result = run(executable, "-p", 0, "--root", own_site.root, "--redis", "none",
                 "--user", "nobody", "--access-log", log)
    assert result.returncode == 1
    assert not created.exists()


@as_root
def test_root_reads_no_template_for_the_user(executable, own_site, secret):
    template = own_site.root / "templates/guestbook/index.html"
    template.unlink()
    template.symlink_to(secret)
    result = run(executable, "-p", 0, "--root", own_site.root, "--redis", "none",
                 "--user", "nobody")
    assert result.returncode == 1
    assert "templates/guestbook/index.html" in result.stderr


@as_root
def test_root_lists_no_pictures_for_the_user(launch, own_site, secret):
    pictures = own_site.public / "pictures"
    shutil.rmtree(pictures)
    pictures.symlink_to(secret.parent / "secret")
    server = launch("--user", "nobody", root=own_site.root)
    response = server.request("/redirect")
    assert "name.png" not in (response.get("Location") or "")


@as_root
def test_user(launch):
    """Every process, and every one of its rights: real, effective and saved."""
    server = launch("--user", "nobody")
    user = pwd.getpwnam("nobody")
    with server.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\n")      # in 02, so there is a child
        server.wait_until_read(connection)
        for pid in session_members(server.pid):
            assert status(pid, "Uid").split() == [str(user.pw_uid)] * 4
            assert status(pid, "Gid").split() == [str(user.pw_gid)] * 4
            assert status(pid, "Groups") == ""
            assert int(status(pid, "CapEff"), 16) == 0
    assert server.request("/guestbook").status == 200


# The sandbox. tests/unit/test_sandbox.c tries it from within; here the server itself is led to
# a file that it has no right to.

LANDLOCK_CREATE_RULESET, VERSION = 444, 1
needs_landlock = pytest.mark.skipif(
    ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, VERSION) <= 0,
    reason="this kernel has no Landlock")


@needs_landlock
def test_the_log_may_not_be_led_out_of_its_folder(launch, own_site):
    """Made a link, it is reopened within its folder. Root could write elsewhere, too; this
    server cannot: that is the sandbox."""
    log = own_site.root / "log/access.log"
    log.parent.mkdir()
    server = launch("--access-log", log, root=own_site.root)
    for target, is_allowed in [(log.parent / "other.log", True),
                               (own_site.root / "other.log", False)]:
        log.unlink()
        log.symlink_to(target)
        server.send_signal(signal.SIGHUP)

        def is_done(target=target):
            server.request("/answer")
            return target.exists() or "Permission denied" in server.stderr()

        wait_for(is_done, "the log to be reopened, or not")
        assert target.exists() == is_allowed
    assert server.request("/").status == 200


@needs_landlock
def test_every_process_is_in_the_sandbox(launch):
    """Entering it takes away the way out of it, set-user-ID programs."""
    server = launch()
    with half(server):              # in 02, so there is a child
        for pid in session_members(server.pid):
            assert status(pid, "NoNewPrivs") == "1"


# The flags that the executables were linked with, read from the files

@pytest.mark.only(*FOLDERS)
def test_the_executables_are_hardened(executable):
    if "build/" in str(executable) and "," in str(executable):
        pytest.skip("the sanitizers check better")
    text = subprocess.run(
        ["readelf", "--wide", "--file-header", "--program-headers",
         "--dynamic", "--dyn-syms", str(executable)],
        capture_output=True, text=True, check=True).stdout
    assert re.search(r"Type: +DYN", text) and "PIE" in text, "fixed addresses"
    assert "GNU_RELRO" in text and "BIND_NOW" in text, \
        "imported functions' addresses can be overwritten"
    assert "E" not in re.search(r"GNU_STACK .*", text)[0].split()[-2], "executable stack"
    assert "__stack_chk_fail" in text, "no stack protector"
    # Functions of glibc that may be replaced by a variant that checks sizes.
    assert re.search(r"UND __\w+_chk(?:@|$)", text, re.MULTILINE), "no _FORTIFY_SOURCE"
    assert not re.search(r"\((RPATH|RUNPATH)\)", text), \
        "takes libraries from a folder of its own"
