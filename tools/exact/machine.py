"""Boots the exact machine, and reads what it printed.

    booted = machine.boot(files, kernel, plugin)
    booted.cells        a list of Cell, in the order of the plan
    booted.maps, booted.symbols     lines, if the plan asked for them
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field

from tools.exact import image
from tools.exact.tree import MACHINE
from tools.kit import scratch, unpacked

PATIENCE = 1800         # seconds of the host, for one boot and all its cells
UNFIT = (10, 0)         # and above, as 10.0.13 of Debian 13; 8 and 9 have not been tried
GROUPS = ("server", "redis", "load")
# Roles of the plugin that are the server: the process that was started, its workers (children and
# threads), and workers that end.
SERVER = ("server", "worker", "ending")


class MachineError(Exception):
    """The machine did not do what its plan says; the text says why."""


@dataclass
class Window:
    """Instructions of one window: {group: number} as the kernel charged them to the control group,
    and {role: (user, kernel)} as the plugin counted them; "server" has its workers in it."""

    charged: dict
    counted: dict
    # (role, inside a soft interrupt?, address, instructions), with detail
    blocks: list = field(default_factory=list)


@dataclass
class Booted:
    """What a machine printed before it was switched off."""

    cells: list             # of lists of Window
    symbols: list           # lines of /proc/kallsyms
    maps: list              # of lists of lines of /proc/PID/maps, for each server
    memory: list            # of the server's processes, bytes, for each time that it was asked for


def qemu():
    """Return (path of QEMU, its version as a pair of numbers). Raises MachineError."""
    path = shutil.which(MACHINE["qemu"]["program"])
    if not path:
        raise MachineError("QEMU is missing: install qemu-system-x86, or run `make deps`")
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version (\d+)\.(\d+)", told)
    if not found:
        raise MachineError(f"{path} does not say its version")
    version = int(found[1]), int(found[2])
    if version >= UNFIT:
        raise MachineError(f"in QEMU {found[1]}.{found[2]} ({path}), Redis ends at its start "
                           "(\"stack smashing detected\"); QEMU 7.2 of Debian 12 counts")
    return path, version


def command(archive, kernel, plugin, folder, mebibytes=None):
    """Return the command line of QEMU (a list of words); `plugin` is the path of the plugin, and
    may have options behind it. The machine has `mebibytes` of memory, or those of machine.toml."""
    options, program = MACHINE["qemu"], qemu()[0]
    more = ["-m", str(mebibytes)] if mebibytes else []      # the last one counts
    # One that is only unpacked would look for its firmware in /usr/share.
    firmware = [unpacked.ROOT / "usr/share" / name for name in ("qemu", "seabios")
                if not os.path.exists(f"/usr/share/{name}")]
    return [program, *(word for place in firmware for word in ("-L", str(place))),
            *options["options"], *more, "-cpu", options["cpu"], "-kernel", str(kernel),
            "-initrd", str(archive), "-append", MACHINE["kernel"]["options"],
            "-chardev", f"file,id=output,path={folder}/output",
            "-device", "isa-debugcon,iobase=0xe9,chardev=output",
            "-plugin", f"{plugin},out={folder}/counts"]


def boot(files, kernel, plugin, mebibytes=None):
    """Boot a machine whose first file system has `files` (see image.contents()); return Booted.
    It has `mebibytes` of memory, or those of machine.toml. Raises MachineError, and OSError."""
    with scratch.folder("exact") as folder:
        archive = f"{folder}/initramfs"
        image.archive(files, archive)
        try:
            done = subprocess.run(command(archive, kernel, plugin, folder, mebibytes),
                                  capture_output=True, check=False, timeout=PATIENCE, text=True,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as error:
            raise MachineError(f"the machine was not done after {PATIENCE} s") from error
        with open(f"{folder}/output", encoding="utf-8", errors="replace") as file:
            output = file.read()
        if done.returncode or not output.endswith("done\n"):
            last = "\n".join([*output.splitlines()[-8:], done.stderr.strip()])
            raise MachineError(f"the machine stopped early; its last lines:\n{last}")
        with open(f"{folder}/counts", encoding="ascii") as file:
            return read(output, file)


def read(output, counts):
    """Return what the text `output` of the guest and the lines `counts` of the plugin say."""
    booted = Booted([], [], [], [])
    into = None
    for line in output.splitlines():
        words = line.split()
        if line in ("symbols", "maps"):
            into = booted.symbols
            if line == "maps":
                into = []
                booted.maps.append(into)
        elif line.startswith("end of "):
            into = None
        elif into is not None:
            into.append(line)
        elif line.startswith("cell "):
            booted.cells.append([])
        elif line.startswith("memory "):
            booted.memory.append(int(words[1]) << 10)
        elif line.startswith("window "):
            booted.cells[-1].append(Window(dict(zip(GROUPS, map(int, words[1:]))), {}))
    windows = iter([window for cell in booted.cells for window in cell])
    current = next(windows, None)
    blocks = []
    for line in counts:
        what, role, *numbers = line.split()
        if what == "block":
            inside, address, executed = numbers
            blocks.append((role, inside == "1", int(address, 16), int(executed)))
            continue
        current.counted[role] = tuple(map(int, numbers))
        if role == "ending":            # the last of a window
            current.counted["server"] = tuple(map(sum, zip(*(
                current.counted[one] for one in SERVER))))
            current.blocks, blocks = blocks, []
            current = next(windows, None)
    return booted
