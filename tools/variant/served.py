"""A variant that runs: what check() and effect() of variants/NAME.py get."""

import contextlib
import dataclasses
import importlib.util
import os
import signal
import urllib.parse
from pathlib import Path

from tools.kit import client, process, procfs, scratch, servers, sockets, wait

SECONDS = 60            # for an answer, and until all has ended
# Four workers or threads show the same as a hundred.
POOL = 4
GONE = ("", "Z", "X")   # states of a process that runs no more


@dataclasses.dataclass(frozen=True)
class Built(servers.Server):
    """A server of the collection whose executable is somewhere else."""

    program: Path = None

    def problem(self):
        return ""

    def command(self, start, port, _folder):
        argv, folder = super().command(start, port, _folder)
        return [str(self.program), *argv[1:]], folder


class Served:
    """`pid`: its first process. `address`: (host, port)."""

    def __init__(self, live):
        self.live, self.pid = live, live.pid
        self.address = (live.start.host, live.port)

    def connect(self):
        """Open a connection (see client.Connection)."""
        return client.Connection(self.address, SECONDS)

    def request(self, path, method="GET", fields=(), body=b""):
        """Send a request on a connection of its own; return the client.Response."""
        return client.get(self.address, path, method, fields, body, SECONDS)

    def sign(self, name, remark):
        """Send the form of the guestbook; return the client.Response."""
        form = urllib.parse.urlencode({"guest-name": name, "guest-remarks": remark}).encode()
        return self.request("/guestbook", "POST",
                            ["Content-Type: application/x-www-form-urlencoded"], form)

    def wait_for(self, look, what):
        """Call look() until it returns something true. AssertionError with `what` if it never
        does."""
        assert wait.until(look, SECONDS, self.live.process), f"waited in vain for {what}"

    def wait_until_read(self, connection):
        """Wait until the server has read every byte that the client has sent."""
        theirs = connection.sock.getsockname()

        def is_read():
            found = sockets.lookup(self.address, theirs)
            return found and found.inode and not found.unread

        self.wait_for(is_read, "the server to read what was sent")

    def processes(self):
        """Return the process ids of all that runs, the first one first."""
        return [one.pid for one in procfs.tree(self.pid)]

    def calls(self):
        """Return how many threads of its children (without any: of its own) are in each system
        call, in order: [1, 3]."""
        return sorted(procfs.system_calls(procfs.children(self.pid) or [self.pid]).values())

    def stop(self):
        """Send SIGTERM. AssertionError unless it ends with status 0, its report, and no process
        left."""
        all_of_them = self.processes()
        os.kill(self.pid, signal.SIGTERM)
        how = process.wait(self.live.process, SECONDS)
        assert how and how.code == 0, f"SIGTERM: {how or 'still runs'}; {self.live.log()[-8000:]}"
        assert servers.SERVED.search(self.live.log()), f"no report in {self.live.log()[-8000:]}"
        assert wait.until(lambda: all(procfs.state(pid) in GONE for pid in all_of_them), SECONDS), \
            "it left processes behind"


@contextlib.contextmanager
def running(variant, executable, redis):
    """Run an executable as the variant is to be started; yields a Served."""
    plain = servers.named(Path(executable).name)
    pool = (plain.slots, str(POOL)) if plain.model == servers.POOL else ()
    start = servers.Start(cores=frozenset(os.sched_getaffinity(0)), redis=redis,
                          extra=(*pool, *variant.options))
    with scratch.file("variant") as log, \
            servers.running(Built(**vars(plain), program=Path(executable)), start,
                            log.name) as live:
        yield Served(live)


def own(variant, function):
    """Return a function of variants/NAME.py; one that does nothing if there is none of that
    name."""
    path = variant.page.with_suffix(".py")
    if not path.exists():
        return lambda server: None
    spec = importlib.util.spec_from_file_location("own", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function, lambda server: None)
