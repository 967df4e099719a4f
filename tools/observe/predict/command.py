"""`make predict`: asks for a prediction, measures, and compares the two."""

import argparse
import contextlib
import copy
import dataclasses
import io
import os
import sys
from pathlib import Path

from tools.bench import command as bench, config
from tools.kit import redis, venv
from tools.observe import lab
from tools.observe.predict import compare, curve, files
from tools.report import table
from tools.results import rundir

# 30 s: as many rounds as an interval of the median needs.
DEFAULTS = {"SECONDS": "5", "REPEAT": "6"}
# The study `mixed` compares with 07, which is measured, too.
COMPUTING_DEFAULTS, LOAD, SHARE = {"SECONDS": "4", "REPEAT": "3"}, "computing 20 ms", 20
PASSED_ON = ("BACKLOG", "SERVER_CPUS", "LOAD_CPUS", "TOOL", "OUT", "SEED")
SAID = {
    "guestbook": "Each client opens a connection, asks for /guestbook (three "
                 "commands to Redis), reads the page, and begins again.",
    files.COMPUTING: "A hundred requests a second arrive, each when it is due: 20 of them "
                     "compute for 20 ms, the others ask for /answer.",
    "answer": "Each client keeps its connection and asks for /answer (two "
              "bytes, no Redis) again and again.",
}


def main(words):
    """Run the command; return its exit status: 2 for a wrong prediction or setting, before
    anything is measured."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tools.observe predict", description=__doc__,
        epilog="The settings of bench are environment variables: SECONDS=1 "
        "(of each round), REPEAT, OUT, TOOL, SERVER_CPUS ...")
    parser.add_argument("server", nargs="?", help="05, prethreaded")
    parser.add_argument("--clients", help="how many (100)")
    parser.add_argument("--what", help="guestbook (default), answer, computing, or curve")
    parser.add_argument("--file", help="a prediction in TOML; does not ask")
    parser.add_argument("--name", help="whose prediction it is")
    try:
        return run(parser.parse_args(words))
    except (files.FileError, config.SettingsError) as error:
        print(f"predict: {error}", file=sys.stderr)
        return 2
    except (EOFError, KeyboardInterrupt):
        print("\npredict: stopped.", file=sys.stderr)
        return 130
    except (compare.NoFigure, redis.RedisError) as error:
        print(f"predict: nothing was measured: {error}", file=sys.stderr)
        return 1


def run(options):
    """Predict, measure and compare; return the exit status."""
    if options.what == "curve":
        return curve.run(options)
    given = checked(options)
    if options.file:
        topic = files.read(options.file, **given)
    elif "server" not in given:
        raise files.FileError("SERVER=05 or FILE=predict.toml is needed")
    elif not (sys.stdin.isatty() and sys.stdout.isatty()):
        example = files.EXAMPLE_WAITS if given.get("what") == files.COMPUTING else files.EXAMPLE
        raise files.FileError("there is no terminal to ask at; FILE=... names "
                              f"a file like this:\n\n{example}")
    else:
        topic = {"clients": 100, **files.OPTIONAL, **given}
        if topic["what"] == files.COMPUTING:
            del topic["clients"]
    settings = settings_of(topic)
    lab.executable_of(topic["server"])
    reason = venv.restart_inside()           # before we ask: it starts us again
    prediction = topic if options.file else ask(topic, reason)
    path = files.store(
        Path(settings.out) / "predictions", prediction["name"] or Path(
            options.file or "{server}-{what}-{clients}".format(**{"clients": "20", **topic})).stem,
        prediction)
    print(f"The prediction is in {os.path.relpath(path)}", flush=True)
    status, folder, doubts = measure(settings)
    found, more = compare.measured(rundir.read_json(folder / "summary.json"), prediction)
    files.add(path, found)
    print("", *table.lines(compare.table(prediction, found), table.width()), "", sep="\n")
    table.say(*compare.explain(prediction, found, more), *more["notes"],
              *doubts, f"All that was measured: {os.path.relpath(folder)}/report.html")
    return status


def checked(options):
    """Return those of the options that a prediction has. Raises FileError."""
    given = {}
    for key in ("server", "clients", "what", "name"):
        value = getattr(options, key)
        try:
            if value:
                given[key] = files.CHECKS[key](number(value) if key == "clients" else value)
        except ValueError as error:
            raise files.FileError(f"{key.upper()}={value}: {error}") from error
    return given


def settings_of(topic):
    """Return bench's Settings for one cell. Raises SettingsError."""
    there = {key: os.environ.get(key, "") for key in PASSED_ON}
    computes = topic["what"] == files.COMPUTING
    defaults = DEFAULTS | COMPUTING_DEFAULTS if computes else DEFAULTS
    settings = config.read(*(("study", ["mixed"]) if computes else (
        "run", ["--experiment", topic["what"]])), {**there, **{
            key: os.environ.get(key) or value for key, value in defaults.items()},
            "SERVERS": topic["server"], "CONCURRENCY": str(topic.get("clients", SHARE))})
    one = copy.copy(next(one for one in settings.experiments if not one.of))
    one.variants = [variant for variant in one.variants if variant.name == LOAD] \
        if computes else one.variants[:1]
    return dataclasses.replace(settings, experiments=(one,))


def ask(topic, reason):
    """Ask for a prediction at the terminal; return it. `reason` says why
    there is no rich, "" if it is there. Raises EOFError."""
    if reason:
        raise lab.LabError(f"cannot ask: {reason}; FILE=predict.toml can do")
    # pylint: disable=import-outside-toplevel
    from rich import console, markup
    shown = console.Console(highlight=False)

    def answer(words, check):
        """Ask until `check` accepts the answer."""
        while True:
            try:
                return check(shown.input(f"{words}: "))
            except ValueError as error:
                shown.print(markup.escape(str(error)))

    shown.print(f"\nPredict before you measure: [bold]{files.title(topic)}"
                f"[/bold]\n{SAID[topic['what']]} The server has a core of its own.\n")
    told = {key: answer(words, number) for key, words in files.quantities(topic).items()}
    if "limit" in files.needed(topic):
        shown.print("\nWhat ends the rate?", *(
            f"  [bold]{name:12}[/bold] {words}" for name, words in files.LIMITS.items()), sep="\n")
        told["limit"] = answer("one of these", files.CHECKS["limit"])
    told["why"] = answer("why, in a line", files.line)
    return {**topic, **told}


def number(typed):
    """Return the figure that was typed, also 12,000. Raises ValueError."""
    with contextlib.suppress(ValueError):
        typed = float(typed.replace(",", ""))
    return files.figure(typed)


def measure(settings):
    """Measure; return (status, folder of the run, [what may spoil it]). After
    Ctrl-C the status is 130. Raises NoFigure, RedisError, OSError."""
    latest = Path(settings.out) / "latest"
    before = latest.resolve()
    print(f"Measuring for {settings.repeat * settings.seconds:g} s. Ctrl-C "
          "keeps what is measured.", flush=True)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = bench.compare(settings)
    folder = latest.resolve()
    if folder == before or not (folder / "summary.json").exists():
        if status == 130:
            raise KeyboardInterrupt
        raise compare.NoFigure(said.getvalue().strip()[-300:])
    env = rundir.read_json(folder / "env.json")
    spoils = ", ".join(one["what"] for one in env["preflight"] if not one["ok"])
    return status, folder, [*env["left_out"], *env["problems"], *([
        f"What may spoil the figures of this machine: {spoils}."] if spoils else [])]
