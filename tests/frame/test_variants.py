"""tools/variant.py, shown on a small tree: what it says when a patch no longer
applies, what it counts, what it writes."""

from pathlib import Path

import pytest

from tools import variant

TOP = Path(__file__).resolve().parents[2]

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
                       *((name, "all:\n") for name in variant.FILES),
                       ("variants/small.md", PAGE),
                       ("variants/README.md",
                        "<!-- index -->\n<!-- /index -->\n")):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    one = variant.read("small", tmp_path)
    variant.apply(one)                  # without a patch: a plain copy
    edit(one.copy / "common/net.c", "line_5;", "line_five;")
    edit(one.copy / "common/net.c", "line_25;\n", "line_25;\nint more;\n")
    (one.copy / "common/new.h").write_text("int new;\n")
    variant.write_patch(one)
    return tmp_path


def edit(path, old, new):
    """Replace a text in a file."""
    path.write_text(path.read_text().replace(old, new))


def test_the_patch_leads_to_what_was_edited(tree):
    one = variant.read("small", tree)
    variant.apply(one)
    assert "line_five" in (one.copy / "common/net.c").read_text()
    assert (one.copy / "common/new.h").read_text() == "int new;\n"
    assert (one.copy / "01_iterative/main.c").read_text() == MAIN


def test_a_patch_that_no_longer_applies_is_named_with_file_and_hunk(tree):
    edit(tree / "common/net.c", "line_25;", "line_twenty_five;")
    with pytest.raises(variant.VariantError) as error:
        variant.apply(variant.read("small", tree))
    assert "variants/small.patch does not apply" in str(error.value)
    assert "common/net.c: Hunk #2 FAILED at 2" in str(error.value)
    assert "Hunk #1" not in str(error.value)


def test_a_context_that_only_nearly_fits_does_not_apply(tree):
    edit(tree / "common/net.c", "line_3;", "line_three;")
    with pytest.raises(variant.VariantError, match="Hunk #1 FAILED"):
        variant.apply(variant.read("small", tree))


def test_a_file_that_is_gone_is_named(tree):
    (tree / "common/net.c").unlink()
    with pytest.raises(variant.VariantError, match="common/net.c"):
        variant.apply(variant.read("small", tree))


def test_the_check_fails_with_such_a_patch(tree, capsys):
    variant.fill_pages(tree)
    edit(tree / "common/net.c", "line_25;", "line_twenty_five;")
    passed, why = variant.check_one("small", "none", tree)
    assert passed == 1                  # the page
    assert "common/net.c: Hunk #2" in why


def test_port_fits_a_patch_whose_context_has_changed(tree):
    one = variant.read("small", tree)
    edit(tree / "common/net.c", "line_3;", "line_three;")
    variant.port(one)
    variant.apply(one)
    text = (one.copy / "common/net.c").read_text()
    assert "line_three" in text and "line_five" in text


def test_port_marks_conflicts(tree):
    one = variant.read("small", tree)
    edit(tree / "common/net.c", "line_5;", "line_V;")
    with pytest.raises(variant.VariantError, match="NOT MERGED"):
        variant.port(one)
    assert "<<<<<<<" in (one.copy / "common/net.c").read_text()


def test_lines_are_counted(tree):
    variant.fill_pages(tree)
    page = (tree / "variants/small.md").read_text()
    assert ("The patch adds 3 and removes 1 line, in `common/net.c`, "
            "`common/new.h`.") in page
    assert "| [small](small.md) | 01 | +3 −1 | it is small |" in \
        (tree / "variants/README.md").read_text()


def test_a_stale_page_fails(tree):
    passed, why = variant.check_one("small", "none", tree)
    assert passed == 0 and "small.md is not up to date" in why


def test_the_head_of_a_page_is_read(tree):
    one = variant.read("small", tree)
    assert (one.about, one.servers, one.options, one.load) == \
        ("it is small", ["iterative"], ("--quiet",), "one-shot-100")


@pytest.mark.parametrize("page", ["# other: name\n\n- Server: 01_iterative\n",
                                  "# small: it has no server\n"])
def test_a_page_without_its_head_is_refused(tree, page):
    (tree / "variants/small.md").write_text(page)
    with pytest.raises(variant.VariantError, match="must begin with"):
        variant.read("small", tree)


def test_an_unknown_name_is_answered_with_those_that_exist(tree):
    with pytest.raises(variant.VariantError, match="there are: small"):
        variant.read("nothing", tree)


def test_a_page_without_a_block_is_refused():
    with pytest.raises(variant.VariantError, match="<!-- measured -->"):
        variant.block("measured", "no block", [])


@pytest.mark.parametrize("name", variant.names())
def test_every_variant_is_complete(name):
    one = variant.read(name)
    assert one.patch.exists() and one.page.with_suffix(".py").exists()
    variant.block("measured", one.page.read_text(), [])
