#!/usr/bin/env python3
"""Make summary, pictures and report of a run again, from its files.

    bench/report.py [results/FOLDER]        (default: results/latest)

Reads samples.csv, calls.csv and env.json; writes summary.json, the SVG
pictures (when altair is there) and report.html, which holds all it needs.
Exit status: 0, or 1 when the files of a run are not there, or broken.
"""

import html
import json
import os
import re
import sys

from bench import venv as own_venv
from bench.store import rundir as results
from bench.run import servers
from bench.analyse import summary as summaries

HERE = os.path.dirname(os.path.abspath(__file__))
TITLE = "Seven ways to wait, measured"


def make(folder):
    """Write summary.json, pictures and report.html into `folder`.

    Returns (summary, [what was left out and why]). Raises OSError when the
    files of a run are not there.
    """
    summary = summaries.make(folder)
    with open(os.path.join(folder, "env.json"), encoding="utf-8") as file:
        env = json.load(file)
    summary["run"] = {key: env.get(key) for key in
                      ("started", "ended", "complete", "seed", "settings",
                       "cores", "harness_overhead_percent")}
    results.write_json(os.path.join(folder, "summary.json"), summary)
    with open(os.path.join(folder, "report.html"), "w",
              encoding="utf-8") as file:
        file.write(page(summary, env, folder))
    left_out = []
    try:
        from bench.draw import charts as pictures     # needs altair, which may not be there
        pictures.draw(summary, folder)
    # What altair or vl-convert cannot draw, in whatever way they say so, is
    # no reason to lose the figures.
    except Exception as error:      # pylint: disable=broad-exception-caught
        left_out.append(f"SVG pictures: {error}")
    return summary, left_out


def page(summary, env, folder):
    """Return the report as one HTML page."""
    slim = {key: summary[key] for key in ("columns", "servers", "markers")}
    slim["experiments"] = [
        {key: value for key, value in one.items() if key != "sentences"}
        for one in summary["experiments"]]
    # In a script element `</` ends it, and `<!--<script>` makes its end part
    # of it; NaN is not JSON.
    data = json.dumps(slim, separators=(",", ":"), ensure_ascii=False,
                      allow_nan=False).replace("<", "\\u003c")
    parts = {
        "title": html.escape(TITLE), "css": asset("report.css"), "js": asset("report.js"),
        "data": data, "lead": lead(env),
        "warnings": warnings(env),
        "contents": "".join(
            f'<a href="#{one["name"]}">{html.escape(one["title"])}</a>'
            for one in summary["experiments"])
            + '<a href="#how">How this was measured</a>',
        "sections": "\n".join(section(one, folder)
                              for one in summary["experiments"]),
        "how": how(summary, env),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]],
                  asset("template.html"))


def asset(name):
    """Return a file of bench/draw/assets/."""
    with open(os.path.join(HERE, "assets", name), encoding="utf-8") as file:
        return file.read()


def lead(env):
    """Return the sentence on what was measured, where and when."""
    machine = env["machine"]
    cores = env["cores"]
    source = env.get("source") or {}
    text = (f"{machine['cpu']}, {machine['cores']} cores, {machine['system']},"
            f" Linux {machine['kernel']}. Servers on core "
            f"{','.join(map(str, cores['server']))}, load and Redis on "
            f"{','.join(map(str, cores['load']))}. "
            f"{env['started'].replace('T', ' ').replace('Z', ' UTC')}")
    if source:
        text += f", commit {source['commit'][:10]}"
        text += " with changes" if source["changed"] else ""
    return html.escape(text + ".")


def warnings(env):
    """Return what spoils the figures, as a box, or ""."""
    said = [f"{one['what']}: {one['value']}; {one['remedy']}"
            for one in env.get("preflight", []) if not one["ok"]]
    said += [f"Left out: {one}" for one in env.get("left_out", [])]
    said += env.get("problems", [])
    if not env.get("complete"):
        said.insert(0, "The run was stopped before its end.")
    if not said:
        return ""
    items = "".join(f"<li>{html.escape(one)}</li>" for one in said)
    return f'<div class="warning">Before you read on:<ul>{items}</ul></div>'


def section(experiment, folder):
    """Return the section of an experiment: places for what report.js draws,
    and the sentences."""
    esc = html.escape
    up = os.path.relpath(servers.TOP, os.path.abspath(folder))
    together = "".join(
        f'<div data-of-variant="{esc(variant)}">'
        + "".join(f"<p>{esc(text)}</p>" for text in sentences) + "</div>"
        for variant, sentences in experiment["sentences"]["all"].items())
    each = "".join(
        f'<li data-of-variant="{esc(one["variant"])}">'
        f'<span data-sign="{esc(one["server"])}"></span>{esc(one["text"])}'
        + (f' <a href="{esc(up + "/" + one["chapter"])}">Why: '
           f'{esc(one["chapter"])}</a>' if one["chapter"] else "") + "</li>"
        for one in experiment["sentences"]["each"])
    published = experiment["published"]
    notes = figure = ""
    if published:
        figure = '<figure class="published"></figure>'
        notes = ("<details><summary>The published figures</summary><p>"
                 + esc(published["where"] + ". ")
                 + " ".join(map(esc, published["notes"])) + "</p></details>")
    return f"""<section id="{esc(experiment["name"])}">
<h2>{esc(experiment["title"])}</h2>
<p class="question">{esc(experiment["question"])}</p>
<div class="controls"></div>
<div class="pair"><figure class="chart"></figure>{figure}</div>
{together}
<h3>What it costs</h3>
<div class="scroll cost-table"></div>
<h3>Curve by curve</h3>
<ul class="sentences">{each}</ul>
{notes}
</section>"""


def how(summary, env):
    """Return the list of facts at the end of the page."""
    settings, limits = env["settings"], env["machine"]["limits"]
    facts = [
        ("Order", "cells of all servers shuffled in each round, seed "
                  f"{env['seed']}"),
        ("Runs of a cell", ", ".join(f"{name} {count}" for name, count
                                     in settings["repeat"].items())
         + "; the median is shown, the bars reach from the smallest to the "
           "largest"),
        ("Time for a run", ", ".join(f"{name} {value:g} s" for name, value
                                     in settings["seconds"].items())),
        ("Backlog", f"{settings['backlog']:,}"),
        ("Limits", f"{limits['descriptors']:,} descriptors a process, "
                   f"somaxconn {limits['somaxconn']:,}, client ports "
                   f"{limits['port_range'][0]}-{limits['port_range'][1]}"),
        ("Programs", "; ".join(f"{name}: {version}" for name, version
                               in env["versions"].items())),
    ]
    overhead = env.get("harness_overhead_percent")
    if overhead is not None:
        facts.append(("Measuring itself took",
                      f"{overhead:g} % of the servers' CPU time, on the "
                      "cores of the load"))
    facts.append(("Noisy", f"is a figure of fewer than {summaries.ROUNDS} "
                           "rounds, or whose median is not known to 5 %, or "
                           "beside which others used more than "
                           f"{summaries.NOISY_FOREIGN:g} % of the core, or "
                           "while a core was more than "
                           f"{summaries.NOISY_SPEED:g} % slower or faster than "
                           "in most of the run"))
    for one in summary["unavailable"]:
        facts.append((f"Not run: {one['name']}", one["why"]))
    items = "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>"
                    for k, v in facts)
    columns = "".join(
        f"<dt>{html.escape(c['title'])}</dt><dd>{html.escape(c['explain'])}"
        "</dd>" for c in summary["columns"] if c["explain"])
    return (f"<dl>{items}</dl><details><summary>What the columns mean"
            f"</summary><dl>{columns}</dl></details><footer></footer>")


def main(words):
    """Do what the head of this file says; return the exit status."""
    folder = words[0] if words else os.path.join(
        servers.TOP, "results", "latest")
    own_venv.enter()
    try:
        _, left_out = make(os.path.realpath(folder))
    except (OSError, ValueError) as error:
        print(f"report: {error}; a folder of a run is needed, as `make "
              "compare` leaves it", file=sys.stderr)
        return 1
    for one in left_out:
        print(f"Left out: {one}")
    print(os.path.join(folder, "report.html"))
    return 0
