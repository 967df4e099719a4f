"""Look at the machine before measuring: what would spoil the figures?"""

import os
from dataclasses import dataclass

from bench.meter import calibration as core_gauge
from bench import load
from bench.machine import facts as machines
from bench.meter import procfs, sockets
from bench.analyse import summary


@dataclass(frozen=True)
class Finding:
    """One thing looked at; `remedy` is empty when it is as it should be."""

    what: str
    value: str
    remedy: str = ""

    @property
    def ok(self):
        """Whether nothing has to be done."""
        return not self.remedy


def look(machine, tools, most_clients, backlog):
    """Return the Findings for a run with `tools` (names) that opens at most
    `most_clients` connections at once to servers with `backlog`."""
    return [
        _descriptors(machine, most_clients),
        _somaxconn(backlog),
        _syn_backlog(most_clients),
        _ports(most_clients),
        _time_wait(),
        _load_average(),
        _cores(machine),
        _halves(machine),
        _core_speed(min(machine.server_cores)),
        _governor(),
        _idle_cores(),
        _congestion(),
        *_tools(tools),
    ]


def _descriptors(machine, most):
    need = most + 100
    remedy = ""
    if machine.descriptors < need:
        remedy = (f"cells beyond it are left out, or divided over processes: "
                  f"`ulimit -n {need}` as root first")
    return Finding("descriptor limit", f"{machine.descriptors:,}", remedy)


def _somaxconn(backlog):
    limit = procfs.read_int("/proc/sys/net/core/somaxconn")
    remedy = ""
    if limit < backlog:
        remedy = (f"it cuts the backlog of {backlog:,}: "
                  f"sysctl -w net.core.somaxconn={backlog}")
    return Finding("net.core.somaxconn", f"{limit:,}", remedy)


def _syn_backlog(most):
    cookies = procfs.read_int("/proc/sys/net/ipv4/tcp_syncookies", 1)
    limit = procfs.read_int("/proc/sys/net/ipv4/tcp_max_syn_backlog")
    remedy = ""
    if not cookies and limit < most:
        remedy = "SYNs are lost beyond it: sysctl -w net.ipv4.tcp_syncookies=1"
    return Finding("SYN backlog", f"{limit:,}, cookies "
                   + ("on" if cookies else "off"), remedy)


def _ports(most):
    first, last = machines.port_range()
    there = last - first + 1
    remedy = ""
    if there < min(most, 20000) + 5000:
        remedy = ("too few for so many clients: "
                  "sysctl -w net.ipv4.ip_local_port_range='10000 65000'")
    return Finding("ports for clients", f"{there:,} ({first}-{last})", remedy)


def _time_wait():
    waiting = sockets.time_wait_sockets()
    reuse = procfs.read_int("/proc/sys/net/ipv4/tcp_tw_reuse")
    remedy = ""
    if waiting > 10000:
        remedy = "wait a minute until they are gone"
    elif not reuse:
        remedy = ("each client port rests for a minute: "
                  "sysctl -w net.ipv4.tcp_tw_reuse=1")
    return Finding("TIME_WAIT", f"{waiting:,} sockets, reuse "
                   + ("on" if reuse else "off"), remedy)


def _load_average():
    now = os.getloadavg()[0]
    remedy = ""
    if now > 0.3 * os.cpu_count():
        remedy = "something else is running: end it, or wait"
    return Finding("load average", f"{now:.2f}", remedy)


def _cores(machine):
    count = len(machine.all_cores)
    value = (f"{count}: server on {_list(machine.server_cores)}, load and "
             f"Redis on {_list(machine.load_cores)}")
    remedy = ""
    if machine.server_cores & machine.load_cores:
        remedy = ("server and load share cores, so requests/s say little; "
                  "CPU a request still holds: use a machine with two cores, "
                  "or fewer SERVER_CPUS")
    return Finding("cores", value, remedy)


def _halves(machine):
    """Two that the system calls cores can be the halves of one."""
    pairs = [f"{mine} and {other}" for mine in sorted(machine.server_cores)
             for other in sorted(machines.siblings(mine)
                                 & machine.load_cores - {mine})]
    remedy = ""
    if pairs:
        remedy = ("server and load slow each other there: choose SERVER_CPUS "
                  "so that no half is left to the load")
    return Finding("physical cores", "; ".join(
        f"{pair} are one" for pair in pairs) or "none is seen to be shared",
        remedy)


def _list(cores):
    return ",".join(map(str, sorted(cores)))


def _core_speed(core):
    """Look at the server's core for a quarter of a second or so."""
    times = [core_gauge.measure(core) for _ in range(40)]
    slower = 100 * (max(times) / min(times) - 1)
    remedy = ""
    if slower > summary.NOISY_SPEED:
        remedy = ("somebody else works on the other half of this core, or its "
                  "clock changes: cells it hits are marked noisy; more runs "
                  "(REPEAT=9) make up for some of it, a machine for oneself "
                  "for all")
    return Finding("speed of the server's core",
                   f"at its slowest {slower:.0f} % slower than at its best",
                   remedy)


def _governor():
    name = machines.governor()
    remedy = ""
    if name and name != "performance":
        remedy = "the clock changes meanwhile: cpupower frequency-set " \
                 "-g performance"
    return Finding("frequency governor", name or "not visible", remedy)


def _idle_cores():
    """A guest that halts an idle core leaves it to the host, and waits until
    it is given back: where nobody else is served meanwhile, a wait for Redis
    is longer by that."""
    polled = machines.halt_poll_ns()
    value = "not visible" if polled is None else \
        f"look around for up to {polled / 1000:.0f} us before they halt"
    remedy = ""
    if polled == 0:
        remedy = ("a virtual machine wakes them late, so servers that wait "
                  "look slow, and runs differ more: "
                  f"echo 200000 >{machines.HALT_POLL}")
    return Finding("idle cores", value, remedy)


def _congestion():
    """BBR paces what it sends, by a timer for each pause."""
    name = machines.congestion()
    remedy = ""
    if name.startswith("bbr"):
        remedy = ("on the loopback device large answers cost what no server "
                  "is to blame for: sysctl -w "
                  "net.ipv4.tcp_congestion_control=cubic")
    return Finding("congestion control", name or "not visible", remedy)


def _tools(names):
    """A finding for each tool that is missing; none for those there are."""
    return [Finding(name, "not installed",
                    f"{load.TOOLS[name].remedy}; what needs it is left out")
            for name in names if load.missing(name)]
