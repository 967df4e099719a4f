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
def test_each_action_is_one_commit(name):
    """A tag can be moved to other code; a commit cannot."""
    used = re.findall(r"uses: (.*)", FILES[name])
    assert used
    for line in used:
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v[\d.]+", line), line


@pytest.mark.parametrize("name", FILES)
def test_a_workflow_may_only_read(name):
    assert re.search("^permissions:\n  contents: read\n\n", FILES[name], re.M)
    rights = set(re.findall(r"^ +([\w-]+: write)$", FILES[name], re.M))
    assert rights == (PUBLISH if name == "book" else set())
    assert FILES[name].count("persist-credentials: false") == \
        FILES[name].count("actions/checkout")
    jobs = FILES[name].partition("\njobs:\n")[2]
    assert jobs.count("timeout-minutes:") == jobs.count("runs-on:")


def test_both_architectures_run_what_a_developer_runs():
    runners = re.findall(r"- runner: (\S+)", FILES["check"])
    assert runners == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    assert "- run: .ci/run\n" in FILES["check"]
    assert "schedule:" in FILES["weekly"] and ".ci/run check-all" in FILES["weekly"]
    assert "run: make book" in FILES["book"] and "build/book" in FILES["book"]


def test_debian_runs_it_too_and_a_user_without_root_does_what_the_readme_says():
    debian, _, user = FILES["check"].partition("\n  debian:\n")[2].partition("\n  first-hour:\n")
    for job in (debian, user):
        assert "debian: ['12', '13']\n" in job and "image: debian:${{ matrix.debian }}\n" in job
    assert "- run: .ci/run\n" in debian and ".ci/run" not in user
    assert "make test" in user and "make compare" in user and "dpkg -l | diff" in user


def test_the_releases_are_those_that_are_the_least():
    least = dict(re.findall(r"^(\w+) +([\d.]+) ",
                            (TOP / "scripts/minimum.txt").read_text(), re.M))
    assert f"image: debian:{least['debian']}\n" in FILES["weekly"]
    for text in FILES.values():
        assert set(re.findall(r"ubuntu-([\d.]+)", text)) == {least["ubuntu"]}
