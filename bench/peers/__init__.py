"""Other people's servers on the same work: a folder of peers/ each.

peer.json says how one is built and started. Its words may hold {host} (the
address to listen on; without it a peer takes part only where one is enough),
{port}, {workers}, {redis} (HOST:PORT), {dir} (the peer's folder), {build} (a
folder for what it makes), {public} (the files to serve) and {conf} (its
config_template, filled in). A folder may hold several peers: `peers` in its
peer.json then says by name in which keys they differ, and its words may hold
{name} and {design}.
"""

import glob
import json
import os
import re
import shutil
import subprocess

from bench.meter import procfs
from bench.run.servers import TOP

FOLDER = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(TOP, "build", "peers")
# Servers with a just-in-time compiler need some requests to get going.
WARM_UP = {"language": 0.5}


class PeerError(Exception):
    """There is no such peer, or it cannot be built."""


def fill(text, values):
    """Return `text` with each {placeholder} that `values` knows replaced;
    other braces stay as they are."""
    return re.sub(r"\{(\w+)\}",
                  lambda found: str(values.get(found[1], found[0])), text)


class Peer:
    """A peer, with the attributes that servers.Server has."""

    def __init__(self, name):
        self.name = name
        self.dir = _folders().get(name)
        if self.dir is None:
            raise PeerError(f"there is no peer {name!r}; there are "
                            + ", ".join(names()))
        told = _read(self.dir)
        self.told = told = {**told, **told.get("peers", {}).get(name, {})}
        self.title = told.get("title", name)
        self.folder = ""
        self.kind = "floor" if told.get("kind") == "floor" else "peer"
        self.endpoints = tuple(told["endpoints"])
        self.keep_alive = told.get("keep_alive")    # None: with and without
        self.has_workers = told.get("options", {}).get("workers", False)
        self.warm_up = WARM_UP.get(told.get("kind"), 0.0)
        self.start_seconds = 30.0
        self.published_as = told.get("published_as", "")
        self.packages = tuple(told.get("packages", ()))
        self.note = told.get("note", "")
        self.any_host = self._can_be_told("{host}")

    def _can_be_told(self, placeholder):
        """Whether its command or its configuration has a `placeholder`."""
        template = self.told.get("config_template")
        return any(placeholder in text for text in (
            *self.told["start"],
            procfs.read(os.path.join(self.dir, template)) if template else ""))

    @property
    def build_folder(self):
        """Where what it makes is put."""
        return os.path.join(BUILD, self.name)

    def _values(self):
        """What stands for the placeholders that are known before a start."""
        return {"name": self.name, "design": self.told.get("design", ""),
                "dir": self.dir, "build": self.build_folder}

    def problem(self):
        """Return why it cannot be started, or "" when it can."""
        if shutil.which(self.told["check"]):
            return ""
        return (f"{self.told['check']} is not installed: "
                f"make peers-deps PEERS={self.name}")

    def build(self):
        """Run its build commands. Raises PeerError with what they said."""
        os.makedirs(self.build_folder, exist_ok=True)
        values = self._values()
        for command in self.told.get("build", []):
            argv = [fill(word, values) for word in command]
            try:
                done = subprocess.run(argv, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True,
                                      cwd=TOP, check=False)
            except OSError as error:
                raise PeerError(f"{self.name}: {argv[0]}: "
                                f"{error.strerror}") from error
            if done.returncode:
                said = done.stdout.strip().splitlines() or ["(nothing)"]
                raise PeerError(f"{self.name}: `{argv[0]}` failed: {said[-1]}")

    def command(self, start, port, folder):
        """Return (argv, folder to run it in). The filled-in configuration
        is written into the build folder: peers want it there."""
        os.makedirs(self.build_folder, exist_ok=True)
        values = {**self._values(), "port": port, "host": start.host,
                  "workers": start.workers or 1, "redis": start.redis,
                  "public": start.public}
        template = self.told.get("config_template")
        if template:
            values["conf"] = os.path.join(self.build_folder, template)
            with open(os.path.join(self.dir, template),
                      encoding="utf-8") as file:
                text = fill(file.read(), values)
            with open(values["conf"], "w", encoding="utf-8") as file:
                file.write(text)
        return [fill(word, values) for word in self.told["start"]], TOP


def names():
    """Return the names of all peers."""
    return sorted(_folders())


def _read(folder):
    """Return what the peer.json of a folder says. Raises PeerError."""
    path = os.path.join(folder, "peer.json")
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise PeerError(f"{os.path.relpath(path, FOLDER)}: {error}") from error


def _folders():
    """Return {name: folder} of all peers. Raises PeerError."""
    found = {}
    for path in glob.glob(os.path.join(FOLDER, "*", "peer.json")):
        folder = os.path.dirname(path)
        names_here = _read(folder).get("peers", [os.path.basename(folder)])
        found.update((name, folder) for name in names_here)
    return found


def chosen(text):
    """Return the Peers that `text` names: "nginx,go", "all" or "".

    Raises PeerError for a name that there is none of.
    """
    wanted = [word for word in re.split(r"[,\s]+", text or "") if word]
    return [Peer(name) for name in (names() if wanted == ["all"] else wanted)]


def unavailable():
    """Return [{"name", "why"}] of published systems that cannot be had."""
    path = os.path.join(FOLDER, "unavailable.json")
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        return []
