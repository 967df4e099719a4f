"""`make simulator`: writes the simulator, a page to open in a browser."""

import argparse
from pathlib import Path

from tools.kit import TOP
from tools.model import model
from tools.model.simulator import page
from tools.observe import lab

OUT = "results/simulator.html"


def main(words):
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.observe simulator", description=__doc__)
    parser.add_argument("--costs", type=Path, default=model.COSTS,
                        help="JSON as tools/model/model.py describes it; "
                        "default: the costs of the reference run")
    parser.add_argument("--out", default=OUT, help=f"file; default: {OUT}")
    options = parser.parse_args(words)
    try:
        costs = model.load(options.costs)
    except OSError as error:
        raise lab.LabError(f"--costs {options.costs}: {error.strerror}") from error
    except ValueError as error:
        raise lab.LabError(str(error)) from error
    path = TOP / options.out
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page.draw(costs), encoding="utf-8")
    print(f"{options.out}: open it in a browser")
    return 0
