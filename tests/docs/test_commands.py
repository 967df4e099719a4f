"""Every command that a document quotes exists, and so do its options."""

import functools
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from tests.docs.conftest import ENVIRONMENT, GUIDES, PAGES, TOP, name_of, tokens
from tools.bench import config as settings
from tools.kit.servers import ARCHITECTURES
from tools.observe import what_if as model_command

SERVERS = {one.name for one in ARCHITECTURES}

# Programs of others that documents name. Those that come with the groups of
# scripts/deps.sh must be there; the rest is checked where it is installed.
REQUIRED = {"ab", "wrk", "httperf", "redis-cli", "strace", "nm", "git",
            "objdump"}
OTHERS = {"perf", "nstat", "ss", "curl", "head", "vmstat", "ulimit", "printf",
          "ps", "cc", "cp", "cat", "kill", "pkill", "xzcat", "pgrep", "prlimit", "truncate",
          "ls", "timeout", "apt-get", "echo", "gdb", "patch", "grep", "sysctl", "man",
          "seq", "yes", "tar", "mkdir", "redis-server", "python3", "docker", "podman", "ssh"}

# Names of make's variables that our Makefile leaves to others to read.
READ_BY_SCRIPTS = {"FROM", "SERVERS", "ARGS", "NO_INSTALL", "DESTDIR", "ONLY",
                   *(name for name, *_ in model_command.SETTINGS)}


def code_of(path):
    """Return what stands in a document as code: [(line, text)], from code
    spans and from blocks that are indented or fenced as sh."""
    found = []
    for line, token in tokens(path):
        if token.type == "code_inline":
            found.append((line, token.content))
        elif token.type == "code_block" or token.info in ("sh", "bash"):
            found += enumerate(map(str.strip, token.content.splitlines()), line)
    return found


def words_of(text):
    """Return the words of the first command in a line of code, without what
    follows a pipe, a semicolon, a comment; [] where it is no shell."""
    text = re.split(r"\s+#|\s+\||\s+&&|;|\s+>|\s+…", text)[0]
    try:
        return shlex.split(text.removeprefix("sudo "))
    except ValueError:
        return []


def everywhere(wanted):
    """Return pytest parameters: the commands in all documents whose first word
    `wanted` accepts, each where it stands first."""
    found = {}
    for path in PAGES + GUIDES:
        for line, text in code_of(path):
            words = words_of(text)
            if words and wanted(words[0]):
                found.setdefault(tuple(words), f"{name_of(path)}:{line}")
    return [pytest.param(list(words), id=where) for words, where in found.items()]


@functools.cache
def help_of(*command):
    """Return what a program prints when asked for help."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=TOP,
                          check=False, stdin=subprocess.DEVNULL, timeout=240)
    return done.stdout + done.stderr


def long_options(words):
    """Return the long options among the words of a command line."""
    return [word.partition("=")[0] for word in words if re.match("--[a-z]", word)]


@pytest.mark.parametrize("words", everywhere(lambda word: word == "make"))
def test_make_target_exists(words):
    """`make -n` knows what to do; NN stands for a server's number."""
    variables = dict(word.split("=", 1) for word in words[1:]
                     if re.match(r"\w+=", word))
    targets = [word.replace("NN", "06").replace("MM", "07")
               for word in words[1:] if not re.match(r"\w+=|-", word)]
    done = subprocess.run(
        ["make", "-n", *targets, *(f"{k}={v}" for k, v in variables.items())],
        cwd=TOP, env=ENVIRONMENT, capture_output=True, text=True, check=False,
        timeout=60)
    assert done.returncode == 0, done.stderr
    makefile = (TOP / "Makefile").read_text()
    known = {name for name, _, _ in settings.OPTIONS} | READ_BY_SCRIPTS
    for name in variables:
        assert name in known or re.search(
            rf"^{name}\s+=|\$\({name}\)", makefile, re.MULTILINE), name
    if targets == ["compare"]:
        settings.parse([], variables)       # exits or raises if it is wrong


def own_program(word):
    """Return the path of the program of this repository that a word names, a
    server of any flavour or a script; None if it names none."""
    server = re.fullmatch(r"(?:\./|build/[\w,]+/bin/)?(\w+)", word)
    if server and server[1] in SERVERS:
        return TOP / server[1]
    path = TOP / word
    return path if re.match("(docs|scripts|tests|bench)/", word) \
        and path.is_file() and os.access(path, os.X_OK) else None


@pytest.mark.parametrize("words", everywhere(own_program))
def test_own_program_has_these_options(words):
    """What follows "$program" is for that program."""
    for option in long_options(itertools.takewhile("$program".__ne__, words[1:])):
        assert re.search(rf"{option}\b",
                         help_of(own_program(words[0]), "--help")), option


def test_option_that_is_named_alone_exists():
    """`--workers` in a sentence: some program of ours has it."""
    known = "".join(help_of(TOP / name, "--help") for name in SERVERS) \
        + help_of(sys.executable, "-m", "labs.grade", "--help")
    wrong = [f"{name_of(path)}:{line}: {option}"
             for path in PAGES + GUIDES for line, text in code_of(path)
             for option in long_options(text.split(" ")[:1])
             if not re.search(rf"{option}\b", known)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("words", everywhere((REQUIRED | OTHERS).__contains__))
def test_other_program_has_these_options(words):
    """Its help names the long options."""
    if not shutil.which(words[0]):
        assert words[0] not in REQUIRED, f"{words[0]} is not installed"
        return
    if words[:2] == ["docker", "compose"]:      # a plugin, which may be missing
        return
    # What follows the path of a program, or the name of our image, is for that
    # program. What `python3 -m MODULE` takes, the module says, and each command
    # of docker what it takes.
    own = itertools.takewhile(lambda word: "/" not in word and word != "zerohttpd",
                              words[1:])
    program = [sys.executable, *words[1:3]] if words[:2] == ["python3", "-m"] else \
        words[:2] if words[0] in ("docker", "podman") else words[:1]
    for option in long_options(own):
        assert any(option.lstrip("-") in help_of(*program, *ask) for ask in
                   (["--help"], ["-h"], ["--help", "all"])), option


def test_every_command_is_looked_at():
    """What looks like a command of two words or more is one of the above."""
    unknown = everywhere(lambda word: re.fullmatch(r"[a-z][\w-]*", word)
                         and word not in REQUIRED | OTHERS | {"make"}
                         and not own_program(word) and shutil.which(word))
    assert not [one for one in unknown if len(one.values[0]) > 1]
