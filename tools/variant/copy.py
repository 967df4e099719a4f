"""A patched copy of the sources: made, built, and written as a patch again."""

import os
import re
import shutil
import subprocess

from tools.variant.what import VariantError

# What a copy needs to build.
FILES = ("Makefile", "scripts/deps.sh", "scripts/packages.txt",
         "scripts/minimum.txt", "scripts/unpack.sh", "scripts/install.sh")


def sources(variant, top):
    """Return the paths below `top` of the sources that it is built from."""
    found = [top / name for name in FILES]
    for folder in ("common", "common/pages", *variant.folders):
        found += sorted((top / folder).glob("*.[ch]"))
    return [path.relative_to(top) for path in found]


def apply(variant, *options):
    """Copy the sources to a fresh folder and patch them; `options` are further ones for patch(1).
    Raises VariantError with the file and the hunk that no longer fit."""
    shutil.rmtree(variant.copy, ignore_errors=True)
    for path in sources(variant, variant.top):
        (variant.copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(variant.top / path, variant.copy / path)
    if not variant.patch.exists() or not variant.patch.read_text().strip():
        return                              # a new one: nothing is changed yet
    # No fuzz: git apply has none either, and a hunk that only nearly fits may go to a wrong place.
    done = subprocess.run(
        ["patch", "-p1", "--batch", "--forward", "--no-backup-if-mismatch",
         *(options or ["--fuzz=0"]), "-i", variant.patch],
        cwd=variant.copy, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise VariantError(f"{variant.patch.relative_to(variant.top)} does not apply:\n"
                           + rejected(done.stdout))


def rejected(said):
    """Return the lines of what patch(1) said that name files and hunks that it could not patch."""
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
    """Apply and build a variant; return the paths of its executables. What the patch does not touch
    is not compiled again: the plain objects come along with their times. `words` are for make;
    `strict` makes warnings errors. Raises VariantError."""
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
        (variant.copy / "build").mkdir(exist_ok=True)
        (variant.copy / "build" / "deps").symlink_to(variant.top / "build" / "deps")
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
    for path in sorted({*sources(variant, variant.top), *sources(variant, variant.copy)}):
        done = subprocess.run(
            ["diff", "-u", "-p", "-N", "--label", f"a/{path}", "--label",
             f"b/{path}", variant.top / path, variant.copy / path],
            text=True, check=False, stdout=subprocess.PIPE)
        old = f"a/{path}" if (variant.top / path).exists() else "/dev/null"
        changes.append(done.stdout.replace(f"--- a/{path}", f"--- {old}", 1))
    variant.patch.write_text("".join(changes))


def port(variant):
    """Fit a patch to sources that have changed, as far as patch(1) can; write it again. Raises
    VariantError when there are conflicts: they are marked in the copy, as git marks them."""
    try:
        apply(variant, "--merge")
    except VariantError as error:
        raise VariantError(
            f"{error}\nEdit what is marked with <<<<<<< in {variant.copy}, then "
            f"run: python3 -m tools.variant diff {variant.name}") from None
    write_patch(variant)
