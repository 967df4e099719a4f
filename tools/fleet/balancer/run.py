#!/usr/bin/python3
"""Run several instances of a server behind a balancer, on this machine.

    make run-balanced N=3 SERVER=epoll      with a Redis of its own
    python3 -m tools.fleet.balancer.run epoll --instances 3 --redis 127.0.0.1:6379

While it runs:
    kill -HUP PID      restarts the instances, one after the other: drains one
                       through the balancer, sends it SIGTERM, starts it again
                       and gives it requests again
    Ctrl-C, SIGTERM    ends the balancer and the instances

An instance that ends without being told is started again after --restart-after seconds.
"""

import argparse
import contextlib
import itertools
import math
import os
import signal
import socket
import sys
import time
from pathlib import Path

from tools.fleet.balancer.balancers import BALANCERS, PATIENCE, Failed, start
from tools.kit import process, procfs, scratch, servers

# An event loop has no number of workers. This one limits what is lost when an instance dies.
LOOP_SLOTS = 1000
# Longer than the balancers keep an idle connection to an instance.
KEEP_ALIVE = 60
BACKLOG = 4096
LAST_PORT = 65535
MOST = 100              # instances


class Instance:
    """One of the instances. The templates read name, host, port and down."""

    host, down = "127.0.0.1", False

    def __init__(self, name, port, argv, folder):
        self.name, self.port, self.argv = name, port, argv
        self.log = folder / f"{name}.log"
        self.process = self.ended = None    # ended: when it did, unasked

    def start(self):
        """Start it. Raises Failed."""
        self.ended = None
        with open(self.log, "ab") as log:
            self.process = start(self.name, self.argv, self.port, log)
        procfs.settle(self.process.pid)     # 03 still forks its workers
        say(f"{self.name}: process {self.process.pid}, "
            f"http://{self.host}:{self.port}/, log {self.log}")

    def stop(self):
        """Send SIGTERM, and wait until it has finished its requests."""
        process.stop(self.process, seconds=PATIENCE)

    def look(self, delay):
        """If it has ended, start it again `delay` seconds after that. Return
        how many of them are left, None while it runs. Raises Failed."""
        how = process.wait(self.process, 0)
        if not how:
            return None
        if not self.ended:
            say(f"{self.name} ended with {how}; starts again in {delay:g} s")
            self.ended = time.monotonic()
        left = self.ended + delay - time.monotonic()
        if left > 0:
            return left
        self.start()
        return None


def say(text):
    """Print a line now, also into a file or a pipe."""
    print(text, flush=True)


def slots_of(name):
    """Return how many requests an instance gets at a time: as many as it has
    workers, less one for the health check; 01 has one for both."""
    workers = servers.named(name).at_a_time
    return LOOP_SLOTS if workers == math.inf else max(1, workers - 1)


def is_free(port):
    """Return whether a server can listen on `port`."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((Instance.host, port))
            return True
        except OSError:
            return False


def rolling_restart(balancer, instances):
    """Restart the instances, one after the other, while all others run. Raises Failed."""
    for instance in instances:
        for one in instances:
            one.look(0)
        balancer.drain(instance)
        instance.stop()
        instance.start()
        balancer.ready(instance)
    say(f"restarted {len(instances)} instances")


def supervise(balancer, instances, delay, signals):
    """Look after balancer and instances; `signals` is a socket that gets a
    byte for each signal. Raises Failed when one of them cannot be kept up."""
    while True:
        left = [instance.look(delay) for instance in instances]
        ended = balancer and process.wait(balancer.process, 0)
        if ended:
            raise Failed(f"{balancer.program} ended with {ended}")
        signals.settimeout(min(filter(None, left), default=None))
        try:
            if signal.SIGHUP in signals.recv(64) and balancer:
                rolling_restart(balancer, instances)
        except TimeoutError:
            pass        # time to start one again


def instances_of(options, server, more, folder):
    """Return the Instances, on free ports. Raises Failed."""
    if not is_free(options.port):
        raise Failed(f"port {options.port} is taken: give --port another one")
    how = servers.Start(
        redis=options.redis, backlog=BACKLOG, extra=("--keep-alive", str(KEEP_ALIVE), *more))
    first = options.port + (options.balancer != "none")
    ports = list(itertools.islice(filter(is_free, range(first, 1 + LAST_PORT)), options.instances))
    if len(ports) < options.instances:
        raise Failed(f"above port {options.port} there are no "
                     f"{options.instances} free ones: give --port a lower one")
    return [Instance(f"s{number}", port, server.command(how, port, None)[0], folder)
            for number, port in enumerate(ports, 1)]


def run(options, server, more, folder, signals):
    """Start all that the options ask for, and look after it until a signal. Raises Failed, and
    KeyboardInterrupt for SIGINT and SIGTERM."""
    instances = instances_of(options, server, more, folder)
    for instance in instances:
        instance.start()
    balancer = None
    if options.balancer != "none":
        balancer = BALANCERS[options.balancer](folder, {
            "balancer_port": options.port, "balancer_host": Instance.host,
            "balancer_folder": folder, "instances": instances, "balancer_log": "stderr",
            "slots": options.slots or slots_of(server.name),
            **({} if os.getuid() else {"balancer_user": "root"})}, options.template)
        balancer.start()
        say(f"drain by hand: {balancer.by_hand()}")
        say(f"restart all: kill -HUP {os.getpid()}")
    say(f"ready: http://{Instance.host}:{options.port}/guestbook")
    supervise(balancer, instances, options.restart_after, signals)


def read_options(words):
    """Return (the options, the server, the options for it)."""
    end = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        usage="run.py SERVER [OPTION...] [-- OPTIONS FOR EACH INSTANCE]; --help lists them",
        description=__doc__.splitlines()[0], epilog="Words after -- are options for each instance.")
    parser.add_argument("server", help="its name or number: epoll, 07")
    parser.add_argument("--instances", default=3, metavar="N", help="how many (%(default)s)")
    parser.add_argument("--balancer", default="haproxy",
                        help=f"{', '.join(BALANCERS)} or none: one instance, to compare with "
                        "(%(default)s)")
    parser.add_argument("--port", default=8000,
                        help="where clients connect; the instances take the "
                        "next ones that are free (%(default)s)")
    parser.add_argument("--redis", default="none", metavar="WHERE",
                        help="HOST:PORT, unix:PATH or none (%(default)s)")
    parser.add_argument("--slots", type=int, metavar="N",
                        help="requests that an instance gets at a time "
                        "(as the server has workers, unless told otherwise, less one)")
    parser.add_argument("--template", metavar="FILE",
                        help="configure the balancer from this file (a copy "
                        "of the one in tools/fleet/balancer, to try out changes)")
    parser.add_argument("--restart-after", type=float, default=3,
                        metavar="SEC", help="start an instance that ended "
                        "again after this time (%(default)s)")
    parser.add_argument("--look", action="store_true",
                        help="only look whether these options are right")
    options = parser.parse_args(words[:end])
    try:
        server = servers.named(options.server)
    except KeyError:
        parser.error(f"SERVER={options.server}: there are "
                     + ", ".join(one.folder for one in servers.ARCHITECTURES))
    if options.balancer not in (*BALANCERS, "none"):
        parser.error(f"BALANCER={options.balancer}: there are {', '.join(BALANCERS)}, none")
    options.port = whole(parser, "PORT", options.port, LAST_PORT)
    options.instances = whole(parser, "N", options.instances, MOST)
    if options.balancer == "none" and options.instances != 1:
        parser.error("BALANCER=none: without a balancer there is one instance: N=1")
    return options, server, words[end + 1:]


def whole(parser, name, text, most):
    """Return the number that the setting `name` was given as `text`; an error of `parser` when it
    is none from 1 to `most`."""
    with contextlib.suppress(ValueError):
        if 1 <= int(text) <= most:
            return int(text)
    return parser.error(f"{name}={text}: it has to be a whole number from 1 to {most}")


def main():
    """Run it; return the exit status: 0 after a signal, 1 after a failure."""
    options, server, more = read_options(sys.argv[1:])
    if options.look:
        return 0
    # The first two end the program wherever it is, the others only wake it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signals, woken_by = socket.socketpair()
    woken_by.setblocking(False)
    signal.set_wakeup_fd(woken_by.fileno(), warn_on_full_buffer=False)
    with scratch.folder("balanced") as folder:
        try:
            run(options, server, more, Path(folder), signals)
        except KeyboardInterrupt:
            return 0
        except (Failed, OSError) as error:
            print(f"run.py: {error}", file=sys.stderr)
            return 1
        finally:
            process.end_all()


if __name__ == "__main__":
    sys.exit(main())
