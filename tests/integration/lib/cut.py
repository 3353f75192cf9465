"""A forwarder of TCP connections between a client and a server, which can be cut in all the ways a network can."""

import contextlib
import select
import socket
import struct
import threading

from .daemon import PATIENCE, free_port

TO_SERVER, TO_CLIENT = "to server", "to client"


class Cut:
    """Forwards 127.0.0.1:`port` to 127.0.0.1:`target` until told otherwise.

    `target` is a port or something that has one; redirect() changes it, as a name or a virtual address may move.
    """

    def __init__(self, target):
        self.state = threading.Condition()
        self.target = target
        self.blocked = set()  # directions in which nothing passes
        self.dropping = False  # what is blocked is thrown away instead of being kept for later
        self.latency = {TO_SERVER: 0.0, TO_CLIENT: 0.0}
        self.pairs = set()
        self.forwarded = {TO_SERVER: 0, TO_CLIENT: 0}  # bytes that passed
        self.accepted = 0
        self.fillers = {}  # sockets that fill the backlog, by their ports
        self.closed = False
        self.idle = False  # the thread that accepts does not touch the listener
        self.waker, self.wakened = socket.socketpair()
        self.port = free_port()
        self.listener = self.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    # --- what a test says ---

    def black(self, *directions, drop=False):
        """Nothing passes any more (in these directions; default: both), and nobody is told; connecting times out.

        The bytes are kept and passed by open(), as TCP does after a short partition. With `drop` they are lost, and
        the connections that lost some are reset by open(), as after a long one.
        """
        with self.state:
            self.blocked = set(directions) or {TO_SERVER, TO_CLIENT}
            self.dropping = drop
            self.state.notify_all()
        self.halt()
        self.fill_backlog()

    def refuse(self):
        """Connections are reset, and new ones refused."""
        self.stop_listening()
        self.reset()

    def reset(self):
        """Resets the connections that exist; new ones are taken."""
        for pair in list(self.pairs):
            pair.reset()

    def delay(self, seconds, *directions):
        """Each piece passes this much later (in these directions; default: both)."""
        with self.state:
            for direction in directions or (TO_SERVER, TO_CLIENT):
                self.latency[direction] = seconds

    def open(self):
        """Everything passes again, at once."""
        with self.state:
            self.blocked = set()
            self.dropping = False
            self.latency = {TO_SERVER: 0.0, TO_CLIENT: 0.0}
            self.state.notify_all()
        for pair in [pair for pair in list(self.pairs) if pair.lost]:
            pair.reset()
        self.drain_backlog()
        with self.state:
            self.listener = self.listener or self.listen()
            self.state.notify_all()

    def redirect(self, target):
        """New connections go to another server. Those that exist stay, unless reset() ends them."""
        self.target = target

    def close(self):
        with self.state:
            if self.closed:
                return
            self.closed = True
            self.state.notify_all()
        self.drain_backlog()
        self.stop_listening()
        self.reset()
        self.waker.close()
        self.wakened.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- listening ---

    def listen(self):
        listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        listener.setblocking(False)
        return listener

    def stop_listening(self):
        with self.state:
            listener, self.listener = self.listener, None
        self.halt()
        if listener:
            listener.close()
            for filler in self.fillers.values():
                filler.close()
            self.fillers = {}

    def accept(self):
        while True:
            with self.state:
                self.idle = True
                self.state.notify_all()
                self.state.wait_for(lambda: self.closed or (self.listener and not self.blocked))
                if self.closed:
                    return
                self.idle = False
                listener = self.listener
            ready, _, _ = select.select([listener, self.wakened], [], [])
            if self.wakened in ready:
                self.wakened.recv(4096)
                continue
            with contextlib.suppress(OSError):
                client, address = listener.accept()
                if filler := self.fillers.pop(address[1], None):
                    filler.close()
                    client.close()
                else:
                    self.accepted += 1
                    Pair(self, client).start()

    def halt(self):
        """Waits until the thread that accepts has seen that it must not."""
        self.waker.send(b"!")
        with self.state:
            assert self.state.wait_for(lambda: self.idle, PATIENCE), "the thread that accepts does not rest"

    def fill_backlog(self):
        """Makes the kernel ignore new connections: its queue of those that nobody has accepted is full."""
        if self.listener is None:
            return
        self.listener.listen(0)
        for _ in range(256):
            filler = socket.socket()
            filler.settimeout(0.05)
            try:
                filler.connect(("127.0.0.1", self.port))
                self.fillers[filler.getsockname()[1]] = filler
            except TimeoutError:
                filler.close()
                return
        raise AssertionError("the kernel's queue of connections is never full")

    def drain_backlog(self):
        if self.listener:
            self.listener.listen(128)
        for filler in list(self.fillers.values()):
            filler.close()


class Pair:
    """One forwarded connection: two sockets and a thread for each direction."""

    def __init__(self, cut, client):
        self.cut = cut
        self.client = client
        self.server = None
        self.lost = set()  # directions in which bytes were thrown away
        self.aborted = False
        self.over = 0

    def start(self):
        self.cut.pairs.add(self)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        target = getattr(self.cut.target, "port", self.cut.target)
        try:
            self.server = socket.create_connection(("127.0.0.1", target), PATIENCE)
        except OSError:
            self.reset()
            self.cut.pairs.discard(self)
            return
        for sock in (self.client, self.server):
            with contextlib.suppress(OSError):
                sock.settimeout(None)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self.pump, args=(self.server, self.client, TO_CLIENT), daemon=True).start()
        self.pump(self.client, self.server, TO_SERVER)

    def pump(self, source, sink, direction):
        try:
            while data := source.recv(65536):
                if self.may_pass(direction):
                    sink.sendall(data)
                    self.cut.forwarded[direction] += len(data)
            if self.may_pass(direction):
                sink.shutdown(socket.SHUT_WR)
        except ConnectionResetError:
            if self.may_pass(direction):
                self.reset()
        except OSError:
            pass  # it was reset by the test, or the side that should get this is gone
        with self.cut.state:
            self.over += 1
            if self.over < 2 or self.lost:
                return
        self.cut.pairs.discard(self)
        self.client.close()
        self.server.close()

    def may_pass(self, direction):
        """Waits until the delay is over and the direction open; False when what should pass is lost."""
        cut = self.cut
        with cut.state:
            if cut.latency[direction]:
                cut.state.wait_for(lambda: cut.closed, cut.latency[direction])
            while direction in cut.blocked and not cut.closed and not self.aborted:
                if cut.dropping:
                    self.lost.add(direction)
                    break
                cut.state.wait()
            return not cut.closed and not self.aborted and direction not in self.lost

    def reset(self):
        """Ends both connections with a reset, also when their threads wait in recv()."""
        with self.cut.state:
            self.aborted = True
            self.cut.state.notify_all()
        self.cut.pairs.discard(self)
        for sock in (self.client, self.server):
            with contextlib.suppress(OSError, AttributeError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RD)
                sock.close()
