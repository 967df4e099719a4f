"""The cells: which kinds of requests are counted, and the plan that the guest follows."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

WINDOWS = 5
MOST = 2000             # connections at a time, with CLIENTS
BODY = 1000             # bytes
_FILE = tomllib.loads(Path(__file__).with_name("cells.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Cell:
    """One kind of request; cells.toml says what the fields mean."""

    name: str
    says: str
    request: str
    requests: int
    connections: int = 1
    keep: bool = False
    pipelined: int = 1
    warm_up: int = 0
    more: bool = False

    @property
    def file(self):
        """The name of the file with its request."""
        return self.request + ("" if self.keep else "-close")

    def line(self, windows):
        """Return its line in the plan (guest/init.c)."""
        numbers = (self.connections, int(self.keep), self.pipelined,
                   self.warm_up or self.requests, windows, self.requests)
        return f"cell /requests/{self.file} {' '.join(map(str, numbers))}"


CELLS = {one["name"]: Cell(**one) for one in _FILE["cell"]}


def split(text):
    """Return the words of a comma-separated list."""
    return text.replace(",", " ").split()


def among(names, known, setting):
    """Return the values of `known`, {name: value}, that the comma-separated list `names` asks for,
    in its order. Raises ValueError for an unknown name; `setting` is what the list is called."""
    wanted = split(names)
    if unknown := [name for name in wanted if name not in known]:
        raise ValueError(f"{setting} has '{unknown[0]}'; it can have all, or {', '.join(known)}")
    return [known[name] for name in wanted]


def chosen(names):
    """Return the cells of a comma-separated list: "" means those of every day, "all" all of them.
    Raises ValueError."""
    if names == "all":
        return list(CELLS.values())
    return among(names, CELLS, "EXPERIMENT") or [one for one in CELLS.values() if not one.more]


def requests():
    """Return {name of a file: bytes} of all requests, with and without `Connection: close`."""
    files = {}
    for name, head in _FILE["request"].items():
        body = _FILE["body"].get(name, "").encode()
        body = body and body.ljust(BODY, b"x")
        for end, field in (("", ""), ("-close", "Connection: close\r\n")):
            files[name + end] = f"{head}{field}\r\n".encode() + body
    return files


def plan(program, cells, windows=WINDOWS):
    """Return the plan (bytes) that counts `cells` at a Program."""
    lines, running = ["redis /bin/redis-server /redis.conf"], None
    for cell in cells:
        if (words := program.command(cell.keep)) != running:
            lines += ["stop"] if running else []
            lines += [" ".join(["peer" if program.peer else "server", *words]), "maps"]
            running = words
        lines.append(cell.line(windows))
    return ("\n".join([*lines, "stop"]) + "\n").encode()
