"""compose.yaml, run as it is by podman-compose: six containers, no daemon.

Podman runs in namespaces of its own: its bridge, its rules for ports, its mounts and
its processes end with the process that holds them. Two things differ from Docker.
Without systemd, podman does not run health checks, so the tests run them.
And podman 4.3 sets a limit of processes that not every root may set; a second file
changes that limit.
"""

import contextlib
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.containers.conftest import TOP, need, run

pytestmark = pytest.mark.timeout(1200)     # the first test builds the images
COMPOSE = yaml.safe_load((TOP / "compose.yaml").read_text())
SERVICES = [name for name, service in COMPOSE["services"].items()
            if "profiles" not in service]
INSTANCES = [name for name in SERVICES
             if COMPOSE["services"][name]["image"] == "zerohttpd"]
SECONDS = 60        # for a service to become healthy

# Podman needs a /run of its own, and one kind of cgroups: crun refuses both together.
SETUP = """
mount -t tmpfs tmpfs /run && ip link set lo up || exit 1
if [ -e /sys/fs/cgroup/unified ]; then
    umount -R /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit 1
fi
echo ready
exec cat
"""


class Project:
    """compose.yaml in namespaces of its own."""

    def __init__(self, compose, pid):
        self.compose = compose      # the words of podman-compose
        self.pid = pid              # of a process in the namespaces

    def inside(self, *command, **settings):
        """Run a command in the namespaces; return its CompletedProcess."""
        return run("nsenter", "--target", self.pid, "--mount", "--net", "--pid",
                   *command, cwd=TOP, **settings)

    def must(self, *command, **settings):
        """The same; fail where the command does. Return all that it printed."""
        done = self.inside(*command, **settings)
        text = done.stdout + done.stderr
        assert done.returncode == 0, f"{' '.join(command)}: {text[-3000:]}"
        return text

    def container(self, service):
        """Return the name of a service's container."""
        return f"{TOP.name}_{service}_1"

    def execute(self, service, *command):
        """Run a command in a service's container; return its CompletedProcess."""
        return self.inside("podman", "exec", self.container(service), *command)

    def wait_until_healthy(self, service):
        """Run a service's own health check until it passes; fail after SECONDS."""
        until = time.monotonic() + SECONDS
        while True:
            done = self.inside("podman", "healthcheck", "run", self.container(service))
            if done.returncode == 0:
                return
            assert time.monotonic() < until, done.stdout + done.stderr + self.inside(
                "podman", "logs", self.container(service)).stderr


@contextlib.contextmanager
def namespaces():
    """Give the number of a process in a network, with mounts and processes, of its
    own. It ends when we do, since it reads from our pipe."""
    holder = subprocess.Popen(
        ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child",
         "--mount-proc", "sh", "-c", SETUP],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "ready\n"
        yield int(Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text())
    finally:
        holder.stdin.close()
        holder.wait(timeout=20)
        holder.stdout.close()


@pytest.fixture(scope="module", name="podman_compose")
def _podman_compose(storage):
    """The path of podman-compose; skips where it cannot be installed."""
    need("podman", "crun", "iptables", "nsenter")
    venv = storage / "venv"
    wanted = TOP / "tests" / "containers" / "requirements.txt"
    mark = venv / wanted.name
    if not mark.exists() or mark.read_text() != wanted.read_text():
        shutil.rmtree(venv, ignore_errors=True)
        for command in (["/usr/bin/python3", "-m", "venv", "--system-site-packages",
                         venv],
                        [venv / "bin" / "pip", "install", "--quiet", "--no-deps",
                         "--require-hashes", "--disable-pip-version-check", "-r", wanted]):
            done = run(*command, seconds=300)
            if done.returncode:
                pytest.skip(f"no podman-compose: {(done.stdout + done.stderr)[-300:]}")
        shutil.copy(wanted, mark)       # the last step: all of it is there
    return venv / "bin" / "podman-compose"


@pytest.fixture(scope="module", name="project")
def _project(podman_compose, storage, image, tools):
    """All services of compose.yaml, running."""
    assert image.endswith("/zerohttpd") and tools.endswith("/zerohttpd-tools")
    override = storage / "override.yaml"
    override.write_text(yaml.safe_dump({"services": {
        name: {"ulimits": {"nproc": 4096}} for name in COMPOSE["services"]}}))
    with namespaces() as pid:
        project = Project([str(podman_compose), "-f", str(TOP / "compose.yaml"), "-f",
                           str(override)], pid)
        tried = project.inside("podman", "run", "--rm", "--network", "none",
                               "localhost/base", "true")
        if tried.returncode:
            pytest.skip(f"podman runs no container here: {tried.stderr[-300:]}")
        try:
            project.must(*project.compose, "up", "--detach", seconds=240)
            for service in SERVICES:
                project.wait_until_healthy(service)
            yield project
        finally:
            project.inside("podman", "rm", "--all", "--force", "--time", "5",
                           seconds=120)


@pytest.mark.parametrize("service", SERVICES)
def test_service_has_no_rights(project, service):
    """Not root, no capability, no new privileges, read-only root, /tmp in memory."""
    about = project.execute(service, "cat", "/proc/1/status").stdout
    for line in (r"Uid:\s+65532\s+65532\s+65532\s+65532", r"CapEff:\s+0+",
                 r"CapBnd:\s+0+", r"NoNewPrivs:\s+1"):
        assert re.search(rf"^{line}$", about, re.MULTILINE), about
    assert "Read-only" in project.execute(service, "touch", "/usr/new").stderr
    assert project.execute(service, "touch", "/tmp/new").returncode == 0


@pytest.mark.parametrize("service", INSTANCES)
def test_accept_queue_is_as_long_as_asked(project, service):
    """The network namespace of the container has the limit that compose.yaml sets."""
    said = project.must("podman", "logs", project.container(service))
    assert "backlog 16384)" in said and "shortens" not in said


def test_guestbook_is_one_for_all_instances(project):
    """A remark that one instance took is on the pages of the others."""
    fetch = ("import sys, urllib.request as r\n"
             "print(r.urlopen(sys.argv[1], *map(str.encode, sys.argv[2:]),"
             " timeout=20).read().decode())")
    url = "http://127.0.0.1:8000/guestbook"
    project.must("/usr/bin/python3", "-c", fetch, url, "guest-name=Ada&guest-remarks=from+outside")
    for _ in INSTANCES:     # the balancer asks them in turn
        assert "from outside" in project.must("/usr/bin/python3", "-c", fetch, url)


def test_load_reaches_every_instance(project):
    """The service that makes load runs wrk; then each instance reports requests."""
    said = project.must(*project.compose, "--profile", "load", "run", "--rm", "load",
                        "wrk", "--threads", "1", "--connections", "10", "--duration",
                        "1s", "http://balancer:8000/guestbook", seconds=120)
    assert re.search(r"[1-9]\d* requests in", said), said
    assert "Non-2xx" not in said and "Socket errors" not in said, said
    for service in INSTANCES:
        name = project.container(service)
        project.must("podman", "stop", "--time", "15", name)
        assert project.must("podman", "inspect", "--format", "{{.State.ExitCode}}",
                            name).strip() == "0"
        report = project.must("podman", "logs", name)
        assert re.search(r"[1-9]\d* requests", report), report


def test_everything_ends(project):
    """`down` leaves no container and no network of ours."""
    project.must(*project.compose, "down", seconds=120)
    assert not project.must("podman", "ps", "--all", "--quiet").strip()
    assert TOP.name not in project.must("podman", "network", "ls")
