"""Variants: each is a patch that adds one improvement to a plain server.

    python3 -m tools.variant                   checks all: applies, builds, starts them
    python3 -m tools.variant check NAME...     checks these
    python3 -m tools.variant build NAME        builds it in build/variants/NAME/
    python3 -m tools.variant diff NAME         writes the patch from that folder again
    python3 -m tools.variant port NAME         fits a patch that no longer applies
    python3 -m tools.variant pages             fills line counts and the index
    python3 -m tools.variant measure NAME      compares its CPU time, fills its page

variants/NAME.patch is the patch, variants/NAME.md its page. variants/NAME.py has a
function check(server) that tests what is special about it, and perhaps
effect(server), which returns milliseconds that the variant improves. The head of
the page says what the patch is for:

    # NAME: what it does in one line

    - Server: 05_prethreaded             one or more, divided by blanks
    - Options: --workers 2               (optional) how to start it
    - Load: one-shot-100                 (optional) what is measured: a key of LOADS

Words such as CC=clang are passed to make. `check` closes with the line
`N passed, N failed`.
"""

import argparse
import concurrent.futures
import dataclasses
import importlib.util
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import traceback
from pathlib import Path

from tools.kit import TOP
from tools.results import rundir
from tools.stats import stats

# What a copy needs to build.
FILES = ("Makefile", "scripts/deps.sh", "scripts/packages.txt",
         "scripts/minimum.txt")


class VariantError(Exception):
    """A variant is not complete, does not apply or does not build."""


# ------------------------------------------------------------- what there is

@dataclasses.dataclass(frozen=True)
class Variant:
    """One variant: what the head of its page says."""

    name: str
    about: str
    folders: tuple          # ("05_prethreaded",)
    options: tuple
    load: str
    top: Path = TOP

    @property
    def patch(self):
        return self.top / "variants" / f"{self.name}.patch"

    @property
    def page(self):
        return self.top / "variants" / f"{self.name}.md"

    @property
    def copy(self):
        """The folder that the patched sources are in."""
        return self.top / "build" / "variants" / self.name

    @property
    def servers(self):
        """The names of its executables."""
        return [folder.split("_")[1] for folder in self.folders]


def read(name, top=TOP):
    """Return the Variant called `name`. Raises VariantError."""
    page = top / "variants" / f"{name}.md"
    if not page.exists():
        raise VariantError(f"there is no variants/{name}.md; there are: "
                           + " ".join(names(top)))
    text = page.read_text()
    title = re.match(rf"# {re.escape(name)}: (.+)\n", text)
    told = dict(re.findall(r"^- (Server|Options|Load): `?(.+?)`?$", text,
                           re.MULTILINE))
    folders = tuple(told.get("Server", "").split())
    if not title or not folders:
        raise VariantError(f"variants/{name}.md must begin with "
                           f"`# {name}: ...` and `- Server: ...`")
    load = told.get("Load", "one-shot-100")
    if load not in LOADS:
        raise VariantError(f"variants/{name}.md: there is no load {load!r}; "
                           "there are " + ", ".join(LOADS))
    return Variant(name, title[1], folders,
                   tuple(shlex.split(told.get("Options", ""))), load, top)


def names(top=TOP):
    """Return the names of all variants."""
    return sorted(page.stem for page in (top / "variants").glob("*.md")
                  if page.stem != "README")


# ------------------------------------------------------------------- building

def sources(variant, top):
    """Return the paths below `top` of the sources that it is built from."""
    found = [top / name for name in FILES]
    for folder in ("common", "common/pages", *variant.folders):
        found += sorted((top / folder).glob("*.[ch]"))
    return [path.relative_to(top) for path in found]


def apply(variant, *options):
    """Copy the sources to a fresh folder and patch them; `options` are further
    ones for patch(1). Raises VariantError with the file and the hunk that no
    longer fit."""
    shutil.rmtree(variant.copy, ignore_errors=True)
    for path in sources(variant, variant.top):
        (variant.copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(variant.top / path, variant.copy / path)
    if not variant.patch.exists() or not variant.patch.read_text().strip():
        return                              # a new one: nothing is changed yet
    # No fuzz: git apply has none either, and a hunk that only nearly fits may
    # go to a wrong place.
    done = subprocess.run(
        ["patch", "-p1", "--batch", "--forward", "--no-backup-if-mismatch",
         *(options or ["--fuzz=0"]), "-i", variant.patch],
        cwd=variant.copy, text=True, check=False, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise VariantError(f"{variant.patch.relative_to(variant.top)} does not "
                           "apply:\n"
                           + rejected(done.stdout))


def rejected(said):
    """Return the lines of what patch(1) said that name files and hunks that it
    could not patch."""
    lines, file = [], ""
    said = re.sub(r"can't find file.*?\n\|\+\+\+ b/(\S+).*?(?=\n[^|])",
                  r"there is no file \1", said, flags=re.DOTALL)
    for line in said.splitlines():
        if line.startswith(("patching file", "checking file")):
            file = line.split(" ", 2)[2]
        elif re.match(r"Hunk #\d+ .*(FAILED|ignored|NOT MERGED)", line):
            lines.append(f"  {file}: {line}")
        elif "there is no file" in line or "malformed" in line:
            lines.append(f"  {line}")
    return "\n".join(lines or [said.strip()])


def build(variant, words=(), flavour="default", strict=False):
    """Apply and build a variant; return the paths of its executables.

    What the patch does not touch is not compiled again: the plain objects come
    along with their times. `words` are for make; `strict` makes warnings errors.
    Raises VariantError.
    """
    apply(variant)
    plain, ours = (top / "build" / flavour for top in (variant.top, variant.copy))
    command = ["make", *words, f"FLAVOUR={flavour}"]
    for folder in ("common", "common/pages", *variant.folders):
        for path in sorted((plain / folder).glob("*.[od]")):
            (ours / folder).mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, ours / folder)
    if (plain / "flags").exists() and ours.exists():
        shutil.copy2(plain / "flags", ours)
        if strict:      # -o: other flags than those of the plain objects are fine
            command += ["-o", f"build/{flavour}/flags", "WERROR=1"]
    if (variant.top / "build" / "deps").exists():
        shutil.copytree(variant.top / "build" / "deps",
                        variant.copy / "build" / "deps")
    folder = "." if flavour == "default" else f"build/{flavour}/bin"
    targets = [f"{folder}/{name}" for name in variant.servers]
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run([*command, *targets], cwd=variant.copy, text=True,
                          check=False, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise VariantError(f"{variant.name} does not build:\n{done.stdout}")
    return [(variant.copy / target).resolve() for target in targets]


def write_patch(variant):
    """Write the patch that leads from the plain sources to those of the copy."""
    changes = []
    for path in sorted({*sources(variant, variant.top),
                        *sources(variant, variant.copy)}):
        done = subprocess.run(
            ["diff", "-u", "-p", "-N", "--label", f"a/{path}", "--label",
             f"b/{path}", variant.top / path, variant.copy / path],
            text=True, check=False, stdout=subprocess.PIPE)
        old = f"a/{path}" if (variant.top / path).exists() else "/dev/null"
        changes.append(done.stdout.replace(f"--- a/{path}", f"--- {old}", 1))
    variant.patch.write_text("".join(changes))


def port(variant):
    """Fit a patch to sources that have changed, as far as patch(1) can; write
    it again. Raises VariantError when there are conflicts: they are marked in
    the copy, as git marks them."""
    try:
        apply(variant, "--merge")
    except VariantError as error:
        raise VariantError(
            f"{error}\nEdit what is marked with <<<<<<< in {variant.copy}, then "
            f"run: python3 -m tools.variant diff {variant.name}") from None
    write_patch(variant)


# ---------------------------------------------------------------------- pages

def block(kind, text, lines):
    """Return `text` with what stands between the markers of `kind` replaced.
    Raises VariantError when there are none."""
    new, count = re.subn(
        rf"(<!-- {kind} -->\n).*?(<!-- /{kind} -->)",
        lambda found: found[1] + "\n".join(lines) + "\n" + found[2], text,
        flags=re.DOTALL)
    if count != 1:
        raise VariantError(f"there must be one block <!-- {kind} --> ... "
                           f"<!-- /{kind} -->")
    return new


def lines_changed(patch):
    """Return {file: (lines added, lines removed)} of a patch."""
    found, file = {}, None
    for line in patch.splitlines():
        if line.startswith("+++ "):
            file = re.sub(r"^b/", "", line[4:].split("\t")[0])
            found[file] = (0, 0)
        elif line[:1] in ("+", "-") and not line.startswith("--- "):
            added, removed = found[file]
            found[file] = (added + (line[0] == "+"), removed + (line[0] == "-"))
    return found


def cost(variant):
    """Return (files, lines added, lines removed) of a variant's patch. Raises
    VariantError when there is none."""
    changed = lines_changed(variant.patch.read_text()) \
        if variant.patch.exists() else {}
    if not changed:
        raise VariantError(f"there is no variants/{variant.name}.patch, or it "
                           "changes nothing")
    return changed, *map(sum, zip(*changed.values()))


def cost_in_words(variant):
    """Return a sentence: what one has to read."""
    changed, added, removed = cost(variant)
    return (f"The patch adds {added} and removes {removed} "
            f"line{'s' if removed != 1 else ''}, in "
            + ", ".join(f"`{file}`" for file in changed) + ".")


def filled(variant):
    """Return the page of a variant with its figures as they are now."""
    return block("lines", variant.page.read_text(), [cost_in_words(variant)])


def filled_index(top=TOP):
    """Return variants/README.md with the index as it is now."""
    rows = ["", "| variant | of | lines | what it adds |", "|---|---|---:|---|"]
    for name in names(top):
        one = read(name, top)
        _, added, removed = cost(one)
        numbers = ", ".join(folder[:2] for folder in one.folders)
        rows.append(f"| [{name}]({name}.md) | {numbers} | +{added} −{removed} | "
                    f"{one.about} |")
    return block("index", (top / "variants" / "README.md").read_text(),
                 [*rows, ""])


def fill_pages(top=TOP):
    """Bring the line counts and the index up to date."""
    for name in names(top):
        variant = read(name, top)
        variant.page.write_text(filled(variant))
    (top / "variants" / "README.md").write_text(filled_index(top))


# ------------------------------------------------------------------- checking

def start(variant, executable, redis):
    """Start an executable as the variant is to be started; return the Server."""
    from tests.support.servers import SMALL_POOL, Server
    return Server(executable, "--port", 0, "--root", variant.top,
                  *SMALL_POOL.get(executable.name, []), *variant.options,
                  "--redis", redis)


def smoke(variant, executable, redis):
    """Start an executable, use it, stop it. AssertionError or ServerFault when
    something is wrong."""
    server = start(variant, executable, redis)
    try:
        for _ in range(20):
            assert server.request("/hello").status == 200
        expected = 503 if redis == "none" else 200
        assert server.request("/guestbook").status == expected
        if redis != "none":
            own(variant, "check")(server)
    except BaseException:
        server.end()
        raise
    server.stop()                       # SIGTERM; it must end with 0


def own(variant, function):
    """Return a function of variants/NAME.py; one that does nothing if there is
    none of that name."""
    path = variant.page.with_suffix(".py")
    if not path.exists():
        return lambda server: None
    spec = importlib.util.spec_from_file_location("own", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function, lambda server: None)


def steps(variant, redis):
    """Yield (what is checked, a function that does it) in order. Each raises
    an exception when it fails; then the rest need not be tried."""
    yield "the page is filled", lambda: up_to_date(
        variant.page, filled(variant))
    built = []
    yield "applies and builds", lambda: built.extend(build(variant, strict=True))
    for executable in built:
        yield f"{executable.name} serves", lambda: smoke(
            variant, executable, redis)
        yield f"{executable.name} serves without Redis", lambda: smoke(
            variant, executable, "none")


def up_to_date(path, text):
    """Raise VariantError unless the file holds `text`."""
    if path.read_text() != text:
        raise VariantError(f"{path.name} is not up to date: run "
                           "python3 -m tools.variant pages")


def check_one(name, redis, top=TOP):
    """Check a variant; return (number passed, what failed or "")."""
    passed = 0
    what = "has a page"
    try:
        for what, step in steps(read(name, top), redis):
            step()
            passed += 1
    except VariantError as error:
        return passed, f"{what}: {error}"
    except Exception:                   # a test failed: show where
        return passed, f"{what}:\n{traceback.format_exc()}"
    return passed, ""


def check(wanted, top=TOP):
    """Check variants, as many at a time as there are cores; print a line for
    each and the sum. Return the exit status."""
    sys.path.insert(0, str(TOP))
    from tests.support.private_redis import PrivateRedis
    redis = PrivateRedis()
    passed = failed = 0
    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = pool.map(lambda name: check_one(name, redis.unix, top),
                               wanted)
            for name, (good, why) in zip(wanted, results):
                passed += good
                failed += why != ""
                print(f"{'FAILED' if why else 'ok':8}{name}"
                      + (f": {why}" if why else ""), flush=True)
    finally:
        redis.close()
    try:
        up_to_date(top / "variants" / "README.md", filled_index(top))
        passed += 1
    except (VariantError, OSError) as error:
        failed += 1
        print(f"FAILED  {error}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


# ------------------------------------------------------------------- measuring

# What clients do, as the TOML file of a study says it, and in words.
LOADS = {
    "one-shot-100": ("keep_alive = false",
                     "`/answer`, each on a new connection"),
    "file-10k": ('path = "/10k"', "`/10k`, on kept connections"),
    "guestbook": ('path = "/guestbook"\nkeep_alive = false',
                  "`/guestbook`, each on a new connection"),
}
STUDY = """title = "{variant}"
question = "What does {variant} cost, compared with the plain server?"

[ways]
plain = ""
{variant} = "{folder}/"

[[load]]
name = "{load}"
servers = {servers}
options = "{options}"
floor = {floor}
{keys}
"""


def measure(variant, words, rounds, seconds):
    """Measure a variant and write the table into its page."""
    # The page has to be fit for it before the minutes are spent.
    block("measured", variant.page.read_text(), [])
    subprocess.run(["make", *words, "all"], cwd=TOP, check=True)
    executables = build(variant, words)
    sys.path.append(str(TOP))
    lines = effects(variant, executables)
    lines = costs(variant, rounds, seconds) + lines
    variant.page.write_text(block("measured", variant.page.read_text(),
                                  ["", *lines, ""]))


def study(variant):
    """Write the study that compares a variant with the plain server, and both
    with their floor, where it does the same; return its path."""
    path = variant.copy / f"{variant.name}.toml"
    path.write_text(STUDY.format(
        variant=variant.name, folder=variant.copy.relative_to(variant.top),
        load=variant.load, servers=json.dumps(variant.servers),
        options=shlex.join(variant.options), keys=LOADS[variant.load][0],
        floor="true" if variant.load == "one-shot-100" else "false"))
    return path


def costs(variant, rounds, seconds):
    """Measure a variant that is built; return the lines of its page that tell
    the CPU time of a request."""
    out = variant.copy / "results"
    done = subprocess.run(
        [sys.executable, "-m", "tools.bench", "study", study(variant), "--repeat",
         str(rounds), "--seconds", f"{seconds:g}", "--out", out], cwd=TOP,
        env={**os.environ, "SERVERS": ""}, check=False)
    if done.returncode != 0:
        raise VariantError(f"{variant.name} was not measured")
    rows = rundir.read_rows(out / "latest" / "samples.csv")
    env = json.loads((out / "latest" / "env.json").read_text())
    return [*cost_table(variant, rows), "", (
        f"CPU time for a request to {LOADS[variant.load][1]}, 100 clients; "
        f"medians of {rounds} rounds of {seconds:g} s, in parentheses the 95 % "
        f"interval of the median. {env['machine']['cpu']}, Linux "
        f"{env['machine']['kernel']}, {env['started'][:10]}.")]


def cost_table(variant, rows):
    """Return the lines of a table, made of the rows of samples.csv."""
    lines = ["| server | plain µs | variant µs | floor µs | variant / plain "
             "| plain / floor | variant / floor |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    for server in variant.servers:
        plain, mine, floor = us = [
            {row["repeat"]: row["cpu_us"] for row in rows
             if row["server"] == name and row.get("cpu_us")}
            for name in (f"{server}, plain", f"{server}, {variant.name}",
                         f"floor-{server}")]
        cells = [f"{statistics.median(one.values()):.1f}" if one else "–"
                 for one in us]
        for above, below in ((mine, plain), (plain, floor), (mine, floor)):
            found = stats.compare(above, below, adaptive=False)
            cells.append("–" if found is None else f"{found['ratio']:.2f}" + (
                f" ({found['low']:.2f} to {found['high']:.2f})"
                if found["low"] else ""))
        lines.append(" | ".join((f"| {server}", *cells)) + " |")
    return lines


def effects(variant, executables):
    """Return the lines of a list: what effect(server) says of the plain server
    and of the variant, the median of three."""
    effect, lines = own(variant, "effect"), []
    for name, executable in zip(variant.servers, executables):
        told = []
        for path in (TOP / name, executable):
            values = []
            for _ in range(3):
                server = start(variant, path, "none")
                try:
                    values.append(effect(server))
                finally:
                    server.end()
            told.append(sorted(values, key=lambda value: value or 0)[1])
        if None not in told:
            lines.append(f"- {name}: {effect.__doc__}: {told[0]:,.0f} ms with the "
                         f"plain server, {told[1]:,.0f} ms with the variant.")
    return ["", *lines] if lines else []


# ------------------------------------------------------------ the command line

def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", nargs="?", default="check", choices=(
        "check", "build", "diff", "port", "pages", "measure"))
    parser.add_argument("words", nargs="*", metavar="NAME|VARIABLE=VALUE")
    parser.add_argument("--rounds", type=int,
                        default=os.environ.get("ROUNDS") or 6)
    parser.add_argument("--seconds", type=float,
                        default=os.environ.get("SECONDS") or 2)
    options = parser.parse_args()
    words = [word for word in options.words if "=" in word]
    wanted = [word for word in options.words if "=" not in word]
    if options.command == "check":
        return check(wanted or names())
    if options.command == "pages":
        return fill_pages()
    if not wanted:
        raise VariantError(f"{options.command} needs a name: {' '.join(names())}")
    for variant in map(read, wanted):
        if options.command == "build":
            flavour = dict(word.split("=", 1) for word in words).get(
                "SANITIZE", "default")
            for path in build(variant, words, flavour):
                print(path.relative_to(TOP))
        elif options.command in ("diff", "port"):
            (write_patch if options.command == "diff" else port)(variant)
            print(cost_in_words(variant))
        else:
            measure(variant, words, options.rounds, options.seconds)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VariantError as error:
        sys.exit(f"variant.py: {error}")
