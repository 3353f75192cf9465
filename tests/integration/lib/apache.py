"""Apache httpd in a folder of its own, on a free port of the loopback, for what nginx cannot do."""

import hashlib
import subprocess
from pathlib import Path

from .daemon import PATIENCE, free_port, until
from .nginx import comes_up

CONFIGURATION = """\
ServerRoot {folder}
ServerName 127.0.0.1
PidFile {folder}/pid
ErrorLog {folder}/error.log
Listen 127.0.0.1:{port}
DocumentRoot {folder}/pages
{modules}
{more}
"""
DIGEST = """\
LogFormat "%r %>s" short
CustomLog {folder}/access.log short
<Location />
  AuthType Digest
  AuthName "the shop"
  AuthDigestProvider file
  AuthUserFile {folder}/users
  AuthDigestNonceLifetime {lifetime}
  Require valid-user
</Location>
"""


class Apache:
    """It serves `folder`/pages. `more`: lines of its configuration, in which {folder} stands for `folder`."""

    def __init__(self, folder, more, modules=()):
        self.folder = Path(folder)
        (self.folder / "pages").mkdir(parents=True, exist_ok=True)
        load = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so"
                         for name in ("mpm_event", "authz_core", *modules))
        for _ in range(20):
            self.port = free_port()
            (self.folder / "httpd.conf").write_text(CONFIGURATION.format(
                folder=self.folder, port=self.port, modules=load, more=more.format(folder=self.folder)),
                encoding="utf-8")
            if self.start():
                return
            self.stop()
        raise AssertionError((self.folder / "error.log").read_text(encoding="utf-8", errors="replace"))

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen(
            ["apache2", "-D", "FOREGROUND", "-f", self.folder / "httpd.conf"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return comes_up(self.process, self.port)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)

    def requests(self, count):
        """(path, status) of each, once there are so many: one is logged after its response was sent."""
        def logged():
            lines = (self.folder / "access.log").read_text(encoding="utf-8").splitlines()
            return lines if len(lines) >= count else None
        lines = until(f"{count} requests in the log of Apache", logged)
        return [(line.split(" ")[1], int(line.rsplit(" ", 1)[1])) for line in lines]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class DigestApache(Apache):
    """`users`: names and passwords. `lifetime`: of a nonce, in seconds."""

    def __init__(self, folder, users, lifetime=300):
        pages = Path(folder) / "pages"
        pages.mkdir(parents=True)
        (pages / "page").write_text("hello", encoding="utf-8")
        (Path(folder) / "users").write_text("".join(
            f"{name}:the shop:{hashlib.md5(f'{name}:the shop:{password}'.encode()).hexdigest()}\n"
            for name, password in users.items()), encoding="utf-8")
        super().__init__(folder, DIGEST.replace("{lifetime}", str(lifetime)),
                         ("authn_core", "authn_file", "authz_user", "auth_digest"))
