#!/usr/bin/python3
"""Plant faults in the servers, one at a time: does a simulated world find each?

    tests/world/mutants.py                every fault (--all)
    tests/world/mutants.py --sample 8     eight of them, always the same
    tests/world/mutants.py --only NAME    one of them
    tests/world/mutants.py --unseen       those that no world finds so far
    tests/world/mutants.py --apply        none of them: does each still apply?
    tests/world/mutants.py --list         what there is

mutants.toml says what each fault is: a text of one function of the servers, and
what stands in its place. A fault whose text is not exactly once in that function
no longer applies, and fails with its name, also when it is not in the sample:
rewrite it for the new code.

The program of a world runs until it finds the fault, for SECONDS of processor time
at most, so that a crowded machine makes no difference. The seed that found it must
find nothing in the servers as they are, nor must the first UNMUTATED seeds. The last
line says `N passed, N failed`.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
SECONDS = 60
FOREVER = str(10 ** 9)          # worlds: the time limit ends it
UNMUTATED = "5000"              # worlds of the servers as they are
# The folder whose Makefile builds the program of a world.
WORLDS = {"processes": HERE / "processes", "drivers": HERE}


class Mutant(NamedTuple):
    """A fault, as mutants.toml has it."""
    name: str
    file: str
    function: str
    text: str
    replacement: str
    breaks: str                 # what a user would notice
    world: str                  # "processes --server forking"
    seen: bool = True           # false: no world finds it so far


class Verdict(NamedTuple):
    """What became of a mutant: found at a seed, after seconds; or why it was not."""
    mutant: Mutant
    found: bool
    said: str
    seconds: float


class Broken(Exception):
    """The mutant does not apply, or its program cannot be built or run."""


def read_mutants():
    """Return the mutants of mutants.toml; their names are unique."""
    with open(HERE / "mutants.toml", "rb") as file:
        mutants = [Mutant(**table) for table in tomllib.load(file)["mutant"]]
    names = [mutant.name for mutant in mutants]
    if len(set(names)) != len(names):
        sys.exit("mutants.toml: two mutants have the same name")
    return mutants


def sample(mutants, count):
    """Return `count` of the mutants, evenly spread over the file."""
    if count >= len(mutants):
        return mutants
    return [mutants[i * len(mutants) // count] for i in range(count)]


# ------------------------------------------------------------ planting a fault

def squeeze(text):
    """Return a pattern for the text in which any white space matches any other."""
    return r"\s+".join(map(re.escape, text.split()))


def find_function(source, name):
    """Return (start, end) of a function's text; Broken if it is not there once.

    The sources are laid out so that only the first line and the closing brace of a
    function stand in the first column.
    """
    found = list(re.finditer(
        rf"^[A-Za-z][^\n;]*\b{re.escape(name)}\([^;{{]*?\)\n\{{\n.*?^\}}\n",
        source, re.MULTILINE | re.DOTALL))
    if len(found) != 1:
        raise Broken(f"there are {len(found)} functions {name}()")
    return found[0].span()


def plant(source, mutant):
    """Return the source with the fault in it; Broken if it does not apply."""
    start, end = find_function(source, mutant.function)
    function, count = re.subn(squeeze(mutant.text), lambda _: mutant.replacement,
                              source[start:end])
    if count != 1:
        raise Broken(f"its text is {count} times in {mutant.function}(), not once")
    if function == source[start:end]:
        raise Broken("it changes nothing")
    return source[:start] + function + source[end:]


def inapplicable(mutants):
    """Return {name: why} of the mutants that no longer apply."""
    wrong = {}
    for mutant in mutants:
        try:
            plant((TOP / mutant.file).read_text(), mutant)
        except (Broken, OSError) as error:
            wrong[mutant.name] = f"no longer applies to {mutant.file}: {error}"
    return wrong


# ------------------------------------------------------------- a copy to spoil

class Tree:
    """A copy of common/ and of the mains, with the programs built from it.

    Their objects are kept: after a mutation, make compiles one file.
    """

    def __init__(self, folder):
        self.source = folder / "source"
        self.out = folder / "out"
        for path in [*TOP.glob("common/**/*.[ch]"), *TOP.glob("0[1-9]_*/*.[ch]")]:
            copy = self.source / path.relative_to(TOP)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)

    def build(self, program):
        """Build a world's program and return its path; Broken if it cannot be."""
        if not self.unmutated(program).exists():
            self.make(program)
            shutil.copyfile(self.out / program, self.unmutated(program))
            self.unmutated(program).chmod(0o755)
        return self.make(program)

    def unmutated(self, program):
        """Return the path of a world's program with the servers as they are."""
        return self.out / f"{program}-unmutated"

    def make(self, program):
        """Compile what has changed; return the program's path."""
        done = subprocess.run(
            # A planted fault may well leave something that a compiler warns of.
            ["make", "WERROR=", "-C", WORLDS[program], f"SRC={self.source}",
             f"OUT={self.out}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise Broken("it does not compile:\n" + done.stdout[-2000:])
        return self.out / program

    def try_mutant(self, mutant):
        """Return the Verdict on a mutant. The tree is as before afterwards."""
        path = self.source / mutant.file
        try:
            original = path.read_text()
            program, *options = mutant.world.split()
            self.build(program)
            path.write_text(plant(original, mutant))
            try:
                command = [self.build(program), *options, "--worlds", FOREVER]
                said, seconds = first_finding(
                    command, [self.unmutated(program), *options])
            finally:
                path.write_text(original)
        except (Broken, OSError) as error:
            return Verdict(mutant, False, str(error), 0)
        return Verdict(mutant, said is not None, said or "NOT FOUND", seconds)


def holds(command, seed):
    """Return whether the world of a seed holds with the servers as they are."""
    return subprocess.run([*command, "--seed", seed, "--worlds", "1"], check=False,
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def first_finding(command, unmutated):
    """Run the program of a world until it prints a failing seed of the mutant's own.

    Returns "seed N: the rule that did not hold", or None if it found nothing; and the
    seconds of processor time that it took. The kernel ends it after SECONDS.
    """
    said = None
    with subprocess.Popen(["sh", "-c", f'ulimit -t {SECONDS}; exec "$@"', "sh", *command],
                          stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL) as child:
        for line in child.stdout:
            found = re.search(r"--seed (\d+).*?# *(.*)", line)
            if found and holds(unmutated, found[1]):
                said = f"seed {found[1]}: {found[2]}"
                break
        os.kill(child.pid, signal.SIGKILL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds = used.ru_utime + used.ru_stime
    if said is None and child.returncode not in (-signal.SIGKILL, -signal.SIGXCPU):
        said = f"the world ended with status {child.returncode}"
    return said, seconds


def check_unmutated(tree, worlds):
    """Return what the worlds say of the servers as they are, [] if nothing."""
    wrong = []
    for world in worlds:
        program, *options = world.split()
        try:
            done = subprocess.run(
                [tree.build(program), *options, "--worlds", UNMUTATED], text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        except Broken as error:
            wrong.append(f"{world}: {error}")
            continue
        if done.returncode:
            wrong.append(f"{world}, nothing planted:\n{done.stdout[-1000:]}")
    return wrong


# ------------------------------------------------------------------------ main

def run(mutants, jobs):
    """Try the mutants; print a line for each.

    Returns the Verdicts, and how many worlds found something in the servers as they
    are.
    """
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trees = SimpleQueue()
        for job in range(jobs):
            trees.put(Tree(Path(folder) / str(job)))
        first = trees.get()
        wrong = check_unmutated(first, sorted({m.world for m in mutants}))
        trees.put(first)
        for sentence in wrong:
            print(sentence, flush=True)

        def try_one(mutant):
            tree = trees.get()
            try:
                verdict = tree.try_mutant(mutant)
            finally:
                trees.put(tree)
            print(f"{'found ' if verdict.found else 'FAILED'} {mutant.name:<34} "
                  f"{mutant.world:<32} {verdict.seconds:6.1f} s  {verdict.said}",
                  flush=True)
            return verdict

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(try_one, mutants)), len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every mutant")
    parser.add_argument("--sample", type=int, metavar="N", help="so many of them")
    parser.add_argument("--only", metavar="NAME", help="those whose name begins so")
    parser.add_argument("--world", help="those of one program: processes or drivers")
    parser.add_argument("--jobs", type=int, default=1, help="so many at a time")
    parser.add_argument("--unseen", action="store_true",
                        help="those that are marked seen = false")
    parser.add_argument("--apply", action="store_true", help="run none of them")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    options = parser.parse_args()
    mutants = [mutant for mutant in read_mutants()
               if mutant.name.startswith(options.only or "")
               and mutant.world.startswith(options.world or "")]
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name:<34} {mutant.file} {mutant.function}(): "
                  f"{mutant.breaks}")
        return 0
    stale = inapplicable(mutants)
    for name, why in stale.items():
        print(f"FAILED {name:<34} {why}")
    mutants = [mutant for mutant in mutants if mutant.name not in stale]
    if options.apply:
        print(f"{len(mutants)} passed, {len(stale)} failed")
        return int(bool(stale))
    for mutant in mutants:
        if not mutant.seen and not options.unseen:
            print(f"unseen {mutant.name:<34} no world finds this: {mutant.breaks}")
    mutants = [mutant for mutant in mutants if mutant.seen != options.unseen]
    verdicts, wrong = run(sample(mutants, options.sample or len(mutants)),
                          options.jobs)
    passed = sum(verdict.found for verdict in verdicts)
    failed = len(verdicts) - passed + len(stale) + wrong
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
