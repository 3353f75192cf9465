"""The servers that are loaded: Debian's nginx and the product's own target, each a single thread on a processor."""

import contextlib
import dataclasses
import http.client
import subprocess
import tempfile
from pathlib import Path

from lib.needs import find
from lib.processes import SERVER_CPU, Background, Failure
from lib.testing import free_port

BODY_BYTES = 200
MOST_CONNECTIONS = 15000

NGINX = """
daemon off;
master_process off;
pid nginx.pid;
events {{ worker_connections {connections}; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  default_type application/json;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    listen 127.0.0.1:{tls_port} ssl backlog=4096;
    ssl_certificate certificate.pem;
    ssl_certificate_key key.pem;
    ssl_protocols TLSv1.3;
    location = /json {{ return 200 '{body}'; }}
    location = /varied {{ add_header X-Request-Id $request_id; return 200 '{body}'; }}
    location = /served {{ stub_status; }}
  }}
}}
"""


@dataclasses.dataclass
class Site:
    """A server under load, as generators see it."""
    name: str
    base: str  # http://127.0.0.1:1234
    process: Background
    ca_file: str = ""
    status_port: int = 0  # 0: it does not tell how much it served
    path: str = "/json"

    @property
    def url(self):
        return self.base + self.path

    @property
    def address(self):
        return self.base.partition("://")[2]

    def served(self):
        """(connections accepted, requests served) so far, this question included; None when it does not tell."""
        if not self.status_port:
            return None
        accepted, _, requests = self.status()[2].split()
        return int(accepted), int(requests)

    def connections(self):
        """How many are open now."""
        return int(self.status()[0].rpartition(":")[2])

    def status(self):
        return fetch(self.status_port, "/served").decode("ascii").splitlines()


def fetch(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
    if response.status != 200:
        raise Failure(f"http://127.0.0.1:{port}{path} answers {response.status}, not 200")
    return body


def json_body():
    start = '{"id": 4711, "name": "a bell for the one that leads", "pad": "'
    return start + "x" * (BODY_BYTES - len(start) - 2) + '"}'


def make_certificate(folder):
    made = subprocess.run(
        [find("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem",
         "-out", "certificate.pem"], cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Failure(f"openssl made no certificate: {made.stderr.strip()}")


@contextlib.contextmanager
def nginx():
    """Yields its plain and its TLS site. Under /varied the plain one answers with a head that is never the same."""
    with tempfile.TemporaryDirectory(prefix="bellwether-bench-") as folder:
        port, tls_port = free_port(), free_port()
        make_certificate(folder)
        config = NGINX.format(port=port, tls_port=tls_port, body=json_body(), connections=MOST_CONNECTIONS)
        Path(folder, "nginx.conf").write_text(config, encoding="ascii")
        command = [find("nginx"), "-p", folder + "/", "-c", "nginx.conf", "-e", "error.log"]
        with Background(command, cpu=SERVER_CPU) as process:
            process.wait_for_port(port)
            if len(fetch(port, "/json")) != BODY_BYTES:
                raise Failure(f"nginx does not serve the {BODY_BYTES} bytes that it was told to")
            yield (Site("nginx", f"http://127.0.0.1:{port}", process, status_port=port),
                   Site("nginx, TLS 1.3", f"https://127.0.0.1:{tls_port}", process, status_port=port,
                        ca_file=f"{folder}/certificate.pem"))


@contextlib.contextmanager
def target(bellwether, *options, cpu=SERVER_CPU):
    """Yields the site of `bellwether target`."""
    port = free_port()
    command = [bellwether, "target", "--listen", f"127.0.0.1:{port}", "--cores", "1", *options]
    with Background(command, cpu=cpu) as process:
        process.wait_for_port(port)
        fetch(port, "/json")
        yield Site("bellwether target", f"http://127.0.0.1:{port}", process)
