"""Installs and builds other people's servers, to compare with.

    python3 -m bench peers [NAME...]        default: those in PEERS, or all

Packages come from the distribution; NO_INSTALL=1 only prints the command. Exit
status: 0 if every peer can be started, 1 if one cannot, 2 for a wrong name.
"""

import os
import shlex
import shutil
import subprocess
import sys

from bench import peers


def missing_packages(wanted):
    """Return the packages that these peers need and that are not installed."""
    def missing(package):
        known = subprocess.run(
            ["dpkg-query", "-W", "-f", "${db:Status-Status}", package],
            capture_output=True, text=True, check=False)
        return known.stdout != "installed"

    return sorted({
        package for peer in wanted for package in peer.packages
        # A program that is there may have come from elsewhere.
        if (len(peer.packages) > 1 or peer.problem()) and missing(package)})


def install(packages):
    """Install `packages`; return whether that worked."""
    command = [*([] if os.getuid() == 0 else ["sudo"]), "apt-get", "-o",
               "DPkg::Lock::Timeout=600", "install", "-y",
               "--no-install-recommends", *packages]
    if os.environ.get("NO_INSTALL"):
        print("NO_INSTALL is set. Please run:\n  " + shlex.join(command))
        return True
    print("Running:", shlex.join(command), flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, env=environment,
                          check=False).returncode == 0


def main(words):
    """Install, build, say what can be measured; return the exit status."""
    try:
        wanted = peers.chosen(" ".join(words) or os.environ.get("PEERS")
                              or "all")
    except peers.PeerError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 2
    packages = missing_packages(wanted) if shutil.which("apt-get") else []
    if packages and not install(packages):
        for package in packages:    # this release may lack one of them
            install([package])
    failed = False
    for peer in wanted:
        problem = peer.problem()
        try:
            if not problem:
                peer.build()
        except peers.PeerError as error:
            problem = str(error)
        print(f"{peer.name:22} {problem or 'ready'}", flush=True)
        failed = failed or bool(problem)
    for one in peers.unavailable():
        print(f"{one['name']:22} not available: {one['why']}")
    return int(failed)
