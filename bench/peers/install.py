#!/usr/bin/env python3
"""Install and build the peers named in PEERS or as arguments (default: all).

    PEERS=nginx,go bench/peers_deps.py

Packages come from the distribution, through sudo when not root. With
NO_INSTALL=1 only the command is printed. Exit status: 0 when all that was
asked for can be started, 1 when something is left out, 2 for a wrong name.
"""

import os
import shlex
import shutil
import subprocess
import sys

from bench import peers


def missing_packages(wanted):
    """Return the packages of those peers whose program is not there, and of
    those that need more than it to be built."""
    packages = []
    for peer in wanted:
        if len(peer.packages) == 1 and not peer.problem():
            continue    # all it needs is its program, wherever that is from
        for package in peer.packages:
            known = subprocess.run(
                ["dpkg-query", "-W", "-f", "${db:Status-Status}", package],
                capture_output=True, text=True, check=False)
            if known.stdout != "installed" and package not in packages:
                packages.append(package)
    return packages


def install(packages):
    """Install `packages`; return whether that worked."""
    sudo = [] if os.getuid() == 0 else ["sudo"]
    command = sudo + ["apt-get", "-o", "DPkg::Lock::Timeout=600", "install",
                      "-y", "--no-install-recommends", *packages]
    if os.environ.get("NO_INSTALL"):
        print("NO_INSTALL is set, so please run:\n  " + shlex.join(command))
        return False
    print("Running:", shlex.join(command), flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, env=environment,
                          check=False).returncode == 0


def main():
    """Install, build, and say what can now be measured."""
    asked = " ".join(sys.argv[1:]) or os.environ.get("PEERS") or "all"
    try:
        wanted = peers.chosen(asked)
    except peers.PeerError as error:
        print(f"peers_deps: {error}", file=sys.stderr)
        return 2
    if shutil.which("apt-get"):
        packages = missing_packages(wanted)
        # One by one after a failure: one package that this release does not
        # have must not keep the others away.
        if packages and not install(packages) and \
                not os.environ.get("NO_INSTALL"):
            for package in packages:
                install([package])
    failed = 0
    for peer in wanted:
        verdict = peer.problem()
        if not verdict:
            try:
                peer.build()
                verdict = "ready"
            except peers.PeerError as error:
                verdict = str(error)
        failed += verdict != "ready"
        print(f"{peer.name:22} {verdict}", flush=True)
    for one in peers.unavailable():
        print(f"{one['name']:22} not to be had: {one['why']}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
