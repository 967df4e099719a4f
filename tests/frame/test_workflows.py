""".github/workflows/: what they run, and with which rights. (`make check-workflows`
has actionlint check that GitHub understands them.)"""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
FILES = {path.stem: path.read_text()
         for path in sorted((TOP / ".github/workflows").glob("*.yml"))}
# A job that publishes pages needs these.
PUBLISH = {"pages: write", "id-token: write"}


@pytest.mark.parametrize("name", FILES)
def test_a_workflow_may_only_read_and_each_action_is_one_commit(name):
    """A tag can be moved to other code; a commit cannot."""
    text = FILES[name]
    for line in re.findall(r"uses: (.*)", text):
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v[\d.]+", line), line
    assert re.search("^permissions:\n  contents: read\n\n", text, re.M)
    rights = set(re.findall(r"^ +([\w-]+: write)$", text, re.M))
    assert rights == (PUBLISH if name == "book" else set())
    assert text.count("persist-credentials: false") == text.count("actions/checkout")


def test_what_is_run_where():
    """Both architectures and both Debians run what a developer runs; a user without root does what
    the README says."""
    check, _, user = FILES["check"].partition("\n  first-hour:\n")
    assert re.findall(r"- runner: (\S+)", check) == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    assert check.count("- run: .ci/run\n") == 2 and ".ci/run" not in user
    for job in (check, user):
        assert "debian: ['12', '13']\n" in job
    assert "make test" in user and "make compare" in user
    assert ".ci/run check-all" in FILES["weekly"] and "run: make book" in FILES["book"]


def test_the_releases_are_those_that_are_the_least():
    least = dict(re.findall(r"^(\w+) +([\d.]+) ",
                            (TOP / "scripts/minimum.txt").read_text(), re.M))
    assert f"image: debian:{least['debian']}\n" in FILES["weekly"]
    for text in FILES.values():
        assert set(re.findall(r"ubuntu-([\d.]+)", text)) == {least["ubuntu"]}
