"""Grades a class: make grade-all LAB=03 DIR=submissions

    LAB=03          a lab, as in make grade
    DIR=FOLDER      has one folder for each submission; its name is the submission's
    OUT=FOLDER      for the results (results/grades/LAB/NAME OF DIR)
    ONLY=NAME       grades this submission, whether it has changed or not
    JOBS=N          N at a time (two for each core: a grade mostly waits for its submission)
    ISOLATION=auto  grades also where the system keeps no submission apart

The settings are environment variables. A submission is graded again only when its files have
changed, or the grader: so the same command goes on after it was stopped or killed. What
cannot be graded is tried once more, told, and tried by the next run again.
"""

import contextlib
import fcntl
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from labs.grade import records, sandbox, similar, summary
from labs.grade.lab import Lab, LabError, find
from labs.grade.outputs import clean
from tools.kit import TOP, process, progress, scratch

GRADER = (sys.executable, "-m", "labs.grade")
LIMIT = 900             # seconds for one grade; its tests have 250 at most
PLAN = 12               # seconds, before it is known how long one takes
ATTEMPTS = 2            # to grade a submission
JOBS_A_CORE, MOST_JOBS = 2, 256     # a grade computes for a third of its time
ISOLATIONS = ("required", "auto", "none")


class SettingError(Exception):
    """A setting is wrong; the text names it, and what it may be."""


@dataclass(frozen=True)
class Settings:
    """What the environment says: see above. `submissions` are names of folders of `folder`."""

    lab: Lab
    folder: Path
    out: Path
    submissions: tuple
    only: str
    jobs: int
    isolation: str


def read_settings(env):
    """Return the Settings of an environment. Raises SettingError and LabError."""
    lab = find(env.get("LAB", ""))
    example = f"make grade-all LAB={lab.number} DIR=submissions"
    if not env.get("DIR"):
        raise SettingError("DIR has to name the folder that has a folder for each submission: "
                           + example)
    folder = Path(env["DIR"]).resolve()
    if not folder.is_dir():
        raise SettingError(f"DIR={env['DIR']}: there is no such folder")
    try:
        names = tuple(sorted(one.name for one in os.scandir(folder)
                             if one.is_dir() and not one.name.startswith(".")))
    except OSError as error:
        raise SettingError(f"DIR={env['DIR']}: {error.strerror}") from error
    if not names:
        raise SettingError(f"DIR={env['DIR']} has no folder; each submission has to be one")
    only = env.get("ONLY", "").rstrip("/")
    if only and only not in names:
        raise SettingError(f"ONLY={only}: it is no folder of {env['DIR']}; there are "
                           + ", ".join(map(clean, names)))
    isolation = env.get("ISOLATION") or ISOLATIONS[0]
    if isolation not in ISOLATIONS:
        raise SettingError(f"ISOLATION={isolation}: it can be {', '.join(ISOLATIONS)}")
    return Settings(lab, folder, read_out(env, lab, folder), names, only, read_jobs(env), isolation)


def read_jobs(env):
    """Return how many submissions are graded at a time. Raises SettingError."""
    text = env.get("JOBS", "")
    if not text:
        return JOBS_A_CORE * len(os.sched_getaffinity(0))
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MOST_JOBS):
        raise SettingError(f"JOBS={text}: it has to be a whole number from 1 to {MOST_JOBS}")
    return int(text)


def read_out(env, lab, folder):
    """Return the folder for results. Raises SettingError."""
    text = env.get("OUT") or str(TOP / "results/grades" / lab.folder.name / folder.name)
    out = Path(text).resolve()
    if out == folder or folder in out.parents:
        raise SettingError(f"OUT={text} is in the folder of the submissions")
    there = next(path for path in (out, *out.parents) if path.exists())
    try:
        with tempfile.TemporaryDirectory(dir=there):    # access(2) says yes to root, in /proc too
            return out
    except OSError as error:
        raise SettingError(f"OUT={text}: it has to be a folder that you can write to") from error


class Running:
    """A grader at work on one submission; `attempt` counts from 1."""

    def __init__(self, settings, name, digest, place, attempt=1):
        self.name, self.digest, self.attempt = name, digest, attempt
        self.folder = str(settings.folder / name)
        self.begun = time.monotonic()
        self.scratch = Path(tempfile.mkdtemp(dir=place))
        os.chmod(self.scratch, 0o711)       # the submission's user has to pass
        self.file = self.scratch / "result.json"
        with open(self.scratch / "report.txt", "wb") as output:
            self.process = process.spawn(
                ["env", f"TMPDIR={self.scratch}", *GRADER, settings.lab.number,
                 self.folder, "--isolation", settings.isolation, "--plain",
                 "--result", str(self.file)], os.sched_getaffinity(0), output, TOP)
        self.descriptor = os.pidfd_open(self.process.pid)

    def ended(self):
        """Return the records.Record and the report as text, or None while it grades."""
        fault, late = "", time.monotonic() - self.begun > LIMIT
        status = process.stop(self.process) if late else process.wait(self.process, 0)
        if status is None:
            return None
        os.close(self.descriptor)
        report = (self.scratch / "report.txt").read_text(encoding="utf-8", errors="replace")
        result = records.result_of(self.file)
        if late:
            fault = f"the grader took more than {LIMIT} s"
        elif status.code not in (0, 1) or not result:
            said = result.get("fault") or (report.strip().splitlines() or [""])[-1]
            fault = clean(said) or f"the grader ended with {status}"
        seconds = time.monotonic() - self.begun
        shutil.rmtree(self.scratch, ignore_errors=True)
        report = report.replace(self.folder, clean(self.name))   # it is handed back
        if fault:
            report += "\nThis could not be graded. The fault is not known to be yours.\n"
        return records.Record(self.name, self.digest, seconds, fault, {} if fault else result), \
            report


class Batch:
    """A class that is graded; `records` is {name: Record} of all that are known."""

    def __init__(self, settings):
        self.settings = settings
        self.records = {name: one for name in settings.submissions
                        if (one := records.read(settings.out, name))}
        self.before = dict(self.records)
        grader = records.digest_of_grader(settings.lab)
        self.digests = {name: records.digest(settings.folder / name, grader)
                        for name in settings.submissions}
        self.todo = [name for name in settings.submissions if self.must_grade(name)]
        self.told = []          # sentences about what was graded
        self.line = progress.Line(len(self.todo) * PLAN / settings.jobs)

    def must_grade(self, name):
        """Return whether a submission has to be graded in this run."""
        if self.settings.only:
            return name == self.settings.only
        known = self.records.get(name)
        return not known or bool(known.fault) or known.digest != self.digests[name]

    def run(self, place):
        """Grade all that have to be; `place` is a folder for files of the graders."""
        waiting = [(name, 1) for name in reversed(self.todo)]
        running, done = [], 0
        try:
            while waiting or running:
                while waiting and len(running) < self.settings.jobs:
                    name, attempt = waiting.pop()
                    running.append(Running(self.settings, name, self.digests[name], place, attempt))
                self.show(done, running)
                wait_for_any(running)
                for one in list(running):
                    if ended := one.ended():
                        running.remove(one)
                        if ended[0].fault and one.attempt < ATTEMPTS:
                            waiting.append((one.name, one.attempt + 1))
                        else:
                            self.keep(*ended)
                            done += 1
        finally:
            self.line.clear()
            process.end_all()

    def keep(self, record, report):
        """Write what is known about a submission that was graded."""
        records.replace(self.settings.out / "reports"
                        / f"{records.file_name(record.name)}.txt", report)
        records.write(self.settings.out, record)
        self.records[record.name] = record
        before = self.before.get(record.name)
        if before or self.settings.only or record.fault:
            self.line.clear()
            print(f"{clean(record.name)}: {records.changes(before, record)}"
                  + (f" ({record.fault})" if record.fault else ""), flush=True)

    def show(self, done, running):
        """Write the line of progress."""
        names = ", ".join(clean(one.name, 20) for one in running)
        self.line.show((len(self.todo) - done) * PLAN / self.settings.jobs,
                       f"{done} of {len(self.todo)} graded; now: {names}")

    def in_order(self):
        """Return the Records of all submissions, by name; what was not graded says so."""
        return [self.records.get(name) or records.Record(name, fault=records.NOT_YET)
                for name in self.settings.submissions]


def wait_for_any(running):
    """Wait until a grader ends, or a second is over."""
    waiting = select.poll()
    for one in running:
        waiting.register(one.descriptor, select.POLLIN)
    waiting.poll(1000)


@contextlib.contextmanager
def alone_in(out):
    """Hold the folder of results: yields a folder for files of the graders. Raises SettingError
    when another run works there."""
    for name in ("results", "reports"):
        (out / name).mkdir(parents=True, exist_ok=True)
    with open(out / ".lock", "ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise SettingError(f"another make grade-all works in {out}") from error
        with scratch.folder("grade-all") as made:
            os.chmod(made, 0o711)
            yield made


def grade_all(settings):
    """Grade a class and write what came of it; return the exit status."""
    out, lab = settings.out, settings.lab
    with alone_in(out) as place:
        batch = Batch(settings)
        known = len(settings.submissions) - len(batch.todo)
        print(f"{lab.folder.name}: {len(batch.todo)} of {len(settings.submissions)} submissions to "
              f"grade, {settings.jobs} at a time"
              + (f"; {known} are as they were" if known and not settings.only else ""), flush=True)
        try:
            batch.run(place)
        except KeyboardInterrupt:
            print(f"stopped; {len(batch.records)} of {len(settings.submissions)} are graded, and "
                  "the same command goes on there", file=sys.stderr)
            return 128 + signal.SIGINT
        found = batch.in_order()
        pairs, why = similar.pairs(lab, {name: settings.folder / name
                                         for name in settings.submissions})
        records.write_table(lab, found, out / "grades.csv")
        records.replace(out / "summary.html", summary.page(lab, found, pairs, why))
        print(summary.text(lab, found, pairs, why, out))
        return 1 if any(one.fault for one in found) else 0


def main(words):
    """Return the exit status: 0 when all are graded, 1 when some could not be, 2 for a wrong
    setting. The word "settings" only looks at the settings."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        settings = read_settings(os.environ)
        if settings.isolation == "required" and (why := sandbox.why_not_apart()):
            raise SettingError(
                f"this system cannot keep submissions apart ({why}). ISOLATION=auto grades them "
                "with limits only: they can read and change what you can")
        return 0 if words == ["settings"] else grade_all(settings)
    except (SettingError, LabError) as error:
        print(f"grade-all: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
