"""Tables: what they say of a point, and how they are printed."""

import pytest

from tests.bench.made_up import row, summed_up
from tools.report import table
from tools.stats import summary


def rows(server="epoll", cpu=50.0, **more):
    """Return the rows of six rounds with 1,000 requests/s of 100 clients."""
    return [row(1000.0, **{
        "server": server, "repeat": number, "cpu_us": cpu + number % 3, "cpu_user_us": cpu / 4,
        "server_busy": 97.0, "mean_ms": 100.0, "p50_ms": 1.5, "p99_ms": 7.5, "max_ms": 9.5, **more})
        for number in range(6)]


def tables(made, wide=True):
    """Return {first word of its title: table} of a summary."""
    found = table.tables(made, made["experiments"][0], "keep-alive", wide)
    return {one.title.split()[0]: one for one in found}


def cells(one, name):
    """Return {column: text} of the line that begins with a name."""
    [found] = [each for each in one.rows if each[0] == name]
    return dict(zip(one.head, found))


def test_cost_comes_first():
    """With what one core can do, and how it compares with the baseline; before it, only what is the
    same on any machine."""
    made = summed_up(rows() + rows("poll", 99.0, foreign=20.0))
    made["experiments"][0]["exact"] = {"source": "0123456789", "keep-alive": {
        "epoll": {"user": 3500.0, "kernel": 20100.0}}}
    found = tables(made, False)
    assert list(found) == ["Counted", "What", "requests/s"] and len(found["What"].head) <= 8
    poll, epoll = (cells(found["Counted"], name) for name in ("Poll", "Epoll"))
    assert [epoll[key] for key in ("instructions", "user", "kernel", "calls")] == [
        "23.6", "3.5", "20.1", "4"]
    assert not poll["instructions"] and "0123456" in found["Counted"].notes[0]
    poll, epoll = (cells(found["What"], name) for name in ("Poll", "Epoll"))
    assert [epoll[key] for key in ("CPU us", "user", "can do/s", "compared")] == [
        "51", "12.5", "19,600", "baseline"]
    assert poll["CPU us"] == "~100"
    assert poll["compared"] == "96 % more expensive (1.96, 1.94 to 1.98)"
    assert "foreign load" in found["What"].notes[-1]


CRASHED = row(None, status="crashed")


@pytest.mark.parametrize("made, sign, cell", [
    (rows(), "", "1,000"), (rows(server_busy=None), "", "1,000"),
    (rows(server_busy=94.0), table.LOAD, "1,000"), (rows(status="lossy"), table.LOST, "1,000"),
    (rows(server_busy=50.0)[:2] + [CRASHED] * 4, table.LOST, "1,000 2/6"),
    ([CRASHED] * 6, table.LOST, "- 0/6")])
def test_what_a_rate_is_worth_is_marked(made, sign, cell):
    """A point that the load ended, or that lost something, and what that means."""
    reached = tables(summed_up(made))["requests/s"]
    assert cells(reached, "100")["Epoll"] == sign + cell
    assert bool(reached.notes) == bool(sign)


def test_the_flag_of_a_point_is_printed():
    """And the mean is clients / rate. Whiskers are intervals, turned round for what one core
    can do; few rounds have none."""
    made = summed_up(rows("poll") + rows(mean_ms=300.0))
    latency = tables(made)["Latency"]
    poll, epoll = (cells(latency, name) for name in ("Poll", "Epoll"))
    assert (poll["mean"], poll["99 % below"]) == (epoll["mean"], "7.5") == ("100", "7.5")
    assert "can have waited" in epoll["why without percentiles"] and not epoll["99 % below"]
    [point] = made["experiments"][0]["curves"][0]["points"]
    assert [round(one) for one in table.known(point, "can_do")] == [19608, 19231, 20000]
    [few] = summed_up(rows()[:3])["experiments"][0]["curves"][0]["points"]
    assert table.known(few, "rate") == (1000.0, 1000.0, 1000.0)
    assert table.known({**few, "rate": None}, "can_do") is None


def test_what_a_study_counted_has_a_table():
    """A line a cell, a column a figure."""
    made = summed_up(rows("poll") + rows())
    made["experiments"][0]["counted"] = summary.counted(
        {"variant": "keep-alive", "server": server, "x": 100, "figure": figure, "value": value}
        for server, figure, value in (("poll", "segments/answer", 2), ("epoll", "spread", 7),
                                      ("poll", "segments/answer", 4), ("poll", "spread", 5)))
    also = tables(made)["Also"]
    assert also.rows == [["Epoll", "100", "", "7"], ["Poll", "100", "3", "5"]]


def test_everything_is_printed_within_the_width():
    """Each word of each table and note; wide has more tables."""
    made = summed_up(rows("poll") + rows(server_busy=60.0))
    shown = "\n".join(table.all_lines(made, 80, wide=True))
    assert max(map(len, shown.splitlines())) <= 80
    for one in tables(made).values():
        for text in [*one.notes, *sum(one.rows, [])]:
            assert all(word in shown for word in text.split())
    assert "Latency" in shown and "Latency" not in "\n".join(table.all_lines(made, 80))
