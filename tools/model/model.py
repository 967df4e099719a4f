"""Predicts the curve: rate, response time and bottleneck of each of the seven at any number of
clients, from CPU times measured with 20 clients or fewer.

    answer = solve(load(), Setting("epoll", clients=1000))

The machine is a closed queueing network. A client is at the load tool, waits for a worker, or
is with one: at the server's cores, at Redis, or asleep in between. The laws are those of
Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance (1984, free online):
utilisation and Little's law (chapter 3), mean value analysis with Schweitzer's approximation
(chapter 6), limited workers (chapter 9); and Erlang's loss formula for one thread that shares
the cores with the workers it makes. Gunther's Universal Scalability Law adds coherence;
nothing measured with one core per server asks for it.

The costs are JSON. Times are microseconds of CPU for a page unless noted:

    {"format": 2,
     "source":  {"what": run, "cpu": its name, "most_clients": 20},
     "machine": {"core_kib": cache of one core, "core_ns": to fetch a line of 64 bytes that is
                 not there from the last-level cache, "cache_kib": last-level cache,
                 "miss_ns": to fetch a line from memory, "wake_us": delay of a wake-up, no
                 CPU, "scan_us": poll: one descriptor, each time poll() is called},
     "memory":  {PAGE: {"held_kib": what a client occupies in server, kernel and load tool;
                 "load_kib", "server_kib": what a page touches of it; "worker_kib": what a
                 process or thread touches}},
     "servers": {NAME: {PAGE: {"server_us": ..., "redis_us": ..., "load_us": ...}}}}

PAGE is "guestbook", "answer" (both with a new connection for each page) or "answer kept". No
run tells `memory` and the caches: they were chosen once, from the sizes of the structures and
the processor's data sheet.
"""

import json
import math
import pathlib
from dataclasses import dataclass

from tools.kit.servers import ARCHITECTURES, WORKER_EACH

COSTS = pathlib.Path(__file__).with_name("costs.json")
FORMAT = 2
TRIPS = {"guestbook": 3}    # to Redis, one after the other
PAGES = ("guestbook", "answer", "answer kept")
# How many clients a server serves at the same time: the defaults of its options, in C.
WORKERS = {one.name: one.at_a_time for one in ARCHITECTURES}
ONE_CORE = [one.name for one in ARCHITECTURES if one.one_core]     # one thread computes
# These make a worker for each connection.
MAKERS = [one.name for one in ARCHITECTURES if one.model == WORKER_EACH]
PARENT = 0.5    # of what making a worker costs: what one thread does for all
FULL = 0.9      # a station that is busier than this is a bottleneck


@dataclass(frozen=True)
class Setting:
    """What is asked. With several load `machines`, each has a core for the tool and Redis has
    one of its own; with one, Redis and the tool share a core."""

    server: str
    page: str = "guestbook"
    clients: int = 100
    cores: int = 1
    workers: int = None     # None: the server's default
    redis_ms: float = 0.0   # added to each round trip
    machines: int = 1
    idle: int = 0           # connections that are open and silent
    computing: float = 0.0  # share (0 to 1) of pages that compute, each for `compute_ms` of CPU
    compute_ms: float = 20.0

    @property
    def slots(self):
        """How many clients are served at the same time, at most."""
        own = WORKERS[self.server]
        return own if own in (1, math.inf) else self.workers or own

    @property
    def used_cores(self):
        """How many cores the server can use."""
        return 1 if self.server in ONE_CORE else self.cores


@dataclass(frozen=True)
class Demands:
    """Seconds for one page."""

    server: float       # CPU at three stations
    redis: float
    load: float
    delay: float        # without CPU
    scan: float         # a turn of poll's loop in addition, for each descriptor
    serial: float       # the part of `server` that one thread does for all


@dataclass(frozen=True)
class Answer:
    """What is predicted: `rate` in pages a second, `seconds` a page takes as the load tool sees
    it, `limit` (a key of explain.LIMITS), `busy` {station: share of its cores, 0 to 1}."""

    rate: float
    seconds: float
    limit: str
    busy: dict


def load(path=COSTS):
    """Return the costs in a file. Raises OSError, and ValueError when it holds something else."""
    try:
        costs = json.loads(pathlib.Path(path).read_text("utf-8"))
        if costs["format"] == FORMAT and costs.keys() >= {"machine", "memory", "servers"}:
            return costs
    except (KeyError, TypeError, ValueError):
        pass
    raise ValueError(f"{path}: these are no costs of format {FORMAT}")


def crowded(setting):
    """Return whether a server closes each kept connection after a page: more clients come than it
    has workers."""
    return setting.page == "answer kept" and setting.clients > setting.slots


def cost_of(costs, server, page):
    """Return the costs of a page. Raises ValueError when they are not known."""
    try:
        return costs["servers"][server][page]
    except KeyError as error:
        raise ValueError(f"no costs are known of {server}, {page}: measure them with make study "
                         "NAME=calibrate") from error


def fetched(costs, held_kib, touched_kib):
    """Return the microseconds that a page waits for the part of `touched_kib` that has left the
    caches because `held_kib` were used in between."""
    machine = costs["machine"]
    return touched_kib * 1024 / 64 / 1000 * sum(
        machine[time] * held_kib / (held_kib + machine[size])
        for size, time in (("core_kib", "core_ns"), ("cache_kib", "miss_ns")))


def demands(costs, setting):
    """Return the Demands of a page. Raises ValueError as cost_of() does."""
    page = "answer" if crowded(setting) else setting.page
    cost, memory = cost_of(costs, setting.server, page), costs["memory"][page]
    active = min(setting.clients, setting.slots) if 1 < setting.slots < math.inf else 0
    making, held = 0.0, memory["held_kib"]
    if setting.server in MAKERS and page != "answer kept" and setting.cores > 1:
        plain, made = (cost_of(costs, server, "answer")["server_us"]
                       for server in ("iterative", setting.server))
        making = PARENT * max(0.0, made - plain)
    return Demands(
        server=1e-6 * (
            cost["server_us"] + fetched(costs, setting.clients * held, memory["server_kib"])
            + fetched(costs, active * (held + memory["worker_kib"]), memory["worker_kib"]))
        + 1e-3 * setting.computing * setting.compute_ms,
        redis=1e-6 * cost["redis_us"],
        load=1e-6 * (cost["load_us"] + fetched(
            costs, setting.clients / setting.machines * held, memory["load_kib"])),
        delay=TRIPS.get(setting.page, 0) * (
            1e-6 * costs["machine"]["wake_us"] + 1e-3 * setting.redis_ms),
        scan=1e-6 * costs["machine"]["scan_us"] * (setting.server == "poll"),
        serial=1e-6 * making)


def makers_rate(need, cores):
    """Return how many pages a second the one thread that makes workers allows. It waits for a
    core as its workers do, and then makes none: a worker that finds all cores taken is "lost",
    as a call is that finds all lines taken. Erlang's loss formula says how many are."""
    load, lost = need.server / need.serial - 1, 1.0
    for lines in range(1, cores + 1):
        lost = load * lost / (lines + load * lost)
    return (1 - lost) / need.serial


def waiting(rate, demand, others, turn=0.0):
    """Return how many jobs are at a station with one core that works `demand` seconds for each
    of `rate` jobs a second, and `turn` seconds once for all that are there; inf when it cannot.
    A job that arrives finds `others` (0 to 1) of the mean number: this is Schweitzer's
    approximation of the arrival theorem."""
    room = 1 - rate * others * demand
    if room <= 0:
        return math.inf
    # jobs = rate (demand + turn/jobs) (1 + others jobs)
    half = rate * (demand + others * turn) / (2 * room)
    jobs = half + math.sqrt(half * half + rate * turn / room)
    if jobs < 1:            # each turn serves one
        room -= rate * others * turn
        jobs = rate * (demand + turn) / room if room > 0 else math.inf
    return jobs


def scan(need, setting, at_load):
    """Return the seconds that a turn of poll's loop takes in addition. New connections are watched
    from the answer until the client, one of `at_load` clients at the load tool, has closed them."""
    watched = setting.clients if setting.page == "answer kept" else min(at_load, setting.clients)
    return need.scan * (setting.idle + watched)


def jobs_at(rate, need, setting, inside):
    """Return {station: mean number of clients there} when `rate` pages are served a second. With
    `inside`, only what happens while a worker is held; the load tool then slows Redis down on
    the core that they share. Several cores count as one that is as fast as all of them."""
    count = setting.slots if inside else setting.clients
    others, cores = (count - 1) / count, setting.used_cores
    shared, tools = setting.machines == 1, setting.machines
    found = {}
    if not inside:
        each = need.load + need.redis * shared
        found["load"] = waiting(rate, each / tools, others)
    if inside or not shared:
        slower = 1 + min(1, rate * need.load) * shared
        found["redis"] = waiting(rate, need.redis * slower, others)
    turn = scan(need, setting, found.get("load", 0.0))
    found["server"] = waiting(rate, need.server / cores, others, turn)
    found["asleep"] = rate * need.delay
    return found


def highest(need, setting, inside):
    """Return the rate at which all clients (`inside`: all workers) are somewhere, by bisection
    below the rate at which none ever waits: more pages a second need more of them."""
    count = setting.slots if inside else setting.clients
    low, high = 0.0, count / (need.server + need.redis + need.delay + need.load * (not inside))
    for _ in range(60):
        rate = (low + high) / 2
        if sum(jobs_at(rate, need, setting, inside).values()) > count:
            high = rate
        else:
            low = rate
    return low


def solve(costs, setting):
    """Return the Answer for a Setting. Raises ValueError as demands() does."""
    need = demands(costs, setting)
    rates = {"clients": highest(need, setting, False)}
    if setting.clients > setting.slots:
        rates["workers"] = highest(need, setting, True)
    if need.serial:
        rates["parent"] = makers_rate(need, setting.cores)
    limit = min(rates, key=rates.get)
    rate = rates[limit]
    busy = {"server": rate * need.server / setting.used_cores, "redis": rate * need.redis,
            "load": rate * need.load / setting.machines}
    if need.scan:       # all that is left, at most
        there = jobs_at(rate, need, setting, False)
        busy["server"] = min(1.0, busy["server"] + rate * scan(
            need, setting, there["load"]) / max(1.0, there["server"]))
    stations = busy if setting.machines > 1 else {
        "server": busy["server"], "shared": busy["redis"] + busy["load"]}
    fullest = max(stations, key=stations.get)
    if limit != "parent" and stations[fullest] >= FULL:
        limit = fullest
    return Answer(rate, setting.clients / rate, limit, busy)
