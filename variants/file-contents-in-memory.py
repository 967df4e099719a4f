"""A small file is sent whole and in parts, and no descriptor is kept."""

from tools.kit import TOP, procfs


def open_files(server):
    """Return the paths that the server's processes have open."""
    return {path for pid in server.processes() for path in procfs.open_files(pid).values()}


def check(server):
    style = TOP / "public" / "style.css"
    content = style.read_bytes()
    whole = server.request("/style.css")
    assert (whole.status, whole.body) == (200, content)
    part = server.request("/style.css", fields=["Range: bytes=10-19"])
    assert (part.status, part.body) == (206, content[10:20])
    assert server.request("/style.css", "HEAD").headers["content-length"] == str(len(content))
    assert not {path for path in open_files(server)
                if path.endswith("/style.css")}
