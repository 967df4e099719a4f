"""Shows what a server does while it waits.

    python3 -m observe watch WHAT       a live view: make watch-05
    python3 -m observe timeline WHICH   a picture of a burst: make timeline
    python3 -m observe demo-stuck       four troublesome clients: make demo-stuck
    python3 -m observe predict WHICH    your prediction and the measured figures
    python3 -m observe predictions DIR  those of a class: make predictions
    python3 -m observe model            what clients, workers, cores change: make model
    python3 -m observe calibrate RUN    the model's costs, from a run
    python3 -m observe simulator        a page to try settings: make simulator

--help after a command lists its options.
"""

import importlib
import sys

from observe.lab import LabError

COMMANDS = {"watch": "observe.watch.command",
            "timeline": "observe.timeline.command",
            "demo-stuck": "observe.stuck",
            "predict": "observe.predict.command",
            "predictions": "observe.predict.group",
            "model": "observe.model.command",
            "calibrate": "observe.model.calibrate",
            "simulator": "observe.simulator.command"}


def main(words):
    """Run the command that the first word names; return its exit status."""
    if not words or words[0] not in COMMANDS:
        print(__doc__.strip())
        return 0 if words[:1] in (["-h"], ["--help"]) else 2
    try:
        return importlib.import_module(COMMANDS[words[0]]).main(words[1:])
    except (LabError, OSError) as error:
        print(f"observe: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
