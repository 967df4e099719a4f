"""Measures a variant next to the plain server: what a request costs, and the effect."""

import json
import os
import shlex
import statistics
import subprocess
import sys

from tools.kit import TOP
from tools.results import rundir
from tools.stats import stats
from tools.variant.copy import build
from tools.variant.pages import block
from tools.variant.served import own, running
from tools.variant.what import LOADS, VariantError

STUDY = """title = "{variant}"
question = "What does {variant} cost, compared with the plain server?"

[ways]
plain = ""
{variant} = "{folder}/"

[[load]]
name = "{load}"
servers = {servers}
options = "{options}"
floor = {floor}
{keys}
"""


def measure(variant, words, rounds, seconds):
    """Measure a variant and write the table into its page."""
    # The page has to be fit for it before the minutes are spent.
    block("measured", variant.page.read_text(), [])
    subprocess.run(["make", *words, "all"], cwd=TOP, check=True)
    executables = build(variant, words)
    lines = effects(variant, executables)
    lines = costs(variant, rounds, seconds) + lines
    variant.page.write_text(block("measured", variant.page.read_text(), ["", *lines, ""]))


def study(variant):
    """Write the study that compares a variant with the plain server, and both
    with their floor, where it does the same; return its path."""
    path = variant.copy / f"{variant.name}.toml"
    path.write_text(STUDY.format(
        variant=variant.name, folder=variant.copy.relative_to(variant.top),
        load=variant.load, servers=json.dumps(variant.servers),
        options=shlex.join(variant.options), keys=LOADS[variant.load][0],
        floor="true" if variant.load == "one-shot-100" else "false"))
    return path


def costs(variant, rounds, seconds):
    """Measure a variant that is built; return the lines of its page on CPU time."""
    out = variant.copy / "results"
    done = subprocess.run(
        [sys.executable, "-m", "tools.bench", "study", study(variant), "--repeat",
         str(rounds), "--seconds", f"{seconds:g}", "--out", out], cwd=TOP,
        env={**os.environ, "SERVERS": ""}, check=False)
    if done.returncode != 0:
        raise VariantError(f"{variant.name} was not measured")
    rows = rundir.read_rows(out / "latest" / "samples.csv")
    env = json.loads((out / "latest" / "env.json").read_text())
    return [*cost_table(variant, rows), "", (
        f"CPU time for a request to {LOADS[variant.load][1]}, 100 clients; medians of {rounds} "
        f"rounds of {seconds:g} s, in parentheses the 95 % interval of the median. "
        f"{env['machine']['cpu']}, Linux {env['machine']['kernel']}, {env['started'][:10]}.")]


def cost_table(variant, rows):
    """Return the lines of a table, made of the rows of samples.csv."""
    lines = ["| server | plain µs | variant µs | floor µs | variant / plain "
             "| plain / floor | variant / floor |", "|---|---:|---:|---:|---:|---:|---:|"]
    for server in variant.servers:
        plain, mine, floor = us = [
            {row["repeat"]: row["cpu_us"] for row in rows
             if row["server"] == name and row.get("cpu_us")}
            for name in (f"{server}, plain", f"{server}, {variant.name}", f"floor-{server}")]
        cells = [f"{statistics.median(one.values()):.1f}" if one else "–" for one in us]
        for above, below in ((mine, plain), (plain, floor), (mine, floor)):
            found = stats.compare(above, below, adaptive=False)
            cells.append("–" if found is None else f"{found['ratio']:.2f}" + (
                f" ({found['low']:.2f} to {found['high']:.2f})" if found["low"] else ""))
        lines.append(" | ".join((f"| {server}", *cells)) + " |")
    return lines


def effects(variant, executables):
    """Return the lines of a list: what effect(server) says of the plain server
    and of the variant, the median of three."""
    effect, lines = own(variant, "effect"), []
    for name, executable in zip(variant.servers, executables):
        told = []
        for path in (TOP / name, executable):
            values = []
            for _ in range(3):
                with running(variant, path, "none") as server:
                    values.append(effect(server))
            told.append(sorted(values, key=lambda value: value or 0)[1])
        if None not in told:
            lines.append(f"- {name}: {effect.__doc__}: {told[0]:,.0f} ms with the "
                         f"plain server, {told[1]:,.0f} ms with the variant.")
    return ["", *lines] if lines else []
