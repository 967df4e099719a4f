"""Grade a submission: python3 -m labs.grade LAB SUBMISSION"""

import argparse
import io
import contextlib
import json
import sys
import tempfile
from pathlib import Path

import pytest

from labs.grade import build, outputs
from labs.grade.lab import LabError, find


class Recorder:
    """A pytest plugin that makes Results of reports."""

    def __init__(self, lab):
        self.lab, self.results = lab, {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        """Record the first phase of a test that fails, or its success."""
        report = (yield).get_result()
        test = self.lab.test(item.originalname.removeprefix("test_"))
        before = self.results.get(test.name)
        if before and not before.passed or call.when == "teardown" and \
                not call.excinfo:
            return
        if call.excinfo is None:
            result = outputs.Result(test, True, seconds=report.duration)
        else:
            error = call.excinfo.value
            result = outputs.Result(
                test, False,
                getattr(error, "seen", f"{type(error).__name__}: {error}"),
                getattr(error, "expected", "an answer"), report.duration)
        self.results[test.name] = result


def main():
    """Return 0 for all points, 1 for fewer, 2 for a wrong call."""
    parser = argparse.ArgumentParser(prog="python3 -m labs.grade",
                                     description=__doc__)
    parser.add_argument("lab", help="3, 03, preforking or 03_preforking")
    parser.add_argument("submission", help="a folder with main.c, or the file")
    parser.add_argument("--result", metavar="FILE", help="JSON of our own")
    parser.add_argument("-k", metavar="EXPRESSION",
                        help="only these tests, as pytest's -k")
    parser.add_argument("--debug", action="store_true",
                        help="show what pytest prints")
    options = parser.parse_args()
    try:
        lab = find(options.lab)
    except LabError as error:
        print(f"labs.grade: {error}", file=sys.stderr)
        return 2
    recorder = Recorder(lab)
    with tempfile.TemporaryDirectory(prefix="grade-") as folder:
        try:
            program, warnings = build.build(lab, options.submission, folder)
        except build.BuildError as error:
            print(f"It does not compile:\n{error}")
            return 1
        print(warnings, end="")
        words = [str(Path(__file__).parent), "--lab", options.lab,
                 "--program", str(program), "-q", "-p", "no:cacheprovider",
                 "-c", "/dev/null", "--rootdir", str(Path(__file__).parent)]
        if options.k:
            words += ["-k", options.k]
        said = io.StringIO()
        with contextlib.nullcontext() if options.debug \
                else contextlib.redirect_stdout(said):
            status = pytest.main(words, plugins=[recorder])
    if status not in (0, 1):
        print(said.getvalue(), file=sys.stderr)
        return 2
    results = list(recorder.results.values())
    print(outputs.terminal(lab, results))
    if options.result:
        Path(options.result).write_text(json.dumps(
            {r.test.name: {"passed": r.passed, "points": r.points,
                           "seen": r.seen, "expected": r.expected,
                           "hint": r.test.hint} for r in results}, indent=1),
            encoding="utf-8")
    return 0 if all(r.passed for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
