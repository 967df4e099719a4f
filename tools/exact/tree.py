"""A Debian 12 in a folder: its compiler, its libraries, Redis and a kernel, unpacked from its
packages. Needs no root, and changes nothing outside build/exact/.

    tree = tree.unpack("6.1")
    tree.versions               {package: version} of those that a count depends on
    tree.run(argv)              runs a program of it, in it
"""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools.kit import TOP, unpacked

FOLDER = TOP / "build/exact"
MACHINE = tomllib.loads(Path(__file__).with_name("machine.toml").read_text(encoding="utf-8"))
ARCHIVE = "http://deb.debian.org/debian"
KEYS = "usr/share/keyrings/debian-archive-keyring.gpg"
NAMED = ("gcc-12", "libc6", "libhiredis0.14", "redis-server")   # in each result


class TreeError(Exception):
    """The tree could not be made or used; the text says why."""


@dataclass(frozen=True)
class Tree:
    """An unpacked tree: its folder, its kernel's file, and the versions of its packages."""

    root: Path
    kernel: Path
    versions: dict

    def run(self, argv, source=None, out=None):
        """Run a program of the tree with the tree as its root, the folder `source` (a path) as
        /src and its working folder, and the folder `out` as /out. Return what it printed. Raises
        TreeError with that if it fails."""
        binds = "".join(f'mount --bind "{folder}" "{self.root}/{name}" && '
                        for folder, name in ((source, "src"), (out, "out")) if folder)
        script = f'{binds}mount --rbind /dev "{self.root}/dev" && ' \
                 f'exec chroot "{self.root}" /bin/sh -c \'cd /src && exec "$@"\' sh "$@"'
        # Root in a user namespace of its own is enough to change the root folder.
        space = ["unshare", "--mount"] + (["--map-root-user"] if os.geteuid() else [])
        done = subprocess.run([*space, "sh", "-c", script, "sh", *argv], text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C",
                                   "HOME": "/tmp"})
        if done.returncode:
            raise TreeError(f"{' '.join(map(str, argv[:6]))} failed in the unpacked Debian "
                            f"(it needs root, or user namespaces):\n{done.stdout[-2000:]}")
        return done.stdout

    def add(self, name, packages):
        """Unpack further packages and what they need, once; `name` is what they are for. Raises
        TreeError."""
        def make(folder):
            print(f"Unpacking {name} below build/exact/, once ...")
            return _versions(_install(folder, packages, self.root), packages)
        with _lock():
            self.versions.update(_once(FOLDER / f"added-{name}", make))

    def found(self, name):
        """Return the path of one of its programs. Raises TreeError."""
        paths = [self.root / folder / name for folder in ("usr/sbin", "usr/bin")]
        path = next((path for path in paths if path.exists()), None)
        if not path:
            raise TreeError(f"{name} is not in the unpacked Debian")
        return path.resolve()


def _apt(folder, suites):
    """Return a function that runs apt-get or apt-cache on the packages of `suites`, with its state
    below `folder`, and returns what it prints. Raises TreeError, as the function does."""
    keys = next((path for path in (Path("/") / KEYS, unpacked.ROOT / KEYS) if path.exists()), None)
    if not keys:
        raise TreeError("the keys of Debian's archive are missing: install "
                        "debian-archive-keyring, or run `make deps`")
    for below in ("lists/partial", "archives/partial"):
        (folder / below).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    lines = [f"deb [signed-by={keys} arch=amd64] "
             f"{ARCHIVE}{'-security' if suite.endswith('-security') else ''} {suite} main\n"
             for suite in suites]
    (folder / "sources").write_text("".join(lines), encoding="utf-8")
    options = {"Dir::Etc::sourcelist": folder / "sources", "Dir::Etc::sourceparts": "/nonexistent",
               "Dir::State": folder, "Dir::State::status": folder / "status", "Dir::Cache": folder,
               "Debug::NoLocking": 1, "APT::Sandbox::User": "root", "Acquire::Languages": "none",
               "APT::Architecture": "amd64", "APT::Architectures": "amd64"}

    def apt(program, *words, cwd=None):
        done = subprocess.run(
            [program, *(f"-o{key}={value}" for key, value in options.items()), *words], cwd=cwd,
            text=True, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"})
        if done.returncode:
            raise TreeError(f"{program} {words[0]} failed: {done.stderr.strip()[-500:]}")
        return done.stdout
    return apt


def _unpack(archives, root):
    """Unpack the packages in a folder, and remove them. Raises TreeError."""
    for package in sorted(archives.glob("*.deb")):
        if subprocess.run(["dpkg-deb", "-x", package, root], check=False).returncode:
            raise TreeError(f"{package.name} cannot be unpacked; is the disk full?")
        package.unlink()


def _install(folder, packages, root):
    """Unpack packages and what they need into `root`; return the function of _apt(), which keeps
    its state in `folder`. Raises TreeError."""
    suite = MACHINE["guest"]["suite"]
    apt = _apt(folder, [suite, f"{suite}-security"])
    apt("apt-get", "-qq", "update")
    apt("apt-get", "-qq", "install", "-y", "--no-install-recommends", "--download-only", *packages)
    _unpack(folder / "archives", root)
    return apt


def _versions(apt, names):
    """Return {package: version} of what `apt` offers."""
    shown = apt("apt-cache", "show", "--no-all-versions", *names)
    return dict(re.findall(r"^Package: (\S+)$.*?^Version: (\S+)$", shown, re.MULTILINE | re.DOTALL))


def _make_system(root):
    """Unpack compiler, libraries and Redis; return their versions."""
    print("Unpacking a Debian 12 below build/exact/, once: 82 MB to download ...")
    apt = _install(FOLDER / "apt", MACHINE["guest"]["packages"], root)
    for name in ("src", "out", "tmp", "dev", "proc"):
        (root / name).mkdir(exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(root / "usr/share/doc")
    return _versions(apt, NAMED)


def _make_kernel(release, folder):
    """Unpack the kernel of a release from its package; return {package: version}."""
    state = FOLDER / f"apt-{release['name']}"
    apt = _apt(state, release["suites"])
    apt("apt-get", "-qq", "update")
    depends = apt("apt-cache", "depends", release["package"])
    package = next(line.split()[1] for line in depends.splitlines() if "Depends: linux" in line)
    print(f"Unpacking the kernel {release['name']}, once: 27 MB to download ...")
    archives = state / "archives"
    apt("apt-get", "-qq", "download", package, cwd=archives)
    _unpack(archives, folder)
    return _versions(apt, [package])


def _once(folder, make):
    """Return what make(folder) returned in the first run that was not killed on its way."""
    done = folder.with_name(f"{folder.name}.done")
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        lines = [f"{name} {version}\n" for name, version in make(folder).items()]
        done.write_text("".join(lines), encoding="utf-8")
    return dict(line.split() for line in done.read_text(encoding="utf-8").splitlines())


@contextlib.contextmanager
def _lock():
    """Of two runs, let the second wait; it finds all there."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def unpack(release):
    """Return the Tree with the kernel `release` of machine.toml, unpacking what is not there yet.
    Raises TreeError."""
    known = {one["name"]: one for one in MACHINE["kernel"]["release"]}
    missing = [name for name in ("apt-get", "dpkg-deb", "unshare", "chroot")
               if not shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")]
    if missing:
        raise TreeError(f"{', '.join(missing)} is missing: the guest is unpacked from packages of "
                        "Debian, which this machine cannot read")
    with _lock():
        root, kernel = FOLDER / "root", FOLDER / f"kernel-{release}"
        versions = _once(root, _make_system)
        versions |= _once(kernel, lambda folder: _make_kernel(known[release], folder))
    return Tree(root, next(kernel.glob("boot/vmlinuz-*")), versions)
