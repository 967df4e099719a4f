"""The servers that the exact machine can run: the seven, variants of them, their floors, and
peers. All are built by the guest's compiler, or are Debian's.

    built = programs.build(tree, programs.Choice(("epoll",), floors=True), folder)
    built[0].command(keep=True)         the words that start it in the guest
"""

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from tools.exact import image, results
from tools.kit import TOP, servers
from tools.variant import copy, what

PEERS = TOP / "tools/bench/peers"
PIPELINE = ("nginx", "go", "node")      # those that read on after a request
KNOWN_PEERS = ("nginx", "libev", "go", "node", *results.LABS)
PORT = "8000"
READS = {"node": "usr/share/nodejs"}    # what Debian's package has outside the program
ANYTHING = ("answer", "hello", "guestbook", "redirect", "file-10k", "file-1m", "post")


@dataclass(frozen=True)
class Program:
    """One server: its name (of its file and in tables), its file on this machine, with symbols,
    and the words that start it behind its file's name."""

    name: str
    title: str
    path: Path
    words: tuple
    peer: bool = False          # does not say when it listens
    answers: tuple = ANYTHING   # the requests of cells.toml that it knows
    files: dict = field(default_factory=dict, hash=False)   # {path in the guest: bytes or path}

    def command(self, keep):
        """Return the words that start it for clients that keep their connection, or do not."""
        mode = {"{mode}": "keep" if keep else "close"}
        return [f"/bin/{self.name}", *(mode.get(word, word) for word in self.words)]

    def can(self, cell):
        """Return whether it can be asked what a cell asks."""
        # Floors of the blocking servers close after each answer.
        floor = self.name.startswith(("floor-", "least-")) and "{mode}" not in self.words
        if cell.pipelined > 1 and self.peer and self.name not in PIPELINE:
            return False
        return cell.request in self.answers and not (floor and cell.keep)


@dataclass(frozen=True)
class Choice:
    """What is counted: names of servers, of variants, of peers; floors of these servers."""

    names: tuple = tuple(one.name for one in servers.ARCHITECTURES)
    variants: tuple = ()
    peers: tuple = ()
    floors: bool = False
    connections: int = 0        # that a peer may have; 0: as many as its peer.json says
    source: Path = TOP          # the tree that has the servers

    def check(self):
        """Raise ValueError or VariantError, which say what there is, if a name is not known."""
        if unknown := [name for name in self.peers if name not in KNOWN_PEERS]:
            raise ValueError(f"PEERS has '{unknown[0]}'; here it can have {', '.join(KNOWN_PEERS)}")
        for name in self.variants:
            what.read(name)


def _own(name, path, title=None, words=()):
    return Program(name, title or servers.named(name).folder, path,
                   ("--port", PORT, "--root", "/site", *words))


def _variant(tree, name, out):
    """Return the Programs of the variant `name`: a server, and what a patch changes in it."""
    variant = what.read(name)
    copy.apply(variant)
    image.build_servers(tree, variant.copy, out / name)
    found = []
    for folder in variant.folders:
        server = servers.named(folder)
        path = (out / name / server.name).rename(out / f"{server.name}+{name}")
        found.append(_own(path.name, path, f"{folder[:2]} {name}", variant.options))
    return found


def _floors(tree, names, out):
    """Return two Programs for each server: the floor, which makes its system calls, and the least
    that a server of its design needs."""
    told = json.loads((PEERS / "floors/peer.json").read_text(encoding="utf-8"))
    found = []
    for kind, flags in (("floor", ()), ("least", ("-DFLOOR_LEAST",))):
        for name in names:
            called = f"{kind}-{name}"
            words = [word.format(build="/out", dir="/src", design=name, name=called)
                     for word in told["build"][0]]
            # Without -lhiredis, which would only make its start like the server's.
            tree.run([*words[:-2], *flags], PEERS / "floors", out)
            found.append(Program(
                called, f"{kind} of {servers.named(name).folder[:2]}", out / called,
                (PORT, "{mode}") if name in ("poll", "epoll") else (PORT,), True, ("answer",)))
    return found


def _lab(tree, source, name, out):
    """Return the Program of a lab's solution."""
    lab = Path("labs", results.LABS[name])
    told = tomllib.loads((source / lab / "lab.toml").read_text(encoding="utf-8"))
    further = told.get("libraries", [])
    if further:
        tree.add(name, [f"{library}-dev" for library in further])
    files = [str(path.relative_to(source)) for path in sorted((source / lab).glob("solution/*.c"))]
    (out / name).mkdir()
    image.build_servers(tree, source, out / name, (f"{lab}/solution", [
        "gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-pthread", "-fPIE", "-pie", "-Icommon",
        "-o", f"/out/{name}", *files, "build/exact/libzerohttpd.a", "-lhiredis",
        *(library.replace("lib", "-l", 1) for library in further)]))
    return _own(name, out / name / name, results.title(name))


def _peer(tree, name, connections, out):
    """Return the Program of the peer `name` of tools/bench/peers/."""
    folder = PEERS / name
    told = json.loads((folder / "peer.json").read_text(encoding="utf-8"))
    tree.add(name, told["packages"])
    values = {"build": "/tmp", "dir": f"/{name}", "host": "127.0.0.1", "port": PORT,
              "workers": "1", "public": "/site/public", "connections": str(
                  connections or told.get("connections")),
              "conf": f"/{name}/{told.get('config_template')}"}
    for words in told["build"]:
        tree.run([word.format(build="/out", dir=f"/src/{name}", name=name) for word in words],
                 PEERS, out)
    start = [word.format(**values) for word in told["start"]]
    files = {f"{name}/{path.name}": path for path in folder.iterdir()
             if path.suffix in (".js", ".json")}
    if template := told.get("config_template"):
        text = (folder / template).read_text(encoding="utf-8")
        for key, value in values.items():
            text = text.replace("{%s}" % key, value)
        files[f"{name}/{template}"] = text.encode()
    for path in (tree.root / READS.get(name, "nothing")).rglob("*"):
        if path.is_file():
            files[str(path.relative_to(tree.root))] = path
    path = out / name if told["build"] else tree.found(start[0])
    while start[0] == "env" or "=" in start[0]:
        start.pop(0)
    answers = [one.lstrip("/") for one in told["endpoints"]]
    return Program(name, told["title"], path, tuple(start[1:]), True, tuple(
        answers + (["file-10k", "file-1m"] if told.get("static") else [])), files)


def build(tree, choice, out):
    """Return the Programs of a valid Choice, built into `out` (a Path). Raises TreeError,
    VariantError and OSError."""
    found = []
    if choice.names:
        print("Building the servers with the guest's compiler ...")
        image.build_servers(tree, choice.source, out)
        found += [_own(name, out / name) for name in choice.names]
    for name in choice.variants:
        found += _variant(tree, name, out)
    if choice.floors:
        found += _floors(tree, choice.names, out)
    for name in choice.peers:
        found.append(_lab(tree, choice.source, name, out) if name in results.LABS
                     else _peer(tree, name, choice.connections, out))
    return found
