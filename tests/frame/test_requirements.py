"""Python packages: pinned, with the hashes of their files, and refused without."""

import hashlib
import re
import subprocess
import sys
import zipfile

import pytest

from tools.kit import TOP, venv

FILES = subprocess.run(["git", "-C", TOP, "ls-files", "*requirements.in"], check=True,
                       capture_output=True, text=True).stdout.split()
PINNED = re.compile(r"^([\w.-]+)==(\S+) \\\n(?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", re.M)
PACKAGE = """Metadata-Version: 2.1
Name: made-up
Version: 1
"""


def named(text):
    """Return {package: version} of a requirements.in."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", text.lower(), re.MULTILINE))


@pytest.mark.parametrize("name", FILES)
def test_each_package_is_pinned_with_hashes(name):
    assert f" {name}" in (TOP / "scripts/pin_requirements.sh").read_text()
    text = (TOP / name).with_suffix(".txt").read_text()
    found = dict(PINNED.findall(text))
    rest = PINNED.sub("", text)
    assert not [line for line in rest.splitlines() if not re.match(r" *(#|$)", line)]
    asked = named((TOP / name).read_text())
    assert asked and asked.items() <= found.items()
    assert "://" not in text        # of no particular index


def wheel(folder):
    """Write a package of one empty module; return the file's hash."""
    path = folder / "made_up-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("made_up.py", "")
        for name, text in (("METADATA", PACKAGE), ("RECORD", ""), ("WHEEL", (
                "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"))):
            file.writestr(f"made_up-1.dist-info/{name}", text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("pin, problem", [
    ("", "hashes"), (f" --hash=sha256:{64 * '0'}", "hashes"), (" --hash=sha256:RIGHT", "")],
    ids=["no", "wrong", "right"])
def test_a_package_without_its_hash_is_not_installed(tmp_path, monkeypatch, pin, problem):
    """With the pip of the tests, which installs into a folder: an environment with one of its own
    takes seconds to make."""
    for name, value in (("NO_INDEX", "1"), ("FIND_LINKS", tmp_path), ("TARGET", tmp_path / "new")):
        monkeypatch.setenv(f"PIP_{name}", str(value))
    monkeypatch.delenv("NO_INSTALL", raising=False)
    monkeypatch.setattr(venv, "pip_of",
                        lambda _: (["--without-pip"], [sys.executable, "-m", "pip"]))
    wanted = tmp_path / "wanted.txt"
    wanted.write_text(f"made-up==1{pin.replace('RIGHT', wheel(tmp_path))}\n")
    reason = venv.make(str(tmp_path / "venv"), [str(wanted)], "a made-up package")
    assert problem in reason.lower() and bool(reason) == bool(problem)
    assert (tmp_path / "new/made_up.py").exists() == (not problem)
