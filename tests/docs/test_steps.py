"""Where curves step: what is a step, and which causes of one are refused. (That each step of the
committed runs has a cause that holds, make book checks.)"""

import re

import pytest

from tools.book import causes, figures
from tools.report import join

NUMBER = r"([\d,]+)"


def test_the_page_has_each_step(book, reference):
    """In as many rows as have a server, and the columns `from → to` lead from point to point."""
    html = (book / "reference" / "steps.html").read_text("utf-8")
    tables = re.findall(rf"Of {NUMBER} pairs of neighbouring points, {NUMBER} are a step:"
                        r".*?<tbody>(.*?)</tbody>", html, re.DOTALL)
    for (pairs, many, body), run in zip(tables, (reference, figures.Run(join.AWAKE)), strict=True):
        steps, all_pairs = causes.find(run.summary)
        assert (int(pairs), int(many)) == (all_pairs, len(steps))
        shown = 0
        for row in re.findall(r"<tr.*?</tr>", body, re.DOTALL):
            _, servers, points, *_ = (re.sub("<.*?>", "", cell) for cell in re.findall(
                r"<td.*?</td>", row, re.DOTALL))
            assert any(points.strip().startswith(f"{key.start:,} → {key.end:,}") for key in steps)
            shown += points.count("→") * (7 if " to " in servers else servers.count(",") + 1)
        assert shown == len(steps)


# ------------------------------------------------------------------ made-up runs

def a_point(x, cpu_us, rate, busy=99.0, **values):
    """A point of a summary, whose intervals reach 5 % up and down."""
    return {"x": x, "values": {"cpu_us": cpu_us, "server_busy": busy, **values},
            "rate": {"middle": rate}, "intervals": {
                name: (0.95 * middle, 1.05 * middle) if middle else None
                for name, middle in (("cpu_us", cpu_us), ("rate", rate))}}


def a_summary(*points):
    """A summary with one curve."""
    return {"experiments": [{"name": "echo", "variants": [""], "curves": [
        {"server": "epoll", "variant": "", "points": points}]}]}


STEP = a_summary(a_point(1, 10.0, 100, switches=1.0), a_point(2, 12.0, 100, switches=1.5),
                 a_point(3, 12.1, 100, switches=1.5))


def refused(summary=STEP, points=(1, 2), names=None, **more):
    """Return the sentences that refuse a cause of a step."""
    cause = {"sure": causes.PROBABLE, "why": "Probably.", **more, "where": [
        {"run": "reference", "experiment": "echo", "steps": {"epoll": points}}]}
    causes.check(cause)
    found, _, wrong = causes.assign("reference", summary, [cause], figures.Names(names or {}))
    return [*wrong, *(one for *_, doubts in found for one in doubts)]


@pytest.mark.parametrize("points, change", [
    ((a_point(1, 10.0, 100), a_point(2, 10.81, 100)), {"cpu_us": 8}),
    ((a_point(1, 10.0, 100), a_point(2, 10.79, 100)), None),
    ((a_point(1, 10.0, 100), a_point(2, 9.19, 100)), {"cpu_us": -8}),
    ((a_point(1, 10.0, 100), a_point(2, 10.0, 90)), {"rate": -10}),
    ((a_point(1, 10.0, 100), a_point(2, 10.0, 90, busy=94)), None),
    ((a_point(1, 10.0, 100, busy=94), a_point(2, 10.0, 90)), None),
    ((a_point(1, 10.0, 100), a_point(2, 20.0, 50)), {"cpu_us": 100, "rate": -50}),
    ((a_point(1, 10.0, 100), a_point(2, None, None), a_point(3, 12.0, 100)), {"cpu_us": 20})])
def test_what_is_a_step(points, change):
    """More than 8 % up or down, of the CPU time, or of the rate if the core of both was full. A
    point without a figure is none."""
    found, pairs = causes.find(a_summary(*points))
    assert pairs == 1
    assert [{name: round(percent) for name, percent in step.change.items()}
            for step in found.values()] == ([change] if change else [])
    assert all(key == ("echo", "", "epoll", 1, points[-1]["x"]) for key in found)


def test_a_step_has_one_cause():
    assert refused() == []
    assert causes.assign("reference", STEP, [], {})[1] == [
        causes.find(STEP)[0]["echo", "", "epoll", 1, 2]]
    [said] = refused(points=[1, 2, 3])
    assert "echo, epoll, from 2 to 3: " in said and "there is no step" in said
    assert any("from 1 to 2: steps.toml has two causes" in one
               for one in refused(points=[1, 2, 1, 2]))


@pytest.mark.parametrize("more, words", [
    ({"holds": "run.echo > 3"}, None), ({"holds": "run.echo > 4"}, "this does not hold: echo > 4"),
    ({"holds": "missing > 4"}, "missing"),
    ({"figure": "switches"}, None), ({"figure": "faults"}, "`faults` does not move the way"),
    ({"figure": "switches", "each": "run.echo"}, "explains 1.9 µs at most, not 2.0"),
    ({"figure": "switches", "each": "run.echo + 0.4"}, None),
    ({"sure": "noise"}, "the intervals of the two points do not overlap")])
def test_what_the_figures_contradict_is_refused(more, words):
    """One switch more in two requests explains 2 µs if each takes 4 or more."""
    found = refused(names={"echo": 3.8}, **more)
    assert [words in one for one in found] == ([True] if words else [])


def test_noise_is_where_intervals_overlap():
    assert not refused(a_summary(a_point(1, 10.0, 100), a_point(2, 10.9, 100)), sure="noise")


@pytest.mark.parametrize("more, words", [
    ({"sure": "certain"}, "`sure` is one of"),
    ({"sure": "counted"}, "needs `holds` or `figure`"),
    ({"why": "So it is."}, 'has to say "probably"'),
    ({"sure": "unknown"}, 'has to say "not known"'),
    ({"figure": "swtches"}, "there is no column 'swtches'"),
    ({"hold": "1 < 2"}, "a key that is not known")])
def test_a_cause_says_how_sure_it_is(more, words):
    with pytest.raises(causes.StepsError, match=words):
        refused(**more)
