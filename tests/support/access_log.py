"""The access log, as a test reads it: the Common Log Format."""

import re

from tests.support.processes import wait_for

LOG_LINE = re.compile(
    r'127\.0\.0\.1 - - '
    r'\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] '
    r'"((?:[^"\\]|\\.)*)" (\d{3}) (\d+|-)')


def log_lines(path, count):
    """Wait for that many lines in the log and return them."""
    wait_for(lambda: path.exists()
             and path.read_bytes().count(b"\n") >= count,
             f"{count} lines in {path.name}")
    lines = path.read_text(encoding="ascii").splitlines()
    assert len(lines) == count
    return lines


def fields(line):
    """(request line, status, bytes) of a line in the Common Log Format."""
    match = LOG_LINE.fullmatch(line)
    assert match, line
    return match[1], int(match[2]), int(match[3])
