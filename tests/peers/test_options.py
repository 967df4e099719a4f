"""The table in docs/howto/peers.md says what each server asks of its sockets, as strace sees it.

    make check-peers ARGS='-k options'

Those peers are asked that `make peers-deps` has built, and the seven. strace follows a server
from its start. With -yy it says what a descriptor is: `7<TCP:[127.0.0.1:80->127.0.0.1:5000]>` is
a connection, and one without an arrow listens, or will.
"""

import http.client
import os
import re
import signal
from pathlib import Path

import pytest

from tools.bench import peers
from tools.kit import TOP, process, procfs, servers, sockets, strace

PAGE = Path(TOP, "docs", "howto", "peers.md")
HEAD = "| server | deferred accept |"
OPTIONS = ("-ff", "-yy", "-e", "trace=bind,setsockopt,listen,accept,accept4,fcntl,ioctl")
CALL = re.compile(r"^(\w+)\(\d+<(TCP\S*\])>,? ?(.*)\) += \d", re.MULTILINE)     # that succeeds
SECONDS = 60            # for an answer: a server under strace is slow
CORES = frozenset(os.sched_getaffinity(0))


class Traced:
    """A server that strace follows from its start, with the attributes of servers.Server."""

    def __init__(self, server, output):
        self.server, self.output = server, output

    def __getattr__(self, name):
        return getattr(self.server, name)

    def command(self, start, port, folder):
        """Return (argv, folder to run it in)."""
        argv, folder = self.server.command(start, port, folder)
        return strace.words(OPTIONS, self.output) + argv, folder


def table():
    """Return {name: [cell]} of the page's table: without its first column, which may name several
    servers."""
    lines = PAGE.read_text().partition(HEAD)[2].partition("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: cells for first, *cells in rows for name in re.findall(r"[\w-]+", first)}


def seen(text, port):
    """Return the cells that a server at `port` has in the table, from what strace wrote."""
    calls = CALL.findall(text)
    # The seven leave the choice of a port to the kernel, which has it bound to 0.
    bound = {what for call, what, more in calls
             if call == "bind" and re.search(rf"htons\(({port}|0)\)", more)}
    listening = [(call, more) for call, what, more in calls
                 if what in bound or what.endswith(f":{port}]")]
    clients = [(call, what, more) for call, what, more in calls if f":{port}->" in what]

    def value(option):
        found = [re.search(rf"\b{option}, \[([1-9]\d*)\]", more) for _, more in listening]
        return next((one[1] for one in found if one), "")

    undelayed = {what for _, what, more in clients if "TCP_NODELAY, [1]" in more}
    accept = {f"`{call}`" + (" non-blocking" if "SOCK_NONBLOCK" in more else "")
              for call, more in listening if call.startswith("accept")}
    later = {f"`{call}`" for call, _, more in clients if "F_SETFL" in more or "FIONBIO" in more}
    return [f"{value('TCP_DEFER_ACCEPT')} s" if value("TCP_DEFER_ACCEPT") else "no",
            "yes" if value("SO_REUSEPORT") else "no",
            "listener" if value("TCP_NODELAY") else
            "each" if len(undelayed) > 1 else "kept" if undelayed else "no",
            f"{max(int(more) for call, more in listening if call == 'listen'):,}",
            ", ".join(sorted(accept) + sorted(later))]


def talk(port):
    """Send requests: one on a connection that ends, then two on one that is kept."""
    for close in (True, False):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        for _ in range(1 if close else 2):
            connection.request("GET", "/answer", headers={"Connection": "close"} if close else {})
            assert connection.getresponse().read() == b"42"
        connection.close()


def end(live):
    """End a server that strace started, and wait until strace has ended, too."""
    for pid in procfs.children(live.pid):
        os.kill(pid, signal.SIGTERM)
    assert process.wait(live.process, SECONDS), "it does not end"


def test_the_table_of_options_has_all_servers():
    told = [name for name, one in peers.found().items() if one["kind"] != "floor"]
    assert sorted(table()) == sorted(told + [one.folder[:2] for one in servers.ARCHITECTURES])


@pytest.mark.skipif(bool(strace.missing()), reason="needs strace")
@pytest.mark.parametrize("name", table())
def test_options_are_those_of_the_table(name, tmp_path):
    server = servers.named(name) if name in servers.NAMES else peers.Peer(name)
    if server.problem() or server.kind != "architecture" and not server.build_folder.is_dir():
        pytest.skip(f"it is not built: make peers-deps PEERS={name}")
    with servers.running(Traced(server, tmp_path / "calls"), servers.Start(CORES),
                         tmp_path / "log") as live:
        talk(live.port)
        granted = sockets.accept_queue(live.port)[1]
        end(live)
    most = int(procfs.read("/proc/sys/net/core/somaxconn"))
    *cells, asked, accepts = table()[name]
    asked = f"{most:,}" if asked == "somaxconn" else asked
    assert seen("".join(map(procfs.read, tmp_path.glob("calls.*"))), live.port) == [
        *cells, asked, accepts]
    assert granted == min(most, int(asked.replace(",", "")))
