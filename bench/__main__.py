"""What `make compare` and the targets around it start.

    python3 -m bench run                   measures the servers (make compare)
    python3 -m bench settings              says what is wrong with the settings
    python3 -m bench study NAME            one of the studies (make study NAME=...)
    python3 -m bench report [FOLDER]       draws a run again
    python3 -m bench diff FOLDER FOLDER    do two runs agree?
    python3 -m bench join FOLDER RUN...    puts parts of a run together
    python3 -m bench peers [NAME...]       installs other servers
    python3 -m bench check-peers [NAME...] asks each of them, measures nothing
    python3 -m bench check-floors          does each floor what its server does?
"""

import importlib
import signal
import sys

COMMANDS = {
    "run": "bench.run.session", "settings": "bench.config",
    "report": "bench.draw.report", "diff": "bench.analyse.diff",
    "join": "bench.store.join", "peers": "bench.peers.install",
    "check-peers": "bench.peers.check",
    "check-floors": "bench.peers.floor_check",
}
STUDIES = ("cost", "floors", "flat", "pacing", "breakdown",
           "reuseport", "redis_limit", "redis_ways")


def main():
    """Run the command that the first word names; return its exit status."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if words else 2
    name = words.pop(0)
    module = COMMANDS.get(name)
    if name == "study" and words and words[0].replace("-", "_") in STUDIES:
        module = "bench.studies." + words.pop(0).replace("-", "_")
    if module is None:
        print(f"bench: no command {name!r}\n{__doc__.strip()}",
              file=sys.stderr)
        return 2
    sys.argv = [f"bench {name}", *words]
    return importlib.import_module(module).main()


# Until a command handles it, while all this is imported, Ctrl-C just ends.
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.exit(main())
