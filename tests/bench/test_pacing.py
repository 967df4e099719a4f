"""What pacing.py makes of perf's report and of its runs."""

from bench.studies import pacing

REPORT = """12345,,timer:hrtimer_expire_entry,2000000,100.00,,
"""


def test_timers_are_counted():
    assert pacing.count_of(REPORT) == 12345


def test_what_cannot_be_counted_is_not_taken_for_none():
    """perf without the right to, or without that tracepoint."""
    assert pacing.count_of("") is None
    assert pacing.count_of("<not supported>,,timer:hrtimer_expire_entry,0,,,") \
        is None
    rows = [{"us": us, "rps": 9.0, "timers": None} for us in (5.0, 7.0, 6.0)]
    assert pacing.told(rows) == {"us": 6.0, "rps": 9.0, "min": 5.0,
                                 "max": 7.0}


def test_medians_and_the_range():
    rows = [{"us": us, "rps": 9.0, "timers": timers}
            for us, timers in ((5.0, 1.0), (7.0, 4.0), (6.0, 2.0))]
    assert pacing.told(rows) == {"us": 6.0, "rps": 9.0, "timers": 2.0,
                                 "min": 5.0, "max": 7.0}
