"""Checks variants: each applies, builds, serves and does what is special about it. It is built in
a folder of its own: the author of a variant changes the copy in build/variants/."""

import concurrent.futures
import os
import traceback
from dataclasses import replace

from tools.kit import TOP
from tools.kit.redis import RedisServer
from tools.variant import pages, served
from tools.variant.copy import build
from tools.variant.what import VariantError, read

PLACE = "build/check/variants"


def smoke(variant, executable, redis):
    """Start an executable, use it, stop it. Raises AssertionError, OSError or ServerError."""
    with served.running(variant, executable, redis) as server:
        for _ in range(20):
            assert server.request("/hello").status == 200
        expected = 503 if redis == "none" else 200
        assert server.request("/guestbook").status == expected
        if redis != "none":
            served.own(variant, "check")(server)
        server.stop()


def steps(variant, redis):
    """Yield (what is checked, a function that does it) in order. Each raises
    an exception when it fails; then the rest need not be tried."""
    yield "the page is filled", lambda: pages.check(variant.page, pages.filled(variant))
    built = []
    yield "applies and builds", lambda: built.extend(build(variant, strict=True))
    for executable in built:
        yield f"{executable.name} serves", lambda: smoke(variant, executable, redis)
        yield f"{executable.name} serves without Redis", lambda: smoke(variant, executable, "none")


def check_one(name, redis, top=TOP):
    """Check a variant; return (number passed, what failed or "")."""
    passed = 0
    what = "has a page"
    try:
        for what, step in steps(replace(read(name, top), place=PLACE), redis):
            step()
            passed += 1
    except VariantError as error:
        return passed, f"{what}: {error}"
    except Exception:                   # a test failed: show where
        return passed, f"{what}:\n{traceback.format_exc()}"
    return passed, ""


def check(wanted):
    """Check variants, as many at a time as there are cores; print a line for
    each and the sum. Return the exit status."""
    passed = failed = 0
    cores = os.sched_getaffinity(0)
    with RedisServer(cores) as redis, concurrent.futures.ThreadPoolExecutor(len(cores)) as pool:
        redis.hurry()
        results = pool.map(lambda name: check_one(name, redis.address), wanted)
        for name, (good, why) in zip(wanted, results):
            passed += good
            failed += why != ""
            print(f"{'FAILED' if why else 'ok':8}{name}" + (f": {why}" if why else ""), flush=True)
    try:
        pages.check(TOP / "variants" / "README.md", pages.filled_index())
        passed += 1
    except (VariantError, OSError) as error:
        failed += 1
        print(f"FAILED  {error}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)
