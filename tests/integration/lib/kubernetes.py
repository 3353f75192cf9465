"""A stand-in for the Kubernetes API server, for Leases only, inside the test.

It is a double, and the only one among the stores: the distribution has no package of Kubernetes, and a real cluster
takes minutes and gigabytes. It keeps to the rules of the real server that an elector can notice: versions and
conflicts, validation, watches, tokens and certificates, the words of its refusals. What it is not asked for
(other kinds of objects, fields' managers, server-side apply, paging) it does not have.
"""

import contextlib
import http.server
import socket
import ssl
import threading

from .daemon import free_port
from .kubernetes_http import Handler
from .kubernetes_lease import Refusal
from .kubernetes_store import Store

ALL_VERBS = frozenset(("get", "list", "watch", "create", "update", "patch", "delete"))


class Fault:
    """What the next `times` requests of these methods meet, instead of an answer or on top of one.

    `status`: the answer; `close`: none, the connection ends. With `applied` the request has its effect nevertheless.
    `delay`: seconds before anything happens.
    """

    def __init__(self, status=None, times=1, methods=None, close=False, applied=False, delay=0, retry_after=None):
        self.status = status
        self.times = times
        self.methods = methods
        self.close = close
        self.applied = applied
        self.delay = delay
        self.retry_after = retry_after

    def refusal(self):
        reasons = {401: "Unauthorized", 403: "Forbidden", 409: "Conflict", 429: "TooManyRequests",
                   500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}
        headers = {"Retry-After": str(self.retry_after)} if self.retry_after is not None else {}
        return Refusal(self.status, reasons.get(self.status, "Unknown"), "the test wants it so", headers=headers)


class Kubernetes:
    """`tokens`: verbs that are allowed, by bearer token; None lets everybody do everything.

    `tls`: (certificate, key, authority) files; a client that shows a certificate of that authority is let in without a
    token. The store survives stop() and start().
    """

    def __init__(self, tokens=None, tls=None):
        self.store = Store()
        self.tokens = tokens
        self.tls = tls
        self.port = free_port()
        self.server = None
        self.faults = []
        self.requests = []  # (method, path with query)
        self.watchers = set()  # connections with a stream of events
        self.lock = threading.Lock()
        self.running = threading.Event()  # cleared while it is paused
        self.running.set()
        self.start()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def start(self):
        context = None
        if self.tls:
            certificate, key, authority = self.tls
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            context.load_verify_locations(authority)
            context.verify_mode = ssl.CERT_OPTIONAL
        self.server = Listener(self, context)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self):
        """Ends all connections; new ones are refused until start()."""
        server, self.server = self.server, None
        if server:
            server.shutdown()
            server.server_close()
            server.end_connections()

    def restart(self, lose_data=False):
        self.stop()
        if lose_data:
            self.store.lose_data()
        self.start()

    def pause(self):
        """Connections stand, new ones are taken, nothing is answered or told."""
        self.running.clear()

    def resume(self):
        self.running.set()

    def inject(self, **fault):
        """Adds a Fault. Those of one method are used up in their order."""
        with self.lock:
            self.faults.append(Fault(**fault))

    def take_fault(self, method):
        with self.lock:
            for fault in self.faults:
                if fault.methods is None or method in fault.methods:
                    fault.times -= 1
                    if fault.times <= 0:
                        self.faults.remove(fault)
                    return fault
        return None

    @contextlib.contextmanager
    def watching(self, connection):
        self.watchers.add(connection)
        try:
            yield
        finally:
            self.watchers.discard(connection)

    def end_watches(self):
        """Cuts the streams of events in the middle, as a load balancer does after a while."""
        for connection in list(self.watchers):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def lease(self, name, namespace="default"):
        """The Lease as it is now, or None."""
        try:
            return self.store.get(namespace, name)
        except Refusal:
            return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, kubernetes, context):
        self.kubernetes = kubernetes
        self.context = context
        self.connections = set()
        super().__init__(("127.0.0.1", kubernetes.port), Handler)

    def get_request(self):
        sock, address = super().get_request()
        if self.context:
            # The handshake is made by the first read, on the connection's own thread.
            sock = self.context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        self.connections.add(sock)
        return sock, address

    def shutdown_request(self, request):
        self.connections.discard(request)
        super().shutdown_request(request)

    def end_connections(self):
        for sock in list(self.connections):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request, client_address):
        pass  # a client went away, or did not like the certificate
