"""The image of the seven servers: what is in it, and each of them run from it.

It runs without a container engine: a read-only bind mount is the root file system,
chroot enters it, and setpriv drops root's rights, all in a mount namespace of its own,
which the kernel removes with the last process.
"""

import contextlib
import http.client
import json
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.containers.conftest import NAMES, must, run

pytestmark = pytest.mark.timeout(1200)     # the first test builds the images
MEGABYTE = 1_000_000
SIZE_LIMIT = 30 * MEGABYTE
SECONDS = 20        # for a server to start, to answer, to end

ENTER = r"""
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" &&
mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/tmp" || exit 99
root=$1 user=$2 folder=$3
shift 3
exec chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin \
    setpriv --reuid="${user%:*}" --regid="${user#*:}" --clear-groups \
        --no-new-privs --bounding-set=-all --inh-caps=-all \
        sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
"""


@pytest.fixture(scope="module", name="rootfs")
def _rootfs(image):
    """The folder with the image's files."""
    container = must("buildah", "from", image, seconds=120).strip()
    yield Path(must("buildah", "mount", container).strip())
    must("buildah", "rm", container, seconds=120)


@pytest.fixture(name="inside")
def _inside(rootfs, config):
    """A function that returns the command line of a command in the image."""
    def command_line(*command):
        return ["unshare", "--mount", "sh", "-c", ENTER, "enter", str(rootfs),
                config["User"], config["WorkingDir"], *command]
    return command_line


@pytest.fixture(name="start")
def _start(inside, config):
    """A function that starts the image as `docker run IMAGE WORD...` would; it is a
    context that gives the process and the port."""
    @contextlib.contextmanager
    def started(*words):
        child = subprocess.Popen(
            inside(*config["Entrypoint"], *words), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        try:
            assert select.select([child.stdout], [], [], SECONDS)[0], "it says nothing"
            line = child.stdout.readline()
            port = re.search(r"listening on http://[\d.]+:(\d+)/", line)
            assert port, line
            yield child, int(port[1])
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            child.stdout.close()
    return started


def get(port, path):
    """Return (status, body) of a page."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    with contextlib.closing(client):
        client.request("GET", path)
        answer = client.getresponse()
        return answer.status, answer.read()


def test_layers_above_the_base_are_small(image, base, tmp_path):
    """Their size as files, not compressed; the base is the first layer."""
    must("buildah", "push", "--disable-compression", image, f"dir:{tmp_path}",
         seconds=120)
    layers = json.loads((tmp_path / "manifest.json").read_text())["layers"]
    above = sum(layer["size"] for layer in layers[1:])
    print(f"{len(layers) - 1} layer(s) above the base, {above / MEGABYTE:.1f} MB")
    assert len(layers) > 1
    assert 0 < above < SIZE_LIMIT


def test_image_says_how_to_run_it(config):
    """Numeric user that is not root, signal, port, health check, labels."""
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", config["User"])
    assert config["StopSignal"] == "SIGTERM"
    assert list(config["ExposedPorts"]) == ["8000/tcp"]
    assert config["Healthcheck"]["Test"] == ["CMD", "healthy"]
    assert config["Cmd"] == ["epoll"]
    assert config["Labels"]["org.opencontainers.image.licenses"] == "MIT"


def test_user_can_change_no_file(rootfs, config):
    """Nothing belongs to it, and nothing but /tmp and the like is for everybody."""
    user = int(config["User"].split(":")[0])
    wrong = []
    for folder, folders, files in os.walk(rootfs):
        for path in (os.path.join(folder, name) for name in folders + files):
            about = os.lstat(path)
            sticky = about.st_mode & 0o1000
            if about.st_uid == user or (about.st_mode & 0o002 and not sticky
                                        and not os.path.islink(path)):
                wrong.append(path)
    assert not wrong


@pytest.mark.parametrize("name", NAMES)
def test_each_server_answers_and_ends(start, name):
    """Not as root, on a root file system that is read-only; SIGTERM ends it with 0."""
    with start(name, "--redis", "none", "--port", "0") as (child, port):
        assert get(port, "/hello") == (200, b"Hello, World!")
        status, page = get(port, "/")
        assert status == 200 and b"<html" in page
        about = Path(f"/proc/{child.pid}/status").read_text()
        assert re.search(r"^Uid:\s+65532\s+65532", about, re.MULTILINE)
        assert re.search(r"^CapEff:\s+0+$", about, re.MULTILINE)
        root = next(line for line in
                    Path(f"/proc/{child.pid}/mountinfo").read_text().splitlines()
                    if line.split()[4] == "/")
        assert "ro" in root.split()[5].split(",")
        child.send_signal(signal.SIGTERM)
        rest, _ = child.communicate(timeout=SECONDS)
        assert child.returncode == 0, rest
        assert "requests" in rest


def test_arguments_are_those_of_the_server(inside, config):
    """`docker run IMAGE epoll --help`, and a server that there is not."""
    done = run(*inside(*config["Entrypoint"], "poll", "--help"))
    assert done.returncode == 0 and "Usage: poll" in done.stdout
    done = run(*inside(*config["Entrypoint"], "select"))
    assert done.returncode == 127 and "zerohttpd-select: not found" in done.stderr


def test_health_check_tells_good_from_bad(start, inside, config):
    """It passes with a 200, and fails with another answer and with none."""
    _, *check = config["Healthcheck"]["Test"]
    with start("epoll", "--redis", "none", "--port", "0") as (_, port):
        assert run(*inside(*check, str(port))).returncode == 0
        bad = run(*inside(*check, str(port), "/guestbook"))
        assert bad.returncode == 1 and "answers 503" in bad.stderr
    until = time.monotonic() + SECONDS
    while run(*inside(*check, str(port))).returncode == 0:
        assert time.monotonic() < until, "healthy without a server"
