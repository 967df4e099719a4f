"""A small file is sent whole and in parts, and no descriptor is kept."""

import os

from tests.support.processes import children
from tests.support.servers import TOP


def open_files(server):
    """Return the paths that the server's processes have open."""
    return {os.readlink(link.path)
            for pid in (server.pid, *children(server.pid))
            for link in os.scandir(f"/proc/{pid}/fd")}


def check(server):
    style = TOP / "public" / "style.css"
    content = style.read_bytes()
    whole = server.request("/style.css")
    assert (whole.status, whole.body) == (200, content)
    part = server.request("/style.css", fields=[("Range", "bytes=10-19")])
    assert (part.status, part.body) == (206, content[10:20])
    assert server.request("/style.css", "HEAD").get("Content-Length") == \
        str(len(content))
    assert not {path for path in open_files(server)
                if path.endswith("/style.css")}
