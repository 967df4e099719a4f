"""The study of instances behind a balancer, in a short form."""

import csv
import os
import re
import shutil
import subprocess
import sys

import pytest

from conftest import TOP, missing


@pytest.mark.skipif(not shutil.which("wrk") or bool(missing("haproxy")),
                    reason="needs wrk and HAProxy")
def test_it_measures_and_splits_the_cost(tmp_path):
    text = (TOP / "bench/studies/balanced.toml").read_text()
    loads = text.index("[[load]]")
    few = re.sub(r'^"(HAProxy 1|HAProxy 4|nginx.*)".*\n', "", text[:loads],
                 flags=re.MULTILINE)
    study = tmp_path / "few.toml"
    study.write_text(few + '[[load]]\nname = "few"\n')
    done = subprocess.run(
        [sys.executable, "-m", "bench", "study", str(study)], cwd=TOP,
        env={**os.environ, "SERVERS": "balanced-epoll", "SECONDS": "0.3",
             "REPEAT": "1", "OUT": str(tmp_path), "NO_INSTALL": "1"},
        capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "latest/samples.csv", encoding="utf-8") as file:
        rows = {row["server"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"balanced-epoll, direct", "balanced-epoll, HAProxy 2"}
    assert {row["status"] for row in rows.values()} == {"ok"}
    told = dict(re.findall(r"balanced-epoll, (direct|HAProxy 2), 100: ([\d.]+)"
                           " us a request in the balancer", done.stdout))
    assert float(told["direct"]) == 0 < float(told["HAProxy 2"])
