"""What the instructions of a request are for: functions, and the parts that they belong to.

    kernel = parts.Kernel(lines of /proc/kallsyms)
    kernel.function(address)            "tcp_ack"
    parts.part_of("tcp_ack")            "TCP in"
    parts.Code(maps, program)           the same for what runs in user mode
    parts.where(blocks, requests, kernel, code)         a Where: instructions by function
"""

import bisect
import functools
import re
import subprocess
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tools.exact.machine import SERVER, MachineError

PARTS = tomllib.loads(Path(__file__).with_name("parts.toml").read_text(encoding="utf-8"))["part"]
REST = "the rest"
OWN, LIBRARIES = "the server's own code", "its libraries"
NAMES = [OWN, LIBRARIES] + [part["name"] for part in PARTS] + [REST]
KERNEL = 0xffff800000000000     # addresses from here on are the kernel's
SOFTIRQ = ("handle_softirqs", "__do_softirq")   # the second before 6.1.90
_PATTERNS = sorted(((len(pattern.replace("*", "")), pattern, part["name"]) for part in PARTS
                    for pattern in part["functions"].split()), reverse=True)
_EXPRESSIONS = [(re.compile(re.escape(pattern).replace(r"\*", ".*")), part)
                for _, pattern, part in _PATTERNS]


@functools.cache
def part_of(function):
    """Return the name of the part that a function of the kernel belongs to, or REST."""
    name = re.sub(r"\.(part|constprop|isra|cold)\b.*", "", function).lstrip("_")
    return next((part for known, part in _EXPRESSIONS if known.fullmatch(name)), REST)


class Kernel:
    """The functions of a kernel by their addresses."""

    def __init__(self, kallsyms):
        """`kallsyms`: lines of /proc/kallsyms, without modules."""
        found = sorted((int(address, 16), name) for address, kind, name, *module
                       in map(str.split, kallsyms) if kind in "tTwW" and not module)
        self.starts = [address for address, _ in found]
        self.names = [name for _, name in found]

    def function(self, address):
        """Return the name of the function that an address belongs to."""
        return self.names[bisect.bisect_right(self.starts, address) - 1]

    def address(self, name):
        """Return where a function begins. Raises ValueError."""
        return self.starts[self.names.index(name)]

    def softirq(self):
        """Return (first, end): the addresses of the function that handles soft interrupts."""
        first = next(self.starts[self.names.index(name)] for name in SOFTIRQ if name in self.names)
        return first, self.starts[bisect.bisect_right(self.starts, first)]


class Code:
    """The functions of a server by their addresses, and the names of its libraries."""

    def __init__(self, maps, program):
        """`maps`: lines of its /proc/PID/maps; `program`: the path of the file, with symbols.
        Raises MachineError if nm(1) cannot read them."""
        self.areas = []     # (first, end, name of a file)
        for words in (line.split() for line in maps):
            first, end = (int(word, 16) for word in words[0].split("-"))
            self.areas.append((first, end, Path(words[5]).name if len(words) > 5 else "memory"))
        with open(program, "rb") as file:
            position_independent = file.read(18)[16] == 3       # ET_DYN, see elf(5)
        base = self.areas[0][0] if position_independent else 0
        done = subprocess.run(["nm", "--defined-only", "-n", program], check=False, text=True,
                              capture_output=True)
        if done.returncode:
            raise MachineError(f"the symbols of {program} cannot be read: {done.stderr.strip()}")
        # Names of Go have blanks in them.
        found = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
        found = [(int(address, 16) + base, name) for address, kind, name in found if kind in "tTwW"]
        self.starts = [address for address, _ in found]
        self.names = [name for _, name in found]

    def function(self, address):
        """Return the function at an address, or the name of the library or area it is in."""
        area = next((name for first, end, name in self.areas if first <= address < end), "memory")
        if area == self.areas[0][2] and self.starts and address >= self.starts[0]:
            return self.names[bisect.bisect_right(self.starts, address) - 1]
        return area


@dataclass
class Where:
    """Where the instructions of one cell of one server went, a request: {function: number}.

    On the loopback interface a packet is received as soon as it is sent, in a soft interrupt
    of the process that sent it. So `softirq` is for a good part the client's share of the work, and
    `load` for a good part the server's."""

    user: dict          # the server's own functions, and its libraries as if they were functions
    kernel: dict        # what the kernel did in the server's processes, but for
    softirq: dict       # soft interrupts there, and
    load: dict          # soft interrupts in the load's process, which no server is charged

    def parts(self):
        """Return {part: (in the server's calls, in soft interrupts)} in the order of NAMES, all
        that the server is charged."""
        sums = {name: [0.0, 0.0] for name in NAMES}
        for name, executed in self.user.items():
            sums[LIBRARIES if ".so" in name or name.startswith("[") else OWN][0] += executed
        for place, functions in enumerate((self.kernel, self.softirq)):
            for name, executed in functions.items():
                sums[part_of(name)][place] += executed
        return {name: tuple(both) for name, both in sums.items()}

    def load_parts(self):
        """Return {part: in soft interrupts of the load's process}."""
        sums = Counter()
        for name, executed in self.load.items():
            sums[part_of(name)] += executed
        return {name: sums[name] for name in NAMES if name in sums}


def where(blocks, requests, kernel, code):
    """Return the Where of a window: `blocks` are (role, inside a soft interrupt?, address,
    instructions), of `requests` requests."""
    found = Where(Counter(), Counter(), Counter(), Counter())
    for role, inside, address, executed in blocks:
        if role in SERVER and address < KERNEL:
            found.user[code.function(address)] += executed / requests
        elif role in SERVER:
            into = found.softirq if inside else found.kernel
            into[kernel.function(address)] += executed / requests
        elif role == "load" and inside:
            found.load[kernel.function(address)] += executed / requests
    return found
