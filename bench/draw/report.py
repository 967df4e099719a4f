"""Make summary, charts and report of a run again, from its files.

    python3 -m bench report [results/FOLDER]        (default: results/latest)

Reads samples.csv, calls.csv and env.json; writes summary.json, the charts
(when altair is there) and report.html, which holds all it needs. Exit status:
0, or 1 when the files of a run are not there, or broken.
"""

import base64
import json
import os
import re
import sys
from html import escape

from bench import venv as own_venv
from bench.draw import table
from bench.store import summaries

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
TITLE = "Seven ways to wait, measured"
NO_CHARTS = ("The charts need altair and vl-convert, which are not there. "
             "python3 -m bench report FOLDER installs them and draws this "
             "report again.")


def make(folder, experiments=()):
    """Write summary.json, charts and report.html into `folder`.

    `experiments` are those beside the published ones, such as a study. Returns
    (summary, [what was left out and why]). Raises OSError when the
    files of a run are not there.
    """
    summary = summaries.make(folder, experiments)
    with open(os.path.join(folder, "env.json"), encoding="utf-8") as file:
        env = json.load(file)
    summary["run"] = {key: env.get(key) for key in
                      ("started", "ended", "complete", "seed", "settings",
                       "cores", "harness_overhead_percent")}
    with open(os.path.join(folder, "summary.json"), "w",
              encoding="utf-8") as file:
        json.dump(summary, file, indent=1, ensure_ascii=False)
        file.write("\n")
    return summary, write(summary, env, folder)


def write(summary, env, folder):
    """Write the charts and report.html of a summary into `folder`; return
    [what was left out and why]."""
    charts, left_out = [], []
    try:
        # pylint: disable-next=import-outside-toplevel
        from bench.draw import charts as drawing    # needs altair
        charts = drawing.draw(summary, folder)
    except ImportError as error:
        left_out.append(f"charts: {error}")
    # What altair or vl-convert cannot draw, however they say so, is no reason
    # to lose the tables.
    except Exception as error:      # pylint: disable=broad-exception-caught
        left_out.append(f"charts: {error!r}")
    with open(os.path.join(folder, "report.html"), "w",
              encoding="utf-8") as file:
        file.write(page(summary, env, folder, charts))
    return left_out


def page(summary, env, folder, charts):
    """Return the report as one HTML page."""
    warned = warnings(env) + ([] if charts else [NO_CHARTS])
    parts = {
        "title": escape(TITLE), "css": asset("report.css"),
        "js": asset("report.js"), "lead": escape(lead(env)),
        "warnings": warned and '<div class="warning">Before you read on:'
                    + listed(warned) + "</div>" or "",
        "contents": "".join(f'<a href="#{escape(one["name"])}">'
                            f'{escape(one["title"])}</a>'
                            for one in summary["experiments"]),
        "sections": "\n".join(section(summary, one, folder, charts)
                              for one in summary["experiments"]),
        "how": how(summary, env),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]],
                  asset("template.html"))


def asset(name):
    """Return a file of bench/draw/assets/."""
    with open(os.path.join(HERE, "assets", name), encoding="utf-8") as file:
        return file.read()


def listed(texts):
    """Return texts as an HTML list."""
    return "<ul>" + "".join(f"<li>{escape(one)}</li>" for one in texts) \
        + "</ul>"


def lead(env):
    """Return the sentence on what was measured, where and when."""
    machine, cores = env["machine"], env["cores"]
    source = env.get("source")
    return (f"{machine['cpu']}, {machine['cores']} cores, {machine['system']},"
            f" Linux {machine['kernel']}. Servers on core "
            f"{','.join(map(str, cores['server']))}, load and Redis on "
            f"{','.join(map(str, cores['load']))}. "
            f"{env['started'].replace('T', ' ').replace('Z', ' UTC')}"
            + (f", commit {source['commit'][:10]}"
               + " with changes" * bool(source["changed"]) if source else "")
            + ".")


def warnings(env):
    """Return sentences on what spoils the figures."""
    return (["The run was stopped before its end."]
            * (not env.get("complete"))
            + [f"{one['what']}: {one['value']}; {one['remedy']}"
               for one in env.get("preflight", []) if not one["ok"]]
            + [f"Left out: {one}" for one in env.get("left_out", [])]
            + env.get("problems", []))


def section(summary, experiment, folder, charts):
    """Return the section of an experiment: its variants one after another,
    each with sentences, charts and tables."""
    up = os.path.relpath(TOP, os.path.abspath(folder))
    made = []
    for variant in experiment["variants"]:
        mine = [one for one in charts if (one["experiment"], one["variant"])
                == (experiment["name"], variant)]
        each = "".join(
            f"<li>{escape(one['text'])}"
            + (f' <a href="{escape(up + "/" + one["chapter"])}">Why: '
               f'{escape(one["chapter"])}</a>' if one["chapter"] else "")
            + "</li>" for one in experiment["sentences"]["each"]
            if one["variant"] == variant)
        lead_tables, others = (
            table.tables(summary, experiment, variant, wide)
            for wide in (False, True))
        made.append(
            (f"<h3>{escape(variant)}</h3>" if variant else "")
            + "".join(f"<p>{escape(text)}</p>" for text in
                      experiment["sentences"]["all"].get(variant, ()))
            + f"<div class=charts>{''.join(picture(one, folder) for one in mine)}</div>"
            + "".join(map(table.markup, others[:1]))
            + "<details><summary>Each server, the rates, comparisons, "
              f"latencies and the rest</summary><ul>{each}</ul>"
            + "".join(map(table.markup, others[1:])) + "</details>")
    published = experiment["published"]
    if published:
        made.append("<details><summary>The published figures</summary><p>"
                    + escape(" ".join([published["where"] + ".",
                                       *published["notes"]]))
                    + "</p></details>")
    return (f'<section id="{escape(experiment["name"])}">'
            f"<h2>{escape(experiment['title'])}</h2>"
            f"<p class=question>{escape(experiment['question'])}</p>"
            + "".join(made) + "</section>")


def picture(chart, folder):
    """Return a chart as HTML that holds both its SVG files."""
    links = {}
    for theme in ("light", "dark"):
        with open(os.path.join(folder, chart[theme]), "rb") as file:
            links[theme] = "data:image/svg+xml;base64," \
                + base64.b64encode(file.read()).decode()
    return ('<picture><source media="(prefers-color-scheme: dark)" '
            f'srcset="{links["dark"]}"><img src="{links["light"]}" '
            f'alt="{escape(chart["title"])}"></picture>')


def how(summary, env):
    """Return the list of facts at the end of the page."""
    settings, limits = env["settings"], env["machine"]["limits"]
    overhead = env.get("harness_overhead_percent")

    def each(values, unit=""):
        return ", ".join(f"{name} {value:g}{unit}" for name, value
                         in values.items() if value is not None)
    facts = {
        "Order": "every round visits all servers in shuffled order, seed "
                 f"{env['seed']}; a comparison is the median of the ratios "
                 "of the rounds",
        "Rounds": each(settings["repeat"]),
        "Time for a run": each(settings["seconds"], " s"),
        "Backlog": f"{settings['backlog']:,}",
        "Limits": f"{limits['descriptors']:,} descriptors a process, "
                  f"somaxconn {limits['somaxconn']:,}, client ports "
                  f"{limits['port_range'][0]}-{limits['port_range'][1]}",
        "Programs": "; ".join(": ".join(one)
                              for one in env["versions"].items()),
        "Measuring itself took": overhead is not None and
        f"{overhead:g} % of the servers' CPU time, on the cores of the load",
        **{f"Not run: {one['name']}": one["why"]
           for one in summary.get("unavailable", ())},
        **{", ".join(filter(None, (one["title"], one["unit"]))): one["explain"]
           for one in summary["columns"]}}
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(said)}</dd>"
                            for name, said in facts.items() if said) + "</dl>"


def main(words=None):
    """Do what the head of this file says with these words of the command
    line; return the exit status."""
    words = sys.argv[1:] if words is None else words
    folder = words[0] if words else os.path.join(TOP, "results", "latest")
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
