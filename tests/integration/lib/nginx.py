"""nginx in a folder of its own, on a free port of the loopback, and its access log."""

import socket
import subprocess
import time
from pathlib import Path

from .daemon import PATIENCE, free_port, until

CONFIGURATION = """\
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  log_format exact '$request_method $request_uri $status $request_length $bytes_sent $connection';
  access_log {folder}/access.log exact;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  keepalive_requests 100;
  lingering_close off;
  default_type text/plain;
{http}
}}
"""


class Entry:
    """One line of the access log."""

    def __init__(self, line):
        method, uri, status, request_length, bytes_sent, connection = line.split(" ")
        self.method, self.uri, self.status, self.connection = method, uri, int(status), int(connection)
        self.request_length, self.bytes_sent = int(request_length), int(bytes_sent)


class Nginx:
    """`http`: the server blocks, in which @PORT@ stands for the port and @FOLDER@ for `folder`."""

    def __init__(self, folder, http):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        for _ in range(20):  # another process may take the port between its choice and its use
            self.port = free_port()
            text = CONFIGURATION.format(folder=self.folder, http=http.replace("@PORT@", str(self.port)).replace(
                "@FOLDER@", str(self.folder)))
            (self.folder / "nginx.conf").write_text(text, encoding="utf-8")
            if self.start():
                return
            self.stop()
        raise AssertionError((self.folder / "error.log").read_text(encoding="utf-8", errors="replace"))

    def start(self):
        """Starts it, again if need be, and waits until it listens. False: it cannot."""
        self.process = subprocess.Popen(
            ["nginx", "-p", self.folder, "-c", self.folder / "nginx.conf", "-e", self.folder / "error.log"],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return comes_up(self.process, self.port)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)

    def entries(self):
        """How many requests it has logged so far."""
        return (self.folder / "access.log").read_bytes().count(b"\n")

    def wait_for_entries(self, count):
        until(f"{count} requests in the log of nginx", lambda: self.entries() >= count)

    def log(self):
        """Stops nginx and gives the entries of its access log: all of them, for it writes one when it is done."""
        self.stop()
        lines = (self.folder / "access.log").read_text(encoding="utf-8").splitlines()
        return [Entry(line) for line in lines]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def comes_up(process, port):
    """Whether a server that was just started listens on its port before long; False: it has ended, or never does."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            time.sleep(0.01)
    return False
