"""What the tests share: one client, one Redis, one way to start a server and to wait.

client, guest, load, crowd      those who ask
servers, site, processes        what is started, and how it ends
private_redis, faulty_redis     the Redis behind it
procfs, access_log              what is seen from outside
scenarios                       faults that several suites play
chromium                        the browser
"""

import os

FULL = os.environ.get("FULL", "") not in ("", "0")     # every case, also those that take long
