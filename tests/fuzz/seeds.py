#!/usr/bin/python3
"""Writes the seeds of seeds.toml as files: seeds.py FOLDER makes FOLDER/TARGET/NAME."""

import sys
import tomllib
from pathlib import Path

tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="ascii"))
for target, seeds in tables.items():
    folder = Path(sys.argv[1], target)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in seeds.items():
        (folder / name).write_bytes(text.encode("latin-1"))
