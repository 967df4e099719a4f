"""Which line of source a system call was made from.

strace -k writes the stack below each call, but makes calls so slow that the picture would show
little else. So the times are those of a recording without stacks, and the lines come from a second
one, of the same burst. A call of the first has the line that all calls of the second have which are
of the same name, on the same kind of descriptor, with the same flags, by the first thread or by
another one. Where these have several lines, it has none: better no line than a wrong one.

    found = lines.known(calls, world, program)      calls of a trace with stacks
    calls = lines.annotated(calls, world, found)    calls of a trace without: some have a stack
"""

import os
import re
import subprocess
from dataclasses import dataclass, replace

from tools.kit import TOP, states
from tools.observe.timeline import rows

SYSTEM = "/usr/include/"
PATIENCE = 60           # seconds for addr2line, which reads all that a program has of lines
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"(?:\.\.\.)?|<[^>]*>')
_FLAG = re.compile(r"\b[A-Z][A-Z0-9_]{3,}\b")
# A segment of a program: where it is in the file, its address, how long it is in the file.
_LOAD = re.compile(r"^ +LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", re.MULTILINE)
_ADDRESS = re.compile(r"0x[0-9a-f]+$")


@dataclass(frozen=True)
class Frame:
    """One function that is waiting: where in the source it stands."""

    function: str
    file: str           # below the project, or as the compiler had it
    line: int

    def __str__(self):
        return f"{self.file}:{self.line}, {self.function}()"


def _flags(call):
    """Return the constants of a call's arguments; those of a wait for many are results."""
    if call.name in states.MANY:
        return frozenset()
    return frozenset(_FLAG.findall(_TEXT.sub("", call.arguments)))


def _key(call, world, first):
    """Return what calls that are made from one line have in common."""
    return call.name, rows.role(call, world)[0], _flags(call), call.tid == first


def _said(*words):
    """Return what a program of binutils prints, "" if there is none."""
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False,
                              timeout=PATIENCE).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _addresses(program, offsets):
    """Return {address: offset}: strace tells where in the file a function is, addr2line asks for
    its address. They differ where a program is not position independent."""
    loads = [[int(word, 16) for word in found] for found in _LOAD.findall(
        _said("readelf", "-lW", program))]
    return {offset - start + address: offset for offset in offsets
            for start, address, size in loads if start <= offset < start + size}


def _names(program, offsets):
    """Return {offset: [Frame]} of a program, those of inlined functions first, for the places in
    its file that have lines."""
    asked = _addresses(program, offsets)
    # An address is where a call returns to; the call is before it.
    found, frames = {}, []
    said = iter(_said("addr2line", "-e", program, "-a", "-f", "-i",
                      *(f"{address - 1:#x}" for address in sorted(asked))).splitlines())
    for text in said:
        if _ADDRESS.match(text):
            frames = found.setdefault(asked[int(text, 16) + 1], [])
            continue
        file, _, line = next(said, "?:?").partition(" (discriminator")[0].rpartition(":")
        # A function that was inlined from a header of the system is not what a reader looks for.
        if line.isdigit() and int(line) > 0 and text != "??" and not file.startswith(SYSTEM):
            frames.append(Frame(text, shown(file), int(line)))
    return {offset: frames for offset, frames in found.items() if frames}


def shown(file):
    """Return a path as a reader of the project would name it."""
    path = os.path.normpath(file)
    return os.path.relpath(path, TOP) if path.startswith(f"{TOP}/") else path


def known(calls, world, program):
    """Return {key: (Frame, ...)} of calls with stacks, innermost first; `program` is the path of
    the server's executable."""
    program = os.path.realpath(program)
    inside = {address for call in calls for file, address in call.stack if file == program}
    names = _names(program, inside) if inside else {}
    first = calls[0].tid if calls else None
    found = {}
    for call in calls:
        frames = tuple(frame for file, address in call.stack if file == program
                       for frame in names.get(address, ()))
        if frames:
            found.setdefault(_key(call, world, first), set()).add(frames)
    return {key: _common(stacks) for key, stacks in found.items() if _common(stacks)}


def _common(stacks):
    """Return the frames that stacks have in common, innermost first; () if they begin with
    different lines."""
    several = list(stacks)
    for depth, frames in enumerate(zip(*several)):
        if len(set(frames)) > 1:
            return several[0][:depth]
    return min(several, key=len)


def annotated(calls, world, found):
    """Return the calls, each with the stack that known() has for it, or with none."""
    first = calls[0].tid if calls else None
    return [replace(call, stack=found.get(_key(call, world, first), ())) for call in calls]


def stack_of(bar):
    """Return the Frames in which a bar was spent, innermost first: those of its longest call."""
    longest = max(bar.calls, key=lambda call: call.end - call.begin, default=None)
    return longest.stack if longest else ()


def of_bar(bar):
    """Return the innermost Frame in which a bar was spent; None if it is not known."""
    return next(iter(stack_of(bar)), None)
