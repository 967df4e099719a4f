"""What `make compare` and the targets around it start.

    python3 -m bench run                   measures the servers (make compare)
    python3 -m bench study NAME            one of the studies (make study)
    python3 -m bench settings [COMMAND...] checks its settings only
    python3 -m bench report [FOLDER]       draws a run again
    python3 -m bench diff FOLDER FOLDER    do two runs agree?
    python3 -m bench join FOLDER RUN...    joins parts of a run
    python3 -m bench peers [NAME...]       installs other servers
    python3 -m bench check-peers [NAME...] asks each of them, measures nothing
    python3 -m bench check-floors          compares floors with their servers
    python3 -m bench model [NAME=VALUE...] what does the model predict?
    python3 -m bench calibrate RUN...      the model's costs, from runs
    python3 -m bench doctor                is this machine ready?

--help after run or study lists the settings. Exit status: 0 when all was done,
1 when it cannot start or continue, 2 for a wrong setting, 130 after Ctrl-C.
"""

import importlib
import signal
import sys

COMMANDS = {
    "run": ("bench.run.session", "run"),
    "study": ("bench.run.session", "study"),
    "settings": ("bench.config", "main"),
    "report": ("bench.draw.report", "main"),
    "diff": ("bench.analyse.diff", "main"),
    "join": ("bench.store.join", "main"),
    "peers": ("bench.peers.install", "main"),
    "check-peers": ("bench.peers.check", "main"),
    "check-floors": ("bench.peers.floor_check", "main"),
    "model": ("bench.whatif", "main"),
    "calibrate": ("bench.whatif", "main_calibrate"),
    "doctor": ("bench.machine.preflight", "main"),
}


def main(words):
    """Run the command that the first word names with the others; return its
    exit status."""
    if not words or words[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if words else 2
    if words[0] not in COMMANDS:
        print(f"bench: no command {words[0]!r}\n{__doc__.strip()}",
              file=sys.stderr)
        return 2
    module, function = COMMANDS[words[0]]
    return getattr(importlib.import_module(module), function)(words[1:])


if __name__ == "__main__":
    # Until a command handles it, Ctrl-C ends without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
