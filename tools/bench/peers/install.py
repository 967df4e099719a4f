"""Installs and builds other people's servers, to compare with.

    python3 -m tools.bench peers [NAME...]        default: those in PEERS, or all

Packages come from the distribution. scripts/install.sh says which, asks on a terminal, and
starts no service; NO_INSTALL=1 only prints the command. Exit status: 0 if every peer can be
started, 1 if one cannot, 2 for a wrong name.
"""

import os
import shlex
import shutil
import subprocess

from tools.bench import peers
from tools.kit import TOP


def install(packages):
    """Install those of `packages` that this release has, or say how."""
    command = [str(TOP / "scripts/install.sh"), *packages]
    if os.environ.get("NO_INSTALL"):
        print("NO_INSTALL is set. Please run:\n  " + shlex.join(command))
    else:
        subprocess.run(command, check=False)


def main(words):
    """Install, build, say what can be measured; return the exit status. Raises PeerError."""
    wanted = peers.chosen(" ".join(words) or os.environ.get("PEERS") or "all")
    packages = sorted({package for peer in wanted if peer.unready()
                       for package in peer.told.get("packages", ())})
    if packages and shutil.which("apt-get"):
        install(packages)
    problems = [peer.unready() for peer in wanted]
    for peer, why in zip(wanted, problems):
        print(f"{peer.name:22} {why or 'ready'}")
    for one in peers.unavailable():
        print(f"{one['name']:22} not available: {one['why']}")
    return int(any(problems))
