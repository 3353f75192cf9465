"""tinyproxy in a folder of its own, on a free port of the loopback, for one user."""

import subprocess
from pathlib import Path

from lib.daemon import PATIENCE, free_port
from lib.nginx import comes_up

CONFIGURATION = """\
Port {port}
Listen 127.0.0.1
Timeout 60
LogFile "{folder}/log"
LogLevel Connect
PidFile "{folder}/pid"
MaxClients 200
Allow 127.0.0.1
BasicAuth {user} {password}
"""


class Tinyproxy:
    def __init__(self, folder, user, password):
        self.folder = Path(folder)
        self.folder.mkdir()
        for _ in range(20):  # another process may take the port between its choice and its use
            self.port = free_port()
            (self.folder / "conf").write_text(
                CONFIGURATION.format(folder=self.folder, port=self.port, user=user, password=password),
                encoding="utf-8")
            self.process = subprocess.Popen(["tinyproxy", "-d", "-c", self.folder / "conf"], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if comes_up(self.process, self.port):
                return
            self.stop()
        raise AssertionError("tinyproxy does not come up")

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
