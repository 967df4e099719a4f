"""What `make compare` and the targets around it start.

Exit status of every command: 0 when all was done, 1 when it cannot start or
continue, 2 for a wrong setting, 130 after Ctrl-C.
"""

import importlib
import signal
import sys

from tools.bench import peers

COMMANDS = {    # name: (module, function, help)
    "run": ("tools.bench.command", "run", "measures the servers (make compare)"),
    "study": ("tools.bench.command", "study", "NAME: one of the studies (make study)"),
    "studies": ("tools.bench.studies.study", "main", "lists the studies"),
    "settings": ("tools.bench.config", "main", "[COMMAND...] checks its settings only"),
    "report": ("tools.report.report", "main", "[FOLDER] draws a run again"),
    "diff": ("tools.report.diff", "main", "FOLDER FOLDER: do two runs agree?"),
    "join": ("tools.report.join", "main", "FOLDER RUN... joins parts of a run"),
    "peers": ("tools.bench.peers.install", "main", "[NAME...] installs other servers"),
    "doctor": ("tools.bench.machine.preflight", "main", "is this machine ready?"),
    "agent": ("tools.fleet.agent", "main", "what a run with --fleet starts on its hosts"),
}


def main(words):
    """Run the command that the first word names with the others; return its exit status."""
    if not words or words[0] not in COMMANDS:
        asked = not words or words[0] in ("-h", "--help")
        if not asked:
            print(f"bench: no command {words[0]!r}", file=sys.stderr)
        print("python3 -m tools.bench COMMAND; --help after run or study lists the settings",
              *(f"  {name:13} {told}" for name, (_, _, told) in COMMANDS.items()), sep="\n",
              file=sys.stdout if asked else sys.stderr)
        return 0 if words and asked else 2
    module, function, _ = COMMANDS[words[0]]
    try:
        return getattr(importlib.import_module(module), function)(words[1:])
    except peers.PeerError as error:
        print(f"{words[0]}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    # Until a command handles it, Ctrl-C ends without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
