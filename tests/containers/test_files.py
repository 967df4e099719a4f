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


def test_balancer_has_the_configuration_of_the_template():
    assert balancer.FILE.read_text() == balancer.render(), \
        "please run: make tools/fleet/balancer/compose.cfg"


def test_image_has_the_version_of_the_servers():
    version = re.search(r'SERVER_VERSION "zerohttpd/(.*)"',
                        (TOP / "common" / "options.h").read_text())[1]
    assert f'image.version="{version}"' in (TOP / "Dockerfile").read_text()


def test_devcontainer_names_what_exists_and_is_fit_for_the_labs():
    """The file may have lines that are comments."""
    about = json.loads(re.sub(r"^\s*//.*", "", DEVCONTAINER.read_text(), flags=re.MULTILINE))
    dockerfile = DEVCONTAINER.parent / about["build"]["dockerfile"]
    assert (DEVCONTAINER.parent / about["build"]["context"]).resolve() == TOP
    assert f"useradd --create-home --shell /bin/bash {about['remoteUser']} " in \
        dockerfile.read_text()
    done = run(*about["postCreateCommand"].replace("make", "make -n").split(), cwd=TOP)
    assert done.returncode == 0, done.stderr
    assert "SYS_PTRACE" in about["capAdd"]              # strace
    assert "seccomp=unconfined" in about["securityOpt"]     # io_uring
