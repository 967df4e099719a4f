"""HAProxy and nginx: how each is configured, started, and told to drain.

    balancer = BALANCERS["haproxy"](folder, settings, template)
    balancer.start()
    balancer.drain(instance)    # it has no requests any more
    balancer.ready(instance)    # it gets requests again

`settings` are the variables of the template: a file, or None for the one in this folder. An
instance has the attributes that the template names: name, host, port and down.
"""

import csv
import os
import shlex
import shutil
import signal
import socket
import sys
from pathlib import Path

try:
    import jinja2
except ImportError:         # to look at options, no template is filled in
    jinja2 = None

from tools.kit import process, procfs, sockets, wait

FOLDER = Path(__file__).resolve().parent
PATIENCE = 30           # seconds for a start, and for a drain


class Failed(Exception):
    """Something does not start, or does not answer; the text says what."""


def wait_for(condition, what):
    """Wait until `condition()` is true. Raises Failed after PATIENCE."""
    if not wait.until(condition, PATIENCE):
        raise Failed(f"gave up after {PATIENCE} s of waiting for {what}")


def start(name, argv, port, output):
    """Start a program; return its process when it accepts on `port`. `output` is the open file for
    what it prints. Raises Failed."""
    child = process.spawn(argv, os.sched_getaffinity(0), output)

    def ready():
        ended = process.wait(child, 0)
        if ended:
            raise Failed(f"{name} ended with {ended}: {shlex.join(argv)}")
        return sockets.accepts(port)

    wait_for(ready, f"{name} to accept connections")
    return child


class Balancer:
    """What the two have in common. `usual` is the template of each."""

    program, arguments, usual = "", [], ""

    def __init__(self, folder, settings, template=None):
        self.folder, self.settings = Path(folder), settings
        self.template = Path(template or FOLDER / self.usual)
        self.file = self.folder / Path(self.usual).stem     # the configuration
        self.process = None

    def write(self):
        """Fill in the template."""
        if not jinja2:
            raise Failed("jinja2 is missing: run `make run-balanced`, or build/venv/bin/python")
        environment = jinja2.Environment(
            trim_blocks=True, keep_trailing_newline=True,
            undefined=jinja2.StrictUndefined)   # as Ansible has it
        self.file.write_text(environment.from_string(
            self.template.read_text()).render(self.settings))

    def start(self):
        """Start it. Raises Failed."""
        self.write()
        # Debian has both where only root's PATH looks.
        path = f"{os.environ.get('PATH', '')}:/usr/sbin"
        program = shutil.which(self.program, path=path)
        if not program:
            raise Failed(f"{self.program} is missing; scripts/deps.sh balancer fetches it")
        self.process = start(
            self.program, [program, *self.arguments, str(self.file)],
            self.settings["balancer_port"], sys.stdout)


class HAProxy(Balancer):
    """It takes commands at run time, on a socket."""

    program, arguments, usual = "haproxy", ["-db", "-f"], "haproxy.cfg.j2"

    @property
    def socket(self):
        """Where it takes them."""
        return self.folder / "admin.sock"

    def start(self):
        """Start it. Raises Failed."""
        super().start()     # it accepts clients a little earlier than commands
        wait_for(self.socket.exists, str(self.socket))

    def ask(self, command):
        """Send a command; return the answer."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(self.socket))
            sock.sendall(f"{command}\n".encode())
            with sock.makefile() as answer:
                return answer.read()

    def status(self, name):
        """Return {column: text}: what `show stat` tells of an instance."""
        lines = self.ask("show stat").removeprefix("# ").splitlines()
        return next(row for row in csv.DictReader(lines)
                    if row["pxname"] == "web" and row["svname"] == name)

    def wait_until_up(self, instances):
        """Wait until their health checks are good. Raises Failed."""
        for one in instances:
            wait_for(lambda: self.status(one.name)["status"] == "UP",
                     f"good health checks of {one.name}")

    def drain(self, instance):
        """Give it no new requests; wait until it has answered the others."""
        self.wait_until_up(self.settings["instances"])
        self.ask(f"set server web/{instance.name} state drain")
        wait_for(lambda: self.status(instance.name)["scur"] == "0",
                 f"{instance.name} to answer its requests")
        # No health checks from now on. And only an instance that comes back from
        # maintenance takes requests out of the queue; after a drain alone, all
        # instances may stay idle before a full queue.
        self.ask(f"set server web/{instance.name} state maint")

    def ready(self, instance):
        """Give it requests again; wait until its health checks agree."""
        # A busy HAProxy may still believe in connections of before the restart.
        wait_for(lambda: self.status(instance.name)["idle_conn_cur"] == "0",
                 f"the end of old connections to {instance.name}")
        self.ask(f"set server web/{instance.name} state ready")
        self.wait_until_up([instance])

    def by_hand(self):
        """Return how to drain an instance by hand."""
        return f"echo 'set server web/s1 state drain' | socat stdio {self.socket}"


class Nginx(Balancer):
    """It loads its configuration again."""

    program, usual = "nginx", "nginx.conf.j2"
    arguments = ["-e", "stderr", "-g", "daemon off;", "-c"]

    def reload(self):
        """Load the configuration; wait until the old workers have ended,
        which they do when they have answered their requests."""
        def workers():
            return {one.pid for one in procfs.tree(self.process.pid)[1:]}

        old = workers()
        self.write()
        os.kill(self.process.pid, signal.SIGHUP)
        wait_for(lambda: not old & workers(), "nginx's old workers to end")

    def drain(self, instance):
        """Give it no new requests; wait until it has answered the others."""
        instance.down = True
        self.reload()

    def ready(self, instance):
        """Give it requests again."""
        instance.down = False
        self.reload()

    def by_hand(self):
        """Return how to drain an instance by hand."""
        return f"add `down` to its line in {self.file}, then kill -HUP {self.process.pid}"


BALANCERS = {"haproxy": HAProxy, "nginx": Nginx}
