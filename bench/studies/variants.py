"""What a variant costs: CPU time for a request, next to that of the plain
server and to that of the floor of the design. scripts/variant.py calls it.

A round measures plain server, variant and floor once, in random order. What is
compared is the median of the rounds' ratios, with an interval that contains the
true median in 95 of 100 cases; see floors.py.
"""

import dataclasses
import statistics
import tempfile
import time

from bench.studies import committed
from bench.studies import cost
from bench.studies import floors
from bench import load
from bench.machine import facts as machine
from bench import peers
from bench.run import servers
from bench.run.redis import RedisServer

ERRORS = (load.LoadError, peers.PeerError, servers.ServerError)


@dataclasses.dataclass(frozen=True)
class Built(servers.Server):
    """A server of ours at another place, or with other options."""

    path: str = ""
    options: tuple = ()

    def command(self, start, port, folder):
        argv, folder = super().command(start, port, folder)
        return [self.path, *argv[1:], *self.options], folder

    def problem(self):
        return ""


def who_is_measured(variant, name, executable, scenario):
    """Return {column: server} for one of the servers that a variant is of."""
    plain = servers.named(name)
    def built(path):
        return Built(name, plain.folder, name, path=str(path),
                     options=variant.options)
    who = {"plain": built(f"{servers.TOP}/{name}"), "variant": built(executable)}
    floor = f"floor-{name}" + ("-kept" if scenario.keep_alive else "")
    # Floors answer one request only.
    if scenario.path == "/answer" and floor in peers.names():
        why = cost.usable(floor)
        if why:
            raise servers.ServerError(f"{floor}: {why}")
        who["floor"] = floor
    return who


def ratio(rows, above, below):
    """Return, in words, the median of the rounds' ratios and its interval."""
    if below not in rows:
        return "–"
    values = [a / b for a, b in zip(rows[above], rows[below])]
    sure = floors.interval(values)
    return f"{statistics.median(values):.2f}" + (
        f" ({sure[0]:.2f} to {sure[1]:.2f})" if sure else "")


def table(measured):
    """Return the lines of a table. `measured` is {server: {column: [CPU us of a
    round]}}."""
    lines = ["| server | plain µs | variant µs | floor µs | variant / plain "
             "| plain / floor | variant / floor |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    for name, rows in measured.items():
        us = {column: f"{statistics.median(values):.1f}"
              for column, values in rows.items()}
        lines.append(" | ".join((
            f"| {name}", us["plain"], us["variant"], us.get("floor", "–"),
            ratio(rows, "variant", "plain"), ratio(rows, "plain", "floor"),
            ratio(rows, "variant", "floor") + " |")))
    return lines


def caption(scenario, rounds, seconds):
    """Return the sentence below the table."""
    facts = machine.facts()
    kept = "on kept connections" if scenario.keep_alive \
        else "each on a new connection"
    return (f"CPU time for a request to `{scenario.path}`, {kept}, "
            f"{scenario.connections} clients; medians of {rounds} rounds of "
            f"{seconds:g} s, in parentheses the 95 % interval of the median. "
            f"{facts['cpu']}, Linux {facts['kernel']}, "
            + time.strftime("%Y-%m-%d.", time.gmtime()))


def measure(variant, executables, rounds, seconds):
    """Measure a variant that is built; return the lines for its page. Raises
    ERRORS."""
    scenario = {one.name: one for one in cost.SCENARIOS}.get(variant.load)
    if scenario is None:
        raise load.LoadError(f"bench/cost.py has no load {variant.load!r}")
    servers.raise_descriptor_limit()
    measured = {}
    with tempfile.TemporaryDirectory(prefix="variant-") as folder, \
            RedisServer(cost.LOAD_CORES) as redis:
        root = cost.site_with_files(folder)
        for name, executable in zip(variant.servers, executables):
            who = who_is_measured(variant, name, executable, scenario)
            found = committed.in_rounds(
                [(name, column) for column in who], rounds,
                lambda _, column: cost.measure(scenario, who[column], root,
                                               redis, seconds),
                lambda row: f"{row['us']:.2f} us")
            measured[name] = {column: [row["us"] for row in found[name, column]]
                              for column in who}
    lines = [*table(measured), "", caption(scenario, rounds, seconds)]
    print("\n" + "\n".join(lines))
    return lines
