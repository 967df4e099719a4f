"""Where the clients of a burst spend their time: a flame graph of waiting. Pure.

Each server has a block. Its width is the time of all its clients together; each row below says
in which function that time passes, and the last row what is waited for. Times are those of the
recording without stacks.
"""

from dataclasses import dataclass, field
from html import escape

from tools.kit import states
from tools.observe.timeline import lines, svg
from tools.observe.timeline.export import duration
from tools.observe.timeline.svg import SMALL, TEXT, WIDTH

LEFT, ROW, GAP = 16, 19, 18
STRIPE = 5              # height of what is waited for
LETTER = 6.2            # units that a letter of a label takes
SHORT = 0.002           # a part of the whole that is narrower is not drawn


@dataclass
class Node:
    """A function, or what is waited for, and what is below it."""

    seconds: float = 0.0
    kind: str = ""          # of states.KINDS, for what is waited for
    below: dict = field(default_factory=dict)       # {label: Node}


def tree(timeline):
    """Return the Node of all that the clients of a Timeline have waited for."""
    root = Node()
    for bar in (bar for row in timeline.rows if row.role == "client" for bar in row.bars):
        # While it is in the accept queue, no function of the server is at work for it.
        frames = lines.stack_of(bar) if bar.kind != "queue" else ()
        words = states.KINDS[bar.kind][0]
        root.seconds += bar.end - bar.begin
        node = root
        for label in [*(f"{frame.function}()  {frame.file}:{frame.line}"
                        for frame in reversed(frames)), words]:
            node = node.below.setdefault(label, Node())
            node.seconds += bar.end - bar.begin
        node.kind = bar.kind
    return root


def draw(timelines, caption):
    """Return the SVG text for light ground; `caption`: lines below the picture."""
    parts, y = [], 46
    for timeline in timelines:
        block, y = _block(timeline, y)
        parts += block
    title = f"{svg.who(timelines)}: in which functions does the clients' time pass?"
    return svg.whole(title, parts, caption, y + 12)


def _block(timeline, y):
    root = tree(timeline)
    parts = [svg.name_line(
        timeline, f"the clients' time together: {duration(root.seconds)}", y + 12)]
    y += 20
    rows = _rows(root, LEFT, (WIDTH - 2 * LEFT) / max(root.seconds, 1e-9), 0)
    depth = 1 + max((row for row, *_ in rows), default=0)
    for row, x, width, label, node in rows:
        parts.append(_box(y + row * ROW, x, width, label, node, root.seconds, row))
    return parts, y + depth * ROW + GAP


def _rows(node, x, scale, row):
    """Return [(row, x, width, label, Node)] of all below a node."""
    found = []
    for label, one in sorted(node.below.items(), key=lambda pair: -pair[1].seconds):
        width = one.seconds * scale
        if width >= SHORT * (WIDTH - 2 * LEFT):
            found += [(row, x, width, label, one), *_rows(one, x, scale, row + 1)]
        x += width
    return found


def _fitting(label, room):
    """Return what `room` letters can show of a label: all of it, the function's name, or the
    beginning of that."""
    name = label.partition("  ")[0]
    for text in (label, name):
        if len(text) <= room:
            return text
    return name[:room - 1] + "…" if room > 4 else ""


def _box(y, x, width, label, node, whole, row):
    said = f"{label}: {duration(node.seconds)}, {100 * node.seconds / whole:.0f} %"
    shown = _fitting(label, int((width - 6) / LETTER))
    # What is waited for is a stripe with its words below: they could not be read on some colours.
    colour, height = states.FRAMES[row % 2][0], ROW - 1
    if node.kind:
        colour, height = svg.fill(node.kind), STRIPE
    return (f"<g><title>{escape(said)}</title><rect x='{x:.1f}' y='{y}' "
            f"width='{max(width - 0.6, 0.6):.1f}' height='{height}' fill='{colour}'/>"
            f"<text x='{x + 3:.1f}' y='{y + 13 + (STRIPE if node.kind else 0)}' "
            f"font-size='{SMALL}' fill='{TEXT}'>{escape(shown)}</text></g>")
