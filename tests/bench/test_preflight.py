"""What is seen to be wrong with a machine before a run."""

import pytest

from bench.machine import facts as machines
from bench.machine import preflight


@pytest.mark.parametrize("siblings, warns", [
    ({0: {0, 2}, 1: {1, 3}}, True), ({0: {0, 1}, 1: {0, 1}}, False),
    ({0: set(), 1: set()}, False)])
def test_halves_of_a_physical_core(siblings, warns, monkeypatch):
    """The server on 0 and 1, the load on 2 and 3; a machine that does not
    show it is not blamed."""
    monkeypatch.setattr(machines, "siblings", lambda core: siblings[core])
    machine = machines.Machine(frozenset({0, 1}), frozenset({2, 3}),
                               frozenset(range(4)), 1024)
    found = preflight._halves(machine)
    assert found.ok is not warns
    assert ("0 and 2" in found.value) is warns


def test_one_core_has_no_other_half(monkeypatch):
    """Where server and load share a core, that is said elsewhere."""
    monkeypatch.setattr(machines, "siblings", lambda core: {core})
    both = frozenset({0})
    assert preflight._halves(machines.Machine(both, both, both, 1024)).ok


def test_siblings_of_this_machine():
    """A core is one of its own siblings, where they are shown at all."""
    assert machines.siblings(0) in (frozenset(), machines.siblings(0) | {0})


@pytest.mark.parametrize("name, warns", [
    ("cubic", False), ("bbr", True), ("", False)])
def test_pacing_is_warned_of(name, warns, monkeypatch):
    """Where nothing is known of it there is nothing to be done."""
    monkeypatch.setattr(machines, "congestion", lambda: name)
    found = preflight._congestion()
    assert ("cubic" in found.remedy) == warns
    assert found.value == (name or "not visible")


@pytest.mark.parametrize("polled, warns, told", [
    (0, True, "up to 0 us"), (200000, False, "up to 200 us"),
    (None, False, "not visible")])
def test_idle_cores_of_a_guest(polled, warns, told, monkeypatch):
    """They halt at once, after a while, or the machine does not tell."""
    monkeypatch.setattr(machines, "halt_poll_ns", lambda: polled)
    found = preflight._idle_cores()
    assert found.ok is not warns
    assert told in found.value
