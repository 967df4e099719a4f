"""make model: settings, their errors, and what is printed."""

import json
import shutil
import subprocess
import sys

import pytest

from bench import whatif
from bench.analyse import calibrate, model
from bench.run.servers import TOP
from test_model import COMMITTED, PLAIN


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    """The environment of the test run asks for nothing."""
    for name in whatif.NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("text", ["05", "5", "prethreaded", "PreThreaded",
                                  "05_prethreaded"])
def test_a_server_has_many_names(text, capsys):
    """Number or name, in any case."""
    assert whatif.main([f"SERVER={text}", "CLIENTS=20,1000"]) == 0
    out = capsys.readouterr().out
    assert "05_prethreaded, guestbook" in out and "01_" not in out
    assert [line.split()[0] for line in out.splitlines()
            if "/s" not in line and line[:11].strip()[:1].isdigit()
            and not line.startswith("05")] == ["20", "1,000"]


@pytest.mark.parametrize("words, said", [
    (["SERVER=08"], "SERVER=08: there are 01 to 07"),
    (["CLIENTS=0"], "CLIENTS=0: it has to be a whole number"),
    (["CLIENTS=1,000,000x"], "CLIENTS=000000x"), (["CORES=1.5"], "CORES=1.5"),
    (["WORKERS=-4"], "WORKERS=-4"), (["MACHINES=2000000"], "MACHINES="),
    (["REDIS_MS=nan"], "REDIS_MS=nan"), (["REDIS_MS=-1"], "REDIS_MS=-1"),
    (["REDIS_MS=."], "REDIS_MS=."), (["PAGE=hello"], "PAGE=hello"),
    (["IDLE=²"], "IDLE=²"), (["COSTS=/missing"], "COSTS=/missing: No such"),
    (["COSTS=README.md"], "README.md: these are no costs"),
    (["CLIENT=5"], "CLIENT=5: settings are NAME=VALUE")])
def test_a_wrong_setting_is_named(words, said, capsys, monkeypatch):
    """One sentence, exit status 2, nothing printed before it."""
    monkeypatch.chdir(TOP)
    assert whatif.main(words) == 2
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 1
    assert err.startswith(f"model: {said}" if "," not in words[0] else "model")


def test_cores_are_called_prediction(capsys):
    """A prediction is called one, and a measured value is not."""
    for words, told in (([], False), (["CORES=8"], True),
                        (["CORES=16", "CLIENTS=1000000", "MACHINES=20"],
                         True)):
        assert whatif.main(["SERVER=07", *words]) == 0
        assert ("Prediction: no server" in capsys.readouterr().out) == told


def test_settings_are_variables_of_make():
    """As the Makefile's help line has it."""
    done = subprocess.run(
        ["make", "-s", "model", f"PYTHON={sys.executable}", "SERVER=05",
         "CLIENTS=1000", "CORES=16", "REDIS_MS=2", "WORKERS=400",
         "MACHINES=4"], cwd=TOP, capture_output=True, text=True, check=True)
    assert "05_prethreaded" in done.stdout and "1,000" in done.stdout


def test_every_answer_is_a_table_and_a_sentence():
    """Each server has a row for each number of clients, and a reason."""
    asked = [model.Setting(server, clients=count)
             for server in model.WORKERS for count in whatif.CLIENTS]
    lines = "\n".join(whatif.lines(PLAIN, asked)).splitlines()
    assert len(lines) == 1 + 7 * (1 + 2 + len(whatif.CLIENTS) + 1)


def test_calibrate_writes_costs_that_model_reads(tmp_path, capsys):
    """Into the folder of the run, with the machine's cache; the tracked file
    stays as it is."""
    shutil.copy(COMMITTED / "samples.csv", tmp_path)
    (tmp_path / "env.json").write_text(json.dumps(
        {"machine": {"cpu": "A CPU", "cache_kib": 4096}}))
    before = model.COSTS.read_bytes()
    assert whatif.main_calibrate([str(tmp_path)]) == 0
    path = capsys.readouterr().out.strip()
    costs = model.load(path)
    assert costs["machine"]["cache_kib"] == 4096
    assert costs["source"]["most_clients"] == calibrate.MOST
    assert model.COSTS.read_bytes() == before
    assert whatif.main([f"COSTS={path}", "SERVER=07"]) == 0
    assert "(A CPU)" in capsys.readouterr().out
    assert whatif.main_calibrate([str(tmp_path / "no")]) == 1
    assert whatif.main_calibrate([]) == 2
