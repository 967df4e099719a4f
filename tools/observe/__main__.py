"""Shows what a server does while it waits.

    python3 -m tools.observe watch WHAT       a live view: make watch-05
    python3 -m tools.observe timeline WHICH   a picture of a burst: make timeline
    python3 -m tools.observe demo-stuck       four troublesome clients: make demo-stuck
    python3 -m tools.observe predict WHICH    your prediction and the measured figures
    python3 -m tools.observe predictions DIR  those of a class: make predictions
    python3 -m tools.observe model            what clients, workers, cores change: make model
    python3 -m tools.observe calibrate RUN    the model's costs, from a run
    python3 -m tools.observe simulator        a page to try settings: make simulator

--help after a command lists its options.
"""

import importlib
import sys

from tools.kit import process
from tools.kit.redis import RedisError
from tools.observe.lab import LabError

COMMANDS = {"watch": "tools.observe.watch.command",
            "timeline": "tools.observe.timeline.command",
            "demo-stuck": "tools.observe.stuck",
            "predict": "tools.observe.predict.command",
            "predictions": "tools.observe.predict.group",
            "model": "tools.observe.what_if",
            "calibrate": "tools.model.calibrate",
            "simulator": "tools.observe.simulator"}


def main(words):
    """Run the command that the first word names; return its exit status."""
    if not words or words[0] not in COMMANDS:
        print(__doc__.strip())
        return 0 if words[:1] in (["-h"], ["--help"]) else 2
    process.end_on_signals()
    try:
        return importlib.import_module(COMMANDS[words[0]]).main(words[1:])
    except (LabError, RedisError, OSError) as error:
        print(f"observe: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
