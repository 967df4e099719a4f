"""A web site of the tests' own, as --root takes it."""

import os
import shutil

from tests.support.processes import make_folder, remove_folder
from tests.support.servers import TOP


class Site:
    """A folder with copies of the project's public/ and templates/."""

    def __init__(self):
        self.root = make_folder("site")
        shutil.copytree(TOP / "public", self.root / "public")
        shutil.copytree(TOP / "templates", self.root / "templates")
        self.public = self.root / "public"

    @property
    def template(self):
        """The text of the guestbook's template."""
        return (self.root / "templates/guestbook/index.html").read_text()

    def write(self, path, content, age=3600):
        """Put a file below public/, last changed `age` seconds ago."""
        file = self.public / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        changed = file.stat().st_mtime_ns - age * 10**9
        os.utime(file, ns=(changed, changed))
        return file

    def remove(self):
        """Remove the folder."""
        remove_folder(self.root)
