"""The cases of a public compliance suite, as data: what is sent and what is right.

The suite is Http11Probe (https://github.com/MDA2AV/Http11Probe), which sends the same
215 requests to many servers and publishes their answers. Each case here has the name
that it has there, but our words and our pages. The suite posts to "/". Here a form
goes to /guestbook, and other content to /answer. That page takes no POST, so the answer
is 405, but only after the server has read the whole request.

Each case is sent with a good request right behind it. What is expected:

    refused(400)   one of these statuses; the connection ends, and the request behind
                   is not answered
    served(200)    this status; the connection is kept, and the request behind is
                   answered
    last(200)      this status; the connection ends, and the request behind is not
                   answered
    waits()        no answer yet, because the request is not complete (sent alone)

`legal` names a row of the table "Legal, and why" in docs/reference/promises.md: the
suite would prefer something else there, or counts it as a fault.
"""

from tests.blackbox.compliance.caches import CACHES
from tests.blackbox.compliance.framing import CHUNKS, CODINGS, LENGTHS
from tests.blackbox.compliance.heads import FIELDS, LINES

CASES = {**LINES, **FIELDS, **LENGTHS, **CODINGS, **CHUNKS, **CACHES}
