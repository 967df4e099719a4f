"""scripts/own_path.py: a suite of `make check` finds the programs that its group names."""

import os
import shutil
import subprocess

from scripts import own_path

def test_other_programs_of_the_table_are_hidden_and_strangers_are_not(tmp_path):
    """The first of two programs of one name is found, as on the PATH itself."""
    for folder, names in (("a", "ls ab"), ("b", "strace ab tool ls"), ("c", "tool")):
        (tmp_path / folder).mkdir()
        for name in names.split():
            (tmp_path / folder / name).write_text(f"#!/bin/sh\necho {tmp_path}/{folder}/{name}\n")
            (tmp_path / folder / name).chmod(0o755)
    path = os.pathsep.join(str(tmp_path / one) for one in ("a", "b", "/no/such", "c", "a"))
    (tmp_path / "new").mkdir()
    found = own_path.lay(tmp_path / "new", ["quick", "unit", "labs"], path)

    def which(suite, name):
        place = shutil.which(name, path=found[suite][0].removeprefix("PATH="))
        return place and subprocess.check_output([place], text=True).strip()
    assert which("quick", "ab") == str(tmp_path / "a/ab") and not which("unit", "ab")
    assert which("labs", "strace") == str(tmp_path / "b/strace") and not which("unit", "strace")
    for suite in found:
        assert which(suite, "ls") == str(tmp_path / "a/ls")
        assert which(suite, "tool") == str(tmp_path / "b/tool")
    assert found["unit"][0].endswith(str(tmp_path / "c")), "that one needs no links"
