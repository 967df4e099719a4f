"""A Frame as lines of text, coloured with rich. Pure."""

from rich.text import Text

from observe import states

SORTS = ("tree", "CPU", "longest", "state")
STRIP = 40                      # cells of the strip, a quarter of a second each
HELP = """\
n  a normal client       s  one that reads slowly     i  one that is silent
h  one that sends half a request                      ↑↓ choose a row
k  kill the chosen worker                             f  freeze, resume Redis
space  pause    .  step    o  sort    ?  help    q  quit
A row is a process or a thread; the strip shows its last ten seconds."""


def colour(kind):
    """Return the colour of a kind on a dark terminal."""
    return states.KINDS[kind][2]


def ago(seconds):
    """Return a duration in five characters or fewer: "0.4 s", "12 s"."""
    return f"{seconds:.1f} s" if seconds < 9.95 else \
        f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


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
    line = Text(f"{row.name:15.15} ", style="reverse" if selected else "")
    words = max(20, width - 15 - STRIP - 26)
    line.append("● ", style=colour(row.kind) + " not reverse")
    line.append(f"{row.words:{words}.{words}}", style="not reverse")
    line.append(f" {ago(row.since):>6} {row.served:>7} {cpu * 100:4.0f} % ",
                style="not reverse")
    for kind in row.history.strip(now, STRIP):
        line.append("█" if kind not in (None, "idle") else "─" if kind
                    else " ", style=colour(kind) + " not reverse"
                    if kind else "")
    return line


def client(client):
    """Return the line of one client."""
    line = Text(f"{'client ' + str(client.number):>15} ")
    line.append("● ", style=colour(client.kind))
    return line.append(f"{client.words}  {ago(client.since)}")


def titles(width):
    """Return the line above the rows."""
    words = max(20, width - 15 - STRIP - 26)
    return Text(f"{'':15}   {'does now':{words}} {'for':>6} {'served':>7} "
                f"{'CPU':>6} {'the last ten seconds':>{STRIP}}", style="bold")


def plain(frame, cpu):
    """Return one line for a terminal that cannot move its cursor."""
    counts = {}
    for item in frame.rows:
        counts[item.words] = counts.get(item.words, 0) + 1
    said = ", ".join(f"{count} {words}" if count > 1 else words
                     for words, count in sorted(
                         counts.items(), key=lambda item: -item[1])[:5])
    queue = sum(length for _, length, _ in frame.queues)
    rate = "" if frame.rate is None else f"{frame.rate:.0f} requests/s, "
    return (f"{frame.title}: {rate}accept queue {queue}, "
            f"{sum(frame.connections.values())} connections, "
            f"CPU {sum(cpu.values()) * 100:.0f} %; {said}")


class Cpu:
    """Turns the CPU time of rows into parts of a CPU, over a second."""

    def __init__(self):
        self._frames = []

    def update(self, frame):
        """Return {tid: part of a CPU} as of this frame."""
        self._frames = [(now, ran) for now, ran in self._frames
                        if now > frame.now - 1.2][-20:]
        self._frames.append((frame.now, {item.tid: item.cpu
                                         for item in frame.rows}))
        (first, before), (last, after) = self._frames[0], self._frames[-1]
        return {tid: (ran - before.get(tid, ran)) / (last - first)
                for tid, ran in after.items()} if last > first else {}
