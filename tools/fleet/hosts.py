"""The hosts of a fleet, and how one of our functions runs there.

    told = inventory.read("hosts.ini")      {group: {host: its variables}}, see inventory.py
    with Host("load1", told["load"]["load1"], folder) as host:
        host.call(os.getloadavg)

The way to a host is Ansible's: the OpenSSH client with its variables (WAY, and
ansible_ssh_common_args), or no client where ansible_connection is "local". All agents of a host
share one connection (ControlMaster of ssh_config(5)).
"""

import math
import shlex
import socket
import subprocess
import tempfile
import time
from multiprocessing.connection import Connection

PATIENCE = 60.0         # seconds for what takes no time
PINGS = 5               # round trips for a look at a host's clock
OPTIONS = ("BatchMode=yes", "ConnectTimeout=10", "ControlMaster=auto",
           "ControlPersist=2",          # the connection outlives its last agent by 2 s
           "ServerAliveInterval=3")     # three without an answer: it has dropped out
WAY = {"-i": "ansible_ssh_private_key_file", "-p": "ansible_port", "-l": "ansible_user"}


class HostError(OSError):
    """A host cannot be used; the text says which and why."""


class Host:
    """A host with an agent, while the block lasts.

    address     where the other hosts reach it
    ahead       by how many seconds its clock (time.monotonic) is ahead of ours, right to
                +- `unsure`
    """

    def __init__(self, name, told, folder):
        """`told` are its variables, `folder` is for the files of ssh."""
        self.name, self.told, self.folder = name, told, folder
        reached_at = str(told.get("ansible_host", name))
        self.address = str(told.get("address", reached_at))
        self.line = self.process = self.log = self.ssh = None
        self.met = False        # whether its agent has ever answered
        self.ahead, self.unsure = 0.0, math.inf
        if told.get("ansible_connection") != "local":
            self.ssh = ["ssh", *shlex.split(told.get("ansible_ssh_common_args", ""))]
            for option in (*OPTIONS, f"ControlPath={folder}/%C"):
                self.ssh += ["-o", option]
            for option, variable in WAY.items():
                if variable in told:
                    self.ssh += [option, str(told[variable])]
            self.ssh.append(reached_at)

    def __enter__(self):
        """Start the agent; the first call waits until it is there."""
        self.close()
        there = "cd {} && exec {} -m tools.bench agent".format(*map(shlex.quote, (
            self.told.get("zerohttpd_dir", "/opt/zerohttpd"),
            self.told.get("ansible_python_interpreter", "python3"))))
        ours, theirs = socket.socketpair()
        self.log = tempfile.TemporaryFile(dir=self.folder)
        with theirs:    # a session of its own, or Ctrl-C would reach ssh before us
            self.process = subprocess.Popen(
                [*(self.ssh or ["sh", "-c"]), there], stdin=theirs, stdout=theirs,
                stderr=self.log, start_new_session=True)
        self.line = Connection(ours.detach())
        return self

    def __exit__(self, *_):
        self.close()
        if self.ssh:
            subprocess.run([*self.ssh, "-O", "exit"], stderr=subprocess.DEVNULL, check=False)

    def close(self):
        """End the agent, and with it all that it started."""
        if self.line:
            self.line.close()
            self.line = None
            try:
                self.process.wait(PATIENCE / 6)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def call(self, function, *args, serve=None, seconds=PATIENCE):
        """Return what `function(*args)` returns on the host, or raise what it raises.
        `serve(*question)` answers what it asks the session. Raises HostError, also when there is no
        answer within `seconds`."""
        self.send(function, *args)
        return self.receive(serve, seconds)

    def send(self, function, *args):
        """Start a call; its answer has to be received before the next one. Raises HostError."""
        if not self.line:
            raise HostError(f"{self.name} has dropped out")
        try:
            self.line.send((function, args))
        except OSError:
            raise self._dropped() from None

    def receive(self, serve=None, seconds=PATIENCE):
        """Return or raise the answer to what was sent, as call() does."""
        until = time.monotonic() + seconds
        while True:
            try:
                if not self.line.poll(max(0.0, until - time.monotonic())):
                    raise self._dropped(f"no answer within {seconds:.0f} s")
                kind, value = self.line.recv()
            except (EOFError, ConnectionError):
                raise self._dropped() from None
            self.met = True
            if kind == "returned":
                return value
            if kind == "raised":
                raise value
            try:
                answer = "returned", serve(*value)
            except Exception as error:      # pylint: disable=broad-exception-caught
                answer = "raised", error
            self.line.send(answer)

    def _dropped(self, why=""):
        """Close the line; return the HostError that says why."""
        self.close()
        self.log.seek(0)
        said = self.log.read().decode(errors="replace").strip() or "(nothing was printed)"
        what = "dropped out" if self.met else "cannot be used"
        return HostError(f"{self.name} {what}: {why or said.splitlines()[-1].strip()}")

    def look_at_clock(self):
        """Set `ahead` from the quickest of some round trips. Raises HostError."""
        trips = []
        for _ in range(PINGS):
            before, theirs, after = time.monotonic(), self.call(time.monotonic), time.monotonic()
            trips.append(((after - before) / 2, theirs - (before + after) / 2))
        self.unsure, self.ahead = min(trips)
