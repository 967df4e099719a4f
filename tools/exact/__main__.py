"""python -m tools.exact, see --help."""

import sys

from tools.exact import command

sys.exit(command.run(sys.argv[1:]))
