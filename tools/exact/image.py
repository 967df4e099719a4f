"""What the exact machine starts with: its programs, built with its own compiler, in the archive
that the kernel unpacks as its first file system (a newc archive, see cpio(5)).

The same files make the same archive, to the last bit.
"""

import os
import shutil
import stat
import subprocess
from pathlib import Path

from tools.exact.tree import TreeError
from tools.kit import TOP, scratch

HERE = Path(__file__).parent
COMPILE = ("gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra")
LOADER = "/lib64/ld-linux-x86-64.so.2"
SITE = ("public", "templates")
FILES = {"10k": 10 << 10, "1m": 1 << 20}    # bytes of the files that cells ask for
REDIS_CONF = "port 6379\nbind 127.0.0.1\nsave \"\"\nappendonly no\nhz 1\n"


def build_servers(tree, source, out, further=()):
    """Build the seven of a source tree (a path) with the guest's compiler, into the folder `out`.
    Sources are copied first, so that nothing in `source` changes. `further` is a pair: the path of
    another folder in the source tree, and the words of a compiler that runs after the seven are
    built, with the copy as its working folder. Raises TreeError and OSError."""
    with scratch.folder("exact") as folder:
        for name in ("Makefile", "common", *(p.parent.name for p in source.glob("0*/main.c"))):
            copy = shutil.copytree if (source / name).is_dir() else shutil.copy2
            copy(source / name, Path(folder) / name)
        tree.run(["make", "-j2", "-s", "-o", "build/deps/build", "FLAVOUR=exact", "UNPACKED=/none",
                  "all"], source=folder)
        if further:
            shutil.copytree(source / further[0], Path(folder) / further[0])
            tree.run(further[1], folder, out)
        shutil.copytree(Path(folder) / "build/exact/bin", out, dirs_exist_ok=True)


def build_guest(tree, out):
    """Build the guest's first process, and a library, into the folder `out`; return {path in the
    archive: path}. Raises TreeError and OSError."""
    for words in (["init", "-static", "init.c", "load.c"],
                  ["touch.so", "-shared", "-fPIC", "touch.c"]):
        tree.run([*COMPILE, "-Werror", "-o", f"/out/{words[0]}", *words[1:]], HERE / "guest", out)
    return {name: out / name for name in ("init", "touch.so")}


def build_plugin(qemu_version, out):
    """Build the plugin for QEMU's version (a pair of numbers) with this machine's compiler; return
    its path in the folder `out`. Raises TreeError."""
    interface = 1 if qemu_version < (9, 0) else 2 if qemu_version < (9, 1) else 3
    path = out / "plugin.so"
    done = subprocess.run(
        [*COMPILE, "-shared", "-fPIC", "-fvisibility=hidden",
         f"-DQEMU_PLUGIN_VERSION={interface}", "-o", path, HERE / "plugin.c"],
        capture_output=True, text=True, check=False)
    if done.returncode:
        raise TreeError(f"cannot build the plugin of QEMU: {done.stderr[-1000:]}")
    return path


def libraries(tree, path):
    """Return the paths in the tree of the libraries that the program at `path` loads, if any."""
    with open(path, "rb") as file:
        if LOADER.encode() not in file.read(4096):
            return []
    listed = tree.run([LOADER, "--list", f"/src/{path.name}"], path.parent)
    return [word for word in listed.split() if word.startswith("/")]


def contents(tree, programs, requests):
    """Return {path in the archive: bytes or path} of what is started and asked for: `programs` are
    Programs, `requests` are {name: bytes}."""
    redis = tree.found("redis-server")
    files = {"redis.conf": REDIS_CONF.encode(), "bin/redis-server": redis,
             "etc/hosts": b"127.0.0.1 localhost\n", "etc/passwd": b"root:x:0:0::/:/bin/sh\n",
             "etc/group": b"root:x:0:\n"}
    needed = set(libraries(tree, redis))
    for program in programs:
        files[f"bin/{program.name}"] = program.path
        files.update(program.files)
        needed.update(libraries(tree, program.path))
    for library in needed:
        files[library.lstrip("/")] = tree.root / library.lstrip("/")
    for folder in SITE:
        for path in sorted((TOP / folder).rglob("*")):
            if path.is_file():
                files[f"site/{path.relative_to(TOP)}"] = path
    for name, size in FILES.items():
        files[f"site/public/{name}"] = bytes(i % 251 for i in range(size))
    files.update({f"requests/{name}": data for name, data in requests.items()})
    return files


def _entry(name, mode, data, number):
    """Return one entry of a newc archive."""
    encoded = name.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    head += b"\0" * (-len(head) % 4)
    return head + data + b"\0" * (-len(data) % 4)


def archive(files, out):
    """Write a newc archive of `files` ({path: bytes or path}) to the path `out`."""
    folders = {str(parent) for name in files for parent in Path(name).parents} - {"."}
    entries = [(name, stat.S_IFDIR | 0o755, b"") for name in folders]
    for name, what in files.items():
        data = what if isinstance(what, bytes) else what.read_bytes()
        execute = not isinstance(what, bytes) and os.access(what, os.X_OK)
        entries.append((name, stat.S_IFREG | (0o755 if execute else 0o644), data))
    with open(out, "wb") as file:
        for number, (name, mode, data) in enumerate(sorted(entries), 1):
            file.write(_entry(name, mode, data, number))
        file.write(_entry("TRAILER!!!", 0, b"", 0))
