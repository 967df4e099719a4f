"""tools/variant/, shown on a small tree: what it says when a patch no longer
applies, what it counts, what it writes."""

import pytest

from tools.variant import check, copy, pages, what

MAIN = "".join(f"int line_{number};\n" for number in range(30))
PAGE = """# small: it is small

- Server: 01_iterative
- Options: `--quiet`

<!-- lines -->
<!-- /lines -->
"""


@pytest.fixture
def tree(tmp_path):
    """A tree with one server, and with a variant that changes two places."""
    for path, text in (("01_iterative/main.c", MAIN), ("common/net.c", MAIN),
                       *((name, "all:\n") for name in copy.FILES),
                       ("variants/small.md", PAGE),
                       ("variants/README.md",
                        "<!-- index -->\n<!-- /index -->\n")):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    one = what.read("small", tmp_path)
    copy.apply(one)                  # without a patch: a plain copy
    edit(one.copy / "common/net.c", "line_5;", "line_five;")
    edit(one.copy / "common/net.c", "line_25;\n", "line_25;\nint more;\n")
    (one.copy / "common/new.h").write_text("int new;\n")
    copy.write_patch(one)
    return tmp_path


def edit(path, old, new):
    """Replace a text in a file."""
    path.write_text(path.read_text().replace(old, new))


def test_the_patch_leads_to_what_was_edited(tree):
    one = what.read("small", tree)
    copy.apply(one)
    assert "line_five" in (one.copy / "common/net.c").read_text()
    assert (one.copy / "common/new.h").read_text() == "int new;\n"
    assert (one.copy / "01_iterative/main.c").read_text() == MAIN


def test_another_flavour_builds_before_its_plain_objects_are_there(tree):
    (tree / "build/deps").mkdir(parents=True)
    (tree / "Makefile").write_text("build/thread/bin/iterative:\n")
    one = what.read("small", tree)
    copy.build(one, ["SANITIZE=thread"], "thread")
    assert (one.copy / "build/deps").is_dir()


def test_a_patch_that_no_longer_applies_is_named_with_file_and_hunk(tree):
    pages.fill_pages(tree)
    edit(tree / "common/net.c", "line_25;", "line_twenty_five;")
    passed, why = check.check_one("small", "none", tree)
    assert passed == 1                  # the page
    assert "variants/small.patch does not apply" in why
    assert "common/net.c: Hunk #2 FAILED at 2" in why and "Hunk #1" not in why


def test_a_file_that_is_gone_is_named(tree):
    (tree / "common/net.c").unlink()
    with pytest.raises(what.VariantError, match="common/net.c"):
        copy.apply(what.read("small", tree))


def test_a_check_leaves_the_copy_that_somebody_changes(tree):
    one = what.read("small", tree)
    edit(one.copy / "common/net.c", "line_7;", "line_seven;")
    pages.fill_pages(tree)
    passed, why = check.check_one("small", "none", tree)
    assert passed == 1 and "does not build" in why      # the tree's Makefile makes no server
    assert "line_seven" in (one.copy / "common/net.c").read_text()


def test_port_fits_a_patch_whose_context_has_changed(tree):
    one = what.read("small", tree)
    edit(tree / "common/net.c", "line_3;", "line_three;")
    copy.port(one)
    copy.apply(one)
    text = (one.copy / "common/net.c").read_text()
    assert "line_three" in text and "line_five" in text


def test_port_marks_conflicts(tree):
    one = what.read("small", tree)
    edit(tree / "common/net.c", "line_5;", "line_V;")
    with pytest.raises(what.VariantError, match="NOT MERGED"):
        copy.port(one)
    assert "<<<<<<<" in (one.copy / "common/net.c").read_text()


def test_a_page_has_the_lines_of_its_patch_as_they_are_now(tree):
    passed, why = check.check_one("small", "none", tree)
    assert passed == 0 and "small.md is not up to date" in why
    pages.fill_pages(tree)
    page = (tree / "variants/small.md").read_text()
    assert ("The patch adds 3 and removes 1 line, in `common/net.c`, "
            "`common/new.h`.") in page
    assert "| [small](small.md) | 01 | +3 −1 | it is small |" in \
        (tree / "variants/README.md").read_text()


@pytest.mark.parametrize("page", ["# other: name\n\n- Server: 01_iterative\n",
                                  "# small: it has no server\n"])
def test_a_page_without_its_head_is_refused(tree, page):
    (tree / "variants/small.md").write_text(page)
    with pytest.raises(what.VariantError, match="must begin with"):
        what.read("small", tree)


def test_an_unknown_name_is_answered_with_those_that_exist(tree):
    with pytest.raises(what.VariantError, match="there are: small"):
        what.read("nothing", tree)


def test_every_variant_is_complete():
    for one in map(what.read, what.names()):
        assert one.patch.exists() and one.page.with_suffix(".py").exists()
        pages.block("measured", one.page.read_text(), [])       # raises if there is none
