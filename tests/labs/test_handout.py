"""The handout builds and grades without the checkout, and holds no solution."""

import re
import shutil
import subprocess

import pytest

from tests.labs.grading import FULL, TOP, Graded, write_handout
from labs import handout as writer
from labs.grade import lab as labs
from labs.grade import starter

FUNCTION = re.compile(r"^\w[^;=\n]*\([^;]*?\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


def unpacked(factory, chosen, **options):
    """Write a handout of these Labs in a fresh folder; return the unpacked tarball. `options`
    are those of write()."""
    folder = factory.mktemp("handout")
    shutil.unpack_archive(write_handout(folder, chosen, **options), folder)
    return folder / "zerohttpd-labs"


@pytest.fixture(scope="module")
def handout(tmp_path_factory):
    """The unpacked tarball of all labs that can go together: what 07 needs is what students
    write in 03."""
    chosen = [lab for lab in map(labs.read, labs.all_folders()) if lab.number != "07"]
    return unpacked(tmp_path_factory, chosen, first_hour=True)


def squeezed(text):
    """Return text without comments and white space."""
    return re.sub(r"\s+", "", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))


def secrets():
    """Yield (lab, body) of each function that a starter does not have."""
    for folder in labs.all_folders():
        lab = labs.read(folder)
        given = squeezed("".join(starter.whole(lab, path.name)
                                 for path in lab.starter.glob("*.[ch]")))
        for path in lab.solution.glob("*.c"):
            for body in FUNCTION.findall(path.read_text()):
                if squeezed(body) not in given and len(squeezed(body)) > 60:
                    yield folder.name, squeezed(body)


def is_later(path, handout, name):
    """Return whether a file is the starter of a lab behind lab `name`: the
    loop of lab 01, for example, is given in lab 05."""
    words = path.relative_to(handout).parts
    return words[0] == "labs" and words[2:3] == ("starter",) and words[1] > name


def test_it_holds_no_solution(handout):
    """Of a lab, in its own files or in those of an earlier one."""
    everything = [(path, squeezed(path.read_text(errors="replace")))
                  for path in handout.rglob("*") if path.is_file()]
    found = list(secrets())
    assert found
    assert [(name, path) for name, body in found for path, text in everything
            if body in text and not is_later(path, handout, name)] == []
    names = {path.name for path in handout.rglob("*")}
    assert not names & {"mutants", "solution", ".git", "INSTRUCTOR.md", "solutions"}
    assert not {path.name for path in (handout / "common").iterdir()} \
        & {"event_loop.c", "event_loop_accept.c", "worker_processes.c"}


def test_it_builds_and_grades(handout, tmp_path):
    subprocess.run(["make", "-s", "CC=gcc"], cwd=handout, check=True)
    graded = Graded("01", handout / "labs" / "01_iterative" / "starter", tmp_path, top=handout)
    assert graded.status == 1, graded.output
    assert graded.points <= 25


def test_a_module_can_be_given(tmp_path_factory):
    """The event loop is lab 06; a class without it needs its modules in 07, which brings the
    workers of 03."""
    chosen = [labs.find("07")]
    for given in ([], ["event_loop.c", "event_loop_accept.c"]):
        common = unpacked(tmp_path_factory, chosen, given=given) / "common"
        assert [path.name for path in sorted(common.glob("event_loop*.c"))] == given
        assert (common / "worker_processes.c").exists()


@pytest.mark.parametrize("words, settings, named", [
    ([], {}, 'LABS="07" when lab 03 is due'),
    (["03", "07"], {}, 'LABS="03", and LABS="07"'),
    (["06", "07"], {"GIVE": "event_loop.c"}, 'LABS="06" without it'),
    (["02", "03"], {"BREAK": "fewer_every_day"}, 'LABS="02" without it'),
    (["06"], {"BREAK": "answers_stop"}, 'LABS="06" without it'),
    (["00"], {}, "00")])                # is nothing without the collection
def test_a_wrong_call_is_explained(words, settings, named, monkeypatch, capsys):
    """A file that one lab asks for, and another one brings, makes two handouts."""
    for name in ("GIVE", "BREAK"):
        monkeypatch.setenv(name, settings.get(name, ""))
    assert writer.main(words) == 2 and named in capsys.readouterr().err


def test_a_server_to_repair_brings_no_other_work(tmp_path_factory):
    """Only the modules of common/ that it links, and not the fault as a patch; and it builds
    (FULL=1)."""
    folder = unpacked(tmp_path_factory, [labs.find("03")], faulty=["fewer_every_day"])
    source = folder / "labs" / "break" / "fewer_every_day" / "source"
    assert (source / "02_forking" / "main.c").exists()
    assert not {path.suffix for path in source.parent.rglob("*")} & {".patch", ".orig"}
    assert not {path.name for path in (source / "common").iterdir()} & set(writer.LINKED)
    if FULL:
        subprocess.run(["make", "-s", "CC=gcc", "forking"], cwd=source, check=True)


def test_chapters_read_as_text(handout):
    """No word is left that only the book understands."""
    pages = list((handout / "docs" / "tutorial").glob("0*.md"))
    assert len(pages) == 6
    for page in pages:
        text = page.read_text()
        assert ":::" not in text and "}`" not in text, page.name
        assert "int main(" in text      # the smallest program


def test_it_begins_with_the_first_hour(handout):
    assert (handout / "labs" / "00_first_hour" / "README.md").exists()
    assert "labs/00_first_hour" in (handout / "README.md").read_text()
    done = subprocess.run(["make", "watch-01"], cwd=handout, text=True,
                          capture_output=True, check=False)
    assert done.returncode and "needs the whole collection" in done.stderr


def test_every_link_of_a_page_leads_somewhere(handout):
    """Into the handout, or to a file of the collection."""
    for page in handout.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            target = (page.parent / link).resolve()
            assert target.exists() or (
                TOP / target.relative_to(handout.resolve())).exists(), \
                f"{page.name}: {link}"


@pytest.mark.parametrize("page", ["labs/INSTRUCTOR.md", "docs/howto/teach.md"])
def test_the_plans_name_handouts_that_can_be_made(page):
    """Each with its labs, servers to repair and given modules."""
    found = re.findall(r"make handout (LABS=[^`\n]+)", (TOP / page).read_text())
    assert found
    for line in found:
        words = {name: value.split() for name, value in re.findall(r'(\w+)="([^"]*)"', line)}
        writer.check([labs.find(word) for word in words["LABS"] if word != "00"],
                     words.get("BREAK", []), words.get("GIVE", []))
