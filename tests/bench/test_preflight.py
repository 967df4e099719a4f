"""What is seen to be wrong with a machine, and waiting until it is quiet."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.bench.made_up import MACHINE
from tools.bench.machine import facts, preflight, quiet
from tools.kit import TOP, servers, sources


@pytest.mark.parametrize("siblings, every, wanted, given", [
    ({0: {0, 2}, 1: {1, 3}}, range(4), {0}, {1, 3}),     # 2 stays unused
    ({0: {0, 1}, 1: {0, 1}}, range(2), {0}, {1}),        # nothing else is left
    ({0: {0}, 1: {1}}, range(2), {0}, {1}),
    ({}, range(3), {0, 1}, {2}),                         # it shows nothing
    ({0: {0}}, range(1), {0}, {0})])
def test_the_load_gets_no_half_of_the_servers_core(siblings, every, wanted, given, monkeypatch):
    """Unless there is no other. It warns of shared cores and halves."""
    monkeypatch.setattr(facts, "siblings", lambda core: frozenset(siblings.get(core, ())))
    monkeypatch.setattr(facts.os, "sched_getaffinity", lambda _: set(every))
    machine = facts.layout(frozenset(wanted))
    assert machine.load_cores == given
    assert facts.layout(frozenset(wanted), frozenset(every)).load_cores == set(every)
    shared = given & siblings.get(0, set()) - wanted
    assert preflight.cores(machine).ok is not bool(shared or given == {0})


@pytest.mark.parametrize("bad, last, status", [
    ([], "ready", 0),
    ([("memory", preflight.SPOILS), ("tidy", preflight.LESS)], "1. memory: get it", 0),
    ([("0", preflight.SPOILS), ("1", preflight.SPOILS), ("2", preflight.SPOILS),
      ("gcc", preflight.STOPS)], "3. 1: get it", 1)])
def test_the_doctor_ends_with_what_to_do_first(bad, last, status, monkeypatch, capsys):
    """Three things at most, the worst first; notes are none of them."""
    found = [preflight.Finding("kernel", "6.1")] + [
        preflight.Finding(what, "bad", "get it", weight) for what, weight in bad]
    monkeypatch.setattr(preflight, "doctor", lambda: found)
    assert preflight.main([]) == status
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == last and ("1. gcc: get it" in lines) == bool(status)


def test_the_doctor_needs_nothing_that_is_built():
    """It finds the compiler, packages, descriptors, ports and Chromium, with
    the plain Python of the system."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", (
        f"import sys; sys.path.insert(0, {str(TOP)!r})\n"
        "from tools.bench.machine import preflight; sys.exit(preflight.main([]))")],
        capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "NO_INSTALL": "1"})
    assert done.returncode in (0, 1) and not done.stderr
    for what in ("kernel", "descriptor limit", "network of its own",
                 "port 8000", "packages: run", "packages: browser", "gcc"):
        assert f" {what}: " in done.stdout


@pytest.fixture(name="gate")
def make_gate(monkeypatch):
    """A Gate with a limit of 3 s, where `speeds` and `busy` say what it sees;
    `clock.now` is its time, which passes only by sleeping."""
    gate = quiet.Gate(MACHINE, 3.0)
    gate.clock, gate.speeds, gate.busy = SimpleNamespace(now=0.0), {}, []
    monkeypatch.setattr(quiet.time, "monotonic", lambda: gate.clock.now)
    monkeypatch.setattr(quiet.time, "sleep", lambda seconds: setattr(
        gate.clock, "now", gate.clock.now + seconds))
    monkeypatch.setattr(quiet, "measure", lambda core: gate.speeds.get(core, 5.0))
    monkeypatch.setattr(quiet, "foreign", lambda cores: gate.busy.pop(0) if gate.busy else 0.0)
    return gate


def test_it_waits_no_longer_than_needed(gate):
    """Three looks see a foreign program, the next one does not. In vain, it waits for the
    limit; the next wait is half as long. A core of the load counts, too."""
    gate.busy = [50.0] * 3
    gate()
    assert gate.clock.now == pytest.approx(3 * quiet.PAUSE)
    gate.clock.now, gate.busy = 0.0, [50.0] * 1000
    assert gate.disturbed() == "other programs use 50 % of the server's cores"
    gate()
    assert 3 <= gate.clock.now < 4
    begun = gate.clock.now
    gate()
    assert 1.5 <= gate.clock.now - begun < 2.5
    gate.speeds = {1: 9.0}
    assert gate.disturbed() == "core 1 is 80 % slower than usual"


def test_a_changed_comment_makes_no_figure_stale(tmp_path):
    """Changed code does, and so does text that only looks like a comment."""
    code = 'int main(void) { puts("/* no comment */"); return 1; } /* one */\n'

    def hash_of(text):
        (tmp_path / "common/pages").mkdir(parents=True, exist_ok=True)
        (tmp_path / "common/pages/a.c").write_text(text)
        return sources.hashed(tmp_path)

    before = hash_of(code)
    assert hash_of(code.replace("/* one */", "// another\n")) == before
    assert hash_of(code.replace("{ puts", "{\n    puts")) == before
    assert hash_of('#define SERVER_VERSION "a/1"\n') == hash_of('#define SERVER_VERSION "a/2"\n')
    assert hash_of(code.replace("return 1", "return 2")) != before
    assert hash_of(code.replace("no comment", "text")) != before


def test_a_run_holds_for_code_that_was_counted_to_cost_the_same(tmp_path):
    """Also in two steps, if both together are small; not where a cell costs more."""
    (tmp_path / "common").mkdir()
    (tmp_path / "common/a.c").write_text("int a;\n")
    now = sources.hashed(tmp_path)
    steps = tmp_path / sources.SAME_COST
    steps.mkdir(parents=True)

    def step(was, hashed, cost, left_out=""):
        cells = {one.name: dict.fromkeys(sources.CELLS, [[10, 990], cost])
                 for one in servers.ARCHITECTURES if one.name != left_out}
        (steps / f"{was}-{hashed}.json").write_text(json.dumps(
            {"was": {"hash": was}, "now": {"hash": hashed}, "cells": cells}))

    step("b", now, [10, 985])           # half a per cent less
    step("a", "b", [14, 990])
    step("far", "a", [12, 990])         # too far in three steps
    step("other", now, [30, 990])
    step("part", now, [10, 990], left_out="epoll")
    assert [sources.costs_as(one, tmp_path) for one in (
        now, "b", "a", "far", "other", "part", "c")] == [True] * 3 + [False] * 4
