"""Installs and builds other people's servers, to compare with.

    python3 -m tools.bench peers [NAME...]        default: those in PEERS, or all

Packages come from the distribution; NO_INSTALL=1 only prints the command. Exit
status: 0 if every peer can be started, 1 if one cannot, 2 for a wrong name.
"""

import os
import shlex
import shutil
import subprocess

from tools.bench import peers


def install(packages):
    """Install `packages`; return whether that worked."""
    command = [*(["sudo"] if os.getuid() else []), "apt-get", "-o", "DPkg::Lock::Timeout=600",
               "install", "-y", "--no-install-recommends", *packages]
    if os.environ.get("NO_INSTALL"):
        print("NO_INSTALL is set. Please run:\n  " + shlex.join(command))
        return True
    print("Running:", shlex.join(command), flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, env=environment, check=False).returncode == 0


def main(words):
    """Install, build, say what can be measured; return the exit status. Raises PeerError."""
    wanted = peers.chosen(" ".join(words) or os.environ.get("PEERS") or "all")
    packages = sorted({package for peer in wanted if peer.unready()
                       for package in peer.told.get("packages", ())})
    if packages and shutil.which("apt-get") and not install(packages):
        for package in packages:    # this release may lack one of them
            install([package])
    problems = [peer.unready() for peer in wanted]
    for peer, why in zip(wanted, problems):
        print(f"{peer.name:22} {why or 'ready'}")
    for one in peers.unavailable():
        print(f"{one['name']:22} not available: {one['why']}")
    return int(any(problems))
