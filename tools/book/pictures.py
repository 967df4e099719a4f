"""The drawings of the book, in one grammar.

A rounded box is a process, a line with an arrow head in it a thread, a row of cells a queue, a
cylinder Redis, a small circle a client. What lies left of the dashed line is the kernel's. Fills
are the states of make watch and make timeline: orange waits for a client, blue waits for Redis,
green runs, grey waits in the accept queue. Each function of PICTURES returns an SVG for a light
page; its docstring is the text for readers who cannot see the picture.
"""

import re
from html import escape

from tools.kit.states import KINDS
from tools.report import styles

DARK = dict(pair[:2] for pair in (
    styles.GROUND, styles.TEXT, styles.QUIET, styles.GRID, styles.AXIS,
    styles.USER, styles.SYSTEM, *styles.ARCHITECTURES.values()))
INK, PAPER, QUIET, LINE = (styles.TEXT[0], styles.GROUND[0], styles.QUIET[0], styles.AXIS[0])
RUN, CLIENT, REDIS, QUEUE, IDLE = (KINDS[kind][1] for kind in (
    "run", "client", "redis", "queue", "idle"))
WIDTH = 640
STATES = (RUN, CLIENT, REDIS, RUN, CLIENT)      # of workers in a row
MEANINGS = ((RUN, "runs", 55), (CLIENT, "waits for a client", 135),      # and the width of each
            (REDIS, "waits for Redis", 120), (QUEUE, "waits in the accept queue", 185),
            (IDLE, "idle", 50))


# ----------------------------------------------------------------- primitives

def text(x, y, words, size=13, anchor="start", fill=INK, bold=False):
    """Return a line of text."""
    weight = ' font-weight="600"' if bold else ""
    return (f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}" '
            f'text-anchor="{anchor}"{weight}>{escape(words)}</text>')


def box(x, y, width, height, title="", fill=PAPER, dash=""):
    """Return a process: a rounded box with its title inside, above."""
    dash = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="9" '
            f'fill="{fill}" stroke="{INK}" stroke-width="1.5"{dash}/>'
            + (text(x + 10, y + 18, title, 12, bold=True) if title else ""))


def thread(x, y, height, state=RUN, words=""):
    """Return a thread: a line in the colour of its state, and words."""
    return (f'<path d="M{x},{y}v{height}" stroke="{state}" stroke-width="5" '
            f'fill="none"/><path d="M{x - 7},{y + height - 5}l7,9l7,-9z" '
            f'fill="{state}"/>' + (text(x + 13, y + height / 2 + 5, words, 12) if words else ""))


def client(x, y, state=QUEUE):
    """Return a client: a circle in the colour of what it waits for."""
    return f'<circle cx="{x}" cy="{y}" r="8" fill="{state}"/>'


def cells(x, y, states, title="", size=22):
    """Return a row of cells, each empty (None) or with a client in it."""
    made = [text(x, y - 8, title, 12)] if title else []
    for place, state in enumerate(states):
        made.append(f'<rect x="{x + place * size}" y="{y}" width="{size}" '
                    f'height="{size}" fill="{PAPER}" stroke="{QUIET}"/>')
        if state:
            made.append(client(x + place * size + size / 2, y + size / 2, state))
    return "".join(made)


def arrow(x0, y0, x1, y1, words="", dash="", at=None):
    """Return a straight arrow with words above its middle, or above `at`, an x."""
    dash = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<path d="M{x0},{y0}L{x1},{y1}" stroke="{QUIET}" fill="none" '
            f'stroke-width="1.5" marker-end="url(#head)"{dash}/>'
            + (text(at or (x0 + x1) / 2, (y0 + y1) / 2 - 6, words, 11, "middle",
                    QUIET) if words else ""))


def redis(x, y):
    """Return Redis: a cylinder."""
    return (f'<path d="M{x},{y + 8}v44a32,9 0 0 0 64,0v-44" fill="{PAPER}" '
            f'stroke="{INK}" stroke-width="1.5"/><ellipse cx="{x + 32}" '
            f'cy="{y + 8}" rx="32" ry="9" fill="{PAPER}" stroke="{INK}" '
            f'stroke-width="1.5"/>' + text(x + 32, y + 40, "Redis", 12, "middle"))


def border(x, height):
    """Return the line between kernel, on the left, and user space."""
    return (f'<path d="M{x},8V{height - 8}" stroke="{LINE}" '
            'stroke-dasharray="6 5" stroke-width="1.5"/>'
            + text(x - 8, height - 12, "kernel", 11, "end", QUIET)
            + text(x + 8, height - 12, "user space", 11, "start", QUIET))


def legend(y):
    """Return what the colours mean."""
    made, x = [], 28
    for colour, words, width in MEANINGS:
        made += [f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"/>',
                 text(x + 10, y + 4, words, 11, fill=QUIET)]
        x += width
    return "".join(made)


def svg(height, *parts):
    """Return the whole picture."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} '
            f'{height}" font-family="Helvetica, Arial, sans-serif"><defs>'
            '<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" '
            'markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
            f'<path d="M0,0L10,5L0,10z" fill="{QUIET}"/></marker></defs>'
            f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>' + "".join(parts) + "</svg>")


def scene(height, waiting, *parts):
    """Return an architecture: clients in the accept queue on the left, then
    the border, then `parts`."""
    queue = [QUEUE] * waiting + [None] * (5 - waiting)
    return svg(height + 24, cells(20, height / 2 - 11, queue, "accept queue"),
               border(142, height), legend(height + 8), *parts)


# ---------------------------------------------------------- the architectures

def iterative():
    """One process accepts and serves one client at a time; four others wait in the accept queue."""
    return scene(190, 4, arrow(132, 95, 192, 95, "accept", at=168),
                 box(195, 45, 230, 100, "process"),
                 thread(240, 75, 48, CLIENT, "serves one client,"),
                 text(253, 121, "then accepts the next", 12),
                 client(400, 80, CLIENT), arrow(425, 100, 530, 100), redis(535, 65))


def _children(title):
    made = []
    for place, state in enumerate(STATES[:4]):
        y = 15 + 62 * place
        made += [box(370, y, 130, 50, title), client(482, y + 25, state),
                 thread(395, y + 22, 16, state), arrow(500, y + 25, 546, 110 + 12 * place)]
    return [*made, redis(550, 100)]


def forking():
    """A parent accepts clients and forks a child for each; each child serves
    its client and has its own connection to Redis."""
    return scene(270, 1, arrow(132, 135, 192, 135, "accept", at=168),
                 box(195, 95, 105, 80, "parent"), thread(220, 122, 34, IDLE, "accepts"),
                 *(arrow(300, 135, 366, 40 + 62 * place) for place in range(4)),
                 text(304, 66, "fork", 11, fill=QUIET),
                 *_children("child"))


def preforking():
    """Four worker processes, made beforehand, all accept from one queue; the
    parent replaces a worker that has died."""
    return scene(270, 3, box(165, 4, 130, 56, "parent"),
                 thread(185, 27, 18, IDLE, "waits; replaces"), text(198, 55, "a dead worker", 12),
                 *(arrow(132, 135, 366, 40 + 62 * place) for place in range(4)),
                 text(150, 200, "all accept", 11, fill=QUIET),
                 *_children("worker"))


def _threads(words):
    made = [box(258, 20, 264, 230, "one process"), thread(325, 70, 120, IDLE)]
    for place, state in enumerate(STATES[1:], 1):
        x = 325 + 40 * place
        made += [thread(x, 70, 120, state), client(x, 222, state)]
    return [*made, text(268, 58, words, 11), arrow(524, 130, 546, 130), redis(550, 100)]


def threaded():
    """One process: its main thread accepts and makes a thread for each client."""
    return scene(270, 1, *_threads("main accepts, one thread for each client"),
                 arrow(132, 135, 254, 135, "accept"))


def prethreaded():
    """One process with a fixed number of threads, which all accept; the main
    thread waits for signals."""
    return scene(270, 3, *_threads("main waits for signals; the others accept"),
                 arrow(132, 135, 254, 135, "all accept"))


def poll():
    """One thread passes an array of descriptors to poll() at each call; the
    kernel looks at all of them."""
    states = [CLIENT, REDIS, CLIENT, CLIENT, REDIS, CLIENT, RUN]
    return scene(230, 0, arrow(132, 115, 192, 115, "accept", at=168),
                 box(195, 12, 330, 190, "one process, one thread"), thread(230, 60, 110, RUN),
                 cells(270, 85, states, "descriptors: copied in at each call", 24),
                 arrow(352, 159, 352, 113),
                 text(270, 176, "poll() looks at all of them and marks the", 12),
                 text(270, 191, "ready ones; the loop serves those.", 12),
                 arrow(525, 115, 556, 115), redis(560, 85))


def epoll():
    """The kernel keeps an interest list and a ready list; epoll_wait returns
    only the ready clients."""
    states = [CLIENT, REDIS, CLIENT, CLIENT, REDIS]
    return svg(254, cells(25, 55, states, "interest list", 24),
               cells(25, 150, [RUN, RUN, None], "ready list", 24),
               arrow(110, 80, 110, 136, dash="3 3"), text(118, 112, "an event", 11, fill=QUIET),
               border(172, 230), arrow(100, 162, 283, 162, "epoll_wait", at=229),
               arrow(283, 67, 150, 67, "epoll_ctl, once", at=229),
               box(287, 30, 268, 165, "one process, one thread"), thread(315, 65, 95, RUN),
               text(337, 105, "serves each ready client until it", 12),
               text(337, 121, "has nothing more to give:", 12),
               text(337, 137, "recv() returns less than asked.", 12),
               arrow(555, 112, 568, 112), redis(570, 80), legend(238))


# ------------------------------------------------------------ what lies below

def queues():
    """A client's SYN enters the SYN queue; its ACK moves the connection to the
    accept queue, from which the server accepts."""
    return svg(210, border(452, 210), client(35, 100, CLIENT), arrow(45, 92, 108, 75, "SYN"),
               cells(115, 62, [QUEUE, QUEUE, None, None], "SYN queue"),
               text(115, 103, "SYN and SYN+ACK sent", 11, fill=QUIET),
               arrow(205, 73, 268, 73, "ACK"),
               cells(272, 62, [QUEUE, QUEUE, QUEUE, None, None], "accept queue"),
               text(272, 103, "connected; as many as", 11, fill=QUIET),
               text(272, 118, "backlog and somaxconn allow", 11, fill=QUIET),
               arrow(384, 73, 500, 73, "accept", at=479), box(504, 40, 116, 70, "server"),
               text(28, 160, "Accept queue full: the kernel drops the SYN or the ACK.", 12),
               text(28, 176, "The client's TCP repeats a lost SYN after 1 s, and again.", 12))


def fork():
    """Parent and child have page tables and descriptors of their own; they
    share pages until one writes, and open files."""
    made = []
    for x, title in ((40, "parent"), (440, "child")):
        made += [box(x, 20, 160, 190, title)]
        made += [f'<rect x="{x + 15}" y="{50 + 38 * n}" width="130" height="28"'
                 f' fill="{PAPER}" stroke="{QUIET}"/>' + text(
                     x + 22, 69 + 38 * n, words, 12) for n, words in enumerate(
                         ("page tables", "descriptors", "signal handlers", "one thread"))]
    return svg(230, *made, box(250, 40, 140, 60, "pages", dash="4 3"),
               text(260, 80, "shared until written", 11), box(250, 130, 140, 60, "open files"),
               text(260, 170, "sockets, offsets", 11),
               arrow(185, 64, 248, 68), arrow(455, 64, 392, 68),
               arrow(185, 102, 248, 150), arrow(455, 102, 392, 150))


def memory():
    """Three threads share one page table: code, data and heap, and a stack for each."""
    parts = [("code, data, heap", "shared by all threads", 60),
             ("stack of thread 1", "256 KiB of address space", 42),
             ("stack of thread 2", "", 42), ("stack of main", "", 42)]
    made, y = [], 30
    for title, words, height in parts:
        made += [f'<rect x="220" y="{y}" width="190" height="{height}" '
                 f'fill="{PAPER}" stroke="{INK}"/>' + text(230, y + 25, title, 12),
                 text(434, y + 25, words, 12, fill=QUIET)]
        y += height
    return svg(240, box(205, 16, 220, 212),
               *made, *(thread(60 + 45 * n, 60, 120, state) for n, state in
                        enumerate((IDLE, CLIENT, REDIS))),
               arrow(175, 120, 203, 120), text(20, 45, "three threads, one page table", 12))


def edges():
    """While data is in the socket, level-triggered events are reported at each
    call, edge-triggered ones only when data arrives."""
    def line(y, title, marks, note):
        return "".join((text(20, y + 5, title, 12, bold=True),
                        f'<path d="M150,{y}H610" stroke="{LINE}"/>',
                        *(f'<path d="M{x},{y - 13}v26" stroke="{RUN}" '
                          'stroke-width="4"/>' for x in marks),
                        text(150, y + 32, note, 12, fill=QUIET)))
    return svg(230, text(20, 45, "data in the socket", 12, bold=True),
               f'<path d="M150,50h60v-25h130v10h60v-20h90v35h120" fill="none" '
               f'stroke="{CLIENT}" stroke-width="3"/>',
               text(205, 70, "arrives", 11), text(385, 70, "more arrives", 11),
               line(110, "level: epoll_wait", (210, 265, 320, 375, 430, 485),
                    "reports the socket at each call while data is left"),
               line(180, "edge: EPOLLET", (210, 400),
                    "reports a change only: read until EAGAIN, or wait for the next change"))


def sans_io():
    """The state machine http_conn says what it wants; serve_blocking and
    event_loop fulfil it and pass bytes."""
    return svg(220, box(30, 70, 150, 80, "serve_blocking"),
               text(40, 110, "01 to 05: a want is", 11), text(40, 126, "a call that waits", 11),
               box(460, 70, 150, 80, "event_loop"), text(470, 110, "06 and 07: a want is", 11),
               text(470, 126, "an event to wait for", 11), box(235, 40, 170, 140, "http_conn"),
               *(text(250, 76 + 16 * n, want, 12) for n, want in enumerate(
                   ("READ", "ANSWER", "REDIS", "WRITE", "FIN", "LINGER", "CLOSE"))),
               arrow(233, 95, 184, 95, "want"), arrow(182, 135, 231, 135, "bytes"),
               arrow(407, 95, 456, 95, "want"), arrow(458, 135, 409, 135, "bytes"),
               text(235, 205, "knows no socket, and never waits", 12))


def remember():
    """Three clients wait. In 05, each has a thread with a stack. In 07, each has a
    struct, and there is one thread. In lab 09, each has a stack, and one thread runs on
    each of them in turn."""
    states, made = (CLIENT, REDIS, CLIENT), []
    for x, title, below in ((15, "05: a thread each", "the kernel switches threads"),
                            (222, "07: a struct each", "the loop looks into the struct"),
                            (429, "lab 09: a stack each", "the loop switches stacks")):
        made += [box(x, 20, 196, 150, title), text(x + 98, 192, below, 12, "middle")]
    for place, state in enumerate(states):
        for x, top, height in ((61, 60, 95), (300, 103, 26), (500, 60, 95)):
            made.append(f'<rect x="{x + 38 * place}" y="{top}" width="28" height="{height}" '
                        f'fill="{PAPER}" stroke="{QUIET}"/>')
        made += [thread(75 + 38 * place, 70, 70, state), client(314 + 38 * place, 116, state),
                 client(514 + 38 * place, 74, state)]
    return svg(205, *made, thread(250, 60, 90, RUN), thread(457, 60, 90, RUN),
               arrow(462, 120, 496, 120))


def rings():
    """The loop writes requests into the submission queue and reads results from the
    completion queue. Both lie in memory that it shares with the kernel. One system call,
    io_uring_enter, submits all requests and waits for a result."""
    return svg(250, box(15, 20, 140, 215, "kernel"), box(480, 20, 145, 215, "the loop"),
               box(215, 30, 205, 150, "memory of both", dash="4 3"),
               cells(240, 82, [CLIENT, CLIENT, RUN, None, None, None, None], "submission queue"),
               cells(240, 142, [RUN, CLIENT, None, None, None, None, None], "completion queue"),
               arrow(476, 93, 400, 93), arrow(234, 93, 160, 93),
               arrow(159, 153, 234, 153), arrow(400, 153, 476, 153),
               text(492, 88, "writes what the", 12), text(492, 104, "kernel shall do", 12),
               text(492, 157, "reads results", 12),
               text(27, 88, "takes requests", 12), text(27, 149, "writes results:", 12),
               text(27, 165, "bytes, or an error", 12),
               arrow(476, 218, 160, 218, "io_uring_enter: submit all, wait for one"))


PICTURES = {function.__name__.replace("_", "-"): function for function in (
    iterative, forking, preforking, threaded, prethreaded, poll, epoll, queues,
    fork, memory, edges, sans_io, remember, rings)}


def dark(svg_text):
    """Return an SVG for a light page, of this module or a chart, in the colours of a dark one."""
    return re.sub('(?<=(?:fill="|roke="))#[0-9a-f]{6}(?=")',
                  lambda found: DARK.get(found[0], found[0]), svg_text)


def picture(name):
    """Return (SVG, text that stands for it). Raises ValueError."""
    if name not in PICTURES:
        raise ValueError(f"there is no picture {name!r}: {', '.join(PICTURES)}")
    return PICTURES[name](), " ".join(PICTURES[name].__doc__.split())
