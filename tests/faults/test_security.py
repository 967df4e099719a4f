"""What must not come of hostile names, and what a server gives up.

Paths, links, malformed and smuggled requests, escaping, the log and the policy
of every page are tested in tests/blackbox; what is left is here.
"""

import os
import pwd

import pytest

from observe import status
from processes import session_members

HOSTILE = ["a\r\nX-Evil: 1", "a\nb", "50%0d%0aX-Evil: 1", "a b", "\u00fc",
           "q?x=1#y", "<b>&\"'", "%2e%2e", "a\\b", "\x7f\x1b[31m"]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_picture_s_name_in_a_redirect(launch, own_site, name):
    """Its name comes out of a folder, and may be anything that a file's may.
    The Location leads to it, and nowhere else."""
    pictures = own_site.public / "pictures"
    for picture in pictures.iterdir():
        picture.unlink()
    (pictures / name).write_bytes(b"the picture")
    server = launch(root=own_site.root)
    response = server.request("/redirect")
    assert response.status == 302
    assert response.get("X-Evil") is None
    location = response.get("Location")
    assert location.isascii() and location.isprintable()
    assert not set(location) & set(' "<>\\^`{|}')
    assert server.request(location).body == b"the picture"


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_folder_s_name_in_a_redirect(launch, own_site, name):
    own_site.write(f"{name}/index.html", b"inside")
    server = launch(root=own_site.root)
    path = "/" + "".join(f"%{byte:02X}" for byte in name.encode())
    response = server.request(path)
    assert response.status == 301
    assert response.get("X-Evil") is None
    assert response.get("Location") == path + "/"
    assert server.request(path + "/").body == b"inside"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another")
def test_user(launch):
    """Every process, and every one of its rights: real, effective and saved."""
    server = launch("--user", "nobody")
    user = pwd.getpwnam("nobody")
    with server.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\n")      # in 02, so there is a child
        server.wait_until_read(connection)
        for pid in session_members(server.pid):
            assert status(pid, "Uid").split() == [str(user.pw_uid)] * 4
            assert status(pid, "Gid").split() == [str(user.pw_gid)] * 4
            assert status(pid, "Groups") == ""
            assert int(status(pid, "CapEff"), 16) == 0
    assert server.request("/guestbook").status == 200
