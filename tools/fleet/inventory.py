"""Ansible, and the inventory that tells it the hosts.

    read("hosts.ini")       {group: {host: its variables}}
    ansible("ansible-playbook", "-i", "hosts.ini", ...)
"""

import json
import os
import re
import subprocess
from pathlib import Path

from tools.kit import TOP

HERE = Path(__file__).resolve().parent
VENV = TOP / "build" / "fleet-venv"     # make fleet installs Ansible there
PATH = f"{VENV / 'bin'}:{os.environ['PATH']}"
NEEDED = {"server": "runs the web servers", "redis": "keeps the guestbook",
          "load": "makes the load"}
GROUPS = (*NEEDED, "balancer")


class Mistake(OSError):
    """What the user can mend; the text says how."""


def ansible(program, *words, **settings):
    """Run a program of Ansible with our settings; return the CompletedProcess. Raises Mistake
    when it is not installed."""
    try:
        return subprocess.run(
            [program, *words], check=False, text=True, cwd=TOP, **settings,
            env={**os.environ, "ANSIBLE_CONFIG": str(HERE / "ansible.cfg"), "PATH": PATH})
    except FileNotFoundError:
        raise Mistake(f"{program} is not installed: make fleet installs it, and so does "
                      "apt-get install ansible-core") from None


def look(path):
    """Return the whole Path of an inventory. Raises Mistake without one; a folder is none."""
    if str(path) and Path(path).is_file():
        return Path(path).resolve()
    raise Mistake((f"INVENTORY={path}: there is no such file. " if str(path) else
                   "which hosts? INVENTORY=hosts.ini names a file that lists them. ")
                  + "Copy tools/fleet/hosts.ini.example to hosts.ini and write your hosts "
                  "into it")


def read(path):
    """Return {group: {host: {variable: value}}} of the GROUPS of an inventory; only
    `balancer` may have no host. Raises Mistake."""
    path = look(path)
    done = ansible("ansible-inventory", "-i", path, "--list", capture_output=True)
    if done.returncode:
        said = re.search(r"(?:Failed to parse|Error parsing|Unable to parse).*",
                         done.stderr, re.IGNORECASE)
        raise Mistake(f"{path} is no inventory: {said[0] if said else done.stderr.strip()[-300:]}. "
                      "tools/fleet/hosts.ini.example shows what one looks like")
    told = json.loads(done.stdout)

    def members(group):
        one = told.get(group, {})
        return [*one.get("hosts", ()), *(name for child in one.get("children", ())
                                         for name in members(child))]
    groups = {group: {name: told["_meta"]["hostvars"].get(name, {})
                      for name in members(group)} for group in GROUPS}
    for group, does in NEEDED.items():
        if not groups[group]:
            there = ", ".join(name for name in told if name != "_meta" and members(name))
            raise Mistake(
                f"{path} has no host in the group [{group}], which {does}; its groups "
                f"are: {there or 'none'}. Add a line [{group}] and under it the host, as "
                "in tools/fleet/hosts.ini.example")
    for group in ("redis", "balancer"):
        if len(groups[group]) > 1:
            raise Mistake(f"{path} has {len(groups[group])} hosts in the group [{group}]: "
                          f"{', '.join(groups[group])}. Leave one of them")
    return groups
