"""A load from several generators: shared, started together, merged.

A generator is a load tool with an agent of its own. All wait for the same time, each by
its own clock; how far these are apart is known from round trips. A tool begins when its
process runs, and the skew is the time from the first one's begin to the last one's.
"""

import itertools
import math
import os
import time
from dataclasses import replace
from multiprocessing.connection import wait

from tools.bench import load
from tools.bench.experiments import SPARE
from tools.bench.machine import facts
from tools.fleet import agent
from tools.fleet.hosts import PATIENCE, Host
from tools.kit import procfs

HEAD_START = 0.02       # seconds for a command to reach all hosts


# --------------------------------------------------------------- pure functions

def share(job, many):
    """Return the load.Job of each of `many` generators: connections, requests, rate and kept
    connections in parts as equal as they can be. There are no more jobs than connections."""
    many = min(many, job.connections)

    def parts(number):
        return [number // many + (place < number % many) for place in range(many)]
    requests = parts(job.requests) if job.requests else [None] * many
    return [replace(job, connections=mine, requests=count, keep_times=True,
                    sharers=max(1, turns),
                    rate=job.rate and job.rate * mine / job.connections)
            for mine, count, turns in zip(
                parts(job.connections), requests, parts(job.sharers))]


def percentile(times, percent):
    """Return a percentile of `times`, sorted microseconds of each answer, in ms: the answer at
    place n * percent / 100 of the n, as ab has it. 100 is the longest."""
    return times[min(len(times) - 1, int(0.5 + len(times) * percent / 100))] / 1000


def merge(results, begins):
    """Return one load.Result for those of all generators, which began at `begins`, in seconds
    of one clock.

    Counts and times are added up, so a percentile is that of all answers; it is None where several
    tools did not leave the time of each. What is the busiest or latest generator's: CPU time,
    lag, the longest answer."""
    def known(key):
        return [value for one in results if (value := getattr(one, key)) is not None]

    def total(key):
        return sum(known(key)) if len(known(key)) == len(results) else None

    good, some = total("good"), [one for one in results if one.good]
    busiest = max(results, key=lambda one: one.cpu / (one.wall or 1))
    merged = load.Result(
        good=good, cpu=busiest.cpu, wall=busiest.wall,
        **{key: total(key) for key in ("failed", "timeouts", "opens", "sent_rate")},
        **{key: max(known(key), default=None) for key in ("lag_percent", "max")},
        seconds=max(begin + one.seconds for begin, one in zip(begins, results)) - min(begins),
        mean=sum(one.mean * one.good for one in some) / good
        if good and all(one.mean for one in some) else None,
        notes=list(dict.fromkeys(itertools.chain(*known("notes")))))
    if some and all(one.times for one in some):
        times = sorted(itertools.chain(*(one.times.elements() for one in some)))
        merged.p50, merged.p99, merged.max = (
            percentile(times, percent) for percent in (50, 99, 100))
    elif len(results) == 1:
        merged.p50, merged.p99 = results[0].p50, results[0].p99
    return merged


def together(found):
    """Return the same as Generators.run() for [(Host, load.Result, how busy its cores were in per
    cent)]."""
    begins = [result.began - host.ahead for host, result, _ in found]
    merged = merge([result for _, result, _ in found], begins)
    silent = {}         # each tool counts the silent clients of its whole host
    for host, result, _ in found:
        silent[host.name] = max(silent.get(host.name, 0), result.unfinished)
    merged.unfinished = sum(silent.values())
    parts = [{"host": host.name, "role": "load", "requests": result.good,
              "rate": result.rate, "failed": result.failed,
              "begin_ms": 1000 * (begin - min(begins)), "clock_ms": 1000 * host.unsure,
              "cores_busy": busy, "busy": 100 * result.cpu / result.wall}
             for begin, (host, result, busy) in zip(begins, found)]
    merged.extra = {"skew_ms": max(one["begin_ms"] for one in parts),
                    "load_cores_busy": max(one["cores_busy"] for one in parts)}
    merged.command, merged.output = (
        "\n".join(f"[{host.name}] {getattr(result, key)}" for host, result, _ in found)
        for key in ("command", "output"))
    return merged, parts


# -------------------------------------------------------------- on a load host

def generate(name, job, cores, begin):
    """Run `job` with the tool `name` when the clock here shows `begin`. Return (load.Result, how
    busy the cores were in per cent)."""
    before = procfs.busy_times()
    time.sleep(max(0.0, begin - time.monotonic()))
    begun = time.monotonic()        # the wait, in which the cores idle, does not count
    result = load.run(name, job, cores, agent.still_there)
    after, lasted = procfs.busy_times(), time.monotonic() - begun
    busy = sum(after[core] - before[core] for core in cores)
    return result, 100 * busy / lasted / len(cores)


# --------------------------------------------------------------- on our machine

class Generators:
    """The load tools of a fleet: on each of `hosts`, {Host: its cores for the load}, one or
    as many as its connections need descriptors."""

    def __init__(self, hosts, descriptors):
        self.hosts, self.each = hosts, descriptors - SPARE
        self.agents = {host: [host] for host in hosts}

    def close(self):
        """End all agents."""
        for one in itertools.chain(*self.agents.values()):
            one.close()

    def chosen(self, clients):
        """Return [(Host, its agent)] for that number of clients."""
        many = max(1, math.ceil(clients / len(self.hosts) / self.each))
        for host, agents in self.agents.items():
            agents += [Host(host.name, host.told, host.folder) for _ in range(many - len(agents))]
        return [(host, agents[number]) for number in range(many)
                for host, agents in self.agents.items()]

    def ready(self, clients):
        """Have agents for the clients, and know how their clocks differ from ours. Raises
        HostError."""
        for host, one in self.chosen(clients):
            if not one.line:
                one.__enter__()
                one.call(facts.layout)      # raises the limit of descriptors
                one.call(os.sched_setaffinity, 0, self.hosts[host])
            one.look_at_clock()

    def run(self, name, job):
        """Run `job` with the tool `name` on all hosts. Return (the merged load.Result, the
        columns of hosts.csv for each generator). Raises HostError and LoadError as soon as
        one fails; the others end then, and have to be made ready() again."""
        agents = self.chosen(1 if job.rate else job.connections)
        jobs = share(job, len(agents))
        cores = {one: self.hosts[host] for (host, one), _ in zip(agents, jobs)}
        begin = time.monotonic() + HEAD_START + 2 * max(one.unsure for one in cores)
        found = {}
        try:
            for (one, mine), part in zip(cores.items(), jobs):
                part = replace(part, threads=min(job.threads, len(mine)))
                one.send(generate, name, part, mine, begin + one.ahead)
            waiting = {one.line: one for one in cores}
            until = time.monotonic() + jobs[0].deadline + PATIENCE
            while waiting:      # those that are late are refused by receive()
                for line in wait(waiting, max(0.0, until - time.monotonic())) or list(waiting):
                    one = waiting.pop(line)
                    found[one] = one.receive(seconds=0)
        finally:
            for one in cores.keys() - found:
                one.close()
        return together([(one, *found[one]) for one in cores])
