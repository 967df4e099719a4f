"""A timeline as Chrome trace JSON (Perfetto opens it), and as the data of an HTML page.

Pure: Timelines in, text out.
"""

import json

from tools.kit import states
from tools.observe.timeline import lines

FRAMES = 4                      # of a call's stack


def describe(call, arguments):
    """Return a call as a reader sees it: name, as many characters of its arguments, how long."""
    text = call.arguments
    if len(text) > arguments:
        text = text[:arguments - 1] + "…"
    return f"{call.name}({text}) = {call.result[:40]}  {duration(call.end - call.begin)}"


def duration(seconds):
    """Return a duration with a fitting unit: "312 ms"."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 0.01:
        return f"{seconds * 1000:.0f} ms"
    if seconds >= 0.0001:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds * 1e6:.0f} µs"


def details(bar, calls, arguments):
    """Return the lines of a bar's tooltip: its longest `calls` calls, in order."""
    chosen = sorted(bar.calls, key=lambda call: call.begin - call.end)[:calls]
    said = [line for call in bar.calls if call in chosen
             for line in [describe(call, arguments), *_stack(call)]]
    more = len(bar.calls) - len(chosen)
    return said + ([f"and {more} shorter calls"] if more > 0 else [])


def _stack(call):
    """Return the lines that a call was made from, the innermost FRAMES."""
    return [f"  {'at' if not depth else 'from'} {frame}" for depth, frame
            in enumerate(call.stack[:FRAMES])]


def trace_json(timelines):
    """Return Chrome trace JSON: a process per server, a thread per row. Time 0 is each server's
    first connect, so that they can be compared."""
    events = []
    for pid, timeline in enumerate(timelines, 1):
        events.append(_meta("process_name", pid, 0, timeline.title))
        for tid, row in enumerate(timeline.rows, 1):
            events.append(_meta("thread_name", pid, tid, row.name))
            events.append({**_meta("thread_sort_index", pid, tid, ""), "args": {"sort_index": tid}})
            events += [{
                "name": bar.words, "cat": bar.kind, "ph": "X", "pid": pid,
                "tid": tid, "ts": round((bar.begin - timeline.begin) * 1e6),
                "dur": max(1, round((bar.end - bar.begin) * 1e6)),
                "args": {"line": str(lines.of_bar(bar) or ""), "calls": details(bar, 20, 300)},
            } for bar in row.bars]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, ensure_ascii=False)


def _meta(name, pid, tid, value):
    return {"name": name, "ph": "M", "pid": pid, "tid": tid, "args": {"name": value}}


def data(title, caption, timelines, more, shortest):
    """Return what an HTML page draws, ready for JSON. A bar is [begin, end, kind, words,
    more(bar)]: microseconds since the first connect; the index of its kind. Those of less than
    `shortest` seconds are left out. `caption`: lines below the picture."""
    kinds = list(states.KINDS)
    return {
        "title": title, "caption": caption, "kinds": list(states.KINDS.values()),
        "servers": [{"title": t.title, "rows": [[row.name, row.role, [
            [round((bar.begin - t.begin) * 1e6), round((bar.end - t.begin) * 1e6),
             kinds.index(bar.kind), bar.words, more(bar)]
            for bar in row.bars if bar.end - bar.begin >= shortest]] for row in t.rows]}
            for t in timelines]}


def filled(form, value):
    """Return the text of an HTML form with `value` as JSON in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return form.replace("/*DATA*/", text.replace("<", "\\u003c"))
