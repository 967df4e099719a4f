"""`make predict`: asks for a prediction, measures, and compares the two."""

import argparse
import contextlib
import copy
import dataclasses
import io
import os
import signal
import sys
from pathlib import Path

from bench import config, venv
from bench.draw import table
from bench.run import redis, session
from bench.store import rundir
from observe import lab
from observe.predict import compare, files

# 30 s: as many rounds as an interval of the median needs.
ROUNDS, SECONDS = 6, 5
PASSED_ON = ("SECONDS", "REPEAT", "BACKLOG", "SERVER_CPUS", "LOAD_CPUS",
             "TOOL", "OUT", "SEED")
EXAMPLE = """\
There is no terminal to ask at, so a file is needed: FILE=predict.toml

server = "05"
clients = 100
rate = 3000             # requests a second
cpu_us = 250            # CPU microseconds a request
switches = 4            # context switches a request
calls = 12              # system calls a request
limit = "server core"   # or: load tool, Redis, workers, clients
why = "a line"
"""
SAID = {
    "guestbook": "Each client opens a connection, asks for /guestbook (three "
                 "commands to Redis), reads the page, and begins again.",
    "answer": "Each client keeps its connection and asks for /answer (two "
              "bytes, no Redis) again and again.",
}


def main(words):
    """Run the command; return its exit status: 2 for a wrong prediction or
    setting, before anything is measured."""
    parser = argparse.ArgumentParser(
        prog="python3 -m observe predict", description=__doc__,
        epilog="Settings of bench, such as SECONDS=1 (of each of the "
        "six rounds), are environment variables.")
    parser.add_argument("server", nargs="?", help="05, prethreaded")
    parser.add_argument("--clients", help="how many (100)")
    parser.add_argument("--what", help="guestbook (default) or answer")
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
    """Predict, measure and compare; return the exit status. Raises FileError,
    SettingsError, LabError, RedisError, NoFigure, OSError."""
    given = checked(options)
    prediction = None
    if options.file:
        prediction, _ = files.read(options.file, **given)
    elif not given["server"]:
        raise files.FileError("SERVER=05 or FILE=predict.toml is needed")
    elif not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise files.FileError(EXAMPLE)
    topic = prediction or files.Prediction(
        given["server"], given["clients"] or 100, given["what"]
        or "guestbook", name=given["name"])
    settings = settings_of(topic)
    lab.executable_of(topic.server)
    reason = venv.enter()
    if not prediction:
        if reason:
            raise lab.LabError(f"cannot ask ({reason}); FILE=... can be used")
        prediction = ask(topic)
    path = files.store(
        Path(settings.out) / "predictions", options.name or prediction.name
        or (Path(options.file).stem if options.file else "")
        or f"{topic.server}-{topic.what}-{topic.clients}", prediction)
    print(f"The prediction is in {os.path.relpath(path)}", flush=True)
    status, found, folder = measure(settings, prediction)
    files.complete(path, prediction, found)
    print("", *table.lines(compare.table(prediction, found), table.width()),
          "", sep="\n")
    table.say(*compare.explain(prediction, found), *found.notes,
              f"All that was measured: {os.path.relpath(folder)}/report.html")
    return status


def checked(options):
    """Return what the options say for files.read(). Raises FileError."""
    given = {}
    for key in ("server", "clients", "what", "name"):
        value = getattr(options, key)
        try:
            if value and key == "clients":
                value = int(value) if value.isdecimal() else value
            given[key] = files.CHECKS[key](value) if value else ""
        except ValueError as error:
            raise files.FileError(f"{key.upper()}={value}: {error}") \
                from error
    return given


def settings_of(prediction):
    """Return bench's Settings for one cell. Raises SettingsError."""
    there = {key: os.environ.get(key, "") for key in PASSED_ON}
    there["SECONDS"] = there["SECONDS"] or str(SECONDS)
    there["REPEAT"] = there["REPEAT"] or str(ROUNDS)
    settings = config.read("run", [
        "--experiment", prediction.what, "--servers", prediction.server,
        "--concurrency", str(prediction.clients)], there)
    one = copy.copy(settings.experiments[0])
    one.variants = one.variants[:1]
    return dataclasses.replace(settings, experiments=(one,))


def ask(topic):
    """Ask for a prediction at the terminal; return it. Raises EOFError."""
    from rich.console import Console
    from rich.prompt import InvalidResponse, Prompt

    class Answer(Prompt):
        """A prompt that asks again until `check` accepts the answer."""

        check = staticmethod(files.text)

        def process_response(self, value):
            try:
                return self.check(value.strip())
            except ValueError as error:
                raise InvalidResponse(f"[red]{error}") from error

    class Figure(Answer):
        """A number, also with commas between the thousands."""

        @staticmethod
        def check(value):
            try:
                value = float(value.replace(",", ""))
            except ValueError:
                raise ValueError("it has to be a number") from None
            return files.figure(int(value) if value % 1 == 0 else value)

    class Limit(Answer):
        """One of LIMITS; its first letters will do."""

        @staticmethod
        def check(value):
            return files.one_of(value, files.LIMITS)

    console = Console(highlight=False)
    console.print(f"\nPredict before you measure: [bold]{topic.title}[/bold]\n"
                  f"{SAID[topic.what]} The server has a core of its own.\n")
    values = {key: Figure.ask(words.capitalize().replace("Cpu", "CPU"),
                              console=console)
              for key, words in files.QUANTITIES.items()}
    console.print("\nWhat ends the rate?", *(
        f"  [bold]{name:12}[/bold] {words}"
        for name, words in files.LIMITS.items()), sep="\n")
    limit = Limit.ask("One of them", console=console)
    why = Answer.ask("Why, in one line", console=console)
    console.print()
    return dataclasses.replace(topic, values=values, limit=limit, why=why)


def measure(settings, prediction):
    """Measure what was predicted; return (status, Measured, folder), status 0,
    or 130 after Ctrl-C. Raises NoFigure, RedisError, OSError."""
    latest = Path(settings.out) / "latest"
    before = latest.resolve()
    rounds = settings.repeat
    print(f"Measuring for {rounds * settings.seconds:g} s, in {rounds} "
          "rounds. Ctrl-C keeps what is measured.", flush=True)
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, signal.default_int_handler)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = session.compare(settings)
    folder = latest.resolve()
    try:
        if folder == before:
            raise FileNotFoundError
        summary, env = (rundir.read_json(folder / name)
                        for name in ("summary.json", "env.json"))
    except FileNotFoundError:
        raise compare.NoFigure(said.getvalue().strip()[-300:]) from None
    found = compare.measured(summary, env, prediction)
    doubts = ", ".join(one["what"] for one in env["preflight"]
                       if not one["ok"])
    return status, found._replace(notes=[
        *found.notes, *env["left_out"], *env["problems"],
        *[f"What may spoil the figures here: {doubts}"] * bool(doubts)]), \
        folder
