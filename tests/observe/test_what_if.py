"""make model: settings, their errors, and what is printed."""

import json
import shutil
import subprocess
import sys

import pytest

from tools.kit import TOP
from tools.model import calibrate, model
from tools.observe import __main__ as observe, what_if as command
from tests.observe.test_model import COMMITTED


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    """The environment of the test run asks for nothing."""
    for name, *_ in command.SETTINGS:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("text", ["05", "prethreaded", "05_prethreaded"])
def test_a_server_has_many_names(text, capsys):
    assert command.main(["--server", text, "--clients", "20,1000"]) == 0
    _, _, title, _, *rows, why = capsys.readouterr().out.splitlines()
    assert title == "05_prethreaded, guestbook" and why.endswith(".")
    assert [row.split()[0] for row in rows] == ["20", "1,000"]


def test_a_prediction_that_nothing_checks_says_so(capsys):
    assert command.main(["--server", "05", "--cores", "8"]) == 0
    assert "Prediction: no server" in capsys.readouterr().out


@pytest.mark.parametrize("name, value, said", [
    ("SERVER", "08", "there are 01 to 07"), ("PAGE", "hello", "there are guestbook"),
    ("CLIENTS", "10,0", "it has to be a whole number from 1 to 1,000,000"),
    ("CORES", "1.5", "it has to be a whole number"), ("REDIS_MS", "nan", "it has to be")])
def test_a_wrong_setting_is_named(name, value, said, capsys, monkeypatch):
    """Wherever it stands."""
    option = "--" + name.lower().replace("_", "-")
    for words in ([option, value], []):
        assert command.main(words) == 2
        out, err = capsys.readouterr()
        assert not out and f"{name}={value}: {said}" in err
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("what, status", [("model", 2), ("simulator", 1)])
@pytest.mark.parametrize("text", ["", "{}", '{"format": 1}'])
def test_wrong_costs_are_named(text, what, status, tmp_path, capsys):
    path = tmp_path / "costs.json"
    path.write_text(text)
    assert observe.main([what, "--costs", str(path)]) == status
    out, err = capsys.readouterr()
    assert not out and f"{path}: these are no costs" in err


def test_settings_are_variables_of_make():
    """As the Makefile's help line has it."""
    done = subprocess.run(
        ["make", "-s", "model", f"PYTHON={sys.executable}", "SERVER=05", "CLIENTS=1000",
         "CORES=16", "REDIS_MS=2", "WORKERS=400", "MACHINES=4"],
        cwd=TOP, capture_output=True, text=True, check=True)
    assert "05_prethreaded" in done.stdout and "1,000" in done.stdout


def test_calibrate_writes_costs_that_model_reads(tmp_path, capsys):
    """Into the folder of the run, with the machine's cache."""
    shutil.copy(COMMITTED / "samples.csv.xz", tmp_path)
    (tmp_path / "env.json").write_text(json.dumps(
        {"machine": {"cpu": "A CPU", "cache_kib": 4096}}))
    assert calibrate.main([str(tmp_path)]) == 0
    path = capsys.readouterr().out.strip()
    costs = model.load(path)
    assert costs["machine"]["cache_kib"] == 4096
    assert costs["source"]["most_clients"] == calibrate.MOST
    assert command.main(["--costs", path, "--server", "07"]) == 0
    assert "(A CPU)" in capsys.readouterr().out
    assert calibrate.main([str(tmp_path / "no")]) == 1
    assert calibrate.main([]) == 2
