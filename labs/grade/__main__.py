"""Grade a submission: python3 -m labs.grade LAB SUBMISSION"""

import argparse
import contextlib
import io
import os
import sys
from pathlib import Path

import pytest

from labs.grade import build, outputs, sandbox, screen, starter
from labs.grade.lab import LabError, find
from labs.grade.plugin import Built, Grading
from tools.kit import process, scratch

HERE = Path(__file__).parent
SECONDS = 50            # for the tests that fail, together


def read_arguments():
    """Return the parsed command line; exits with 2 when it is wrong."""
    parser = argparse.ArgumentParser(
        prog="python3 -m labs.grade",
        description="Grade a submission of a lab. The exit status is 0 for "
        "all points, 1 for fewer, 2 when it could not be graded.")
    parser.add_argument("lab", help="3, 03, preforking or 03_preforking")
    parser.add_argument("submission", nargs="?", help="a folder with main.c, or "
                        "the file (default: the starter)")
    for name, what in outputs.FILES.items():
        parser.add_argument(f"--{name}", metavar="FILE", help=what.__doc__
                            + " (-: at the end of the output)")
    parser.add_argument("--isolation", choices=("auto", "required", "none"),
                        default="auto", help="whether namespaces keep the "
                        "submission apart: where possible (auto), or else do not grade (required)")
    parser.add_argument("--seconds", type=float, default=SECONDS,
                        help="for the tests that fail, together (%(default)s)")
    parser.add_argument("--plain", action="store_true", help="plain text, also on a terminal")
    parser.add_argument("-k", metavar="EXPRESSION",
                        help="run these tests only; the others give no points")
    parser.add_argument("--debug", action="store_true", help="show what pytest prints")
    return parser.parse_args()


def main():
    """Grade; return the exit status."""
    options = read_arguments()
    process.end_on_signals()
    try:
        lab = find(options.lab)
        if options.submission and not Path(options.submission).exists():
            raise LabError(f"there is no {options.submission}")
    except LabError as error:
        return cannot_grade(None, options, str(error))
    isolation = sandbox.enter() if options.isolation != "none" \
        else sandbox.Isolation(False, "--isolation none")
    if not isolation.namespaces:
        print(f"labs.grade: the submission is not kept apart ({isolation.why})."
              " It can read and change what its user can, and use the network."
              " Only its time, memory and number of files are limited.", file=sys.stderr)
        if options.isolation == "required":
            return cannot_grade(lab, options, "the grader may not run it here")
    with scratch.folder("grade") as folder:
        os.chmod(folder, 0o711)
        try:
            if not options.submission:
                options.submission = Path(folder, "starter")
                starter.write(lab, options.submission)
            grade = grade_in(folder, lab, options, isolation)
        except (LabError, sandbox.SandboxError) as error:
            return cannot_grade(lab, options, str(error))
    screen.show(grade, options.plain)
    write_files(grade, options)
    return 0 if grade.points == grade.total else 1


def write_files(grade, options):
    """Write the files that were asked for; "-" is standard output."""
    for name, write in outputs.FILES.items():
        path = getattr(options, name)
        if path == "-":
            print(write(grade).rstrip("\n"), flush=True)
        elif path:
            Path(path).write_text(write(grade), encoding="utf-8")


def cannot_grade(lab, options, why):
    """Say why nothing could be graded, in the files too if the lab is known:
    a course's web site waits for them. Return the exit status."""
    print(f"labs.grade: {why}", file=sys.stderr)
    if lab:
        write_files(outputs.not_graded(lab, why), options)
    return 2


def grade_in(folder, lab, options, isolation):
    """Build and test in an empty folder; return the Grade.

    Raises LabError and SandboxError when that is not the submission's fault.
    """
    try:
        shown = build.prepare(folder)
    except build.BuildError as error:
        raise LabError(str(error)) from error
    try:
        program, warnings = build.build(lab, options.submission, folder, shown, isolation)
    except build.BuildError as error:
        return outputs.not_compiled(lab, str(error))
    words = [str(HERE), "--lab", options.lab, "-q", "-p", "no:cacheprovider",
             "-c", os.devnull, "--rootdir", str(HERE)]
    if options.k:       # a test's name may be copied from a report
        name = options.k.replace(" ", "_")
        words += ["-k", name if any(test.name == name for test in lab.tests) else options.k]
    said = io.StringIO()
    with screen.progress(len(lab.tests), options.plain or options.debug) \
            as begin, contextlib.nullcontext() if options.debug \
            else contextlib.redirect_stdout(said):
        grading = Grading(lab, Built(program, shown, isolation), options.seconds, begin)
        status = pytest.main(words, plugins=[grading])
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise LabError(f"no test of lab {lab.number} is called {options.k!r}")
    if status not in (0, 1):
        raise LabError(f"pytest could not run the tests\n{said.getvalue()}")
    if grading.broken:      # not the submission's fault
        raise LabError(grading.broken)
    return outputs.Grade(lab, tuple(grading.in_order()), warnings=warnings)


if __name__ == "__main__":
    sys.exit(main())
