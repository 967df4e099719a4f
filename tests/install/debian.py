"""A bare Debian: what debootstrap lays out, with git and build-essential, as the README asks
for. It stands in build/bare-RELEASE/, laid out once. Commands run in it with a root, a
network of this machine, processes and /sys as on a machine of its own, and no init."""

import os
import shutil
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
INCLUDE = "git,make,build-essential"
ID = "1000"                     # of the user `student`
PATHS = {"root": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
         "student": "/usr/local/bin:/usr/bin:/bin"}
# What this machine trusts, and how it reaches a package index.
SETTINGS = ("etc/ssl/certs/ca-certificates.crt", "etc/pip.conf", "etc/resolv.conf", "etc/hosts")
# $1: the system; $2: "" or a folder for what changes, which is then lost; $3: where to go;
# then a command. pivot_root and not chroot: user namespaces are forbidden below a chroot.
ENTER = """
if [ -n "$2" ]; then
    mount -t tmpfs changes "$2" && mkdir "$2/upper" "$2/work" "$2/root"
    mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
    root=$2/root
else
    mount --bind "$1" "$1" && root=$1
fi
folder=$3
shift 3
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mkdir -p "$root/.old"
cd "$root" && pivot_root . .old && PATH=/usr/sbin:/usr/bin && cd / && umount -l /.old && rmdir /.old
cd "$folder" && exec "$@"
"""


def run(*command, seconds=600, **settings):
    """Run a command; return the CompletedProcess with the output as text."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=seconds,
                          **settings)


def must(*command, **settings):
    """Run a command that has to succeed; return what it printed."""
    done = run(*command, **settings)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


class Debian:
    """One bare Debian, with a copy of this checkout in the home of each user."""

    def __init__(self, release):
        self.root = TOP / "build" / f"bare-{release}"
        mark = self.root / "complete"
        if not mark.exists():
            shutil.rmtree(self.root, ignore_errors=True)
            # The place that this machine gets its packages from, if it is a Debian.
            mirrors = run("apt-get", "indextargets", "--format", "$(REPO_URI)",
                          "Created-By: Packages", "Origin: Debian").stdout.split()
            # What it mounts ends with it, even if it is killed: rmtree goes into mounts.
            must("unshare", "--mount", "debootstrap", "--variant=minbase",
                 f"--include={INCLUDE}", release, str(self.root), *mirrors[:1], seconds=1200)
            must("chroot", self.root, "/usr/sbin/useradd", "--create-home", "student")
            mark.touch()
        for name in SETTINGS:
            if Path("/", name).exists():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(f"/{name}", self.root / name)
        self.before = self.state()

    def state(self):
        """Return what packages, services, users and programs it has."""
        places = ("etc/systemd", "usr/lib/systemd", "etc/init.d", "usr/bin", "usr/sbin",
                  *(f"etc/rc{level}.d" for level in "0123456S"))
        files = sorted(str(path.relative_to(self.root)) for place in places
                       for path in (self.root / place).rglob("*"))
        packages = must("chroot", self.root, "/usr/bin/env", f"PATH={PATHS['root']}", "dpkg", "-l")
        return packages, files, (self.root / "etc/passwd").read_text()

    def home(self, user):
        """Return the path of the checkout, as that user sees it."""
        return "/root/zerohttpd" if user == "root" else f"/home/{user}/zerohttpd"

    def check_out(self, user):
        """Copy this checkout into the home of a user, without what was built."""
        folder = self.root / self.home(user)[1:]
        shutil.rmtree(folder, ignore_errors=True)
        names = must("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard",
                     cwd=TOP).split("\0")
        for name in names:
            if name and (TOP / name).exists():      # or deleted, and not committed yet
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(TOP / name, folder / name, follow_symlinks=False)
        if user != "root":
            must("chown", "-R", f"{ID}:{ID}", folder)
        return folder

    def run(self, user, command, scratch="", seconds=900):
        """Run a line of shell as a user in the checkout; return the CompletedProcess. With
        `scratch`, an empty folder, what it changes is lost."""
        become = [] if user == "root" else [
            "setpriv", f"--reuid={ID}", f"--regid={ID}", "--clear-groups"]
        home = os.path.dirname(self.home(user))
        return run("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation",
                   "private", "sh", "-ec", ENTER, "sh", self.root, scratch, self.home(user),
                   *become, "env", "-i", f"HOME={home}", f"PATH={PATHS[user]}",
                   "LC_ALL=C.UTF-8", "sh", "-c", command, seconds=seconds)
