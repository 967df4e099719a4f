"""`make demo-stuck`: which servers one client's trouble holds."""

import asyncio
import contextlib

import pytest

from tools.observe import lab, stuck


@pytest.mark.parametrize("trouble", [
    pytest.param(name, marks=pytest.mark.slow) if name == "compute" else name
    for name in stuck.TROUBLES])
def test_trouble_stops_the_iterative_server_and_the_pool(trouble, monkeypatch):
    monkeypatch.setattr(lab, "FOLDERS", ["01_iterative", "02_forking",
                                         "03_preforking", "07_epoll"])
    with contextlib.ExitStack() as stack:
        servers, slow = stuck.start(stack)
        slow.delay = stuck.DELAY if trouble == "redis" else 0
        # The more trouble, the longer 01 and 03 make a client wait. Where only the
        # machine does, more of it makes no difference to 02 and 07. A loop waits for
        # no client, but it has one processor for all that compute.
        for more in (1, 4, 16):
            results = asyncio.run(stuck.meet(servers, trouble, 4 * more, more))
            one, fork, pool, loop = results.values()
            assert one > 0.6 and pool > 0.25
            if trouble == "compute":
                assert loop > 0.6
                loop = 0
            if max(fork, loop) < pool:
                break
        else:
            pytest.fail(f"02 or 07 waits as long as 03: {results}")
    lines = stuck.table(dict.fromkeys(stuck.TROUBLES, results))
    assert stuck.TROUBLES[trouble][0] in lines[1]


def test_the_table_names_the_designs_that_hold_nobody():
    quick, slow = 0.004, 1.5
    held = {trouble: dict.fromkeys(["01_iterative", "05_prethreaded"], slow)
            | {"02_forking": quick, "07_epoll": slow if trouble == "compute" else quick}
            for trouble in stuck.TROUBLES}
    held["silent"] = dict.fromkeys(held["half"], slow)
    lines = stuck.table(held)
    assert lines[-1].split() == "not held: 02 07 none 02 07 02 07 02".split()
    assert max(map(len, lines)) <= 80
