"""`make demo-stuck`: who has to wait when one client makes trouble?

Each of the seven gets four clients that make trouble, as many as the pools
have workers, while a normal client asks for /answer every 100 ms.
"""

import argparse
import asyncio
import contextlib

from tools.kit import scratch
from tools.observe import clients, lab
from tools.kit.slow_redis import SlowRedis
from tools.observe.timeline.export import duration

TROUBLES = {                    # kind of the client, its words, its path
    "half": ("half request", "half", "/answer"),
    "silent": ("silence", "silent", "/answer"),
    "slow": ("slow reader", "slow", "/large"),
    "redis": ("slow Redis", "again", "/guestbook"),
    "compute": ("computing", "again", "/compute?ms=500"),
}
REASONS = {
    "01": "one process: while it waits or computes for one client, all others wait",
    "02": "a process for each client: only its own process waits or computes",
    "03": "four workers: when all four wait or compute, all other clients wait",
    "04": "a thread for each client: only its own thread waits or computes",
    "05": "four threads: when all four wait or compute, all other clients wait",
    "06": "one loop: no call in it waits for a single client, but a page can compute",
    "07": "one loop: no call in it waits for a single client, but a page can compute",
}
# A reply takes this long. After 250 ms the servers would give up.
DELAY = 0.15
INTERVAL = 0.1                  # between two requests of the normal client
HELD = 0.25                     # a shorter wait may be for a processor that others use


def main(words):
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.observe demo-stuck",
                                     description=__doc__)
    parser.add_argument("--seconds", type=lab.above_zero(float), default=3,
                        help="how long the trouble lasts (3)")
    parser.add_argument("--clients", type=lab.above_zero(int, 1000), default=4,
                        help="that make trouble (4)")
    chosen = parser.parse_args(words)
    print(f"{chosen.clients} clients make trouble for {chosen.seconds:g} s. "
          "How long did a normal client wait at most?", flush=True)
    with contextlib.ExitStack() as stack:
        servers, slow = start(stack)
        results = {}
        for trouble in TROUBLES:
            slow.delay = DELAY if trouble == "redis" else 0
            results[trouble] = asyncio.run(meet(servers, trouble, chosen.clients, chosen.seconds))
    print("\n".join(table(results)))
    return 0


def start(stack):
    """Start the seven on one slow Redis; return ({folder: Server}, slow)."""
    root = lab.site(stack.enter_context(scratch.folder("site")))
    redis = stack.enter_context(lab.Redis())
    slow = stack.enter_context(SlowRedis(redis.port, 0))
    return {folder: stack.enter_context(
        lab.start(folder, slow.port, "--root", root, "--compute")) for folder in lab.FOLDERS}, slow


async def meet(servers, trouble, count, seconds):
    """Return {folder: seconds that a normal client waited at most} of one kind of trouble; all
    servers together. Those that compute take turns, or each would wait for the processors that the
    others use."""
    if trouble == "compute":
        return {folder: await _meet_one(server.address, trouble, count, seconds)
                for folder, server in servers.items()}
    found = await asyncio.gather(*(
        _meet_one(server.address, trouble, count, seconds) for server in servers.values()))
    return dict(zip(servers, found))


async def _meet_one(address, trouble, count, seconds):
    _, kind, path = TROUBLES[trouble]
    bad = [asyncio.ensure_future(clients.trouble(kind, address, path, seconds))
           for _ in range(count)]
    await asyncio.sleep(INTERVAL)
    normal = []
    for _ in range(max(1, round(seconds / INTERVAL) - 2)):
        normal.append(asyncio.ensure_future(clients.ask(address, "/answer", 10 * seconds)))
        await asyncio.sleep(INTERVAL)
    times = await asyncio.gather(*normal)
    await asyncio.gather(*bad)
    return max(times)


def table(results):
    """Return the lines of the table. `results`: {trouble: {folder: seconds}}."""
    lines = ["", f"{'':15}" + "".join(f"{words:>13}" for words, *_ in TROUBLES.values())]
    for folder in next(iter(results.values())):
        lines.append(f"{folder.replace('_', ' '):15}" + "".join(
            f"{duration(results[trouble][folder]):>13}" for trouble in TROUBLES))
        lines.append(f"{'':3}{REASONS.get(folder[:2], '')}")
    free = (" ".join(folder[:2] for folder, longest in results[trouble].items()
                     if longest < HELD) for trouble in TROUBLES)
    lines.append(f"{'not held:':15}" + "".join(f"{names or 'none':>13}" for names in free))
    return lines
