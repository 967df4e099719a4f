"""What programs counted: read from what they print, and reported."""

import os
import re
from typing import NamedTuple

from scripts import suites
from scripts.suites import TOP

LOGS = TOP / "build/check"
TAIL, NAMED, WIDTH = 40, 5, 200     # of a failed suite: lines of its log, tests named


class Count(NamedTuple):
    """How many tests passed, failed and were skipped."""
    passed: int
    failed: int
    skipped: int = 0

    def __str__(self):
        return (f"{self.passed} passed, {self.failed} failed"
                + (f", {self.skipped} skipped" if self.skipped else ""))


def total(counts):
    """Return the sum of Counts."""
    return Count(*map(sum, zip(Count(0, 0), *counts)))


def count(text):
    """Return the Count of what a program printed, None without one: the last line of
    pytest, the last `N passed, N failed`, or all closing lines of cmocka."""
    last = re.findall(r"^=+ (.* in [\d.]+s).* =+$|^(\d+ passed, \d+ failed)$", text, re.M)
    if last:
        numbers = {word: int(number) for number, word in re.findall(
            r"(\d+) (passed|failed|error|skipped)", "".join(last[-1]))}
        return Count(numbers.get("passed", 0), numbers.get("failed", 0)
                     + numbers.get("error", 0), numbers.get("skipped", 0))
    found = {word: [int(number) for number in re.findall(
        rf"^\[\s+{word}\s+\] (\d+) test\(s\)", text, re.M)]
        for word in ("PASSED", "FAILED", "SKIPPED")}
    return Count(*map(sum, found.values())) if any(found.values()) else None


def judge(counted, status):
    """Return the Count of a program that exited with `status`. If it counted nothing, or
    no failure although its status tells of one (a crash, a leak), it failed once more."""
    if counted is None or not any(counted):
        return Count(0, 1)
    return counted._replace(failed=1) if status and not counted.failed else counted


def log_of(name):
    """Return the lines of a suite's log."""
    path = LOGS / f"{name}.log"
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def report(results, left):
    """Print the table and the closing line. Returns whether all is well: something ran,
    nothing failed and, in CI, no suite was left out because a program is missing."""
    lacking = [name for name, why in left.items() if why.startswith("needs")]
    print("\nSummary")
    for name, (counted, seconds, cpu) in results.items():
        path = os.path.relpath(LOGS / f"{name}.log", TOP)
        print(f"  {name:<15} {'FAILED' if counted.failed else 'ok':<7} {counted!s:<30} "
              f"{seconds:6.1f} s {cpu:5.0f} s of CPU{'   ' + path if counted.failed else ''}")
        # At the end, since a long log is often cut to it.
        failed = [text for text in log_of(name) if counted.failed and re.match(
            r"FAILED |ERROR |\[  FAILED  \] (?!\d+ test)", text)]
        for text in failed[:NAMED]:
            print(f"    {text[:WIDTH]}")
    for name, why in left.items():
        print(f"  {name:<15} left out: {why}")
    whole = total(counted for counted, *_ in results.values())
    print(f"  {sum(cpu for *_, cpu in results.values()):.0f} CPU seconds in all")
    if whole.skipped:
        print(f"  {whole.skipped} skipped: the logs say which")
    if lacking:
        ran = sum(not suites.is_build(name) for name in results)
        print(f"This was only a part: {len(lacking)} of {len(lacking) + ran} suites did not "
              f"run. What they need:\n  NO_INSTALL=1 scripts/deps.sh {' '.join(lacking)}")
    if lacking and os.environ.get("CI") in ("1", "true"):
        print("With CI=true, each of them has failed.")
        whole = total([whole, Count(0, len(lacking))])
    print(f"{whole.passed} passed, {whole.failed} failed", flush=True)
    return whole.passed > 0 and whole.failed == 0
