"""How the scripts behind docs/results/cost/ go through their cells."""

from bench.studies import committed


def test_every_cell_once_a_round(capsys):
    """And each of its rows with it, whatever the order by chance."""
    cells = [("epoll", 20), ("epoll", 100), ("poll", 20)]
    asked = []

    def measure(name, clients):
        asked.append((name, clients))
        return name, clients, len(asked)

    found = committed.in_rounds(cells, 4, measure, lambda row: f"<{row[2]}>")
    assert list(found) == cells
    assert all(row[:2] == cell for cell in cells for row in found[cell])
    for first in range(0, 12, 3):
        assert sorted(asked[first:first + 3]) == sorted(cells)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 12 and lines[-1].startswith("4/4 ")
    assert "<12>" in lines[-1] and lines[-1].endswith(" 0 s left")
