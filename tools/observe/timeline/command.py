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
    files, told = {}, []
    if any(seen):
        files["watch.txt"] = "".join(filter(None, seen))
        told.append("watch.txt: what watch says while they wait")
    if options.flame:
        files |= both_themes("flame", flame.draw(timelines, [*lines[:2], lines[-1]]))
        told.append("flame.svg, flame-dark.svg")
    if options.replay:
        data = replay.data_of(timelines, lines)
        files |= {"replay.html": replay.page(data),
                  "replay.json.xz": lzma.compress(json.dumps(data).encode())}
        told.append("replay.html: step through it, line by line")
    files |= {**both_themes("timeline", svg.draw(timelines, lines)),
              "timeline.html": page.draw(timelines, lines),
              "trace.json": export.trace_json(timelines)}
    told += ["timeline.svg, timeline-dark.svg, timeline.html",
             "trace.json: open it at ui.perfetto.dev"]
    out = write(files, options.out)
    print(*(f"{out}/{line}" for line in told), sep="\n")
    return 0


def both_themes(name, picture):
    """Return the files of a picture for light ground: it, and its dark twin."""
    return {f"{name}.svg": picture, f"{name}-dark.svg": states.dark(picture)}


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


def write(files, out):
    """Write {name: text or bytes} into a folder; return its path as it is shown."""
    now = datetime.datetime.now(datetime.timezone.utc)
    folder = TOP / (out or f"results/{now:%Y%m%dT%H%M%SZ}-timeline")
    folder.mkdir(parents=True, exist_ok=True)
    for name, what in files.items():
        (folder / name).write_bytes(what if isinstance(what, bytes) else what.encode())
    return folder.relative_to(TOP) if TOP in folder.parents else folder
