"""Every command that a document quotes exists, and so do its options. Every link leads to a file
that exists, and every #anchor to a heading."""

import functools
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from urllib.parse import unquote

from tests.docs.conftest import ENVIRONMENT, GUIDES, PAGES, READ, TOP, name_of, tokens
from tools.bench import config as settings
from tools.kit.servers import ARCHITECTURES
from tools.observe import what_if as model_command

SERVERS = {one.name for one in ARCHITECTURES}

# Programs of others that must be there: they come with the groups of scripts/deps.sh. Those
# that documents name apart from these are checked where they are installed.
REQUIRED = {"ab", "wrk", "httperf", "redis-cli", "strace", "nm", "git",
            "objdump"}

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
    """Return [(where it stands first, words)] of the commands in all documents whose
    first word `wanted` accepts."""
    found = {}
    for path in PAGES + GUIDES:
        for line, text in code_of(path):
            words = words_of(text)
            if words and wanted(words[0]):
                found.setdefault(tuple(words), f"{name_of(path)}:{line}")
    return [(where, list(words)) for words, where in found.items()]


@functools.cache
def help_of(*command):
    """Return what a program prints when asked for help."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=TOP,
                          check=False, stdin=subprocess.DEVNULL, timeout=240)
    return done.stdout + done.stderr


def long_options(words):
    """Return the long options among the words of a command line."""
    return [word.partition("=")[0] for word in words if re.match("--[a-z]", word)]


def dry_run(targets, variables):
    """Return what `make -n` says is wrong with these targets; "" when it knows what to do."""
    done = subprocess.run(["make", "-n", *targets, *(f"{k}={v}" for k, v in variables.items())],
                          cwd=TOP, env=ENVIRONMENT, capture_output=True, text=True, check=False,
                          timeout=240)
    return done.stderr if done.returncode else ""


def test_make_targets_and_variables_exist():
    """NN stands for a server's number. Without variables, one make is asked for all targets; with
    the same variables, once for the same targets."""
    makefile = (TOP / "Makefile").read_text()
    known = {name for name, _, _ in settings.OPTIONS} | READ_BY_SCRIPTS
    alone, others, wrong = set(), {}, []
    for where, words in everywhere("make".__eq__):
        variables = dict(word.split("=", 1) for word in words[1:] if re.match(r"\w+=", word))
        targets = [word.replace("NN", "06").replace("MM", "07")
                   for word in words[1:] if not re.match(r"\w+=|-", word)]
        if variables:
            others[*targets, *variables] = where, targets, variables
        else:
            alone.update(targets)
        wrong += [(where, name) for name in variables if name not in known and not re.search(
            rf"^{name}\s+=|\$\({name}\)", makefile, re.MULTILINE)]
        if targets == ["compare"]:
            settings.parse([], variables)       # exits or raises if it is wrong
    wrong += [(where, error) for where, targets, variables in others.values()
              if (error := dry_run(targets, variables))]
    assert len(alone) > 50 and not wrong and not dry_run(sorted(alone), {})


def own_program(word):
    """Return the path of the program of this repository that a word names, a
    server of any flavour or a script; None if it names none."""
    server = re.fullmatch(r"(?:\./|build/[\w,]+/bin/)?(\w+)", word)
    if server and server[1] in SERVERS:
        return TOP / server[1]
    path = TOP / word
    return path if re.match("(docs|scripts|tests|bench)/", word) \
        and path.is_file() and os.access(path, os.X_OK) else None


def test_own_programs_have_these_options():
    """What follows "$program" is for that program."""
    wrong = [(where, option) for where, words in everywhere(own_program)
             for option in long_options(itertools.takewhile("$program".__ne__, words[1:]))
             if not re.search(rf"{option}\b", help_of(own_program(words[0]), "--help"))]
    assert not wrong


def test_option_that_is_named_alone_exists():
    """`--workers` in a sentence: some program of ours has it."""
    known = "".join(help_of(TOP / name, "--help") for name in SERVERS) \
        + help_of(sys.executable, "-m", "labs.grade", "--help")
    wrong = [f"{name_of(path)}:{line}: {option}"
             for path in PAGES + GUIDES for line, text in code_of(path)
             for option in long_options(text.split(" ")[:1])
             if not re.search(rf"{option}\b", known)]
    assert not wrong, "\n".join(wrong)


def has_option(words, option):
    """Return whether the program of another project that a command line starts has an option.

    What `python3 -m MODULE` takes, the module says; docker and cargo say it of each command.
    """
    program = [sys.executable, *words[1:3]] if words[:2] == ["python3", "-m"] else \
        words[:2] if words[0] in ("cargo", "docker", "podman") else words[:1]
    return any(option.lstrip("-") in help_of(*program, *ask) for ask in
               (["--help"], ["-h"], ["--help", "all"]))


def of_others(word):
    """Return whether a word names a program of another project that has to be here, or is."""
    return word in REQUIRED or bool(
        re.fullmatch(r"[a-z][\w-]*", word) and word != "make" and not own_program(word)
        and shutil.which(word))


def test_other_programs_have_these_options():
    """Their help names the long options. What follows the path of a program, or the name of our
    image, is for that program; `docker compose` is a plugin, which may be missing."""
    wrong = []
    for where, words in everywhere(of_others):
        if not shutil.which(words[0]):
            wrong += [(where, "is not installed")] if words[0] in REQUIRED else []
        elif words[:2] != ["docker", "compose"]:
            wrong += [(where, option) for option in long_options(itertools.takewhile(
                lambda word: "/" not in word and word != "zerohttpd", words[1:]))
                if not has_option(words, option)]
    assert not wrong


# ---------------------------------------------------------------------- links

def broken(path):
    """Yield (target, why) of the links in a document that lead nowhere."""
    for _, token in tokens(path):
        target = unquote(str(token.attrs.get("href") or token.attrs.get("src", "")))
        if not target or re.match(r"https?://|mailto:", target):
            continue
        where, _, anchor = target.partition("#")
        there = (path.parent / where).resolve() if where else path
        if not there.exists():
            yield target, "there is no such file"
        elif TOP not in [there, *there.parents]:
            yield target, "leads out of the repository"
        elif anchor and anchor not in {one.attrs.get("id")
                                       for _, one in tokens(there)}:
            yield target, "there is no such heading"


def test_links_lead_somewhere():
    """Files, folders, pictures, headings."""
    wrong = [f"{name_of(path)}: {target}: {why}" for path in PAGES + GUIDES + READ
             for target, why in broken(path)]
    assert not wrong, "\n".join(wrong)
