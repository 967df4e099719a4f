"""What a change costs: all of `make exact AGAINST=COMMIT` that needs no simulated machine."""

import pytest

from tests.exact.test_exact import program
from tools.exact import against, cells, command, tree as trees


def test_what_a_change_costs():
    """By how much each cell differs, and whether older figures still hold."""
    both = {"epoll": {"answer": ([400, 600], [409, 600]), "hello": ([50, 50], [50, 49.5])}}
    some = [cells.CELLS[name] for name in ("answer", "hello", "guestbook")]
    assert against.table([program()], some, both)[-1].split() == ["epoll", "+0.90", "-0.50", "-"]
    assert against.verdict(both).startswith(
        "The largest difference is 0.90 %, so the two cost the same in what was counted")
    both["epoll"]["answer"] = ([40, 60], [42, 60])
    assert "2.00 %, so the two do not cost the same" in against.verdict(both)


def test_a_commit_is_unpacked_or_named_as_unknown(tmp_path):
    """Its tree is whole; the work tree stays as it is."""
    commit = against.unpack("HEAD", tmp_path / "source")
    assert len(commit) == 40 and (tmp_path / "source/common/http_conn.c").exists()
    with pytest.raises(trees.TreeError, match="AGAINST is 'nonsense', and git knows no such"):
        against.unpack("nonsense", tmp_path / "other")


@pytest.mark.parametrize("words", [["--peers", "nginx"], ["--floor"], ["--why"],
                                   ["--curve", "open"], ["--servers", "none"]])
def test_a_commit_is_compared_by_the_seven(words, capsys):
    assert command.run(["--against", "HEAD", "--settings", *words]) == 2
    assert "AGAINST compares servers of the seven" in capsys.readouterr().err
