"""What tools/kit/process.py does with processes that nobody waits for."""

import subprocess
import sys

from tests.support.servers import TOP

ORPHAN = """
import os, sys
from tools.kit import process, wait
process.adopt_orphans()
with open(os.devnull, "w") as output:
    child = process.spawn(["sh", "-c", "sh -c 'sleep 0.1 & echo $! >pid'; sleep 60"],
                          os.sched_getaffinity(0), output, sys.argv[1])
path = os.path.join(sys.argv[1], "pid")
assert wait.until(lambda: os.path.exists(path) and open(path).read(), 60)
orphan = int(open(path).read())
state = lambda: open(f"/proc/{orphan}/stat").read().rpartition(")")[2].split()[0]
assert wait.until(lambda: state() == "Z", 60)
process.reap_orphans()
assert not os.path.exists(f"/proc/{orphan}")
assert process.wait(child, 0) is None
assert str(process.stop(child)) == "SIGTERM"
process.reap_orphans()
"""


def test_an_adopted_orphan_is_waited_for_and_a_child_is_left(tmp_path):
    """A zombie looks as if it ran; the status of a child is for who started it."""
    subprocess.run([sys.executable, "-c", ORPHAN, tmp_path], cwd=TOP, check=True, timeout=120)
