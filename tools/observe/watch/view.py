"""A Frame as lines. Pure.

A line is a tuple of (text, style): "bold", "dim", "reverse", "italic", "#rrggbb".
"""

import functools
import itertools

from tools.kit import states
from tools.observe.watch.plain import ago, iteration

SORTS = ("tree", "CPU", "longest", "state")
HELP = """\
n  a normal client       s  one that reads slowly     i  one that is silent
c  one that computes     h  one that sends half a request
k  kill the chosen worker (↑↓ choose)                 f  freeze, resume Redis
space  pause    .  step    o  sort    ?  help    q  quit
A row is a process or a thread; the strip shows its last ten seconds."""


# Always in view, in 80 columns.
KEYS = "n normal  s slow  i silent  h half  c compute  k kill  ? help  q quit"


def fit(text, width):
    """Return a text that fits: it ends with a whole word and …, not within a word."""
    if len(text) <= width:
        return text
    words = text[:width - 1]
    if not text[width - 1:width].isspace():
        words = words.rpartition(" ")[0] or words
    return words.rstrip(" ,:") + "…"


def fit_line(line, width):
    """Return a line that fits."""
    parts = []
    for text, style in line:
        parts.append((fit(text, width) if width > 0 else "", style))
        width -= len(text)
    return tuple(parts)


def columns(width):
    """Return how wide the words and the strip are."""
    strip = 40 if width >= 120 else 20 if width >= 95 else 10
    return max(18, width - strip - 41), strip


def colour(kind):
    """Return the colour of a kind on a dark terminal."""
    return states.KINDS[kind][2]


def order(rows, sort, cpu):
    """Return the rows in the order that one of SORTS names. `cpu`: {tid: part of a CPU}."""
    if sort == "CPU":
        return sorted(rows, key=lambda row: -cpu.get(row.tid, 0))
    if sort == "longest":
        return sorted(rows, key=lambda row: -row.since)
    if sort == "state":
        kinds = list(states.KINDS)
        return sorted(rows, key=lambda row: kinds.index(row.kind))
    return rows


def head(frame, paused, redis):
    """Return the lines above the rows. `redis`: a word about Redis, or ""."""
    line = [(frame.title, "bold")]
    if frame.total is not None:
        line.append((f"   {frame.rate or 0:,.0f} requests/s   {frame.total:,} in all", ""))
    for word in (redis, "paused" if paused else ""):
        if word:
            line += [("   ", ""), (f" {word} ", "reverse")]
    lines = [tuple(line)]
    if frame.longest is not None:
        lines.append(((f"longest iteration {iteration(frame.longest)}: as long, all other "
                       "clients have waited", ""),))
    lines += [queue_bar(*queue) for queue in merge_queues(frame.queues)]
    if frame.connections:
        lines.append((("connections   " + "   ".join(
            f"{name} {count}" for name, count in sorted(frame.connections.items())), ""),))
    return lines + [((note, "italic"),) for note in frame.notes]


def merge_queues(queues):
    """Return [(port, length, limit)]: sockets of one port added up."""
    ports = {}
    for port, length, limit in queues:
        before = ports.get(port, (0, 0))
        ports[port] = before[0] + length, before[1] + limit
    return [(port, *both) for port, both in sorted(ports.items())]


def queue_bar(port, length, limit, width=40):
    """Return the accept queue of a port as a bar: a cell for each client. Beyond `width` clients,
    the whole bar stands for the queue's limit."""
    cells = length if length <= width else max(1, round(width * length / max(limit, 1)))
    cells = min(cells, width)
    return ((f"accept queue of port {port}  ", ""),
            ("█" * cells, colour("queue")), ("·" * (width - cells), "dim"),
            (f"  {length} of {limit}", ""))


def row(row, cpu, selected, width):
    """Return the line of one thread."""
    words, cells = columns(width)
    line = ((f"{row.name:15.15}", "reverse" if selected else ""),
            (" ● ", colour(row.kind)),
            (f"{fit(row.words, words):{words}} {ago(row.since):>6} "
             f"{row.served:>7} {cpu * 100:4.0f} % ", ""))
    return line + _bars(tuple(row.history.strip(cells)))


@functools.lru_cache(maxsize=1000)
def _bars(strip):
    """Return the parts of a line that show a History's strip."""
    marks = {None: " ", "idle": "─"}
    return tuple((marks.get(kind, "█") * len(list(same)), kind and colour(kind) or "")
                 for kind, same in itertools.groupby(strip))


def client(client):
    """Return the line of one client."""
    return ((f"{'client ' + str(client.number):>15}", ""), (" ● ", colour(client.kind)),
            (f"{client.words}  {ago(client.since)}", ""))


def titles(width):
    """Return the line above the rows."""
    words, cells = columns(width)
    return ((f"{'':15}   {'does now':{words}} {'for':>6} {'served':>7} "
             f"{'CPU':>6} {'the last ten seconds' if cells >= 20 else 'last 10 s'}", "bold"),)
