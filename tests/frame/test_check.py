"""scripts/check.py: what did not pass must not be lost."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from scripts import check, counts, own_path, suites
from scripts.counts import Count
from scripts.suites import TOP
from tests.support.processes import wait_for
from tests.support.servers import FOLDERS, LOOPS
from tools.kit import procfs, progress


@pytest.fixture(autouse=True)
def own_settings(tmp_path, monkeypatch):
    """Logs of the test's own, and no setting of the caller or of CI."""
    monkeypatch.setattr(counts, "LOGS", tmp_path)
    monkeypatch.setattr(suites, "SETTING", dict.fromkeys(suites.OURS, ""))
    monkeypatch.setattr(suites, "FULL", False)
    monkeypatch.delenv("CI", raising=False)


def suite(*run, **settings):
    return {"about": "a suite of this test", "needs": [], "run": run, **settings}


def result_of(one):
    """Run a suite; return its Count and why it was ended."""
    return check.Run({"one": one}, ["make"]).suite("one")


@pytest.mark.parametrize("text, status, counted", [
    ("1 passed, 0 failed\n5 passed, 2 failed\n", 1, Count(5, 2)),
    ("see 5 passed, 2 failed\n", 0, Count(0, 1)),
    ("=== 2 failed, 3 passed, 1 skipped, 4 errors in 75.1s (0:01:15) ===\n", 1, Count(3, 6, 1)),
    ("=== no tests ran in 0.01s ===\n", 5, Count(0, 1)),
    ("[  PASSED  ] 3 test(s).\n[  PASSED  ] 2 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n"
     "[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] test_x\n", 1, Count(5, 1, 1)),
    ("3 passed, 0 failed\n", 1, Count(3, 1)),          # a leak found at exit
    ("0 passed, 0 failed\n", 0, Count(0, 1))])
def test_what_a_program_printed_is_counted_and_its_status_too(text, status, counted):
    assert counts.judge(counts.count(text), status) == counted


def test_a_suite_that_crashes_or_cannot_start_has_failed():
    assert result_of(suite("sh -c 'echo 5 passed, 0 failed; kill -SEGV $$'"))[0] == Count(5, 1)
    counted, _, why = result_of(suite("/no/such/program"))
    assert counted == Count(0, 1) and "/no/such/program" in why


def test_a_suite_that_hangs_is_ended_with_all_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "SILENT_LIMIT", 1)
    counted, _, why = result_of(suite(f"sh -c 'sleep 1000 & echo $! > {tmp_path}/pid; wait'"))
    assert counted == Count(0, 1) and "nothing for 1 s" in why
    pid = int((tmp_path / "pid").read_text())
    wait_for(lambda: procfs.state(pid) in ("", "X", "Z"), "what it started to end")


# With pytest.

FLAKY = """
from pathlib import Path
import os, pytest, signal
def test_sound(): pass
def test_that_passes_at_the_second_attempt_only():
    mark = Path(__file__).with_name("mark")
    tried = mark.exists()
    mark.touch()
    assert tried
"""
FIXTURE = """
@pytest.fixture
def broken(): raise OSError
def test_with_a_broken_fixture(broken): pass
def test_skipped(): pytest.skip('not here')
"""
CRASH = "def test_crash(): os.abort()\n"
HANGS = "def test_hangs(): signal.pause()\n"


@pytest.mark.parametrize("text, workers, counted", [
    (FLAKY + FIXTURE, 1, Count(1, 2, 1)), ("syntax error", 1, Count(0, 1)),
    (FLAKY + CRASH, 2, Count(1, 2)), (FLAKY + HANGS, 2, Count(1, 2))],
    ids=["flaky", "syntax", "crash", "hangs"])
def test_what_does_not_pass_at_once_has_failed(tmp_path, monkeypatch, text, workers, counted):
    monkeypatch.setattr(suites, "TEST_LIMIT", 1)
    monkeypatch.setenv("CI", "true")    # there too
    (tmp_path / "test_made_up.py").write_text(text)
    assert result_of(suite(pytest=str(tmp_path), workers=workers))[0] == counted


# Which servers.

def test_what_the_servers_share_is_sampled_unless_the_user_asks_for_more(monkeypatch):
    def words():
        return " ".join(suites.commands(suites.read()["blackbox-tsan"], ["make"])[0])

    assert "--sample" in words()
    monkeypatch.setitem(suites.SETTING, "SERVERS", "threaded poll")
    assert "--sample" not in words() and "--servers threaded" in words()
    monkeypatch.setitem(suites.SETTING, "SERVERS", "")
    monkeypatch.setattr(suites, "FULL", True)
    assert "--sample" not in words()


def test_no_case_is_left_out_by_a_sample(tmp_path):
    """Each runs on one blocking server and one event loop, and each server has its share."""
    server = re.compile(rf"(?<=[\[-])({'|'.join(FOLDERS)})(?=[\]-])")

    def cases(*sample):
        """Return {test: the servers that it runs on}."""
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--collect-only", "-o", f"cache_dir={tmp_path}",
             *(f"tests/blackbox/test_{name}.py" for name in ("static", "timeouts")), *sample],
            cwd=TOP, stdout=subprocess.PIPE, text=True, check=True)
        found = {}
        for line in done.stdout.splitlines():
            if "::" in line:
                found.setdefault(server.sub("", line), set()).update(server.findall(line))
        return found

    whole = cases()
    for sample in "protocol", "shared":
        sampled = cases("--sample", sample)
        assert sampled.keys() == whole.keys()
        static = [names for test, names in sampled.items() if "test_static" in test and names]
        assert all(len(names) == 2 and len(names & set(LOOPS)) == 1 for names in static)
        assert set().union(*static) == set(FOLDERS)


# Several together.

def test_suites_run_next_to_each_other_and_are_reported_in_order(tmp_path):
    """Each of the two ends only when the other has begun."""
    meet = "sh -c 'touch {0}/{1}; while [ ! -e {0}/{2} ]; do sleep 0.01; done; " \
        "echo 1 passed, 0 failed'"
    plan = {"small": suite(meet.format(tmp_path, "a", "b"), line="busy"),
            "large": suite(meet.format(tmp_path, "b", "a")),
            "last": suite("echo 2 passed, 1 failed", line="alone")}
    results = check.Run(plan, ["make"]).all()
    assert [(name, counted) for name, (counted, *_) in results.items()] == [
        ("small", Count(1, 0)), ("large", Count(1, 0)), ("last", Count(2, 1))]


def test_what_needs_a_broken_build_has_failed(capsys):
    """And quotes no failure of an earlier run."""
    (counts.LOGS / "needs.log").write_text("FAILED long ago")
    plan = {"build": suite(make=["false", "true"]), "build-other": suite(make=["true"]),
            "needs": suite("echo 5 passed, 0 failed", needs=["build"]),
            "other": suite("echo 1 passed, 0 failed", needs=["build-other"])}
    results = check.Run(plan, ["make"]).all()
    assert [counted for counted, *_ in results.values()] == [
        Count(0, 1), Count(1, 0), Count(0, 1), Count(1, 0)]
    counts.report(results, {})
    assert "long ago" not in capsys.readouterr().out


# What the user sees: before, while and after they run.

def test_the_first_line_says_how_long_it_takes(monkeypatch, capsys):
    """Two lines take as long as the longer one."""
    monkeypatch.setattr(suites, "CORES", 2)
    plan = {"build": suite(make=["true"], seconds=50), "a": suite("true", seconds=200),
            "b": suite("true", seconds=150, line="busy"),
            "c": suite("true", seconds=70, line="alone")}
    check.Run(plan, ["make"]).announce()
    assert "about 5 minutes on 2 cores" in capsys.readouterr().out


@pytest.mark.parametrize("terminal", [True, False])
def test_one_line_of_progress(monkeypatch, capsys, terminal):
    """On a terminal it alone is seen, and what failed; it is narrower than the terminal. In a
    log, a suite has a line when it begins and one when it ends."""
    monkeypatch.setattr(check, "LOOK", 0.01)
    monkeypatch.setattr(progress.sys.stdout, "isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    long = "a name of" + 5 * " many words"
    passes = "echo 1 passed, 0 failed"
    plan = {"one": suite(passes), long: suite(passes, line="busy"),
            "bad": suite("false", line="alone")}
    check.Run(plan, ["make"]).all()
    shown = capsys.readouterr().out
    assert "bad: 0 passed, 1 failed" in shown
    if terminal:
        assert re.search(" left  .*(one|a name of)", shown) and "one: 1 passed" not in shown
        parts = re.split("[\r\n]", shown.replace("\x1b[K", ""))
        assert max(map(len, parts)) < 80
    else:
        assert "\r" not in shown
        assert shown.count("one: a suite of this test") == shown.count("one: 1 passed") == 1


def sum_up(capsys, results, left=()):
    """Return whether report() is content, and the lines that it prints."""
    return counts.report({name: (counted, 1.0, 2.0) for name, counted in results.items()},
                        dict(left)), capsys.readouterr().out.splitlines()


def test_the_last_line_is_the_sum_and_the_summary_names_failed_tests(capsys, tmp_path):
    (tmp_path / "one.log").write_text("FAILED tests/a.py::bad - assert 1 == 2\nmore\n")
    good, lines = sum_up(capsys, {"one": Count(3, 1, 2), "two": Count(4, 0)})
    assert not good and lines[-1] == "7 passed, 1 failed" and "2 skipped" in lines[-2]
    assert "4 CPU seconds" in lines[-3]
    assert "FAILED" in lines[2] and "one.log" in lines[2] and "a.py::bad" in lines[3]


def test_a_suite_that_lacks_something_is_named_and_in_ci_it_has_failed(capsys, monkeypatch):
    left = {"browser": "needs chromium (the browser)", "fuzz": "WITHOUT names it"}
    good, lines = sum_up(capsys, {"one": Count(3, 0)}, left)
    assert good and lines[-1] == "3 passed, 0 failed"
    assert "  browser         left out: needs chromium (the browser)" in lines
    assert "1 of 2 suites" in lines[-3] and lines[-2].endswith("deps.sh browser")
    assert not sum_up(capsys, {}, left)[0]
    monkeypatch.setenv("CI", "true")
    good, lines = sum_up(capsys, {"one": Count(3, 0)}, left)
    assert not good and lines[-1] == "3 passed, 1 failed"
    assert sum_up(capsys, {"one": Count(3, 0)}, {"fuzz": left["fuzz"]})[0]


def test_only_check_all_runs_suites_that_take_minutes(monkeypatch):
    """And none that the user does not want."""
    names = suites.usual(suites.read())
    assert {"unit", "shape", "layering"} <= set(names)
    assert not {"build", "quick", "containers"} & set(names)
    monkeypatch.setitem(suites.SETTING, "WITHOUT", "browser,fuzz")
    assert [*suites.left_out(["shape", "browser", "fuzz"])] == ["browser", "fuzz"]
    monkeypatch.setattr(suites, "FULL", True)
    assert "containers" in suites.usual(suites.read())


def test_every_suite_says_what_it_needs_and_make_check_how_long_it_takes():
    """A group of packages.txt has its name."""
    _, groups = own_path.read_table()
    for name, one in suites.read().items():
        assert name in groups or suites.is_build(name)
        assert "seconds" in one or one.get("rare"), name


def test_a_suite_finds_no_other_programs_of_the_table_and_every_stranger(tmp_path):
    """The first of two programs of one name is found, as on the PATH itself."""
    for folder, names in (("a", "ls ab"), ("b", "strace ab tool ls"), ("c", "tool")):
        (tmp_path / folder).mkdir()
        for name in names.split():
            (tmp_path / folder / name).write_text(f"#!/bin/sh\necho {tmp_path}/{folder}/{name}\n")
            (tmp_path / folder / name).chmod(0o755)
    path = os.pathsep.join(str(tmp_path / one) for one in ("a", "b", "/no/such", "c", "a"))
    (tmp_path / "new").mkdir()
    found = own_path.lay(tmp_path / "new", ["quick", "unit", "labs"], path)

    def which(suite, name):
        place = shutil.which(name, path=found[suite][0].removeprefix("PATH="))
        return place and subprocess.check_output([place], text=True).strip()

    assert which("quick", "ab") == str(tmp_path / "a/ab") and not which("unit", "ab")
    assert which("labs", "strace") == str(tmp_path / "b/strace") and not which("unit", "strace")
    for one in found:
        assert which(one, "ls") == str(tmp_path / "a/ls")
        assert which(one, "tool") == str(tmp_path / "b/tool")


def test_the_rest_runs_when_a_library_is_missing(tmp_path):
    """pkg-config finds hiredis and no cmocka, so the unit tests cannot be built."""
    asked = tmp_path / "pkg-config"
    asked.write_text("#!/bin/sh\ncase $* in *cmocka*) exit 1 ;; esac\n"
                     f'exec {shutil.which("pkg-config")} "$@"\n')
    asked.chmod(0o755)
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("MAKE", "CI", "WITHOUT"))}
    path = f"{tmp_path}:{os.environ['PATH']}"
    for ci, status in (("", 0), ("true", 1)):
        done = subprocess.run(
            [sys.executable, TOP / "scripts/check.py", "unit", "shape"],
            capture_output=True, text=True, check=False, timeout=300,
            env={**environment, "CI": ci, "PATH": path})
        lines = done.stdout.splitlines()
        assert lines[0] == "unit is left out: needs libcmocka-dev (unit tests in C)"
        assert done.returncode == status
        assert counts.count(done.stdout).passed > 0
        assert lines[-1].endswith(f"passed, {status} failed")
    done = subprocess.run([sys.executable, TOP / "scripts/check.py", "nonsense"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "nonsense" in done.stderr
