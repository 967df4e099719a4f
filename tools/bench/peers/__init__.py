"""Other people's servers on the same work: a folder of peers/ each, with a peer.json, which
README.md explains."""

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools.kit import TOP, servers

FOLDER = Path(__file__).resolve().parent
BUILD = Path(TOP, "build", "peers")


class PeerError(ValueError):
    """There is no such peer, or it cannot be built."""


class Peer:
    """A peer, with the attributes that servers.Server has."""

    start_seconds = 30.0

    def __init__(self, name, parent=FOLDER):
        """Raises PeerError when no folder in `parent` has it."""
        there = found(parent)
        if name not in there:
            raise PeerError(f"there is no peer {name!r}; there are " + ", ".join(sorted(there)))
        self.name = name
        self.told = told = there[name]      # what its peer.json says
        self.kind = "floor" if told.get("kind") == "floor" else "peer"
        self.endpoints = told["endpoints"]
        self.keep_alive = told.get("keep_alive")    # None: with and without
        self.metered = told.get("metered", True)
        self.model, self.reuses = None, False
        self.at_a_time = told.get("at_a_time", math.inf)    # clients
        if told.get("kind") == "variant":       # warmed as the server that it is a variant of
            twin = servers.named(told["design"])
            self.model, self.reuses, self.at_a_time = twin.model, twin.reuses, twin.at_a_time
        self.has_loops = told.get("options", {}).get("workers", False)
        # A just-in-time compiler needs requests to get going.
        self.warm_up = told.get("warm_up", 0.5 if told.get("kind") == "language" else 0.0)
        self.build_folder = BUILD / name
        self.template = told["dir"] / told.get("config_template", "")

    def _fill(self, text, **values):
        """Return `text` with each known {placeholder} replaced; other braces stay as they are."""
        values.update(name=self.name, design=self.told.get("design", ""), python=sys.executable,
                      dir=self.told["dir"], build=self.build_folder)
        return re.sub(r"\{(\w+)\}", lambda word: str(values.get(word[1], word[0])), text)

    def problem(self):
        """Return why it cannot be started, or "" when it can."""
        if shutil.which(self.told["check"]):
            return ""
        return f"{self.told['check']} is not installed: make peers-deps PEERS={self.name}"

    def unready(self):
        """Build it; return why it cannot be started, or "" when it can."""
        try:
            return self.problem() or self.build() or ""
        except (PeerError, OSError) as error:
            return str(error)

    def build(self):
        """Run its build commands. Raises PeerError with what they printed."""
        self.build_folder.mkdir(parents=True, exist_ok=True)
        for command in self.told.get("build", []):
            argv = [self._fill(word) for word in command]
            try:
                subprocess.run(argv, stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.STDOUT, cwd=TOP, check=True)
            except OSError as error:
                raise PeerError(f"{self.name}: {argv[0]}: {error.strerror}") from error
            except subprocess.CalledProcessError as error:
                last = (error.stdout.strip() or "no output").splitlines()[-1]
                raise PeerError(f"{self.name}: `{argv[0]}` failed: {last}") from None

    def command(self, start, port, _folder):
        """Return (argv, folder to run it in). Writes its configuration into the build folder."""
        self.build_folder.mkdir(parents=True, exist_ok=True)
        values = {"port": port, "host": start.host, "public": start.public, "redis": start.redis,
                  "workers": start.workers or 1, "backlog": start.backlog,
                  "connections": self.told.get("connections"), "at_a_time": self.at_a_time,
                  "conf": self.build_folder / self.template.name}
        if self.template.is_file():
            values["conf"].write_text(self._fill(self.template.read_text(), **values))
        return [self._fill(word, **values) for word in self.told["start"]], TOP


def found(parent=FOLDER):
    """Return {name: what its peer.json says, and its folder as "dir"} of the peers in `parent`."""
    made = {}
    for path in parent.glob("*/peer.json"):
        told = json.loads(path.read_text())
        for name, more in told.get("peers", {path.parent.name: {}}).items():
            made[name] = {**told, **more, "dir": path.parent}
    return made


def chosen(text):
    """Return the Peers that `text` names: "nginx,go", "all" or "". Raises PeerError for an
    unknown name."""
    wanted = text.replace(",", " ").split()
    return [Peer(name) for name in (sorted(found()) if wanted == ["all"] else wanted)]


def unavailable():
    """Return [{"name", "why"}] of published systems that cannot be had."""
    return json.loads((FOLDER / "unavailable.json").read_text())
