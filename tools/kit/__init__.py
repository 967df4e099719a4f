"""One owner for each thing of the operating system that programs and tests use."""

from pathlib import Path

TOP = Path(__file__).resolve().parents[2]       # of the project

from tools.kit import unpacked  # noqa: E402  it asks for TOP

unpacked.enter()
