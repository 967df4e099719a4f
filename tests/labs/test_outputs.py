"""What the grader says, on a terminal and to other programs, and that it says it whatever
happened.

The schemas say what Gradescope ("Autograder Specifications") and Autolab ("Guide for Lab
Authors") publish about their formats.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from labs.grade import build, outputs, screen
from labs.grade import lab as labs
from tests.labs.grading import TOP, full, write_handout

LIMIT = 600             # seconds for a script; it may build and grade
LAB = labs.find("03")
SAID = "[red]a zombie[/red] \x1b[31m a\0b \udcff" + " client" * 40      # by a submission


def schema(name):
    """Return the schema of a format."""
    return json.loads((Path(__file__).parent / f"{name}.schema.json").read_text())


def some(passed, ran=range(100)):
    """Return a Grade in which the tests of these numbers passed, and ran."""
    return outputs.Grade(LAB, tuple(
        outputs.Result(test, number in passed, "" if number in passed else SAID, "more", 0.5,
                       ran=number in ran)
        for number, test in enumerate(LAB.tests)), "warning: \x07")


GRADES = {"all": some(range(100)), "some": some({0, 3}), "none": some(()),
          "not compiled": outputs.not_compiled(LAB, "main.c:1: error: \x1b[31m expected ';'"),
          "not graded": outputs.not_graded(LAB, "no Redis")}


@pytest.mark.parametrize("grade", GRADES.values(), ids=GRADES)
def test_the_sites_read_it(grade):
    """Gradescope: the sum of the tests is the score. Autolab: one line, with the problems of the
    lab's page. JUnit: each test that gave no points is a failure."""
    text = outputs.gradescope(grade)
    text.encode()
    said = json.loads(text)
    jsonschema.validate(said, schema("gradescope"))
    assert sum(test["score"] for test in said["tests"]) == said["score"] == grade.points
    assert sum(test["max_score"] for test in said["tests"]) == 100
    assert not outputs.CONTROL.search(said["output"] + "".join(t["output"] for t in said["tests"]))
    text = outputs.autolab(grade)
    assert text.count("\n") == 1 and text.endswith("}\n")
    said = json.loads(text)
    jsonschema.validate(said, schema("autolab"))
    assert tuple(said["scores"]) == labs.LEVELS and sum(said["scores"].values()) == grade.points
    suite = ElementTree.fromstring(outputs.junit(grade))
    failed = [case for case in suite.iter("testcase") if case.find("failure") is not None]
    assert len(failed) == int(suite.get("failures")) == sum(not r.passed for r in grade.results)


def test_what_does_not_compile_has_no_hint_of_a_test():
    """The compiler's words once, instead."""
    said = outputs.gradescope(GRADES["not compiled"])
    assert said.count("expected ';'") == 1 and not [t for t in LAB.tests if t.hint in said]
    result = json.loads(outputs.result(GRADES["not compiled"]))
    assert result["first_hint"] == "what the compiler says"
    assert {test["hint"] for test in result["tests"].values()} == {""}


def drawn(graded):
    """Return what rich draws at 80 columns, without colours."""
    console = pytest.importorskip("rich.console").Console(
        width=80, file=io.StringIO(), force_terminal=True, highlight=False)
    screen.draw(graded, console)
    return re.sub(r"\033\[[0-9;]*m", "", console.file.getvalue())


@pytest.mark.parametrize("show", [screen.text, drawn])
def test_a_failed_test_says_on_a_terminal_what_to_do(show):
    """In 80 columns; no words of a submission are read as commands."""
    failed = (3, 7)
    said = show(some(set(range(100)).difference(failed)))
    assert max(map(len, said.splitlines())) <= 80
    assert "\033" not in said and "[red]a zombie[/red]" in said
    words = " ".join(said.split())
    for number in failed:
        assert LAB.tests[number].hint in words
        assert LAB.tests[number].name.replace("_", " ") in words
    missing = sum(LAB.tests[number].points for number in failed)
    assert f"{100 - missing} of 100 points" in words
    assert "Start with: " + LAB.tests[3].name.replace("_", " ") in words


@pytest.mark.parametrize("show", [screen.text, drawn])
def test_tests_that_did_not_run_are_counted_only(show):
    """After -k NAME, for example."""
    said = show(some({0}, ran={0}))
    assert f"{len(LAB.tests) - 1} of {len(LAB.tests)} tests were not run" in said
    assert LAB.tests[1].hint not in " ".join(said.split()) and "Start with" not in said


def test_plain_where_there_is_no_terminal(capsys):
    screen.show(GRADES["some"])
    assert capsys.readouterr().out == screen.text(GRADES["some"]) + "\n"


def test_a_result_is_the_last_line_also_after_status_2(tmp_path):
    """A handout that was not built cannot grade."""
    write_handout(tmp_path, [LAB])
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    done = subprocess.run(
        [sys.executable, "-m", "labs.grade", "03", str(tmp_path), "--isolation", "none",
         "--autolab", "-", "--gradescope", str(tmp_path / "results.json")],
        cwd=tmp_path / "handout", capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 2 and "is not built yet" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "scores": {"works": 0, "architecture": 0, "robust": 0}}
    said = json.loads((tmp_path / "results.json").read_text())
    assert said["score"] == 0 and "is not built yet" in said["output"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What instructors get for lab 03."""
    folder = tmp_path_factory.mktemp("made")
    write_handout(folder, [LAB])
    return folder / "instructor"


@pytest.fixture
def site(made, tmp_path):
    """/autograder, as Gradescope lays it out, in another folder."""
    with zipfile.ZipFile(made / "gradescope-03.zip") as archive:
        for one in archive.infolist():
            path = archive.extract(one, tmp_path / "source")
            os.chmod(path, one.external_attr >> 16)
    shutil.copy(tmp_path / "source" / "run_autograder", tmp_path)
    (tmp_path / "submission").mkdir()
    return tmp_path


def borrow_build(folder):
    """Use the objects and the Python packages of the project, to save time."""
    (folder / "build").mkdir()
    for name in ("default", "venv"):
        (folder / "build" / name).symlink_to(TOP / "build" / name)


def hand_in(folder):
    """Write the collection's server as students hand it in: with all that lab 03 asks for."""
    main = (LAB.solution / "main.c").read_text()
    (folder / "main.c").write_text(main.replace("../common/worker_processes.h",
                                                "worker_processes.h"))
    for name in ("worker_processes.c", "worker_processes.h"):
        shutil.copy(TOP / "common" / name, folder)


def run_autograder(site):
    """Run it as Gradescope does; return what it finds then."""
    shutil.rmtree(site / "results", ignore_errors=True)
    subprocess.run([site / "run_autograder"], cwd=site, check=True, capture_output=True,
                   timeout=LIMIT)
    said = json.loads((site / "results" / "results.json").read_text())
    jsonschema.validate(said, schema("gradescope"))
    return said


def test_gradescope_has_a_result_whatever_happens(site):
    """No Python, no main.c, no C."""
    assert "Tell your instructor" in run_autograder(site)["output"]
    borrow_build(site / "source" / "zerohttpd-labs")
    assert "no main.c" in run_autograder(site)["output"]
    (site / "submission" / "mine").mkdir()
    (site / "submission" / "mine" / "main.c").write_text("int main(void) { return 0 }\n")
    assert "expected" in run_autograder(site)["output"]


@full
def test_gradescope_grades_after_its_setup(site):
    subprocess.run(["bash", site / "source" / "setup.sh", site / "source"], check=True,
                   env={**os.environ, "INSTALL": ""}, timeout=LIMIT)
    hand_in(site / "submission")
    assert run_autograder(site)["score"] == 100


def autolab(made, folder):
    """Run make as Autolab does; return (its output, the scores of the last line)."""
    shutil.copy(made / "autolab-03" / "autograde-Makefile", folder / "Makefile")
    shutil.copy(made / "autolab-03" / "autograde.tar", folder)
    done = subprocess.run(["make"], cwd=folder, capture_output=True, text=True, check=True,
                          timeout=LIMIT, env={name: value for name, value in os.environ.items()
                                              if name not in ("MAKEFLAGS", "MAKELEVEL")})
    said = json.loads(done.stdout.splitlines()[-1])
    jsonschema.validate(said, schema("autolab"))
    assert set(said["scores"]) == set(labs.LEVELS)
    return done.stdout, said["scores"]


def test_autolab_has_a_result_whatever_happens(made, tmp_path):
    """Neither a hand-in, nor a compiler."""
    (tmp_path / "handin.tar").write_text("no archive")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", "nope")
        text, scores = autolab(made, tmp_path)
    assert "Tell your instructor" in text and sum(scores.values()) == 0


@full
def test_autolab_grades(made, tmp_path):
    (tmp_path / "03").mkdir()
    hand_in(tmp_path / "03")
    with tarfile.open(tmp_path / "handin.tar", "w") as tar:
        tar.add(tmp_path / "03", "03")
    shutil.rmtree(tmp_path / "03")
    assert sum(autolab(made, tmp_path)[1].values()) == 100
    (tmp_path / "empty").mkdir()
    text, scores = autolab(made, tmp_path / "empty")
    assert "no main.c" in text and sum(scores.values()) == 0


def test_libraries_are_copied_where_there_are_some(tmp_path):
    """Not from unpacked packages that have programs only: grading stopped there."""
    (tmp_path / "root" / "usr" / "bin").mkdir(parents=True)
    build.copy_libraries(tmp_path / "root", tmp_path / "target")
    assert list((tmp_path / "target").iterdir()) == []
    (tmp_path / "root" / "usr" / "include" / "hiredis").mkdir(parents=True)
    (tmp_path / "root" / "usr" / "lib" / "x").mkdir(parents=True)
    (tmp_path / "root" / "usr" / "lib" / "x" / "libhiredis.a").touch()
    build.copy_libraries(tmp_path / "root", tmp_path / "other")
    assert (tmp_path / "other" / "usr" / "include" / "hiredis").is_dir()
    assert (tmp_path / "other" / "usr" / "lib" / "x" / "libhiredis.a").exists()
