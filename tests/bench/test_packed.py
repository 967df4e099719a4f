"""docs/results keeps all of a table."""

import lzma
import re
import subprocess
import sys

import pytest

from tools.kit import TOP
from tools.results import packed, rundir

TABLE = """\
server,order,started,tool,requests,rate,seconds,cpu_us,cpu_user_us,cpu_system_us,server_busy,\
load_busy,load_cores_busy,evidence,note
epoll,1,2026-01-01T00:00:01Z,ab,5000,20408,0.245,46.573,1.463,45.11,88.1,86.9,100,\
"100 % busy: server 88 %, ab 87 %, Redis 8 %", late
epoll,4,2026-01-01T00:00:09Z,ab,5000,20408,0.246,46.573,1.463,45.12,97.5,86.9,,server 98 %,=
poll,2,2026-01-01T00:00:04Z,ab,,0,,8.5,,,,,,{} of {server} open,"two
lines"
poll,6,2026-01-01T00:00:09Z,ab,1,0,1,8.5,8,0.5,1,,,,
"""
PACKED = """\
server,epoll,epoll,poll,poll
order,1,4,=,6
started,2026-01-01T00:00:01Z,2026-01-01T00:00:09Z,2026-01-01T00:00:04Z,2026-01-01T00:00:09Z
tool,ab,ab,ab,ab
requests,5000,5000,,1
rate,20408,20408,0,0
seconds,=,0.246,,1
cpu_us,46.573,46.573,8.5,8.5
cpu_user_us,1.463,1.463,,8
cpu_system_us,=,45.12,,=
server_busy,88.1,97.5,,1
load_busy,86.9,86.9,,
load_cores_busy,100,,,
evidence,"{load_cores_busy} % busy: server {server_busy} %, ab {load_busy} %, Redis 8 %",\
server {server_busy} %,{} of {server} open,
note," late",=,"two
lines",
"""
BLANKS = re.compile("(?:(?<=,)|^) +", re.MULTILINE)


@pytest.fixture(name="table")
def write_table(tmp_path):
    """(columns, rows) of TABLE."""
    path = tmp_path / "samples.csv"
    path.write_text(TABLE)
    return rundir.read_table(path)


def test_what_others_tell_is_left_out(table):
    """But only where they give the same digits: the second row's do not."""
    text = packed.write(*table)
    assert BLANKS.sub("", text) == BLANKS.sub("", PACKED)
    assert packed.read(text) == packed.read(PACKED) == table
    assert {len(line) % packed.STEP for line in text.splitlines(True)[:14]} == {0}


@pytest.mark.parametrize("name, field", [("seconds", "="), ("evidence", "{server_busy} open")])
def test_a_table_that_would_be_read_as_another_one_is_refused(table, name, field):
    """It is not kept as something else."""
    table[1][0][name] = field
    with pytest.raises(ValueError, match="as another one"):
        packed.write(*table)


def test_a_shell_reads_it(tmp_path):
    """As CSV with a line for each row."""
    path = tmp_path / "samples.csv.xz"
    path.write_bytes(lzma.compress(PACKED.encode()))
    assert subprocess.run([sys.executable, "-m", "tools.results.packed", path], cwd=TOP,
                          capture_output=True, text=True, check=True).stdout == TABLE
