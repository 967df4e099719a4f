#!/usr/bin/python3
"""Hold common/ to its layers, by the symbol tables of its objects.

    tests/layering.py [FOLDER]       default: build/default/common

FOLDER holds the objects of common/; those of the mains are next to it.

1. The pure layer is everything that http_conn and the other roots reach: each
   object whose symbols they use, the objects whose symbols those use, and so on.
   No object of it may call a function that waits or touches the world: sockets,
   poll, files, the clock, the log, threads, processes, hiredis. Two may call some of
   them (MAY_CALL): one opens, examines and reads regular files, for which Linux has
   no non-blocking call; the other reads a clock.
2. No driver belongs to the pure layer. A driver decides which task runs or waits.
3. No object except `signals` has a writable variable. Data that changes belongs
   to a caller, so that the same code is safe in threads and in processes.
4. The sources of the pure layer compile in a folder of their own, with the headers
   named in TYPES and without those of hiredis: their types are their own, too.
   Only READS_REPLIES and the pages may look into a reply of Redis.
5. No module includes itself through others: its .c and .h together are one step.
   Of two modules, one can be read without the other.
6. Nothing, the mains included, waits until a time of day (CALENDAR_WAITS): when
   an administrator sets the clock, such a wait ends early or lasts for hours.

A failure names the path from a root to the object that breaks the rule. A call
through a function pointer shows only where its address is taken. The check
closes with the line `N passed, N failed`; the exit status is 0 only if nothing
failed. tests/frame/test_layering.py shows that each rule can fail.
"""

import collections
import graphlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

# The roots of the pure layer. Each must exist, or the check would pass on an
# empty folder.
ROOTS = ["http_conn", "http_parser", "http_response", "router", "page",
         "guestbook", "text", "bytes"]

# Objects that must not be in the pure layer.
DRIVERS = {"serve_blocking", "event_loop", "redis", "redis_async", "redis_resolve", "net",
           "worker", "worker_processes", "signals", "server", "sandbox",
           "options", "output", "access_log", "site_open", "fatal", "accept",
           "descriptors", "room"}

# The exceptions: what opens the files of the site and its templates (openat2 has no
# wrapper in glibc, so it needs syscall), and the page that computes until its thread
# has used the CPU time that was asked for.
MAY_CALL = {"file_table": {"open", "openat", "syscall", "fstat", "fstatat", "pread",
                           "close", "readlink"},
            "compute": {"clock_gettime"}}

# What the pure layer includes besides a header for each of its objects.
TYPES = {"clock", "redis_command", "shortage", "site"}
READS_REPLIES = {"page"}

# Functions whose deadline is a time on CLOCK_REALTIME. For each there is one that
# takes the clock as an argument (pthread_cond_clockwait, pthread_clockjoin_np).
CALENDAR_WAITS = {"pthread_cond_timedwait", "pthread_mutex_timedlock",
                  "pthread_rwlock_timedrdlock", "pthread_rwlock_timedwrlock",
                  "pthread_timedjoin_np", "sem_timedwait", "mq_timedsend",
                  "mq_timedreceive", "cnd_timedwait", "mtx_timedlock"}

# Writable variables are allowed here: a signal handler can reach nothing else.
MAY_VARY = {"signals"}

# Functions that wait, touch the world, or keep a state outside the caller. The
# names of hiredis begin with `redis` and a capital letter; ours with `redis_`.
FORBIDDEN = re.compile("|".join("""
    socket socketpair bind listen accept4? connect shutdown
    [gs]etsockopt getsockname getpeername getaddrinfo
    p?readv? p?writev? preadv2 pwritev2 close close_range
    open openat creat fopen fdopen opendir readdir
    stat lstat fstat fstatat statx access faccessat readlink readlinkat
    rename unlink mkdir lseek fcntl ioctl dup[23]? pipe2? mmap munmap
    recv recvfrom recvmsg recvmmsg send sendto sendmsg sendmmsg sendfile splice
    p?poll p?select epoll_\\w+ eventfd timerfd_\\w+ signalfd io_uring_\\w+
    clock clock_\\w+ time times gettimeofday getrusage localtime(_r)?
    getrandom getentropy arc4random\\w* s?rand s?random
    pthread_\\w+ thrd_\\w+ mtx_\\w+ cnd_\\w+ sem_\\w+
    v?fork clone posix_spawnp? exec[vlpe]+ system popen
    wait waitpid waitid wait[34] kill tgkill raise alarm setitimer pause
    sigaction signal sigprocmask sigwait\\w* sigsuspend
    sleep usleep nanosleep sched_\\w+ syscall exit _exit quick_exit
    v?f?printf v?dprintf fputs fputc puts putchar fwrite fread fflush
    perror v?syslog
    redis[A-Z]\\w* freeReplyObject
    """.split()))


def plain_name(symbol):
    """Return the name in the source of a symbol of the C library.

    glibc has other names for the same function: __read_chk, __open_2 and
    __openat64_2 come from _FORTIFY_SOURCE, fstat64 from 64-bit file offsets.
    """
    name = re.sub(r"^__(.+)_(?:chk|2)$", r"\1", symbol)
    name = re.sub(r"^__(?:fx|x|lx)?stat", lambda m: {
        "__fxstat": "fstat", "__lxstat": "lstat"}.get(m[0], "stat"), name)
    return re.sub(r"(?<=[a-z])64$", "", name)


# -------------------------------------------------------------- symbol tables

Object = collections.namedtuple("Object", "defined undefined variables")


def read_folder(folder, sources=None):
    """Return {name: Object} for the objects in a folder and its subfolder pages/.

    Given the folder of their sources, skip objects of sources that are deleted.
    """
    return {path.stem: read_object(path) for path in sorted(folder.rglob("*.o"))
            if not sources
            or (sources / path.relative_to(folder).with_suffix(".c")).exists()}


def read_object(path):
    """Return the Object of one file."""
    defined, undefined = set(), set()
    for line in output("nm", "--format=posix", "--extern-only", path):
        name, kind = line.split()[:2]
        (undefined if kind in "Uvw" else defined).add(name)
    return Object(defined, undefined, writable(path))


def writable(path):
    """Return the variables of an object that the program may write to.

    A constant table of pointers does not count. It lies in .data.rel.ro, which
    becomes read-only when the loader has filled in the addresses.
    """
    names = set()
    for line in output("objdump", "--syms", path):
        left, _, right = line.partition("\t")
        words = right.split()
        if len(words) < 2:
            continue
        section, name = left.split()[-1], words[-1]
        if name != section and not section.startswith(".data.rel.ro") and \
                re.match(r"\.(data|bss|tdata|tbss)|\*COM\*", section):
            names.add(re.sub(r"\.\d+$", "", name))      # static in a function
    return names


def output(*command):
    """Return the lines that a command prints."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          check=True).stdout.splitlines()


# ------------------------------------------------------------------ the rules

def pure_layer(objects):
    """Return {object: the shortest path from a root to it} of what roots reach.

    A path is a list such as ["http_conn", "router", "static_file"]. It stops
    before a driver: to reach one is a failure, whatever lies behind it.
    """
    paths = {root: [root] for root in ROOTS if root in objects}
    waiting = collections.deque(paths)
    while waiting:
        name = waiting.popleft()
        for reached in sorted(uses(objects, name)):
            if reached not in paths and reached not in DRIVERS:
                paths[reached] = [*paths[name], reached]
                waiting.append(reached)
    return paths


def uses(objects, name):
    """Return {other object: the symbols of it} for what an object refers to."""
    found = {other: objects[name].undefined & objects[other].defined
             for other in objects if other != name}
    return {other: symbols for other, symbols in found.items() if symbols}


def forbidden_calls(objects, name):
    """Return the functions that an object of the pure layer must not call."""
    ours = {symbol for found in objects.values() for symbol in found.defined}
    called = {plain_name(symbol) for symbol in objects[name].undefined - ours}
    return {symbol for symbol in called if FORBIDDEN.fullmatch(symbol)} - MAY_CALL.get(name, set())


def calendar_waits(objects):
    """Return the results of rule 6 for {name: Object}, one for each object."""
    results = []
    for name, found in objects.items():
        bad = CALENDAR_WAITS & {plain_name(symbol) for symbol in found.undefined}
        results.append((not bad, f"{name} waits until a time of day: {', '.join(sorted(bad))}"))
    return results


def source_of(sources, name):
    """Return the path of a module's source, or None."""
    return next((path for path in (sources / f"{name}.c", sources / f"pages/{name}.c")
                 if path.exists()), None)


def names_without_source(sources):
    """Return a result for each name in the rules: is there such a source? A
    module that is renamed must not leave its rule."""
    return [(source_of(sources, name) is not None,
             f"the rules name {name}, but there is no common/{name}.c")
            for name in sorted({*DRIVERS, *MAY_CALL, *MAY_VARY, *READS_REPLIES})]


def includes(sources):
    """Return {module: the modules of the same folder that it includes}."""
    found = collections.defaultdict(set)
    for path in sources.glob("*.[ch]"):
        found[path.stem] |= set(re.findall(r'^#include "(\w+)\.h"', path.read_text(),
                                           re.MULTILINE)) - {path.stem}
    return found


def circle(found):
    """Return the result of rule 5 for {module: modules that it includes}: (passed, sentence)."""
    try:
        graphlib.TopologicalSorter(found).prepare()
    except graphlib.CycleError as error:
        return False, f"these include each other: {' > '.join(reversed(error.args[1]))}"
    return True, ""


def examine(objects):
    """Return the results of rules 1 to 3: a list of (passed, sentence)."""
    results = [(root in objects, f"{root}.o, a root of the pure layer, is missing")
               for root in ROOTS]
    for name, path in pure_layer(objects).items():
        way = " > ".join(path)
        bad = forbidden_calls(objects, name)
        results.append((not bad, f"{way} calls {', '.join(sorted(bad))}"))
        used = uses(objects, name)
        drivers = [f"{driver} ({', '.join(sorted(used[driver]))})"
                   for driver in sorted(DRIVERS.intersection(used))]
        results.append((not drivers, f"{way} reaches a driver: "
                                     f"{', '.join(drivers)}"))
    for name, found in objects.items():
        if name not in MAY_VARY:
            results.append((not found.variables, f"common/{name}.c has variables: "
                            f"{', '.join(sorted(found.variables))}"))
    return results


def compile_alone(sources, layer):
    """Return the results of rule 4: a list of (passed, sentence)."""
    compiler = shlex.split(os.environ.get("CC", "gcc"))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pages").mkdir()
        for header in sources.rglob("*.h"):
            if header.stem in {*layer, *TYPES} or header.parent.name == "pages":
                copy = Path(folder, header.relative_to(sources))
                copy.write_bytes(header.read_bytes())
        stranger = Path(folder, "strange/hiredis/hiredis.h")
        stranger.parent.mkdir(parents=True)
        stranger.write_text('#error "hiredis is not part of the pure layer"\n')
        for name in sorted(layer):
            source = source_of(sources, name)
            own = Path(folder, source.relative_to(sources))
            own.write_bytes(source.read_bytes())
            reads = name in READS_REPLIES or source.parent.name == "pages"
            done = subprocess.run(
                [*compiler, "-std=c11", "-D_GNU_SOURCE", "-fsyntax-only", "-w",
                 f"-I{folder}", *([] if reads else [f"-I{folder}/strange"]), own],
                capture_output=True, text=True, check=False)
            wrong = next((line for line in done.stderr.splitlines()
                          if "error" in line), "")
            results.append((done.returncode == 0, f"{name}.c does not compile alone: "
                            f"{wrong.replace(folder + '/', '')}"))
    return results


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    folder = Path(sys.argv[1] if sys.argv[1:] else TOP / "build/default/common")
    # build/default/common may still hold objects of deleted sources.
    sources = folder.resolve() / "../../../common"
    objects = read_folder(folder, sources if sources.is_dir() else None)
    mains = {path.parent.name: read_object(path)
             for path in sorted(folder.glob("../0*/main.o"))}
    layer = pure_layer(objects)
    print(f"pure layer: {' '.join(sorted(layer))}")
    print(f"others:     {' '.join(sorted(set(objects) - set(layer)))}")
    results = [*examine(objects),
               *calendar_waits({**objects, **mains})]
    if sources.is_dir():
        results += [*names_without_source(sources), *compile_alone(sources, layer),
                    circle(includes(sources)),
                    (len(mains) == 7, f"{len(mains)} of 7 mains are there")]
    failed = [why for passed, why in results if not passed]
    for why in failed:
        print(f"FAILED: {why}")
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
