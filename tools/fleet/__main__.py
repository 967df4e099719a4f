"""Prepare the hosts of an inventory for a measurement, and undo it.

    python3 -m tools.fleet look hosts.ini                 is there such a file?
    python3 -m tools.fleet prepare hosts.ini [--check]    what make fleet does first
    python3 -m tools.fleet clean hosts.ini [--check]      what make fleet-clean does

The work is in the playbooks prepare.yml and clean.yml. This program installs Ansible
into build/fleet-venv/ (once), looks for mistakes in the inventory, and runs one of
them. With --check, the hosts stay as they are, and you read what would change.

Exit status: 0 when all is done, 1 when a playbook failed on a host, 2 when none was
started: a mistake in the inventory, a host that cannot be reached, no Ansible.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from tools.fleet.inventory import GROUPS, HERE, VENV, Mistake, ansible, look, read
from tools.kit import TOP, process, venv

WANTED = HERE / "requirements.txt"
FACTS = TOP / "build" / "fleet" / "facts.json"


def install():
    """Make the environment with Ansible, unless it is there. Raises Mistake when it cannot be
    made."""
    reason = venv.make(str(VENV), [str(WANTED)], "Ansible")
    if reason:
        raise Mistake(f"Ansible cannot be installed: {reason}. This needs Python 3.11, "
                      "python3-venv and a package index")


def find_unreachable(inventory):
    """Log in to every host. Raises Mistake that names those where it fails."""
    done = ansible("ansible", ":".join(GROUPS), "-i", inventory, "-m",
                   "ansible.builtin.raw", "-a", "/usr/bin/python3 -c pass", capture_output=True)
    failed = re.findall(r"^(\S+) \| (UNREACHABLE|FAILED)(.*?)(?=^\S+ \||\Z)",
                        done.stdout, re.MULTILINE | re.DOTALL)
    if failed:
        raise Mistake("; ".join(
            f"{name} {'cannot be reached' if how == 'UNREACHABLE' else 'has no Python'}"
            f" ({why_of(text)})" for name, how, text in failed)
            + ". `ssh` with the user and the key of the inventory must log in without "
            "a question, and find /usr/bin/python3 there")
    if done.returncode:
        raise Mistake(f"Ansible does not work: {done.stderr.strip()[-300:]}")


def why_of(text):
    """Return the reason in what Ansible prints of a host that failed."""
    reason = re.search(r"msg: *(?:>-|\|-)?\s*(.*?)\n *(?:\w+: |$)", text + "\n", re.DOTALL)
    words = " ".join((reason[1] if reason else text).split()).strip("'\"")
    return words.rpartition("via ssh: ")[2] or words


def changed_files():
    """Return how many tracked files differ from the last commit. Raises Mistake outside of a git
    checkout."""
    done = subprocess.run(["git", "-C", TOP, "status", "--porcelain",
                           "--untracked-files=no"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise Mistake("the hosts get the last commit of this checkout, and git says: "
                      + done.stderr.strip())
    return len(done.stdout.splitlines())


def run(what, inventory, check, facts):
    """Run prepare.yml or clean.yml on an inventory; return the exit status of this
    program. Raises Mistake when it cannot be started."""
    inventory = look(inventory)
    if what == "look":
        return 0
    install()
    read(inventory)
    changed = changed_files() if what == "prepare" else 0
    if changed:
        print(f"Warning: {changed} changed files are not committed. The hosts get the "
              "last commit, without them.", flush=True)
    find_unreachable(inventory)
    facts.parent.mkdir(parents=True, exist_ok=True)
    (TOP / "build" / "fleet").mkdir(parents=True, exist_ok=True)
    done = ansible("ansible-playbook", "-i", inventory, HERE / f"{what}.yml",
                   "--extra-vars", json.dumps({"top": str(TOP), "facts_file": str(facts)}),
                   *(["--check", "--diff"] if check else []))
    if done.returncode:
        print(f"fleet: {what} failed on a host; the lines that begin with \"fatal\" or "
              "\"[ERROR]\" say where and why", file=sys.stderr)
    return int(done.returncode != 0)


def main():
    parser = argparse.ArgumentParser(
        prog="python3 -m tools.fleet", description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("look", "prepare", "clean"))
    parser.add_argument("inventory", help="a file as tools/fleet/hosts.ini.example")
    parser.add_argument("--check", action="store_true",
                        help="change nothing, and say what would change")
    parser.add_argument("--facts", type=Path, default=FACTS, metavar="FILE",
                        help="where to write what the hosts are (build/fleet/facts.json)")
    options = parser.parse_args()
    process.end_on_signals()
    try:
        return run(options.what, options.inventory, options.check, options.facts.resolve())
    except Mistake as mistake:
        print(f"fleet: {mistake}.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
