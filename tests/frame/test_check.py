"""The counting of scripts/check.py: what did not pass must not be lost."""

import importlib.util
import subprocess
import sys
import time
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("check", TOP / "scripts/check.py")
check = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check)
Count = check.Count


@pytest.mark.parametrize("text, count", [
    ("==== 12 passed in 3.21s ====", Count(12, 0, 0)),
    ("12 passed in 3.21s", Count(12, 0, 0)),
    ("=== 2 failed, 10 passed, 1 skipped in 83.21s (0:01:23) ===",
     Count(10, 2, 1)),
    ("= 1 passed, 3 deselected, 2 warnings, 2 errors in 0.1s =", Count(1, 2, 0)),
    ("= 1 passed, 1 error in 0.1s =", Count(1, 1, 0)),
    ("= 1 xfailed, 1 xpassed in 0.1s =", Count(1, 1, 0)),
    ("= no tests ran in 0.01s =", None),
    ("INTERNALERROR> Traceback", None),
    ("1 passed in a line that goes on in 3 steps", None),
])
def test_pytest_is_counted(text, count):
    assert check.count_pytest(f"some line\n{text}\n") == count


def test_only_the_last_closing_line_of_pytest_counts():
    text = "captured: \n9 passed in 1.0s\n=== 1 failed in 2.00s ===\n"
    assert check.count_pytest(text) == Count(0, 1, 0)


def test_cmocka_groups_add_up():
    text = ("[  PASSED  ] 3 test(s).\n[  PASSED  ] 2 test(s).\n"
            "[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] later\n"
            "[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] test_x\n")
    assert check.count_cmocka(text) == Count(5, 1, 1)


def test_cmocka_that_never_closed_is_no_count():
    assert check.count_cmocka("[ RUN      ] test_x\nSegmentation fault\n") is None


@pytest.mark.parametrize("count, status, verdict", [
    (Count(3, 0, 0), 0, Count(3, 0, 0)),
    (Count(3, 0, 0), 1, Count(3, 1, 0)),    # a leak found at exit
    (Count(3, 1, 0), 1, Count(3, 1, 0)),
    (Count(0, 0, 1), 0, Count(0, 0, 1)),
    (Count(0, 0, 0), 0, Count(0, 1, 0)),    # nothing ran
    (None, 0, Count(0, 1, 0)),
    (None, -11, Count(0, 1, 0)),
])
def test_judge(count, status, verdict):
    assert check.judge(count, status) == verdict


@pytest.fixture
def runner(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "LOGS", tmp_path)
    return check.Runner("make", [])


def suite(run, limit=60):
    return check.Suite("made-up", "a suite of this test", None, limit, run)


def test_a_program_and_its_words_are_handed_back(runner):
    seen = []
    runner.suite(suite(lambda r: seen.append(
        r.program(["sh", "-c", "echo out; echo err >&2; exit 3"])) or Count(1, 0, 0)))
    status, text = seen[0]
    assert status == 3
    assert text.splitlines()[1:] == ["out", "err"]


def test_a_suite_that_crashes_failed(runner):
    count, _ = runner.suite(suite(lambda r: r.script(
        "sh", "-c", "echo 5 passed, 0 failed; kill -SEGV $$")))
    assert count == Count(5, 1, 0)


def test_a_suite_that_cannot_start_failed(runner):
    count, why = runner.suite(suite(lambda r: r.script("/no/such/program")))
    assert count == Count(0, 1, 0) and "/no/such/program" in why


def test_a_suite_that_hangs_is_ended_with_all_it_started(runner, tmp_path):
    pid_file = tmp_path / "pid"
    begin = time.monotonic()
    count, why = runner.suite(suite(lambda r: r.script(
        "sh", "-c", f"sleep 1000 & echo $! > {pid_file}; wait"), limit=1))
    assert count == Count(0, 1, 0) and "more than 1 s" in why
    assert time.monotonic() - begin < 60
    assert not running(int(pid_file.read_text()))


def running(pid):
    """Tell whether the process is there and no zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_builds_come_before_the_suites_that_need_them():
    names = [s.name for s in check.choose(["unit", "blackbox", "blackbox-tsan"])]
    assert names == ["build", "unit", "blackbox", "build-tsan", "blackbox-tsan"]


def test_an_unknown_suite_is_refused():
    done = subprocess.run([sys.executable, TOP / "scripts/check.py", "nonsense"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "nonsense" in done.stderr


ONCE = """
from pathlib import Path

def test_sound():
    pass

def test_at_the_second_attempt():
    mark = Path(__file__).with_name("mark")
    tried = mark.exists()
    mark.touch()
    assert tried
"""


@pytest.mark.parametrize("more, verdict", [
    ("", check.Count(2, 0, 0, 1)),
    ("def test_never(): assert False", check.Count(2, 1, 0, 1)),
    ("\n".join(f"def test_{i}(): assert False" for i in range(check.FEW)),
     check.Count(1, check.FEW + 1, 0))])
def test_a_few_failed_tests_have_a_second_attempt(runner, tmp_path, more,
                                                  verdict):
    (tmp_path / "test_made_up.py").write_text(ONCE + more)
    count, _ = runner.suite(suite(lambda r: r.pytest(str(tmp_path),
                                                     workers=None)))
    assert count == verdict
