"""What scripts/unpack.sh has unpacked below build/deps/ is found, after what is installed,
as the Makefile and scripts/deps.sh do it."""

import os

from tools.kit import TOP

FOLDER = TOP / "build/deps"
ROOT = FOLDER / "root"            # with the files of the packages
PLACES = {"PATH": "bin", "PKG_CONFIG_PATH": "pkgconfig", "C_INCLUDE_PATH": "include",
          "LIBRARY_PATH": "lib"}


def enter():
    """Add its folders to the environment of this process, and so of its children. A suite of
    `make check` has a PATH of its own (scripts/own_path.py)."""
    for name, folder in PLACES.items():
        if name == "PATH" and "OWN_PATH" in os.environ:
            continue
        known = [one for one in os.environ.get(name, "").split(os.pathsep) if one]
        place = str(FOLDER / folder)
        if place not in known:
            os.environ[name] = os.pathsep.join([*known, place])
