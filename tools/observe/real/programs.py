"""The programs of programs.toml: found, set up, started."""

import contextlib
import glob
import os
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools.kit import TOP, process, scratch, sockets, unpacked, wait
from tools.observe import clients, lab

HERE = Path(__file__).parent
PATIENCE = 60           # seconds until a program answers; a Java under strace is slow
# Where Debian keeps programs that are not on a user's PATH.
PLACES = ("/usr/sbin", "/usr/lib/postgresql/*/bin", "/usr/lib/jvm/*/bin")
NOBODY = 65534


@dataclass(frozen=True)
class Program:
    """One table of programs.toml, which says what each key means."""

    name: str
    title: str
    needs: list
    packages: str
    model: str
    start: list
    ask: str
    before: tuple = ()
    files: tuple = ()
    habits: tuple = ()
    user: bool = False

    @property
    def waits(self):
        """Whether its clients wait for something else than its CPU time."""
        return self.ask in ("http", "postgres")


def known():
    """Return {name: Program}."""
    tables = tomllib.loads((HERE / "programs.toml").read_text(encoding="utf-8"))
    return {name: Program(name, **table) for name, table in tables.items()}


def find(names):
    """Return the path of a program that is installed or unpacked, "" without one. `names`: what
    distributions call it, with commas."""
    places = os.pathsep.join([os.environ.get("PATH", ""), *(
        place for pattern in PLACES for place in sorted(glob.glob(pattern)))])
    return next(filter(None, (shutil.which(name, path=places) for name in names.split(","))), "")


def places_of(program):
    """Return {first name of a need: path} for a program. Raises LabError if one is missing."""
    found = {names.partition(",")[0]: find(names) for names in program.needs}
    if missing := [name for name, path in found.items() if not path]:
        raise lab.LabError(f"{missing[0]} is missing; scripts/deps.sh real fetches it, or install "
                           f"Debian's package {program.packages}")
    return found


def version(program):
    """Return the first line of what a program says of its version, "" if it says none."""
    path = next(iter(places_of(program).values()))
    for words in ([path, "--version"], [path, "version"], [path, "-v"]):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            said = subprocess.run(words, capture_output=True, text=True, timeout=10, check=True)
            return (said.stdout + said.stderr).strip().splitlines()[0]
    return ""


def _filled(words, places):
    """Return words with {name} replaced; other braces stay."""
    for name, value in places.items():
        words = [word.replace(f"{{{name}}}", str(value)) for word in words]
    return words


class Running(lab.Server):
    """A program that runs: a context manager, as lab.Server. `warm`: the ports of the clients
    that have been answered before it counts as started."""

    def __init__(self, command, before, port, exchange):
        self._port, self._exchange, self.warm = port, exchange, []
        super().__init__(command, before)

    def _read_address(self):
        """Wait until it has answered one client, which also warms it up."""
        address = ("127.0.0.1", self._port)

        def answers():
            if not sockets.tcp(sockets.LISTEN, local=self._port):
                return False
            came = clients.burst(address, 1, self._exchange, limit=PATIENCE)
            self.warm.append(came[0].port)
            return came[0].status == 200
        if not wait.until(answers, PATIENCE, self._process):
            raise lab.LabError(f"it does not answer; it said: {self.said()[-300:]}")
        return address


@contextlib.contextmanager
def started(program, backend, exchange, before=()):
    """Yield a program as Running, set up in a folder of its own; `backend` is the port of the
    application behind it, `before` are words such as strace's. Raises lab.LabError."""
    needs = places_of(program)
    inside = os.path.realpath(next(iter(needs.values()))).startswith(str(unpacked.ROOT))
    with scratch.folder("real") as folder:
        port = process.free_port()
        places = {**needs, "port": port, "backend": backend, "folder": folder, "here": HERE,
                  "root": unpacked.ROOT if inside else ""}
        for name in program.files:
            text = (HERE / name).read_text(encoding="utf-8")
            (Path(folder) / name).write_text(_filled([text], places)[0], encoding="utf-8")
        aside = []
        if program.user and os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
            aside = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        for words in program.before:
            _do(aside + _filled(words, places), folder)
        with Running(aside + _filled(program.start, places), before, port, exchange) as running:
            yield running


def _do(words, folder):
    """Run a command to its end. Raises lab.LabError."""
    # Go keeps what it has built in a folder of the user, who may have none.
    environment = {**os.environ, "GOCACHE": f"{folder}/cache", "GO111MODULE": "off",
                   "GOTOOLCHAIN": "local"}
    done = subprocess.run(words, cwd=TOP, env=environment, text=True, check=False,
                          capture_output=True, timeout=120)
    if done.returncode:
        raise lab.LabError(f"{words[0]} failed: {(done.stdout + done.stderr).strip()[-300:]}")
