"""The cases of a public compliance suite; compliance/__init__.py says what each expects."""

import re

import pytest

from tests.support.client import build
from tests.blackbox.compliance import CASES
from tests.blackbox.compliance.make import SECRET
from tests.support.servers import TOP

pytestmark = pytest.mark.protocol

BEHIND = build("/hello")
PROMISES = TOP / "docs" / "reference" / "promises.md"


def fill_in(request, server):
    """Put what the client remembers of /style.css into a request."""
    if not re.search(b"ETAG|BARE|DATE", request):
        return request
    known = server.request("/style.css")
    tag = known.get("ETag").encode()
    return request.replace(b"ETAG", tag).replace(b"BARE", tag.strip(b'"')).replace(
        b"DATE", known.get("Last-Modified").encode())


def check(server, case):
    """Send the case and check that what is expected comes."""
    expected = case.expected
    request = fill_in(case.send, server)
    with server.connect() as connection:
        if expected.kind == "waits":
            connection.send(request)
            connection.finish_sending()
            connection.expect_closed()
            return
        connection.send(request + BEHIND)
        response = connection.read_response("HEAD" if request[:4] == b"HEAD"
                                            else "GET")
        assert response.status in expected.statuses
        assert SECRET not in response.body
        if expected.field:
            assert response.get(expected.field)
        if expected.kind == "served":
            assert not response.closes
            behind = connection.read_response()
            assert behind.status == expected.then
            assert expected.then != 200 or behind.body == b"Hello, World!"
            connection.finish_sending()
        else:
            assert response.closes
        connection.expect_closed()


def test_compliance(server):
    faults = {}
    for name, case in CASES.items():
        try:
            check(server, case)
        except AssertionError as fault:
            faults[name] = str(fault)
    assert not faults


def test_what_is_legal_is_explained():
    """Each row of the table is of a case, and each case that needs one has one. The page says
    how many cases there are."""
    text = PROMISES.read_text()
    assert f"All {len(CASES)} requests of a public compliance suite" in text
    table = text.partition("## Legal, and why")[2]
    rows = re.findall(r"^\| (?!what|---)([^|]+) \|", table.partition("\n## ")[0], re.M)
    assert rows == sorted(rows, key=str.lower)
    assert set(rows) == {case.legal for case in CASES.values() if case.legal}
