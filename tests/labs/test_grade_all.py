"""grade-all on a class, with a grader that says quickly what a test wants to hear; and once
with the real one (FULL=1)."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from labs.grade import lab as labs
from labs.grade import records, similar, starter
from labs.grade.batch import SettingError, read_settings
from tests.labs.grading import FULL, TOP, full
from tools.kit import procfs, wait

LIMIT = 120             # seconds for a class of the quick grader
RUN = """
import sys
from labs.grade import batch
batch.GRADER = (sys.executable, "-m", "tests.labs.quick_grader")
batch.LIMIT = float(sys.argv[1])
sys.exit(batch.main([]))
"""


class Class:
    """A class of lab 03 in a fresh folder."""

    def __init__(self, top):
        self.top, self.submissions, self.out = top, top / "submissions", top / "out"
        self.submissions.mkdir()

    def hand_in(self, name, words):
        """Write a submission for the quick grader."""
        (self.submissions / name).mkdir(exist_ok=True)
        (self.submissions / name / "main.c").write_text(words)

    def start(self, limit=600, **settings):
        """Start grade-all; return the Popen."""
        return subprocess.Popen(
            [sys.executable, "-c", RUN, str(limit)], cwd=TOP, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env={**os.environ, "LAB": "03", "DIR": str(self.submissions), "OUT": str(self.out),
                 "ISOLATION": "none", **settings})

    def grade(self, **options):
        """Run grade-all; return (exit status, what it printed)."""
        with self.start(**options) as process:
            text, _ = process.communicate(timeout=LIMIT)
        return process.returncode, text

    def table(self):
        """Return {name: row} of grades.csv without the time."""
        with open(self.out / "grades.csv", encoding="utf-8", newline="") as file:
            return {row.pop("name"): {key: value for key, value in row.items() if key != "seconds"}
                    for row in csv.DictReader(file)}

    def calls(self):
        """Return the names that were graded since the last call."""
        names = self.calls_so_far()
        (self.top / "calls").unlink(missing_ok=True)
        return names

    def calls_so_far(self):
        """Return the same, and count them again the next time."""
        path = self.top / "calls"
        return path.read_text().split("\n")[:-1] if path.exists() else []


@pytest.fixture
def klass(tmp_path):
    """An empty Class."""
    return Class(tmp_path)


def test_each_submission_has_a_row_and_a_report(klass):
    """Whatever its name, and whatever becomes of it."""
    for name, words in (("anna", "all"), ("=1+1", "none"), ("Zo\u00eb <b>", "breaks"),
                        ("n" * 250, "none")):
        klass.hand_in(name, words)
    (klass.submissions / "notes.txt").write_text("no submission")
    status, text = klass.grade()
    assert status == 1, text
    rows = klass.table()
    assert sorted(rows) == sorted(["anna", "'=1+1", "Zo\u00eb <b>", "n" * 250])
    assert rows["anna"]["total"] == "100" and rows["anna"]["first hint"] == ""
    assert rows["'=1+1"]["total"] == "0" and rows["'=1+1"]["answers_every_page"] == "0"
    assert rows["'=1+1"]["first hint"] == labs.find("03").tests[0].hint
    assert rows["Zo\u00eb <b>"]["first hint"] == "not graded: no Redis"
    assert rows["Zo\u00eb <b>"]["total"] == ""
    assert len(list((klass.out / "reports").glob("*.txt"))) == 4
    assert (klass.out / "reports" / "anna.txt").read_text() == "a report about anna\n"
    assert "1 not graded: Zo\u00eb <b>" in text


def test_a_grader_that_never_ends_is_ended(klass):
    klass.hand_in("ben", "hangs")
    assert klass.grade(limit=1)[0] == 1
    assert "more than 1.0 s" in klass.table()["ben"]["first hint"]


def test_only_what_changed_is_graded_again(klass):
    """And what the grader could not do; it says what is another now."""
    for name, words in (("anna", "all"), ("ben", "none"), ("carl", "breaks")):
        klass.hand_in(name, words)
    klass.grade()
    assert sorted(klass.calls()) == ["anna", "ben", "carl", "carl"]     # tried twice
    klass.hand_in("ben", "all")
    status, text = klass.grade()
    assert sorted(set(klass.calls())) == ["ben", "carl"] and status == 1
    assert "ben: 0 points -> 100 points; passes now: answers every page, " in text
    klass.hand_in("carl", "none")
    assert klass.grade()[0] == 0 and klass.calls() == ["carl"]
    status, text = klass.grade(ONLY="anna")
    assert klass.calls() == ["anna"] and "anna: 100 points, as before" in text
    assert klass.table()["carl"]["total"] == "0"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, *[signal.SIGTERM] * FULL])
def test_a_run_that_ends_early_goes_on(klass, number):
    """It grades no submission twice, ends its graders, and the table is that of a run that was
    not stopped."""
    flag = klass.top / "flag"
    for name, words in (("a", "none"), ("b", f"waits {flag}"), ("c", f"waits {flag}"),
                        ("d", "none")):
        klass.hand_in(name, words)
    with klass.start(JOBS="2") as process:
        assert wait.until(lambda: (klass.out / "results" / "a.json").exists() and sorted(
            klass.calls_so_far()) == ["a", "b", "c"], LIMIT)
        graders = procfs.children(process.pid)
        assert len(graders) == 2
        process.send_signal(number)
        text, _ = process.communicate(timeout=LIMIT)
    assert wait.until(lambda: not [pid for pid in graders if os.path.exists(f"/proc/{pid}")], LIMIT)
    assert not (klass.out / "grades.csv").exists()
    if number != signal.SIGKILL:
        assert process.returncode == 130 and "stopped; 1 of 4 are graded" in text
    flag.touch()
    klass.calls()
    scratch = (klass.out / ".lock").read_text()
    status, text = klass.grade()
    assert status == 0 and sorted(klass.calls()) == ["b", "c", "d"], text
    assert "3 of 4 submissions to grade" in text
    assert not os.path.exists(scratch)
    resumed = klass.table()
    klass.out.rename(klass.top / "old")
    assert klass.grade()[0] == 0 and klass.table() == resumed


@full
def test_two_runs_do_not_share_a_folder(klass):
    klass.hand_in("a", "hangs")
    with klass.start() as process:
        assert wait.until(lambda: klass.calls() == ["a"], LIMIT)
        status, text = klass.grade()
        process.terminate()
        process.communicate(timeout=LIMIT)
    assert status == 2 and "another make grade-all works in" in text


class Page(HTMLParser):
    """What a page names: .links and .loaded (addresses), .text."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src"):
                (self.links if tag == "a" else self.loaded).append(value)

    def handle_data(self, data):
        self.text += data


def test_the_summary_is_one_page_without_network(klass):
    """With the mistakes that several made, whatever their numbers; a name is no markup, and links
    lead to reports."""
    for name, words in (("anna", "all"), ("b%41 <i>?#", "none"), ("carl", "none")):
        klass.hand_in(name, words)
    assert "most frequent mistake: answers every page (2 submissions)" in klass.grade()[1]
    text = (klass.out / "summary.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.loaded == ["data:,"] and not re.search(r"url\(|@import|https?://", text)
    assert "b%41 <i>?#" in page.text and "<i>" not in text
    reports = [unquote(link) for link in page.links if link.startswith("reports/")]
    assert len(reports) == 3 and all((klass.out / link).is_file() for link in reports)
    anchors = {link[1:] for link in page.links if link.startswith("#")}
    assert anchors == set(re.findall(r'section id="(.*?)"', text)) and len(anchors) == 5
    assert "median 0 points" in page.text and "1 of 3" in page.text


@pytest.mark.skipif(not similar.shutil.which(similar.PROGRAM), reason=similar.MISSING)
def test_copies_are_found_under_other_names(tmp_path):
    """Not because of the starter, which all have."""
    lab = labs.find("03")
    for name in ("starter", "other"):
        starter.write(lab, tmp_path / name)
    (tmp_path / "copy").mkdir()
    for path in lab.solution_files():
        text = re.sub(r"/\*.*?\*/", "/* mine */", path.read_text(), flags=re.DOTALL)
        (tmp_path / "copy" / path.name).write_text(re.sub(r"\bworker\b", "servant", text))
    found, why = similar.pairs(lab, {one.name: one for one in tmp_path.iterdir()})
    assert not why
    assert [{pair.one, pair.other} for pair in found] == [{"copy", similar.OURS}]
    assert found[0].percent > 90


def test_without_sim_c_a_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found, why = similar.pairs(labs.find("03"), {})
    assert not found and "similarity-tester" in why


@pytest.mark.parametrize("settings, said", [
    ({"DIR": ""}, "DIR has to name.*make grade-all LAB=03 DIR=submissions"),
    ({"DIR": "anna"}, "DIR=anna has no folder"),
    ({"ONLY": "nope"}, "ONLY=nope.*there are anna"),
    ({"JOBS": "0"}, "JOBS=0.*from 1 to 256"),
    ({"JOBS": "many"}, "JOBS=many.*from 1 to 256"),
    ({"ISOLATION": "nope"}, "ISOLATION=nope.*required, auto, none"),
    ({"OUT": "out"}, "OUT=out is in the folder"),
    ({"OUT": "/proc/nope"}, "OUT=/proc/nope.*write to")])
def test_a_wrong_setting_is_named(settings, said, tmp_path, monkeypatch):
    (tmp_path / "anna").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingError) as error:
        read_settings({"LAB": "03", "DIR": ".", **settings})
    assert re.search(said, str(error.value))
    assert [path.name for path in tmp_path.iterdir()] == ["anna"]


@full
def test_the_real_grader(tmp_path):
    """As in one's own grade: all points, none, and a compiler that refuses."""
    lab = labs.find("03")
    top = tmp_path / "submissions"
    for name in ("right", "broken"):
        (top / name).mkdir(parents=True)
    for path in lab.solution_files():
        (top / "right" / path.name).write_bytes(path.read_bytes())
    (top / "broken" / "main.c").write_text("int main(void) { return 0 }\n")
    starter.write(lab, top / "starter")
    done = subprocess.run(
        [sys.executable, "-m", "labs.grade.batch"], cwd=TOP, text=True, capture_output=True,
        check=False, env={**os.environ, "LAB": "03", "DIR": str(top), "ISOLATION": "auto",
                          "OUT": str(tmp_path / "out")})
    assert done.returncode == 0, done.stdout + done.stderr
    points = {name: records.read(tmp_path / "out", name).points
              for name in ("right", "starter", "broken")}
    assert points["right"] == 100 and points["starter"] <= 25 and points["broken"] == 0
    kept = json.loads((tmp_path / "out" / "results" / "broken.json").read_text())
    assert {test["hint"] for test in kept["result"]["tests"].values()} == {""}
    assert "expected" in (tmp_path / "out" / "reports" / "broken.txt").read_text()
