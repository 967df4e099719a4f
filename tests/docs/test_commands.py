"""Every command that a document quotes exists, and so do its options."""

import itertools
import os
import re
import shlex
import shutil
import subprocess

import pytest

from conftest import GUIDES, PAGES, TOP, name_of
from bench import config as settings
from bench import whatif

SERVERS = ["iterative", "forking", "preforking", "threaded", "prethreaded",
           "poll", "epoll"]

# Programs of others that documents name. Those that come with the groups of
# scripts/deps.sh must be there; the rest is checked where it is installed.
REQUIRED = {"ab", "wrk", "httperf", "redis-cli", "strace", "nm", "git",
            "objdump"}
OTHERS = {"perf", "nstat", "ss", "curl", "head", "vmstat", "ulimit", "printf",
          "ps", "cc", "cp", "cat", "kill", "pkill", "pgrep",
          "prlimit", "truncate", "ls", "timeout", "apt-get", "echo", "patch", "grep",
          "sysctl", "man", "seq", "redis-server", "python3", "docker", "podman", "ssh"}

# Names of make's variables that our Makefile leaves to others to read.
READ_BY_SCRIPTS = {"FROM", "SERVERS", "ARGS", "NO_INSTALL", "DESTDIR", *whatif.NAMES}


def code_of(path):
    """Return what stands in a document as code: [(line, text)], from code
    spans and from blocks that are indented or fenced as sh."""
    found, fenced, before = [], None, ""
    text = re.sub(r"<!-- (code|table|picture):.*?<!-- /\1 -->",
                  lambda m: "\n" * m.group(0).count("\n"), path.read_text(),
                  flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", lambda m: "\n" * m.group(0).count("\n"),
                  text, flags=re.DOTALL)
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):     # indented in a list
            fenced = None if fenced is not None else line.strip()[3:]
        elif fenced is not None:
            if fenced in ("sh", "bash"):
                found.append((number, line.strip()))
        elif line.startswith("    ") and (not before or
                                          before.startswith("    ")):
            found.append((number, line.strip()))
        before = line
    joined = re.sub(r"^ *```.*?^ *```$", lambda m: "\n" * m.group(0).count("\n"),
                    text, flags=re.MULTILINE | re.DOTALL)
    joined = re.sub(r"\{\w+\}`[^`]*`", "", joined)     # roles of the book
    for span in re.finditer(r"`([^`]+)`", joined):
        found.append((joined.count("\n", 0, span.start()) + 1,
                      " ".join(span.group(1).split())))
    return found


def words_of(text):
    """Return the words of the first command in a line of code, without what
    follows a pipe, a semicolon, a comment; [] where it is no shell."""
    text = re.split(r"\s+#|\s+\||\s+&&|;|\s+>|\s+…", text)[0]
    try:
        return shlex.split(text.removeprefix("sudo "))
    except ValueError:
        return []


def commands(path, wanted):
    """Return [(line, words)] of the commands in a document whose first word
    `wanted` accepts."""
    found = []
    for line, text in code_of(path):
        words = words_of(text)
        if words and wanted(words[0]):
            found.append((line, words))
    return found


def everywhere(wanted):
    """Return pytest parameters for such commands in all documents."""
    return [pytest.param(words, id=f"{name_of(path)}:{line}")
            for path in PAGES + GUIDES
            for line, words in commands(path, wanted)]


def help_of(*command):
    """Return what a program prints when asked for help."""
    done = subprocess.run([*command], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, timeout=20)
    return done.stdout + done.stderr


# ----------------------------------------------------------------------- make

def make_arguments(words):
    """Return (targets, {variable: value}) of a command line of make."""
    variables = dict(re.findall(r"^(\w+)=(.*)$", word)[0]
                     for word in words[1:] if re.match(r"\w+=", word))
    targets = [word for word in words[1:]
               if not re.match(r"\w+=|-", word)]
    return targets, variables


@pytest.mark.parametrize("words", everywhere(lambda word: word == "make"))
def test_make_target_exists(words):
    """`make -n` knows what to do; NN stands for a server's number."""
    targets, variables = make_arguments(words)
    targets = [target.replace("NN", "06").replace("MM", "07")
               for target in targets]
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(
        ["make", "-n", *targets, *(f"{k}={v}" for k, v in variables.items())],
        cwd=TOP, env=environment, capture_output=True, text=True, check=False,
        timeout=60)
    assert done.returncode == 0, done.stderr
    makefile = (TOP / "Makefile").read_text()
    known = {name for name, _, _ in settings.OPTIONS} | READ_BY_SCRIPTS
    for name in variables:
        assert name in known or re.search(
            rf"^{name}\s+=|\$\({name}\)", makefile, re.MULTILINE), name
    if targets == ["compare"]:
        settings.parse([], variables)       # exits or raises if it is wrong


# ------------------------------------------------------------------------ own

def own_program(word):
    """Return whether a word names something in this repository to be run."""
    path = word.removeprefix("./")
    return path in SERVERS or bool(re.match(
        r"(docs|scripts|tests|bench|build)/[\w/,.-]*[^/]$", path)) and (
            path.startswith("build/") or os.access(TOP / path, os.X_OK)
            and (TOP / path).is_file())


@pytest.mark.parametrize("words", everywhere(own_program))
def test_own_program_has_these_options(words):
    """Executables and scripts."""
    path = words[0].removeprefix("./")
    if path.startswith("build/"):           # another flavour of a server
        path = path.rpartition("/")[2]
        assert path in SERVERS or (TOP / words[0]).is_dir() or \
            "/" not in words[0].rstrip("/"), words[0]
        if path not in SERVERS:
            return
    # What follows "$program" is for that program.
    own = list(itertools.takewhile(lambda word: word != "$program", words[1:]))
    options = [word.partition("=")[0] for word in own if word.startswith("--")]
    if options:
        text = help_of(TOP / path, "--help")
        for option in options:
            assert re.search(rf"{option}\b", text), f"{path} has no {option}"


def test_option_that_is_named_alone_exists():
    """`--workers` in a sentence: some program of ours has it."""
    known = "".join(help_of(TOP / name, "--help") for name in SERVERS) \
        + help_of("/usr/bin/python3", "-m", "labs.grade", "--help")
    wrong = [f"{name_of(path)}:{line}: {option}"
             for path in PAGES + GUIDES for line, text in code_of(path)
             for option in re.findall(r"^--[a-z][\w-]*", text)
             if not re.search(rf"{option}\b", known)]
    assert not wrong, "\n".join(wrong)


# --------------------------------------------------------------------- others

@pytest.mark.parametrize("words", everywhere(REQUIRED.__contains__))
def test_required_program_is_there(words):
    """What scripts/deps.sh installs, with the long options that are named."""
    assert shutil.which(words[0]), f"{words[0]} is not installed"
    check_long_options(words)


@pytest.mark.parametrize("words", everywhere(OTHERS.__contains__))
def test_other_program_has_these_options(words):
    """Checked where it is installed; a shell's own words are."""
    if words[0] in ("ulimit", "printf") or not shutil.which(words[0]):
        return
    check_long_options(words)


def check_long_options(words):
    """Fail where the help or the manual of a program lacks an option."""
    # What follows the path of a program, or the name of our image, is for that
    # program. Docker may lack its plugin for compose.
    own = itertools.takewhile(lambda word: "/" not in word and word != "zerohttpd",
                              words[1:])
    if words[:2] == ["docker", "compose"]:
        return
    options = [word.partition("=")[0] for word in own
               if re.match(r"--[a-z]", word)]
    if not options:
        return
    # What `python3 -m MODULE` takes, the module says, and each command of docker
    # what it takes.
    program = words[:3] if words[1] == "-m" else \
        words[:2] if words[0] in ("docker", "podman") else words[:1]
    text = "".join(help_of(*program, *ask) for ask in
                   (["--help"], ["-h"], ["--help", "all"]))
    for option in options:
        assert option.lstrip("-") in text, f"{words[0]} has no {option}"


def test_every_command_is_looked_at():
    """What looks like a command of two words or more is one of the above."""
    seen = set()
    for path in PAGES + GUIDES:
        for line, text in code_of(path):
            words = words_of(text)
            if len(words) > 1 and re.fullmatch(r"[a-z][\w-]*", words[0]) \
                    and shutil.which(words[0]) and not (
                        words[0] == "make" or own_program(words[0])
                        or words[0] in REQUIRED | OTHERS):
                seen.add(f"{name_of(path)}:{line}: {' '.join(words)}")
    assert not seen, "\n".join(sorted(seen))
