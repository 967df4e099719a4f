"""make fleet prepares hosts, twice without a difference; make fleet-clean undoes it.

Ansible needs a second for each task, so few tests have many steps.
"""

import csv
import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from tools.fleet import __main__ as fleet
from tools.fleet.inventory import read
from tools.kit import TOP
from tests.fleet.hosts import hosts

# Seconds for one test, where the machine is busy with others.
pytestmark = pytest.mark.timeout(1800)
GOOD = "[server]\na\n[redis]\nb\n[load]\nc\n"
# A host in a namespace cannot raise the limit, but lower it. HAProxy takes 16,026.
DESCRIPTORS = 17000


def run(what, inventory, *options):
    """Run python3 -m tools.fleet; return the CompletedProcess. Its facts are written to
    a file next to the inventory."""
    return subprocess.run(
        [sys.executable, "-m", "tools.fleet", what, inventory,
         "--facts", inventory.with_suffix(".json"), *options],
        cwd=TOP, capture_output=True, text=True, check=False, timeout=900)


def changes(done):
    """Return {host: number of changes} of a run that went well."""
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    found = re.findall(r"^(\S+) +: ok=.*changed=(\d+) ", done.stdout, re.MULTILINE)
    assert found, done.stdout
    return {host: int(number) for host, number in found}


# ------------------------------------------------------- mistakes in the inventory

@pytest.mark.parametrize("text, sentence", [
    (GOOD.replace("server", "sever"), r"no host in the group \[server\], which runs the web "
                                      r"servers; its groups are: .*sever"),
    (GOOD + "[redis]\nd\n", r"2 hosts in the group \[redis\]: b, d. Leave one"),
    ("[server\na\n", "is no inventory: .*hosts.ini.example shows"),
], ids=["no server", "two Redis", "no inventory"])
def test_a_mistake_is_named_with_its_remedy(tmp_path, text, sentence):
    inventory = tmp_path / "hosts.ini"
    inventory.write_text(text)
    done = run("prepare", inventory)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert re.search(sentence, " ".join(done.stderr.split())), done.stderr


def test_the_example_is_an_inventory():
    groups = read(TOP / "tools/fleet/hosts.ini.example")
    assert {name: len(names) for name, names in groups.items()} == {
        "server": 1, "redis": 1, "balancer": 1, "load": 2}


def test_a_group_may_consist_of_groups(tmp_path):
    """Each host counts once, in whatever groups it is."""
    inventory = tmp_path / "hosts.ini"
    inventory.write_text(GOOD.replace("[load]", "[load:children]\nmany\nfew\n[few]\nc\n"
                                      "[many]"))
    assert list(read(inventory)["load"]) == ["c"]


@pytest.mark.skipif(not os.access("/usr/bin/python3", os.X_OK),
                    reason="this machine is two of the hosts, and has no /usr/bin/python3")
def test_a_host_that_cannot_be_reached_is_named(tmp_path):
    inventory = tmp_path / "hosts.ini"
    inventory.write_text(GOOD + "[all:vars]\nansible_connection=local\n"
                         f"ansible_python_interpreter={sys.executable}\n"
                         "[load:vars]\nansible_connection=ssh\n"
                         "ansible_host=127.0.0.1\nansible_port=1\n")
    done = run("prepare", inventory)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert re.search(r"^fleet: c cannot be reached \(.*Connection refused\)\. `ssh` with "
                     "the user and the key", said), said
    assert "PLAY" not in done.stdout


def test_changes_that_are_not_committed_are_counted(tmp_path, monkeypatch):
    def git(*words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C",
                        tmp_path, *words], check=True, capture_output=True)

    monkeypatch.setattr(fleet, "TOP", tmp_path)
    with pytest.raises(fleet.Mistake, match="not a git repository"):
        fleet.changed_files()
    git("init")
    (tmp_path / "one").write_text("1")
    git("add", "one")
    git("commit", "-m", "one")
    (tmp_path / "new").write_text("is not in the commit, and was not before")
    assert fleet.changed_files() == 0
    (tmp_path / "one").write_text("2")
    assert fleet.changed_files() == 1


# -------------------------------------------------------------------- preparation

def everything_on(one):
    """Write an inventory in which the host `server` has all roles; return its path."""
    inventory = one.inventory.with_name("one.ini")
    inventory.write_text(one.inventory.read_text() + f"descriptors={DESCRIPTORS}\n"
                         "[redis]\nserver\n[balancer]\nserver\n[load]\nserver\n")
    return inventory


def look_at(one):
    """Return what the preparation may change on a host: limits, files, programs."""
    done = one.run("server", "sh", "-c", """
        sysctl net.core.somaxconn net.ipv4.tcp_max_syn_backlog \
               net.ipv4.ip_local_port_range net.ipv4.tcp_tw_reuse
        ulimit -n
        find /etc /opt /var/lib /var/log /run -xdev -path '*zerohttpd*' | sort
        ps -e -o args= | grep -E '^(redis|haproxy|nginx)' | sort""")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.namespaces
@pytest.mark.slow           # Ansible runs five times: 30 seconds of CPU
def test_a_host_is_prepared_and_restored():
    with hosts(["server"]) as one:
        address = one.address["server"]

        def ask(command, *words):
            return one.run("server", command, *words).stdout.strip()

        # Somebody else's Redis is on the usual port.
        ask("redis-server", "--port", "6379", "--daemonize", "yes", "--dir", "/tmp")
        assert ask("redis-cli", "set", "theirs", "1") == "OK"
        # Another user has guessed where the sources pass through.
        ask("sh", "-c", "echo bad > /var/tmp/zerohttpd-fleet.tar; "
            "chown nobody /var/tmp/zerohttpd-fleet.tar")
        inventory, before = everything_on(one), look_at(one)

        assert changes(run("prepare", inventory, "--check"))["server"] > 5
        assert look_at(one) == before

        assert changes(run("prepare", inventory))["server"] > 5
        assert ask("sysctl", "-n", "net.core.somaxconn") == "65535"
        assert ask("sysctl", "-n", "net.ipv4.ip_local_port_range").split() == [
            "1024", "65535"]
        assert ask("sh", "-c", "ulimit -Hn") == str(DESCRIPTORS)
        assert "epoll" in ask("/opt/zerohttpd-server/epoll", "--version")
        redis = ["redis-cli", "-h", address, "-p", "6390"]
        assert ask(*redis, "get", "theirs") == ""
        # Any host of the network may use it, and none may configure it.
        for words in ("config get dir", "eval 'return 1' 0", "save", "shutdown nosave",
                      "module list", "acl setuser default +@all"):
            assert "NOPERM" in ask(*redis, *shlex.split(words))
        assert ask(*redis, "rpush", "guestbook_remarks", "x") == "1"
        assert ask("cat", "/var/tmp/zerohttpd-fleet.tar") == "bad"
        assert ask("stat", "-c", "%a %U", "/var/lib/zerohttpd-fleet") == "700 root"
        assert ask("redis-cli", "get", "theirs") == "1"
        assert one.run("server", "pgrep", "haproxy").returncode == 0
        facts = json.loads(inventory.with_suffix(".json").read_text())
        told = facts["hosts"]["server"]
        assert set(told["groups"]) == {"server", "redis", "balancer", "load"}
        assert told["machine"]["limits"]["descriptors"] == DESCRIPTORS
        assert told["machine"]["kernel"] == ask("uname", "-r")

        assert set(changes(run("prepare", inventory)).values()) == {0}

        changes(run("clean", inventory))
        assert look_at(one) == before
        assert ask("redis-cli", "get", "theirs") == "1"


@pytest.mark.slow
@pytest.mark.namespaces
def test_a_host_that_is_not_as_expected_is_left_alone():
    with hosts(["server"]) as one:
        inventory = everything_on(one)
        one.run("server", "mkdir", "/opt/zerohttpd-server")
        one.run("server", "touch", "/opt/zerohttpd-server/mine")
        before = look_at(one)
        done = run("prepare", inventory)
        assert done.returncode == 1
        said = " ".join(done.stdout.split())
        assert "/opt/zerohttpd-server on server exists, and was not made by" in said
        changes(run("clean", inventory))
        assert look_at(one) == before

        one.run("server", "sh", "-c", "cd /etc; rm os-release debian_version; echo "
                "'Fedora release 40 (Forty)' > redhat-release; "
                "printf 'NAME=Fedora\\nID=fedora\\nVERSION_ID=40\\n' > os-release")
        done = run("prepare", inventory)
        assert done.returncode == 1
        assert "server runs Fedora. Packages are installed with apt here, so use a " \
            "host with Debian or Ubuntu" in " ".join(done.stdout.split())


@pytest.mark.slow
@pytest.mark.namespaces
def test_what_has_ended_is_started_again():
    with hosts(["server"]) as one:
        inventory = everything_on(one)
        redis = ["redis-cli", "-h", one.address["server"], "-p", "6390"]
        changes(run("prepare", inventory))
        one.run("server", "pkill", "--pidfile", "/run/zerohttpd-redis.pid")
        assert changes(run("prepare", inventory)) == {"localhost": 0, "server": 1}
        assert one.run("server", *redis, "ping").stdout == "PONG\n"

        inventory.write_text(inventory.read_text().replace(
            "[redis]\n", "[all:vars]\nredis_port=6391\nbalancer_program=nginx\n"
            "balancer_port=8081\n[redis]\n"))
        changes(run("prepare", inventory))
        assert "onnection refused" in one.run("server", *redis, "ping").stderr
        assert one.run("server", *redis[:-1], "6391", "ping").stdout == "PONG\n"
        programs = one.run("server", "ps", "-e", "-o", "comm=").stdout.split()
        assert "nginx" in programs and "haproxy" not in programs
        listening = one.run("server", "ss", "-Htln").stdout
        assert ":8081 " in listening and ":8080 " not in listening

        changes(run("clean", inventory))
        assert changes(run("clean", inventory)) == {"server": 0}


@pytest.mark.slow
@pytest.mark.namespaces
def test_a_port_that_is_taken_is_named():
    with hosts(["server"]) as one:
        one.run("server", "redis-server", "--bind", one.address["server"], "--protected-mode",
                "no", "--port", "6390", "--daemonize", "yes", "--pidfile", "/run/theirs.pid")
        inventory = everything_on(one)
        done = run("prepare", inventory)
        assert done.returncode == 1
        assert "Set redis_port in the inventory to a port that is free on server" \
            in " ".join(done.stdout.split())
        assert one.run("server", "redis-cli", "-h", one.address["server"], "-p", "6390",
                       "ping").stdout == "PONG\n"


@pytest.mark.slow
@pytest.mark.namespaces
def test_five_hosts_are_prepared_and_measured_by_one_command(tmp_path):
    names = ["server1", "redis1", "balancer1", "load1", "load2"]
    with hosts(names) as five:
        inventory = five.inventory
        done = subprocess.run(
            ["make", "fleet", f"INVENTORY={inventory}", "EXPERIMENT=guestbook",
             "SERVERS=iterative,epoll", "CONCURRENCY=1,10,50", "REPEAT=1", "SECONDS=1",
             f"OUT={tmp_path}"],
            cwd=TOP, capture_output=True, text=True, check=False, timeout=1200)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        with open(tmp_path / "latest/samples.csv", encoding="utf-8") as file:
            measured = {(row["server"], int(row["x"]))
                        for row in csv.DictReader(file) if row["rate"]}
        assert measured == {(server, clients) for server in ("iterative", "epoll")
                            for clients in (1, 10, 50)}
        found = changes(run("prepare", inventory, "--facts", fleet.FACTS))
        assert found == dict.fromkeys([*names, "localhost"], 0)
