"""The base image, ours on top of it, and a place to run them: no daemon, no registry.

What stays is build/containers/base.tar, the base image. All else is removed when the
tests have ended.
"""

import json
import os
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.servers import FOLDERS

TOP = Path(__file__).resolve().parents[2]

FOLDER = TOP / "build" / "containers"
BASE_TAR = FOLDER / "base.tar"
# Debian's slim image leaves out the same: a container needs no manuals.
NOT_IN_BASE = ["usr/share/doc", "usr/share/info", "usr/share/locale",
               "usr/share/man", "var/cache", "var/lib/apt/lists", "var/log"]
BUILD_SECONDS = 600
NAMES = list(FOLDERS)


def run(*command, seconds=60, **settings):
    """Run a command; return its CompletedProcess with its output as text.

    Raises subprocess.TimeoutExpired after `seconds`.
    """
    return subprocess.run([str(word) for word in command], timeout=seconds, text=True,
                          capture_output=True, check=False,
                          stdin=subprocess.DEVNULL, **settings)


def must(*command, **settings):
    """The same; fail where the command does. Return what it printed."""
    done = run(*command, **settings)
    assert done.returncode == 0, \
        f"{' '.join(map(str, command))}: {(done.stdout + done.stderr)[-3000:]}"
    return done.stdout


def need(*programs):
    """Skip where one of the programs is missing, or a right is."""
    if os.geteuid() != 0:
        pytest.skip("containers need root here")
    if run("unshare", "--mount", "true").returncode:
        pytest.skip("this root may not make a mount namespace")
    for program in programs:
        if not shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin"):
            pytest.skip(f"{program} is missing; "
                        "INSTALL=system scripts/deps.sh containers installs it")


@pytest.fixture(scope="session")
def storage():
    """Settings of our own for buildah and podman; what they store goes at the end."""
    need()
    FOLDER.mkdir(parents=True, exist_ok=True)
    graph, state = FOLDER / "storage", FOLDER / "state"
    for folder in graph, state:     # of a run that was killed
        shutil.rmtree(folder, ignore_errors=True)
    # vfs copies files, and so works on each file system and inside containers.
    (FOLDER / "storage.conf").write_text(f"""\
[storage]
driver = "vfs"
graphroot = "{graph}"
runroot = "{state}/run"
""")
    # Podman as it can run without systemd, and in a cgroup that is not ours to
    # divide. Its own default for descriptors is above the limit of some machines.
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    (FOLDER / "containers.conf").write_text(f"""\
[containers]
cgroups = "disabled"
default_ulimits = ["nofile={files}:{files}", "nproc=4096:4096"]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
static_dir = "{state}/static"
volume_path = "{state}/volumes"
[network]
network_backend = "netavark"
network_config_dir = "{state}/networks"
""")
    os.environ["CONTAINERS_STORAGE_CONF"] = str(FOLDER / "storage.conf")
    os.environ["CONTAINERS_CONF"] = str(FOLDER / "containers.conf")
    yield FOLDER
    if shutil.which("buildah"):
        run("buildah", "rm", "--all", seconds=120)
    shutil.rmtree(graph, ignore_errors=True)
    shutil.rmtree(state, ignore_errors=True)


def debootstrap():
    """Make BASE_TAR: a minimal Debian of the release that runs here."""
    release = dict(line.split("=", 1) for line in
                   Path("/etc/os-release").read_text().splitlines() if "=" in line)
    folder = FOLDER / "base"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        # What it mounts ends with it, even if it is killed: rmtree goes into mounts.
        must("unshare", "--mount", "debootstrap", "--variant=minbase",
             release["VERSION_CODENAME"].strip('"'), folder, seconds=BUILD_SECONDS)
        must("tar", "-C", folder, "--exclude=./dev/*",
             *(f"--exclude=./{path}/*" for path in NOT_IN_BASE),
             "-cf", f"{BASE_TAR}.part", ".", seconds=120)
        os.rename(f"{BASE_TAR}.part", BASE_TAR)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def base(storage):
    """The name of the base image."""
    need("buildah", "debootstrap")
    if not BASE_TAR.exists():
        debootstrap()
    context = storage / "state" / "base"
    context.mkdir(parents=True)
    os.link(BASE_TAR, context / "base.tar")
    (context / "Dockerfile").write_text("FROM scratch\nADD base.tar /\n")
    must("buildah", "bud", "--isolation", "chroot", "--tag", "localhost/base", context,
         seconds=BUILD_SECONDS)
    return "localhost/base"


def build(base, tag, *options):
    """Build an image from our Dockerfile. (Docker's format, since the other one of
    buildah has no health check.)"""
    must("buildah", "bud", "--isolation", "chroot", "--format", "docker",
         "--build-arg", f"BASE={base}", "--tag", f"localhost/{tag}", *options, TOP,
         seconds=BUILD_SECONDS)
    return f"localhost/{tag}"


@pytest.fixture(scope="session")
def image(base):
    """The name of the image with the seven servers."""
    return build(base, "zerohttpd")


@pytest.fixture(scope="session")
def tools(base):
    """The name of the image with Redis, HAProxy and wrk."""
    return build(base, "zerohttpd-tools", "--target", "tools")


@pytest.fixture(scope="session")
def config(image):
    """What the image says of itself: {"User": ..., "Cmd": ..., ...}."""
    return json.loads(must("buildah", "inspect", "--type", "image",
                           image))["Docker"]["config"]
