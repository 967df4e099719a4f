"""Measuring over hosts in namespaces, end to end."""

import csv
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.kit import procfs, servers
from tests.fleet.hosts import hosts

TOP = Path(__file__).parents[2]
pytestmark = [pytest.mark.namespaces, pytest.mark.skipif(
    bool(servers.named("epoll").problem()), reason="needs the servers (make all)")]


def bench(inventory, out, *words):
    """Start `python3 -m tools.bench run` with a fleet that runs this checkout."""
    ours = out / "hosts.ini"
    ours.write_text(re.sub(r"zerohttpd_dir=\S+", f"zerohttpd_dir={TOP}",
                           inventory.read_text()))
    return subprocess.Popen(
        [sys.executable, "-m", "tools.bench", "run", "--fleet", str(ours), "--out", str(out),
         "--experiment", "guestbook", *words], cwd=TOP, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "NO_INSTALL": "1", "NO_COLOR": "1"})


def rows(out, name):
    """Return the rows of a file of the latest run."""
    with open(out / "latest" / name, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_guestbook_with_five_hosts(tmp_path):
    """Two concurrencies: rows as on one machine, and what each host did."""
    with hosts(["server", "redis", "load1", "load2", "load3"]) as fleet:
        process = bench(fleet.inventory, tmp_path, "--servers", "epoll",
                        "--concurrency", "20,50", "--seconds", "0.5", "--repeat", "1")
        output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert "are one machine" in output
    assert "What each host did" in (tmp_path / "latest" / "tables.txt").read_text()
    found = rows(tmp_path, "samples.csv")
    assert sorted((row["server"], row["x"]) for row in found) == [
        ("epoll", "20"), ("epoll", "50")]
    parts = rows(tmp_path, "hosts.csv")
    for row in found:
        assert row["status"] in ("ok", "lossy"), row["note"]
        assert row["host"] == "server" and float(row["cpu_us"]) > 0
        assert float(row["p50_ms"]) <= float(row["p99_ms"]) <= float(row["max_ms"])
        assert float(row["redis_busy"]) > 0 and float(row["skew_ms"]) >= 0
        mine = [part for part in parts if part["order"] == row["order"]]
        assert [part["role"] for part in mine] == ["server", *["load"] * 3, "redis"]
        assert sum(int(part["requests"] or 0) for part in mine) == int(row["requests"])
        raw = (tmp_path / "latest" / row["raw"]).read_text()
        share = int(row["x"]) // 3
        for name in ("load1", "load2", "load3"):
            assert re.search(rf"\[{name}\] ab .*-c ({share}|{share + 1}) .*"
                             rf"http://{fleet.address['server']}:", raw), raw


def test_a_load_host_that_dies(tmp_path):
    """Its cell says so, the run ends with a sentence, and nothing runs on."""
    with hosts(["server", "redis", "load1", "load2"]) as fleet:
        process = bench(fleet.inventory, tmp_path, "--servers", "epoll",
                        "--concurrency", "20", "--seconds", "60", "--repeat", "2")
        until = time.monotonic() + 60
        while not works(fleet, "load2"):
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.02)
        os.kill(fleet.pid["load2"], signal.SIGKILL)
        output, _ = process.communicate(timeout=120)
        assert not works(fleet, "load1")
    assert process.returncode == 1, output
    assert re.search(r"Ended before the end, by load2 dropped out: .+:\s+these are",
                     output), output
    [row] = rows(tmp_path, "samples.csv")
    assert row["status"] == "no figure" and row["note"].startswith("load2 dropped out")


def works(fleet, name):
    """Return whether a load tool runs on a host."""
    return any("ab" == Path(procfs.read(f"/proc/{one.pid}/comm").strip()).name
               for one in procfs.tree(fleet.pid[name]))
