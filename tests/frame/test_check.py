"""scripts/check.py: what did not pass must not be lost."""

import importlib.util
import os
import select
import subprocess
import sys
import threading
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("check", TOP / "scripts/check.py")
check = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check)
Count = check.Count


def junit(folder, *suites):
    """Write a JUnit file with these attributes of test suites; return its path."""
    path = folder / "made_up.xml"
    path.write_text("<testsuites>" + "".join(
        f"<testsuite {attributes}/>" for attributes in suites) + "</testsuites>")
    return path


def test_junit_suites_add_up(tmp_path):
    path = junit(tmp_path, 'tests="9" failures="2" errors="1" skipped="3"',
                 'tests="1" failures="0" errors="0" skipped="0"')
    assert check.count_junit(path) == Count(4, 3, 3)


@pytest.mark.parametrize("text", [
    "", "<testsuites><testsuite", "<testsuites><testsuite tests='1'/></testsuites>"])
def test_an_incomplete_junit_file_is_no_count(tmp_path, text):
    (tmp_path / "cut.xml").write_text(text)
    assert check.count_junit(tmp_path / "cut.xml") is None
    assert check.count_junit(tmp_path / "absent.xml") is None


@pytest.mark.parametrize("text, count", [
    ("1 passed, 0 failed\n5 passed, 2 failed\n", Count(5, 2)),
    ("see 5 passed, 2 failed\n", None), ("", None)])
def test_the_last_line_of_a_script_is_its_count(text, count):
    assert check.count_plain(text) == count


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


@pytest.fixture(autouse=True)
def own_settings(tmp_path, monkeypatch):
    """Logs of the test's own, and no setting of the caller or of CI."""
    monkeypatch.setattr(check, "LOGS", tmp_path)
    for name in (*check.OURS, "CI"):
        monkeypatch.delenv(name, raising=False)


def test_only_check_all_runs_suites_that_take_minutes(monkeypatch):
    def names():
        return {suite.name for suite in check.choose([])}

    assert "containers" not in names() and "unit" in names()
    monkeypatch.setenv("FULL", "1")
    assert "containers" in names() and "unit" in names()


def made_up(run, name="made-up", flavour=None, beside=False):
    return check.Suite(name, "a suite of this test", flavour, run, beside)


def result_of(run):
    """Run a function as a suite; return its Count and why it was ended."""
    return check.Runner(made_up(run)).suite()


def test_a_program_and_its_words_are_handed_back():
    seen = []
    result_of(lambda r: seen.append(
        r.program(["sh", "-c", "echo out; echo err >&2; exit 3"])))
    status, text = seen[0]
    assert status == 3
    assert text.splitlines()[1:] == ["out", "err"]


def test_a_suite_that_crashes_failed():
    count, _ = result_of(lambda r: r.script(
        "sh", "-c", "echo 5 passed, 0 failed; kill -SEGV $$"))
    assert count == Count(5, 1)


def test_a_suite_that_cannot_start_failed():
    count, why = result_of(lambda r: r.script("/no/such/program"))
    assert count == Count(0, 1) and "/no/such/program" in why


def test_a_suite_that_hangs_is_ended_with_all_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "SUITE_LIMIT", 1)
    pid_file = tmp_path / "pid"
    count, why = result_of(lambda r: r.script(
        "sh", "-c", f"sleep 1000 & echo $! > {pid_file}; wait"))
    assert count == Count(0, 1) and "more than 1 s" in why
    assert ends(int(pid_file.read_text()))


def ends(pid, deadline=60):
    """Wait for a process that is no child of ours to end; tell whether it has."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], deadline)[0])
    finally:
        os.close(descriptor)


def test_builds_come_before_the_suites_that_need_them():
    names = [s.name for s in check.with_builds(
        check.choose(["unit", "blackbox", "blackbox-tsan"]))]
    assert names == ["build", "unit", "blackbox", "build-tsan", "blackbox-tsan"]


def test_an_unknown_suite_is_refused():
    done = subprocess.run([sys.executable, TOP / "scripts/check.py", "nonsense"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "nonsense" in done.stderr


# ------------------------------------------------------------------ with pytest

TESTS = """
import os
from pathlib import Path
import pytest

def test_sound():
    pass

def test_that_passes_at_the_second_attempt_only():
    mark = Path(__file__).with_name("mark")
    tried = mark.exists()
    mark.touch()
    assert tried
"""
NEVER = "\ndef test_never(): assert False\n"
SKIPPED = "\ndef test_skipped(): pytest.skip('not here')\n"
FIXTURE = """
@pytest.fixture
def broken(): raise OSError
def test_with_a_broken_fixture(broken): pass
"""
CRASH = "\ndef test_crash(): os.abort()\n"


def count_of(folder, text, workers=None):
    """Run a file of tests as a suite; return the Count."""
    (folder / "test_made_up.py").write_text(text)
    return result_of(lambda r: r.pytest(str(folder), workers=workers))[0]


@pytest.mark.parametrize("more, verdict", [
    ("", Count(1, 1)), (SKIPPED, Count(1, 1, 1)), (NEVER + FIXTURE, Count(1, 3)),
    (CRASH, Count(0, 1))], ids=["flaky", "skipped", "fixture", "crash"])
def test_pytest_is_counted_and_a_flaky_test_fails(tmp_path, monkeypatch, more, verdict):
    monkeypatch.setenv("CI", "true")    # there too
    assert count_of(tmp_path, TESTS + more) == verdict


def test_a_worker_that_crashes_is_a_failed_test(tmp_path):
    assert count_of(tmp_path, TESTS + CRASH, workers="1") == Count(1, 2)


def test_a_report_of_an_earlier_run_does_not_count(tmp_path):
    assert count_of(tmp_path, "def test_sound(): pass") == Count(1, 0)
    assert count_of(tmp_path, "syntax error") == Count(0, 1)
    assert count_of(tmp_path, CRASH) == Count(0, 1)


def test_a_test_that_hangs_has_failed(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "TEST_LIMIT", 0.2)
    count = count_of(tmp_path, "import signal\ndef test_hangs(): signal.pause()\n")
    assert count == Count(0, 1)
    assert "Timeout" in (tmp_path / "made-up.log").read_text()


# --------------------------------------------------------- what a suite runs on

def options_of(monkeypatch, suite_name, **environment):
    """Return the words that a suite hands to pytest."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    words = []
    runner = check.Runner(made_up(None))
    monkeypatch.setattr(runner, "pytest",
                        lambda folder, *options, **_: words.extend(options))
    next(s for s in [*check.SUITES, *check.EXTRA.values()]
         if s.name == suite_name).run(runner)
    return " ".join(words)


@pytest.mark.parametrize("name, sample", [
    ("blackbox", "protocol"), ("blackbox-asan", "shared"), ("blackbox-tsan", "shared")])
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


# ------------------------------------------------------- several suites together

def run_all(monkeypatch, *suites):
    """Run these suites; return {name: Count} in the order of the results."""
    monkeypatch.setattr(check, "TOP", check.LOGS.parent)
    results, interrupted = check.run_all(suites, ["make"])
    assert not interrupted
    return {suite.name: count for suite, count, _ in results}


def test_suites_run_side_by_side_and_are_reported_in_order(monkeypatch, capfd):
    """Each of the first two ends only when the other has begun."""
    met = threading.Barrier(2, timeout=60)

    def meet(_):
        met.wait()
        return Count(1, 0)

    counts = run_all(monkeypatch, made_up(meet, "small", beside=True),
                     made_up(meet, "large"), made_up(lambda r: Count(2, 1), "last"))
    assert list(counts.items()) == [("small", Count(1, 0)), ("large", Count(1, 0)),
                                    ("last", Count(2, 1))]
    assert "small: 1 passed, 0 failed" in capfd.readouterr().out


def test_what_needs_a_broken_build_has_failed(monkeypatch):
    build = made_up(lambda r: Count(0, 1), "build")
    monkeypatch.setitem(check.BUILDS, "default", build)
    needs = [made_up(lambda r: Count(5, 0), name, "default", name == "small")
             for name in ("small", "large")]
    other = made_up(lambda r: Count(1, 0), "other")
    assert run_all(monkeypatch, build, *needs, other) == {
        "build": Count(0, 1), "small": Count(0, 1), "large": Count(0, 1),
        "other": Count(1, 0)}


def test_an_error_in_a_suite_beside_is_not_lost(monkeypatch):
    with pytest.raises(ZeroDivisionError):
        run_all(monkeypatch, made_up(lambda r: 1 / 0, "small", beside=True),
                made_up(lambda r: Count(1, 0), "large"))


def test_an_interrupt_ends_both_suites_and_starts_no_other(monkeypatch):
    begun = threading.Event()

    def wait_long(runner):
        begun.set()
        return runner.script("sleep", "1000")

    def interrupt(_):
        assert begun.wait(60)
        raise KeyboardInterrupt

    suites = [made_up(wait_long, "small", beside=True), made_up(interrupt, "large"),
              made_up(lambda r: Count(1, 0), "never")]
    results, interrupted = check.run_all(suites, ["make"])
    assert interrupted
    assert [(s.name, c) for s, c, _ in results] == [("small", Count(0, 1)),
                                                    ("large", Count(0, 1))]


def test_the_last_line_is_the_sum(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(check, "TOP", tmp_path)
    check.report([(made_up(None, "one"), Count(3, 1, 2), 1.0),
                  (made_up(None, "two"), Count(4, 0), 1.0)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "7 passed, 1 failed"
    assert "2 skipped" in lines[-2]
    assert "one" in lines[2] and "FAILED" in lines[2] and "one.log" in lines[2]


def test_the_summary_names_the_failed_tests(tmp_path, monkeypatch, capsys):
    """A record of a run may keep its end only, and the log is gone with the machine."""
    monkeypatch.setattr(check, "TOP", tmp_path)
    monkeypatch.setattr(check, "LOGS", tmp_path)
    (tmp_path / "one.xml").write_text(
        "<testsuites><testsuite>"
        "<testcase classname='test_a' name='good'/>"
        "<testcase classname='test_a' name='bad'>"
        "<failure message='assert 1 == 2&#10;more'/></testcase>"
        "<testcase classname='test_b' name='broken'><error/></testcase>"
        "</testsuite></testsuites>")
    check.report([(made_up(None, "one"), Count(1, 2), 1.0),
                  (made_up(None, "two"), Count(4, 1), 1.0)])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[3:7] == ["test_a::bad", "assert 1 == 2", "test_b::broken", ""]
    assert lines[7].startswith("two") and not any("good" in line for line in lines)


# ------------------------------------------------------ what cannot run here

def test_every_suite_says_what_it_needs():
    """A group of packages.txt has its name; deps.sh ends with 2 for another one."""
    check.missing([suite.name for suite in [*check.SUITES, *check.EXTRA.values()]])
    with pytest.raises(subprocess.CalledProcessError):
        check.missing(["nonsense"])


def sum_up(monkeypatch, capsys, results, left):
    """Return whether report() is content, and the lines that it prints."""
    monkeypatch.setattr(check, "TOP", check.LOGS.parent)
    return check.report(results, left), capsys.readouterr().out.splitlines()


LEFT = {"browser": "needs chromium (the browser)", "fuzz": "WITHOUT names it"}


def test_a_suite_that_lacks_something_is_named_and_not_counted(monkeypatch, capsys):
    good, lines = sum_up(monkeypatch, capsys,
                         [(made_up(None, "one"), Count(3, 0), 1.0)], LEFT)
    assert good and lines[-1] == "3 passed, 0 failed"
    assert "  browser        left out: needs chromium (the browser)" in lines
    assert "  fuzz           left out: WITHOUT names it" in lines
    assert "1 of 2 suites did not run" in " ".join(lines)
    assert "  NO_INSTALL=1 scripts/deps.sh browser" in lines


def test_in_ci_it_has_failed_unless_it_is_not_wanted(monkeypatch, capsys):
    monkeypatch.setenv("CI", "true")
    ran = [(made_up(None, "one"), Count(3, 0), 1.0)]
    good, lines = sum_up(monkeypatch, capsys, ran, LEFT)
    assert not good and lines[-1] == "3 passed, 1 failed"
    good, lines = sum_up(monkeypatch, capsys, ran, {"fuzz": LEFT["fuzz"]})
    assert good and lines[-1] == "3 passed, 0 failed"


def test_a_check_that_ran_nothing_has_not_passed(monkeypatch, capsys):
    good, lines = sum_up(monkeypatch, capsys, [], LEFT)
    assert not good and lines[-1] == "0 passed, 0 failed"


def test_what_is_not_wanted_is_not_looked_for(monkeypatch):
    monkeypatch.setenv("WITHOUT", "browser,fuzz")
    asked = []
    monkeypatch.setattr(check, "missing", lambda names: asked.extend(names) or {})
    left = check.left_out(check.choose(["unit", "browser", "fuzz"]))
    assert asked == ["unit"] and list(left) == ["browser", "fuzz"]


def test_an_environment_that_cannot_be_made_is_a_reason(monkeypatch):
    monkeypatch.setattr(check, "missing", lambda names: {
        "quick": "pytest (build/venv/)"})
    monkeypatch.setattr(check.venv, "make", lambda: "pip: no network")
    assert check.left_out(check.choose(["unit", "quick"])) == {
        "quick": "needs pytest (build/venv/); pip: no network"}


def test_the_rest_runs_when_a_library_is_missing(tmp_path):
    """pkg-config finds hiredis and no cmocka, so the unit tests cannot be built."""
    found = subprocess.run(["pkg-config", "--variable=pcfiledir", "hiredis"],
                           stdout=subprocess.PIPE, text=True, check=True)
    (tmp_path / "hiredis.pc").symlink_to(Path(found.stdout.strip()) / "hiredis.pc")
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("MAKE", "CI", "WITHOUT"))}
    for ci, status in (("", 0), ("true", 1)):
        done = subprocess.run(
            [sys.executable, TOP / "scripts/check.py", "unit", "shape"],
            capture_output=True, text=True, check=False, timeout=300,
            env={**environment, "CI": ci, "PKG_CONFIG_LIBDIR": str(tmp_path)})
        lines = done.stdout.splitlines()
        assert lines[0] == "unit is left out: needs libcmocka-dev (unit tests in C)"
        assert done.returncode == status
        assert check.count_plain(done.stdout).passed > 0
        assert lines[-1].endswith(f"passed, {status} failed")
