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


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """No setting of the caller, or of CI, reaches these tests."""
    for name in (*check.OURS, "CI"):
        monkeypatch.delenv(name, raising=False)


ALWAYS_FAIL = "\n".join(f"def test_{i}(): assert False" for i in range(check.FEW))


@pytest.mark.parametrize("setting", [{"RETRIES": "1"}, {"CI": "true"}])
@pytest.mark.parametrize("more, verdict", [
    ("", Count(2, 0, 0, 1)),
    ("def test_never(): assert False", Count(2, 1, 0, 1)),
    (ALWAYS_FAIL, Count(1, check.FEW + 1, 0))])
def test_ci_gives_a_few_failed_tests_a_second_attempt(
        runner, tmp_path, monkeypatch, setting, more, verdict):
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    assert run_made_up(runner, tmp_path, ONCE + more) == verdict


@pytest.mark.parametrize("setting", [
    {}, {"RETRIES": "0"}, {"RETRIES": ""}, {"CI": "false"},
    {"CI": "true", "RETRIES": "0"}])
def test_a_flaky_test_fails_where_nobody_asked_for_retries(
        runner, tmp_path, monkeypatch, setting):
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    assert run_made_up(runner, tmp_path, ONCE) == Count(1, 1, 0)


def run_made_up(runner, folder, text):
    """Run a file of tests as a suite; return the Count."""
    (folder / "test_made_up.py").write_text(text)
    count, _ = runner.suite(suite(lambda r: r.pytest(str(folder), workers=None)))
    return count


def test_ci_asks_for_retries():
    text = (TOP / ".ci/run").read_text()
    assert text.index("export RETRIES=") < text.index("make check")


# --------------------------------------------------------- what a suite runs on

def options_of(monkeypatch, suite_name, **environment):
    """Return the words that a suite hands to pytest."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    words = []
    runner = check.Runner("make", [])
    monkeypatch.setattr(runner, "pytest",
                        lambda folder, *options, **_: words.extend(options))
    next(s for s in [*check.SUITES, *check.EXTRA.values()]
         if s.name == suite_name).run(runner)
    return " ".join(words)


@pytest.mark.parametrize("name, sample", [
    ("blackbox", "three"), ("blackbox-asan", "two"), ("blackbox-tsan", "two")])
def test_the_protocol_is_sampled(monkeypatch, name, sample):
    assert f"--sample {sample}" in options_of(monkeypatch, name)


@pytest.mark.parametrize("setting", [{"FULL": "1"}, {"SERVERS": "threaded poll"}])
@pytest.mark.parametrize("name", ["blackbox", "blackbox-asan", "blackbox-tsan"])
def test_the_user_can_ask_for_every_case(monkeypatch, name, setting):
    words = options_of(monkeypatch, name, **setting)
    assert "--sample" not in words
    if "SERVERS" in setting:
        assert "--servers threaded" in words


def test_faults_are_not_sampled(monkeypatch):
    assert "--sample" not in options_of(monkeypatch, "faults")


def test_the_quick_suite_has_a_server_of_each_kind(monkeypatch):
    words = options_of(monkeypatch, "quick")
    assert "--servers prethreaded,epoll" in words and "not slow" in words


def test_the_quick_suite_runs_on_the_servers_that_are_named(monkeypatch):
    assert "--servers poll" in options_of(monkeypatch, "quick", SERVERS="poll")


def test_the_whole_check_has_no_quick_suite():
    names = [s.name for s in check.choose([])]
    assert "quick" not in names and {"unit", "shape", "layering"} <= set(names)
    assert check.choose(["quick"])[-1].name == "quick"


def test_a_part_that_is_absent_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "TOP", tmp_path)
    assert not {*check.OPTIONAL} & {s.name for s in check.choose([])}
    assert [s.name for s in check.choose(["variants"])] == ["build", "variants"]


@pytest.mark.parametrize("script", check.VARIANTS)
def test_either_script_checks_the_variants(tmp_path, monkeypatch, script):
    monkeypatch.setattr(check, "TOP", tmp_path)
    (tmp_path / script).parent.mkdir()
    (tmp_path / script).touch()
    assert "variants" in [s.name for s in check.choose([])]
    assert check.first_of(check.VARIANTS) == script
