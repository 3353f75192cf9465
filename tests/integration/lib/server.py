"""A small HTTP server of threads, whose every byte a test decides, and which remembers all it was asked."""

import contextlib
import socket
import ssl
import struct
import threading
import time

from . import product
from .daemon import free_port


class Request:
    """One request as it arrived. `headers`: (lower-case name, value) in their order."""

    def __init__(self, connection, method, target, headers, body):
        self.connection = connection
        self.method = method
        self.target = target
        self.path = target.split("?")[0]
        self.headers = headers
        self.body = body
        self.at = time.monotonic()

    def header(self, name):
        values = [value for key, value in self.headers if key == name.lower()]
        return ", ".join(values) if values else None


class Connection:
    """One accepted connection, on a thread of its own."""

    def __init__(self, server, sock, number):
        self.server = server
        self.sock = sock
        self.number = number
        self.buffer = b""

    def send(self, data):
        self.sock.sendall(data if isinstance(data, bytes) else data.encode())

    def reset(self):
        """Ends the connection with a reset instead of an orderly close."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def wait_for_close(self):
        """Until the other side has closed, or the server ends."""
        with contextlib.suppress(OSError):
            while self.sock.recv(65536):
                pass

    def read_until(self, mark):
        while mark not in self.buffer:
            data = self.sock.recv(65536)
            if not data:
                raise ConnectionError
            self.buffer += data
        head, _, self.buffer = self.buffer.partition(mark)
        return head

    def read_exactly(self, count):
        while len(self.buffer) < count:
            data = self.sock.recv(65536)
            if not data:
                raise ConnectionError
            self.buffer += data
        body, self.buffer = self.buffer[:count], self.buffer[count:]
        return body

    def read_request(self):
        lines = self.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines[1:])]
        length = dict(headers).get("content-length")
        body = self.read_exactly(int(length)) if length else b""
        return Request(self, method, target, headers, body)


class Server:
    """Answers each request by `respond(request, connection)`: bytes to send and go on, or None to end the connection.

    `on_accept(connection)`, when given, replaces all of that.
    """

    def __init__(self, respond=None, on_accept=None, tls=None):
        self.respond = respond or (lambda request, connection: response(b"ok"))
        self.on_accept = on_accept
        self.tls = tls
        self.requests = []
        self.connections = 0
        self.peers = []
        self.lock = threading.Lock()
        self.inside = 0  # requests that are being answered
        self.most_inside = 0
        self.open = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, peer = self.listener.accept()
            except OSError:
                return
            self.peers.append(peer)
            self.connections += 1
            threading.Thread(target=self.serve, args=(sock, self.connections), daemon=True).start()

    def serve(self, sock, number):
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                sock = self.tls.wrap_socket(sock, server_side=True)
            self.open.add(sock)
            connection = Connection(self, sock, number)
            if self.on_accept:
                self.on_accept(connection)
                return
            while self.answer_next(connection):
                pass
        except (OSError, ValueError):
            pass  # the other side is gone, or talks no HTTP
        finally:
            self.open.discard(sock)
            sock.close()

    def answer_next(self, connection):
        request = connection.read_request()
        with self.lock:
            self.requests.append(request)
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
        try:
            answer = self.respond(request, connection)
        finally:
            with self.lock:
                self.inside -= 1
        if answer is None:
            return False
        connection.send(answer)
        return True

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for sock in list(self.open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def paths(self):
        return {request.path for request in self.requests}


def response(body=b"", status="200 OK", headers=(), length=None):
    """The bytes of a well-formed response, unless `length` says otherwise."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(*pieces, headers=()):
    head = "\r\n".join(["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *headers]) + "\r\n\r\n"
    return head.encode() + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def closed_port():
    """A port of this machine on which nobody listens, nor will: it is none of those that the kernel gives away."""
    return free_port()


def tls_context(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


class Served(product.Test):
    """A test with a server. It answers `usual` where `answers` has nothing for the path: an answer, or who gives it."""

    usual = response(b"ok")

    def setUp(self):
        super().setUp()
        self.answers = {}
        self.server = Server(self.respond)
        self.addCleanup(self.server.close)

    def respond(self, request, connection):
        answer = self.answers.get(request.path, self.usual)
        return answer(request, connection) if callable(answer) else answer

    def paths(self):
        return [request.path for request in self.server.requests]
