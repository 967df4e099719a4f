"""What is below public/ can be had, and nothing else."""

import os
import socket

import pytest

pytestmark = pytest.mark.protocol

SECRET = b"outside of public\n"


@pytest.fixture(scope="module")
def tree(site):
    """Files, folders and links, good and bad, below /paths."""
    (site.root / "secret.txt").write_bytes(SECRET)
    (site.root / "secrets").mkdir(exist_ok=True)
    (site.root / "secrets/index.html").write_bytes(SECRET)
    site.write("paths/file.txt", b"inside")
    site.write("paths/with space.txt", b"space")
    site.write("paths/\u00fcml\u00e4ut.txt", b"umlaut")
    site.write("paths/100%.txt", b"percent")
    site.write("paths/a+b.txt", b"plus")
    site.write("paths/question?.txt", b"question")
    site.write("paths/.hidden", SECRET)
    site.write("paths/.git/config", SECRET)
    site.write("paths/..txt", SECRET)
    site.write("paths/bare/file.txt", b"no index here")
    site.write("paths/indexed/index.html", b"index")
    for name, target in {
            "link-inside": "file.txt",
            "link-to-folder": "indexed",
            "link-outside": "../../secret.txt",
            "link-absolute": str(site.root / "secret.txt"),
            "link-to-outer-folder": "../../secrets",
            "link-dangling": "nowhere",
            "link-loop": "link-loop",
            "link-proc": "/proc/self/root/etc/passwd"}.items():
        path = site.public / "paths" / name
        if not path.is_symlink():
            path.symlink_to(target)
    fifo = site.public / "paths/fifo"
    if not fifo.exists():
        os.mkfifo(fifo)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(site.public / "paths/socket"))
    return site


def test_what_is_there(server, tree):
    for path, body in [
            ("f%69le%2Etxt", b"inside"), ("file.txt?query=../..", b"inside"),
            ("with%20space.txt", b"space"), ("%C3%BCml%c3%a4ut.txt", b"umlaut"),
            ("100%25.txt", b"percent"), ("a+b.txt", b"plus"),   # only in forms is it a space
            ("question%3F.txt", b"question"), ("link-inside", b"inside"),
            ("link-to-folder/", b"index"), ("indexed/", b"index")]:
        response = server.request(f"/paths/{path}")
        assert (response.status, response.body) == (200, body), path


def expect_none(server, paths, statuses):
    """Check that nothing is had by these paths."""
    for path in paths:
        response = server.request(path)
        assert response.status in statuses, path
        assert SECRET not in response.body and b"root:" not in response.body, path


def test_what_is_not_there(server, tree):
    expect_none(server, [
        "/nothing", "/paths/nothing/", "/paths/file.txt/", "/paths/file.txt/more", "/paths/bare/",
        "/PATHS/file.txt", "/paths/link-dangling", "/paths/link-loop", "/%ff%fe",
        "/paths/.hidden", "/paths/%2ehidden", "/paths/%2egit/config", "/paths/.git/",
        "/paths/..txt", "/.well-known/x"], [404])


def test_traversal(server, tree):
    expect_none(server, [
        "/../secret.txt", "/paths/../../secrets/", "/paths/./file.txt", "/%2e%2E/secret.txt",
        "/.%2e/secret.txt", "/..%2fsecret.txt", "/%2e%2e%2fsecret.txt",
        "/paths/%2e%2e/%2e%2e/secret.txt", "/..%5csecret.txt", "/..\\secret.txt",
        "/%252e%252e/secret.txt", "/..%c0%afsecret.txt", "/..;/secret.txt", "//../secret.txt",
        "/paths//../../secret.txt", "/..", "/../", "/.", "/%2fetc/passwd", "//etc/passwd",
        "/../../../../../../etc/passwd", "/..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
        "http://test/../secret.txt", "http://test/%2e%2e/secret.txt"], [400, 403, 404])


def test_links_that_lead_out(server, tree):
    expect_none(server, [f"/paths/{path}" for path in (
        "link-outside", "link-absolute", "link-to-outer-folder/", "link-to-outer-folder",
        "link-to-outer-folder/index.html", "link-proc")], [403, 404])


def test_what_is_no_regular_file(server, tree):
    """Opening a FIFO would wait for its writer, for ever."""
    expect_none(server, ["/paths/fifo", "/paths/socket"], [403, 404])


def test_a_folder_without_its_slash(server, tree):
    tree.write("paths/a folder/index.html", b"x")
    for path in ["/paths/indexed", "/paths/bare", "/paths/link-to-folder", "/paths/a%20folder"]:
        response = server.request(path)
        assert response.status == 301
        assert response.get("Location") == path + "/"


def test_a_redirect_never_leads_to_another_host(server, tree):
    """"//pictures/" as a Location would be the host of that name."""
    for path in ["//pictures", "//paths/indexed", "/%2fpictures", "/\\pictures"]:
        location = server.request(path).get("Location")
        assert location is None or location[:1] == "/" and location[1:2] not in ("/", "\\")


def test_an_unreadable_file(launch, own_site):
    """Root may read everything, so a server that root starts becomes another
    user."""
    file = own_site.write("unreadable.txt", SECRET)
    file.chmod(0)
    folder = own_site.write("closed/file.txt", SECRET).parent
    folder.chmod(0)
    user = ["--user", "nobody"] if os.geteuid() == 0 else []
    server = launch(*user, root=own_site.root)
    for path in ["/unreadable.txt", "/closed/file.txt"]:
        response = server.request(path)
        assert response.status == 403
        assert SECRET not in response.body
    assert server.request("/").status == 200
    folder.chmod(0o755)
