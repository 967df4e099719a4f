"""`make timeline`: records one server or all seven, and draws them."""

import argparse
import datetime
import json
import lzma

from tools.kit import TOP, states
from tools.observe import lab
from tools.observe.real import exchanges, programs, record
from tools.observe.timeline import export, flame, page, replay, run, svg


def main(words):
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.observe timeline", description=__doc__)
    parser.add_argument("server", help="05, prethreaded, 05_prethreaded; 03,05; all; or real "
                        "software: " + ", ".join(programs.known()))
    parser.add_argument("--clients", type=lab.above_zero(int, 1000), default=8,
                        help="how many ask together (8)")
    parser.add_argument("--delay", type=float, default=50,
                        help="ms until each reply of Redis (50); after 250 the servers give up")
    parser.add_argument("--path", default="/guestbook")
    parser.add_argument("--flame", action="store_true", help="also where the clients' time passes, "
                        "by function: flame.svg")
    parser.add_argument("--replay", action="store_true", help="also the burst line by line: "
                        "replay.html")
    parser.add_argument("--out", help="folder; default: results/<UTC time>")
    parser.epilog = "Options after -- are for the server."
    own = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:own])
    real = programs.known()
    names = lab.FOLDERS if options.server.lower() == "all" else options.server.split(",")
    chosen = [real[name] if name in real else lab.folder_of(name) for name in names]
    timelines, seen = zip(*(_record(one, options, words[own + 1:]) for one in chosen), strict=True)
    lines = caption(timelines, options)
    out = write(timelines, lines, options.out)
    if any(seen):
        (out / "watch.txt").write_text("".join(filter(None, seen)), encoding="utf-8")
    if options.flame:
        picture = flame.draw(timelines, [*lines[:2], lines[-1]])
        for name, text in (("flame.svg", picture), ("flame-dark.svg", states.dark(picture))):
            (out / name).write_text(text, encoding="utf-8")
    if options.replay:
        data = replay.data_of(timelines, lines)
        (out / "replay.html").write_text(replay.page(data), encoding="utf-8")
        (out / "replay.json.xz").write_bytes(lzma.compress(json.dumps(data).encode()))
    out = out.relative_to(TOP) if TOP in out.parents else out
    if any(seen):
        print(f"{out}/watch.txt: what watch says while they wait")
    if options.flame:
        print(f"{out}/flame.svg, flame-dark.svg")
    if options.replay:
        print(f"{out}/replay.html: step through it, line by line")
    print(f"{out}/timeline.svg, timeline-dark.svg, timeline.html\n"
          f"{out}/trace.json: open it at ui.perfetto.dev")
    return 0


def _record(chosen, options, more):
    """Record one of the seven, or a real Program; say how long its clients took. Return the
    Timeline, and what watch says of a real one, as lines."""
    seen = ""
    if isinstance(chosen, str):
        made = run.record(chosen, options.clients, options.delay / 1000, options.path, more)
        name = chosen
    else:
        made, seen = record.record(chosen, options.clients, options.delay / 1000)
        name = chosen.name
    print(f"{name:15}  {options.clients} clients answered after "
          f"{export.duration(made.seconds)}", flush=True)
    if made.failed:
        print(f"{'':15}  {made.failed} of them without a page")
    if seen:
        seen = f"{made.title} ({programs.version(chosen)})\n    {seen}\n"
    return made, seen


def caption(timelines, options):
    """Return the lines that say how the picture was made, and its error."""
    worst = max(timelines, key=lambda t: t.seconds - t.plain)
    cost = f"{worst.title} answered after {export.duration(worst.plain)} untraced, "
    if worst.seconds > worst.plain:
        cost += f"{export.duration(worst.seconds)} traced" + (
            ": the largest difference." if len(timelines) > 1 else ".")
    else:
        cost += "so tracing costs less than this machine varies."
    if timelines[0].peer != "Redis":
        return [f"{options.clients} clients ask together; the application behind the server, or "
                f"the query, takes {record.COMMANDS * options.delay:g} ms, a page that computes "
                f"{exchanges.COMPUTE_MS}.", f"Traced with strace, which takes time: {cost}"]
    return [
        f"GET {options.path} from {options.clients} clients together; each "
        f"reply of Redis leaves {options.delay:g} ms after its command.",
        f"Traced with strace, which takes time: {cost}",
        "Bars of running include strace's own work, so they are too long; "
        "waits are not.", _about_lines(timelines)]


def _about_lines(timelines):
    """Return the line that says where the lines of source come from."""
    slow = [t for t in timelines if t.slow]
    if not slow:
        return "Lines of source are not known: strace -k or addr2line gave none."
    worst = max(slow, key=lambda t: t.slow)
    return ("Lines of source come from a second recording, with stacks, which is slower "
            f"({worst.title}: {export.duration(worst.slow)}).")


def write(timelines, lines, out=None):
    """Write all forms into a folder; return its path."""
    now = datetime.datetime.now(datetime.timezone.utc)
    folder = TOP / (out or f"results/{now:%Y%m%dT%H%M%SZ}-timeline")
    folder.mkdir(parents=True, exist_ok=True)
    picture = svg.draw(timelines, lines)
    for name, text in (
            ("timeline.svg", picture), ("timeline-dark.svg", states.dark(picture)),
            ("timeline.html", page.draw(timelines, lines)),
            ("trace.json", export.trace_json(timelines))):
        (folder / name).write_text(text, encoding="utf-8")
    return folder
