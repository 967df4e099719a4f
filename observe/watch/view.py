"""A Frame as lines of text, coloured with rich. Pure."""

from rich.text import Text

from observe import states
from observe.watch.plain import ago

SORTS = ("tree", "CPU", "longest", "state")
HELP = """\
n  a normal client       s  one that reads slowly     i  one that is silent
h  one that sends half a request                      ↑↓ choose a row
k  kill the chosen worker                             f  freeze, resume Redis
space  pause    .  step    o  sort    ?  help    q  quit
A row is a process or a thread; the strip shows its last ten seconds."""


def columns(width):
    """Return how wide the words and the strip are."""
    strip = 40 if width >= 120 else 20 if width >= 95 else 10
    return max(18, width - strip - 41), strip


def colour(kind):
    """Return the colour of a kind on a dark terminal."""
    return states.KINDS[kind][2]


def order(rows, sort, cpu):
    """Return the rows in the order that one of SORTS names.

    `cpu`: {tid: part of a CPU}.
    """
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
    line = Text(frame.title, style="bold")
    if frame.total is not None:
        line.append(f"   {frame.rate or 0:,.0f} requests/s   "
                    f"{frame.total:,} in all", style="not bold")
    for word in (redis, "paused" if paused else ""):
        if word:
            line.append(f"   {word}", style="not bold reverse")
    lines = [line]
    lines += [queue_bar(*queue) for queue in merge_queues(frame.queues)]
    if frame.connections:
        lines.append(Text("connections   " + "   ".join(
            f"{name} {count}" for name, count
            in sorted(frame.connections.items()))))
    return lines + [Text(note, style="italic") for note in frame.notes]


def merge_queues(queues):
    """Return [(port, length, limit)]: sockets of one port added up."""
    ports = {}
    for port, length, limit in queues:
        before = ports.get(port, (0, 0))
        ports[port] = before[0] + length, before[1] + limit
    return [(port, *both) for port, both in sorted(ports.items())]


def queue_bar(port, length, limit, width=40):
    """Return the accept queue of a port as a bar: a cell for each client.

    Beyond `width` clients, the whole bar stands for the queue's limit.
    """
    cells = length if length <= width else \
        max(1, round(width * length / max(limit, 1)))
    line = Text(f"accept queue of port {port}  ")
    line.append("█" * min(cells, width), style=colour("queue"))
    line.append("·" * (width - min(cells, width)), style="dim")
    return line.append(f"  {length} of {limit}")


def row(row, now, cpu, selected, width):
    """Return the line of one thread."""
    line = Text(no_wrap=True)
    line.append(f"{row.name:15.15}", style="reverse" if selected else "")
    words, cells = columns(width)
    line.append(" ● ", style=colour(row.kind))
    line.append(f"{row.words:{words}.{words}}")
    line.append(f" {ago(row.since):>6} {row.served:>7} {cpu * 100:4.0f} % ")
    for kind in row.history.strip(now, cells):
        line.append("█" if kind not in (None, "idle") else "─" if kind
                    else " ", style=colour(kind) if kind else "")
    return line


def client(client):
    """Return the line of one client."""
    line = Text(f"{'client ' + str(client.number):>15} ")
    line.append("● ", style=colour(client.kind))
    return line.append(f"{client.words}  {ago(client.since)}")


def titles(width):
    """Return the line above the rows."""
    words, cells = columns(width)
    return Text(f"{'':15}   {'does now':{words}} {'for':>6} {'served':>7} "
                f"{'CPU':>6} {'the last ten seconds'[-cells:]}",
                style="bold")
