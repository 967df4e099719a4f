"""Sharing and merging a load, and the way to a host: without other hosts."""

import math
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter

import pytest

from tools.bench import load
from tools.fleet import agent, hosts
from tools.fleet.load import merge, share
from tools.kit import TOP, wait


# -------------------------------------------------------------- sharing, merging

def result_of(times):
    """Return the Result of a tool that saw these times, in microseconds."""
    return load.Result(good=len(times), seconds=1.0, times=Counter(times),
                       mean=statistics.fmean(times) / 1000 if times else None)


def test_merged_percentiles_are_those_of_all_requests():
    """Whatever was measured, and however it is divided among the tools."""
    for seed in range(200):
        chance = random.Random(seed)
        scale = chance.choice((3, 1000, 10 ** 7))
        every = [1 + int(chance.expovariate(1) * scale)
                 for _ in range(chance.randint(1, 3000))]
        parts = [[] for _ in range(chance.randint(1, 9))]
        for one in every:       # the tools need not see the same, nor equally many
            parts[min(int(chance.expovariate(1)), len(parts) - 1)].append(one)
        merged = merge([result_of(part) for part in parts], [0.0] * len(parts))
        every.sort()
        assert [merged.p50, merged.p99, merged.max] == [
            every[min(len(every) - 1, int(0.5 + len(every) * part))] / 1000
            for part in (0.5, 0.99, 1)]
        assert merged.mean == pytest.approx(statistics.fmean(every) / 1000)
        assert merged.good == len(every)


def test_counts_are_added_and_time_is_from_the_first_to_the_last():
    merged = merge([load.Result(good=10, failed=1, opens=9, seconds=1.0, cpu=0.2, wall=1.0),
                    load.Result(good=30, failed=2, opens=9, seconds=1.0, cpu=0.9, wall=1.0)],
                   begins=[5.0, 5.5])
    assert (merged.good, merged.failed, merged.seconds) == (40, 3, 1.5)
    assert merged.opens == 18       # ten clients each, on three threads of wrk
    assert merged.rate == pytest.approx(40 / 1.5)
    assert merged.cpu == 0.9        # of the busiest: it ends the rate
    assert merged.p50 is None       # without the time of each answer


@pytest.mark.parametrize("connections, tools", [(20, 3), (2, 5), (100_000, 6)])
def test_a_load_is_shared_without_rest(connections, tools):
    whole = load.Job("http://x:1/", connections=connections, requests=20_000, rate=900.0,
                     sharers=100)
    parts = share(whole, tools)
    assert len(parts) == min(connections, tools)
    for key in ("connections", "requests", "sharers"):
        found = [getattr(part, key) for part in parts]
        assert sum(found) == getattr(whole, key) and max(found) - min(found) <= 1
    assert math.isclose(sum(part.rate for part in parts), whole.rate)


# --------------------------------------------------------------- a host, locally

@pytest.fixture(name="host")
def make_host(tmp_path, monkeypatch):
    """A Host that is this machine. It knows the functions of this file."""
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.abspath(__file__)))
    told = {"ansible_connection": "local", "zerohttpd_dir": str(TOP),
            "ansible_python_interpreter": sys.executable}
    with hosts.Host("near", told, str(tmp_path)) as host:
        yield host


def test_a_host_returns_raises_and_asks(host):
    assert host.call(os.getpid) == host.process.pid
    with pytest.raises(FileNotFoundError, match="/nowhere"):
        host.call(os.listdir, "/nowhere")
    assert host.call(agent.ask, 21, serve=lambda number: 2 * number) == 42
    with pytest.raises(load.LoadError, match="nothing"):
        host.call(agent.ask, 21, serve=refuse)
    assert host.call(os.getpid)     # it is still there


def refuse(_):
    """Stands for a load that fails."""
    raise load.LoadError("nothing")


def test_clocks_of_one_machine_agree(host):
    """Both read the same clock, so the difference is what it claims to be."""
    host.look_at_clock()
    assert abs(host.ahead) <= host.unsure < 30


def test_a_host_that_ends_has_dropped_out(host):
    host.call(os.getpid)
    host.send(os._exit, 3)
    with pytest.raises(hosts.HostError, match="near dropped out"):
        host.receive()
    with pytest.raises(hosts.HostError, match="near has dropped out"):
        host.call(os.getpid)
    host.__enter__()                # and can come back
    assert host.call(os.getpid) == host.process.pid


def test_a_host_that_was_never_there_says_so(host):
    host.told["zerohttpd_dir"] = "/nowhere"
    with pytest.raises(hosts.HostError, match="near cannot be used: .*/nowhere"):
        host.__enter__().call(os.getpid)


def test_a_host_that_hangs_has_dropped_out(host):
    with pytest.raises(hosts.HostError, match="near .*no answer within 0 s"):
        host.call(time.sleep, 0.5, seconds=0.01)


def test_the_agent_ends_its_tools_with_the_session(host):
    """Although the load would go on for a minute."""
    host.send(agent_sleeps)
    pid = host.receive()
    host.send(agent_waits)
    host.close()
    assert host.process.returncode == 0     # it was not killed
    assert wait.until(lambda: not os.path.exists(f"/proc/{pid}"), 240)


def agent_sleeps():
    """Start a program that takes a minute; return its pid."""
    from tools.kit import process    # pylint: disable=import-outside-toplevel
    return process.spawn(["sleep", "60"], os.sched_getaffinity(0), subprocess.DEVNULL).pid


def agent_waits():
    """Wait for a minute, like a load, as long as the session is there."""
    while True:
        time.sleep(min(0.05, agent.still_there() - time.monotonic()))
