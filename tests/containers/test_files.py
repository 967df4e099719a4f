"""What the files for containers promise, read from the files: needs no root."""

import json
import re
import shutil

import pytest
import yaml

from tests.containers.conftest import TOP, run
from tests.containers import balancer

COMPOSE = yaml.safe_load((TOP / "compose.yaml").read_text())
DEVCONTAINER = TOP / ".devcontainer" / "devcontainer.json"


def test_compose_is_valid():
    """By the schema that Docker Compose has."""
    if not shutil.which("docker-compose"):
        pytest.skip("docker-compose is missing; "
                    "INSTALL=system scripts/deps.sh containers installs it")
    done = run("docker-compose", "--file", TOP / "compose.yaml", "config", "--quiet")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_service_is_locked(name):
    """Each service, also the one that makes load."""
    service = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["ulimits"]["nofile"]["hard"] >= 20000
    # Only this machine reaches a port that is published: the servers have no TLS.
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_every_image_is_built_here():
    """`docker compose up --build` downloads the base image and no other."""
    built = {service["image"] for service in COMPOSE["services"].values()
             if "build" in service}
    assert built == {service["image"] for service in COMPOSE["services"].values()}


def test_instances_outlive_their_drain():
    """Compose waits longer for an instance than the instance for its clients."""
    help_text = (TOP / "common" / "options.c").read_text()
    drain = int(re.search(r"requests when stopped \((\d+)\)", help_text)[1])
    for name in balancer.instances(COMPOSE):
        grace = COMPOSE["services"][name]["stop_grace_period"]
        assert int(grace.removesuffix("s")) > drain


@pytest.mark.skipif(not balancer.TEMPLATE.exists(), reason="there is no template")
def test_balancer_has_the_configuration_of_the_template():
    assert balancer.FILE.read_text() == balancer.render(), \
        "please run: make tools/fleet/balancer/compose.cfg"


def test_image_has_the_version_of_the_servers():
    version = re.search(r'SERVER_VERSION "zerohttpd/(.*)"',
                        (TOP / "common" / "options.h").read_text())[1]
    assert f'image.version="{version}"' in (TOP / "Dockerfile").read_text()


# ---------------------------------------------------------------- packages

def listed():
    """Return the Debian packages that scripts/packages.txt names."""
    text = (TOP / "scripts" / "packages.txt").read_text()
    things = text.partition("# The second part")[0].splitlines()
    return {line.split()[2].split("/")[0] for line in things
            if line and line[0] != "#"} - {"git"}   # git is for people, too


def installed(text):
    """Return the packages that a Dockerfile, or a stage of one, names."""
    commands = re.findall(r"apt-get install((?:\\\n|[^\n&|;])*)",
                          re.sub(r"^\s*#.*", "", text, flags=re.MULTILINE))
    return {word for command in commands for word in command.split()
            if re.match(r"[a-z]", word)}


def test_no_list_of_packages_is_written_twice():
    """The compiler's image and the devcontainer ask scripts/deps.sh."""
    build = re.search(r"AS build\n(.*?)\nFROM", (TOP / "Dockerfile").read_text(),
                      re.DOTALL)[1]
    ours = (TOP / ".devcontainer" / "Dockerfile").read_text()
    assert {"gcc", "libhiredis-dev", "strace", "wrk"} <= listed()
    assert installed(build) == {"make"}
    assert "make" in installed(ours) and "RUN make deps INSTALL=system\n" in ours
    assert not installed(ours) & listed()


# ------------------------------------------------------------ devcontainer

def devcontainer():
    """Return devcontainer.json, which may have lines that are comments."""
    return json.loads(re.sub(r"^\s*//.*", "", DEVCONTAINER.read_text(),
                             flags=re.MULTILINE))


def test_devcontainer_names_what_exists():
    about = devcontainer()
    assert (DEVCONTAINER.parent / about["build"]["dockerfile"]).is_file()
    assert (DEVCONTAINER.parent / about["build"]["context"]).resolve() == TOP
    assert f"useradd --create-home --shell /bin/bash {about['remoteUser']} " in \
        (DEVCONTAINER.parent / about["build"]["dockerfile"]).read_text()
    done = run(*about["postCreateCommand"].replace("make", "make -n").split(), cwd=TOP)
    assert done.returncode == 0, done.stderr


def test_devcontainer_is_fit_for_the_labs():
    about = devcontainer()
    assert "SYS_PTRACE" in about["capAdd"]              # strace
    assert "seccomp=unconfined" in about["securityOpt"]     # io_uring
    assert "ms-vscode.cpptools" in about["customizations"]["vscode"]["extensions"]
