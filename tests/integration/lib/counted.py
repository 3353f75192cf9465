"""A server of one thread that fails as a path says, and counts what it did: /RUN/KIND/STEP."""

import asyncio
import collections
import socket
import struct
import threading

ANSWER_AFTER = 0.015  # seconds, so that a user without a pace does not fill the machine
KINDS = ("healthy", "status", "reset", "late", "half", "refused", "deaf")  # the server sees no request of the last two
BODY = b'{"n":1}'


def answer(status, body=b"ok", length=None):
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body) if length is None else length, body)


class Plan:
    """What the server does in a run: of the requests of a step, each of number n * `every[kind][step]` fails."""

    def __init__(self, every):
        self.every = every
        self.seen = collections.defaultdict(collections.Counter)  # (kind, step): number of each outcome
        self.requests = set()  # (kind, step, method, headers, body)
        self.strays = []  # requests on connections that cannot be used any more


class Counted:
    """Outcomes: `ok`, `status`, `reset`, `half`, `late` (it waits until the client hangs up), and `resent`: a reset
    before the first byte of a response on a kept connection, after which a client sends a GET again."""

    def __init__(self):
        self.plans = {}
        self.loop = asyncio.new_event_loop()
        # It is bound and does not listen, so that nobody else gets the port and everybody is refused.
        self.closed = socket.socket()
        self.closed.bind(("127.0.0.1", 0))
        self.deaf = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.ports = {kind: self.listener.getsockname()[1] for kind in KINDS}
        self.ports["refused"] = self.closed.getsockname()[1]
        self.thread = threading.Thread(target=self.live)
        self.thread.start()

    def live(self):
        self.server = self.loop.run_until_complete(
            self.loop.create_server(lambda: Exchange(self), sock=self.listener))
        self.loop.run_forever()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        for one in (self.closed, self.listener, *self.deaf):
            one.close()

    def urls(self, run):
        # Nobody accepts: the first connections wait in the queue, and further ones do not come that far.
        self.deaf.append(socket.create_server(("127.0.0.1", 0), backlog=1))
        ports = {**self.ports, "deaf": self.deaf[-1].getsockname()[1]}
        return {kind: f"http://127.0.0.1:{ports[kind]}/{run}/{kind}" for kind in KINDS}

    def outcome(self, plan, kind, step, method, first):
        """Of the next request; `first` on its connection."""
        number = sum(plan.seen[kind, step].values()) + 1
        what = "ok"
        every = plan.every[kind].get(step)
        if every and number % every == 0:
            what = "resent" if kind == "reset" and method == "GET" and not first else kind
        plan.seen[kind, step][what] += 1
        return what


class Exchange(asyncio.Protocol):
    def __init__(self, server):
        self.server = server
        self.read = b""
        self.requests = 0
        self.is_over = False

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.read += data
        head, mark, body = self.read.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ")
        if not mark or method == "POST" and len(body) < len(BODY):
            return
        self.read = b""
        self.requests += 1
        run, kind, step = path.strip("/").split("/")
        plan = self.server.plans[run]
        if self.is_over:
            return plan.strays.append(path)
        fields = tuple(sorted(line for line in lines[1:] if not line.lower().startswith("host:")))
        plan.requests.add((kind, step, method, fields, body))
        getattr(self, self.server.outcome(plan, kind, step, method, self.requests == 1))()

    def later(self, data):
        asyncio.get_running_loop().call_later(ANSWER_AFTER, self.transport.write, data)

    def ok(self):
        self.later(answer(b"200 OK"))

    def status(self):
        self.later(answer(b"500 Broken"))

    def late(self):
        self.is_over = True

    def half(self):
        self.is_over = True
        self.transport.write(answer(b"200 OK", b"half", 100))
        self.transport.close()

    def reset(self):
        self.is_over = True
        linger = struct.pack("ii", 1, 0)
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.transport.abort()

    resent = reset
