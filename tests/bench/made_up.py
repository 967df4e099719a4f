"""A machine, and a results folder with made-up figures."""

import os
import random

from bench import experiments
from bench.machine.facts import Machine
from bench.store import join, rundir

MACHINE = Machine(frozenset({0}), frozenset({1}), frozenset({0, 1}), 20000)     # two cores
# Requests/s at the first x, the share that is left at the last one, and microseconds of CPU a
# request. Made up; the shapes matter, not the figures.
SHAPES = {
    "iterative": (3000, 0.9, 100), "forking": (1500, 0.6, 600), "preforking": (5000, 0.8, 130),
    "threaded": (4000, 0.7, 180), "prethreaded": (6000, 0.9, 120), "poll": (9000, 0.4, 60),
    "epoll": (10000, 0.95, 50)}


def row(experiment, variant, server, x, repeat, share):
    """Return a row as a run leaves it; `share` is how far on the grid."""
    first, last, cpu = SHAPES[server]
    chance = random.Random(f"{experiment.name}{variant.name}{server}{x}{repeat}")
    rate = first * last ** share * chance.uniform(0.97, 1.03)
    rate = min(rate, x) if experiment.open_loop else rate
    cpu *= chance.uniform(0.99, 1.01)
    lost = server == "forking" and share == 1
    loaded = server == "epoll" and experiment.name == "answer"
    # wrk corrects what it has seen of a slow server.
    mean = 1000 * x / rate * (3 if server == "forking" else 1)
    return {
        **{key: chance.uniform(1, 50) for key in rundir.FIGURES},
        "experiment": experiment.name, "variant": variant.name, "server": server, "x": x,
        "kind": "architecture", "repeat": repeat, "tool": experiment.tools[0], "note": "",
        "status": "lossy" if lost else "ok", "evidence": "97 %", "descriptor_limit": 20000,
        "limit": "load tool" if loaded else "server core", "load_busy": 97.0,
        "server_busy": 60.0 if loaded else 97.0, "rate": rate, "requests": rate,
        "failed_percent": 4.0 * lost, "failed": 40 * lost, "timeouts": 0, "unfinished": 0,
        "foreign": 0.5, "overflows": 0, "cpu_us": cpu, "cpu_user_us": cpu / 3,
        "cpu_system_us": cpu * 2 / 3, "mean_ms": mean, "p50_ms": mean * 0.9, "p99_ms": mean * 2,
        "max_ms": mean * 3}


def folder(out, names=tuple(SHAPES)):
    """Make a results folder below `out`, with three rounds; return its path."""
    made = rundir.Folder(str(out))
    for experiment in experiments.all_experiments():
        for variant in experiment.variants:
            for name in ["epoll"] if variant.many_workers else names:
                for place, x in enumerate(variant.full):
                    for repeat in (1, 2, 3):
                        made.add(row(experiment, variant, name, x, repeat,
                                     place / max(1, len(variant.full) - 1)))
                made.add_calls(experiment.name, variant.name, name, "perf",
                               {"all": 9.1, "accept4": 1.0, "read": 3.0})
    env = rundir.read_json(os.path.join(join.REFERENCE, "env.json"))
    made.write_json("env.json", env | {
        "complete": True, "source": {"commit": "a", "changed": False}, "looks": {},
        "machine": env["machine"] | {"cpu": "A <made-up> CPU"}, "left_out": [], "problems": [],
        "preflight": [{"what": "load average", "value": "9.0", "ok": False,
                       "remedy": "wait </script> a little"}]})
    return made.path
