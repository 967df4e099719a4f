#!/usr/bin/python3
"""Several hosts on one machine: what the tests of the fleet measure with.

    python3 -m tests.fleet.hosts --names server,redis,balancer,load1,load2 -- COMMAND...

runs COMMAND with the path of an Ansible inventory in $INVENTORY, and removes the
hosts again. Tests use the context manager:

    with hosts(["server", "redis", "load1"]) as fleet:
        fleet.run("server", "uname", "-r")

A host is a group of Linux namespaces:

    network   its own address, routes, ports and net.* sysctls; a veth pair leads to
              a bridge that all hosts of one fleet share
    mount     an overlay: it sees the files of this machine, and what it writes stays
              in memory, so five hosts can have five different /etc
    process   its own process 1, which is its sshd; when that ends, the kernel kills
              every other process of the host
    uts       its own name

The namespaces share the kernel, the processors and all sysctls but net.*. The hosts
reach each other and this machine, not the Internet: what they need is installed here.
Needs root, openssh-server and iproute2.
"""

import argparse
import contextlib
import fcntl
import itertools
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Dict, List, NamedTuple

from tools.kit import scratch

PATIENCE = 60                   # seconds until a new host must answer
SSHD = "/usr/sbin/sshd"         # sshd insists on an absolute path
GROUPS = ("server", "redis", "balancer", "load")

# The first program of a host: $1 is an empty folder, $2 the folder with what sshd
# needs, $3 the host's name. pivot_root makes the overlay the root of all paths, and
# umount -l takes away what was the root before.
BOOT = f"""
hostname "$3"
mount -t tmpfs host "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" host "$1/root"
mkdir -p "$1/root/run/sshd"
cp "$2"/* "$1/root/run/sshd/"
cd "$1/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount --rbind /dev dev
pivot_root . .
umount -l .
exec {SSHD} -D -e -f /run/sshd/sshd_config
"""

SSHD_CONFIG = """\
ListenAddress {address}:22
HostKey /run/sshd/host_key
AuthorizedKeysFile /run/sshd/authorized_keys
PidFile none
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM yes
MaxStartups 100
MaxSessions 100
Subsystem sftp internal-sftp
"""


class Fleet(NamedTuple):
    """Hosts that are up.

    inventory   the path of their inventory, for ansible and `bench run --fleet`
    address     name -> IPv4 address
    pid         name -> process 1 of that host, as this machine numbers it
    bridge      the name of the bridge; namespaces are called BRIDGE-NAME
    ssh         the words of an ssh command, without the host
    """
    inventory: Path
    address: Dict[str, str]
    pid: Dict[str, int]
    bridge: str
    ssh: List[str]

    def run(self, name, *command, **settings):
        """Run a command on a host over ssh; return the CompletedProcess (text).

        `settings` are those of subprocess.run().
        """
        settings = {"capture_output": True, "text": True, "check": False,
                    "timeout": 120, **settings}
        return subprocess.run([*self.ssh, f"root@{self.address[name]}",
                               shlex.join(map(str, command))], **settings)


def why_not():
    """Return why this machine cannot have such hosts, or "" when it can."""
    if os.geteuid() != 0:
        return "namespaces with an sshd of their own need root"
    for program, package in ((SSHD, "openssh-server"), ("ssh", "openssh-client"),
                             ("ip", "iproute2"), ("unshare", "util-linux")):
        if not shutil.which(program):
            return f"{program} is not installed (Debian: {package})"
    probe = ('mount -t tmpfs none "$1" && mkdir "$1/u" "$1/w" "$1/r" && mount -t '
             'overlay -o "lowerdir=/,upperdir=$1/u,workdir=$1/w" none "$1/r"')
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["unshare", "--mount", "--net", "--pid", "--uts", "--fork",
             "sh", "-c", probe, "sh", folder],
            capture_output=True, text=True, check=False)
    return done.stderr.strip() and f"no namespaces here: {done.stderr.strip():.120}"


@contextlib.contextmanager
def hosts(names):
    """Make a host for each name, yield a Fleet, and remove all of it at the end.

    A name is a group of the inventory, with a number if there are several: server,
    redis, balancer, load1, load2. Everything is removed after an exception and after
    SIGTERM, too. Raises OSError when a host cannot be made, and ValueError for a
    name that belongs to no group.
    """
    for name in names:
        if group_of(name) not in GROUPS or len(name) > 10:
            raise ValueError(f"{name!r} is no host of a fleet; the names are "
                             f"{', '.join(GROUPS)}, with a number behind if needed")
    with contextlib.ExitStack() as undo:
        undo.enter_context(ended_by_sigterm())
        try:
            yield make(undo, names)
        finally:
            ignore_signals()


def make(undo, names):
    """Make the hosts; return their Fleet. `undo` gets what removes them."""
    folder = Path(undo.enter_context(scratch.folder("hosts")))
    bridge, network = make_bridge(undo)
    address = {name: f"{network}.{number}" for number, name in enumerate(names, 1)}
    keys = make_keys(folder, address)
    booted = {name: boot(undo, folder, bridge, name, address[name]) for name in names}
    for name, process in booted.items():
        wait_for_sshd(name, address[name], process, folder / name / "log")
    options = ["-o", f"UserKnownHostsFile={keys / 'known_hosts'}",
               "-o", "GlobalKnownHostsFile=/dev/null", "-o", "BatchMode=yes"]
    inventory = folder / "hosts.ini"
    inventory.write_text(inventory_of(address, keys / "key", options), "ascii")
    return Fleet(inventory, address,
                 {name: first_process(booted[name]) for name in names}, bridge,
                 ["ssh", "-F", "none", "-i", str(keys / "key"), *options])


def group_of(name):
    """load2 -> load"""
    return re.sub(r"\d+$", "", name)


def inventory_of(address, key, options):
    """Return the text of the inventory; each host builds in a folder of its own."""
    lines = []
    for group, names in itertools.groupby(sorted(address, key=group_of), group_of):
        lines += [f"[{group}]", *(f"{name} ansible_host={address[name]} "
                                  f"zerohttpd_dir=/opt/zerohttpd-{name}"
                                  for name in names), ""]
    lines += ["[all:vars]", "ansible_user=root",
              f"ansible_ssh_private_key_file={key}",
              f"ansible_ssh_common_args={shlex.join(options)!r}",
              "ansible_python_interpreter=/usr/bin/python3", ""]
    return "\n".join(lines)


SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def ended_by_sigterm():
    """Turn SIGTERM into an exception, so that what follows a `with` is undone. Only
    the main thread can do this; in another one it does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore_signals():
    """Let nothing interrupt the removal: a second signal would leave a part."""
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def command(*words, **settings):
    """Run a command of the system; OSError with what it said when it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, **settings)
    if done.returncode:
        raise OSError(f"{shlex.join(words)}: {done.stderr.strip()}")


def make_bridge(undo):
    """Make a bridge in a free /24; return its name and the network, as "10.77.3".

    The name has the network's number, and the kernel refuses a second bridge of the
    same name, so two fleets never take the same addresses. What a killed run has left
    of its network is removed: no process has the lock.
    """
    reason = None
    for number in range(256):
        bridge, network = f"zf{number}", f"10.77.{number}"
        with contextlib.ExitStack() as attempt:
            try:
                lock = attempt.enter_context(open(f"/run/lock/fleet-{bridge}", "wb"))
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_left(bridge)
                command("ip", "link", "add", bridge, "type", "bridge")
            except OSError as error:
                reason = error
                continue
            undo.push(attempt.pop_all())
        undo.callback(command, "ip", "link", "del", bridge)
        command("ip", "address", "add", f"{network}.254/24", "dev", bridge)
        command("ip", "link", "set", bridge, "up")
        return bridge, network
    raise OSError(f"no bridge can be made: {reason}")


def remove_left(bridge):
    """Remove the namespaces and the bridge of a run that was killed. OSError when a
    process is in one of them."""
    for path in Path("/run/netns").glob(f"{bridge}-*"):
        done = subprocess.run(["ip", "netns", "pids", path.name], capture_output=True,
                              text=True, check=True)
        if done.stdout:
            raise OSError(f"processes run in the namespace {path.name}")
        command("ip", "netns", "del", path.name)
    if Path("/sys/class/net", bridge).exists():
        command("ip", "link", "del", bridge)


def make_keys(folder, address):
    """Make the user's key, and a key and a configuration for the sshd of each host.

    Returns the folder with the files key and known_hosts.
    """
    keys = folder / "user"
    keys.mkdir()
    keygen = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f")
    command(*keygen, str(keys / "key"))
    known = []
    for name, ip in address.items():
        etc = folder / name / "sshd"
        etc.mkdir(parents=True)
        command(*keygen, str(etc / "host_key"))
        shutil.copy(keys / "key.pub", etc / "authorized_keys")
        (etc / "sshd_config").write_text(SSHD_CONFIG.format(address=ip), "ascii")
        known.append(f"{ip} {(etc / 'host_key.pub').read_text('ascii')}")
    (keys / "known_hosts").write_text("".join(known), "ascii")
    return keys


def boot(undo, folder, bridge, name, address):
    """Make the namespaces of a host and start its first process; return its Popen."""
    namespace, cable = f"{bridge}-{name}", f"{bridge}-{address.split('.')[-1]}"
    command("ip", "netns", "add", namespace)
    undo.callback(command, "ip", "netns", "del", namespace)
    command("ip", "link", "add", cable, "type", "veth",
            "peer", "name", "eth0", "netns", namespace)
    undo.callback(command, "ip", "link", "del", cable)
    command("ip", "link", "set", cable, "master", bridge, "up")
    command("ip", "-n", namespace, "address", "add", f"{address}/24", "dev", "eth0")
    for interface in ("lo", "eth0"):
        command("ip", "-n", namespace, "link", "set", interface, "up")
    (folder / name / "disk").mkdir()
    with open(folder / name / "log", "wb") as log:
        # It ends with us, even if we are killed and can undo nothing.
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "nsenter", f"--net=/run/netns/{namespace}",
             "unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child",
             "sh", "-ec", BOOT, "sh", folder / name / "disk", folder / name / "sshd", name],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    undo.callback(halt, process)
    return process


def first_process(process):
    """Return the process that unshare(1) started: 1 in its own namespace."""
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    return int(Path(children).read_text("ascii").split()[0])


def halt(process):
    """Kill the first process of a host, and with it all others; wait for the end.

    unshare --kill-child waits for the first process, and the kernel lets that one
    end only when all others of its namespace have ended.
    """
    with contextlib.suppress(OSError, IndexError):
        os.kill(first_process(process), signal.SIGKILL)
    try:
        process.wait(timeout=PATIENCE)
    finally:
        process.kill()


def wait_for_sshd(name, address, process, log):
    """Wait until the host's sshd accepts; OSError with its log when it does not."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection((address, 22), timeout=1).close()
            return
        time.sleep(0.02)
    raise OSError(f"the host {name} does not answer: "
                  f"{log.read_text(errors='replace').strip()}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="COMMAND finds the path of the inventory in $INVENTORY.")
    parser.add_argument("--names", required=True,
                        help="the hosts: server,redis,balancer,load1,load2")
    parser.add_argument("command", nargs="+", metavar="COMMAND")
    options = parser.parse_args()
    reason = why_not()
    if reason:
        sys.exit(f"hosts.py: {reason}")
    try:
        with hosts(options.names.split(",")) as fleet:
            return run_to_the_end(options.command, fleet.inventory)
    except (OSError, ValueError) as error:
        sys.exit(f"hosts.py: {error}")


def run_to_the_end(words, inventory):
    """Run a command with $INVENTORY; end it, too, when SIGTERM or SIGINT ends us."""
    child = subprocess.Popen(words, env={**os.environ, "INVENTORY": str(inventory)})
    try:
        return child.wait()
    except BaseException:
        child.terminate()
        child.wait()
        raise


if __name__ == "__main__":
    sys.exit(main())
