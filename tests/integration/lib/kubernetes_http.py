"""How the in-test Kubernetes API server speaks HTTP: paths, who may do what, bodies, watches."""

import http.server
import json
import ssl
import time
import urllib.parse

from . import kubernetes_lease as rules
from .kubernetes_lease import Refusal

PREFIX = f"/apis/{rules.VERSION}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_any(self):
        self.kubernetes = self.server.kubernetes
        self.kubernetes.requests.append((self.command, self.path))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.kubernetes.running.wait()
        fault = self.kubernetes.take_fault(self.command)
        if fault and fault.delay:
            time.sleep(fault.delay)
        broken = fault and (fault.close or fault.status)
        try:
            if broken and not fault.applied:
                raise fault.refusal()
            answer = self.answer(body)
            if broken:
                raise fault.refusal()
        except Refusal as refusal:
            answer = (refusal.code, refusal.status, refusal.headers)
        if fault and fault.close:
            self.close_connection = True
        elif answer:
            self.send(*answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_any

    def send(self, code, value, headers=None):
        data = json.dumps(value).encode()
        self.send_response(code)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(data)),
                           **(headers or {})}.items():
            self.send_header(name, text)
        self._headers_buffer.append(b"\r\n" + data)
        self.flush_headers()

    # --- what is asked, and by whom ---

    def answer(self, body):
        """(status, JSON value, headers), or None when it has been sent already."""
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path in ("/readyz", "/livez", "/version"):
            return 200, {"major": "1", "minor": "30", "gitVersion": "v1.30.0-double"}, {}
        rest = url.path.removeprefix(PREFIX).strip("/").split("/")
        namespace = name = None
        if rest[0] == "namespaces" and len(rest) in (3, 4):
            namespace, name = urllib.parse.unquote(rest[1]), urllib.parse.unquote("".join(rest[3:])) or None
            rest = rest[2:3]
        if not url.path.startswith(PREFIX) or rest != ["leases"]:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        watch = query.get("watch", "") in ("1", "true")
        verb = {"GET": "get" if name else "watch" if watch else "list", "POST": "create", "PUT": "update",
                "PATCH": "patch", "DELETE": "delete"}[self.command]
        self.authorize(verb, name, namespace)
        if (verb == "create") != (name is None) and verb not in ("list", "watch"):
            raise Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        return getattr(self, verb)(namespace, name, query, body)

    def authorize(self, verb, name, namespace):
        tokens = self.kubernetes.tokens
        if tokens is None or self.shows_certificate():
            return
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        if kind != "Bearer" or token not in tokens:
            raise Refusal(401, "Unauthorized", "Unauthorized")
        if verb not in tokens[token]:
            raise Refusal(403, "Forbidden", f'leases.{rules.GROUP} "{name or ""}" is forbidden: User "test" cannot '
                          f'{verb} resource "leases" in API group "{rules.GROUP}" in the namespace "{namespace}"', name)

    def shows_certificate(self):
        return isinstance(self.connection, ssl.SSLSocket) and bool(self.connection.getpeercert())

    def decoded(self, body, types=("application/json",)):
        kind = self.headers.get("Content-Type", "application/json").split(";")[0].strip()
        if kind not in types:
            raise Refusal(415, "UnsupportedMediaType", f"the body of the request was in an unknown format - accepted "
                          f"media types include: {', '.join(types)}")
        try:
            return json.loads(body or b"{}")
        except ValueError as error:
            raise rules.bad_request(f"couldn't get version/kind; json parse error: {error}") from None

    def lease_in(self, body, query):
        """The Lease that the body holds, and the headers that warn of what the API does not know in it."""
        lease, unknown = rules.decode(self.decoded(body))
        if unknown and query.get("fieldValidation") == "Strict":
            raise rules.bad_request(f"strict decoding error: unknown fields {', '.join(unknown)}")
        return lease, {"Warning": f'299 - "unknown fields {", ".join(unknown)}"'} if unknown else {}

    # --- verbs ---

    def get(self, namespace, name, query, body):
        return 200, self.kubernetes.store.get(namespace, name), {}

    def create(self, namespace, name, query, body):
        lease, headers = self.lease_in(body, query)
        return 201, self.kubernetes.store.create(namespace, lease), headers

    def update(self, namespace, name, query, body):
        lease, headers = self.lease_in(body, query)
        stored, new = self.kubernetes.store.update(namespace, name, lease)
        return 201 if new else 200, stored, headers

    def patch(self, namespace, name, query, body):
        patch = self.decoded(body, ("application/merge-patch+json", "application/strategic-merge-patch+json"))
        return 200, self.kubernetes.store.patch(namespace, name, patch), {}

    def delete(self, namespace, name, query, body):
        preconditions = self.decoded(body).get("preconditions") or {}
        return 200, self.kubernetes.store.delete(namespace, name, preconditions), {}

    def list(self, namespace, name, query, body):
        leases, revision = self.kubernetes.store.list(self.selector(namespace, query))
        items = [{key: lease[key] for key in ("metadata", "spec")} for lease in leases]
        return 200, {"kind": "LeaseList", "apiVersion": rules.VERSION,
                     "metadata": {"resourceVersion": str(revision)}, "items": items}, {}

    def selector(self, namespace, query):
        """A function that tells whether a Lease is meant."""
        wanted = [("namespace", namespace)] if namespace else []
        for term in filter(None, query.get("fieldSelector", "").split(",")):
            field, _, value = term.partition("=")
            if field not in ("metadata.name", "metadata.namespace"):
                raise rules.bad_request(f"field label not supported: {field}")
            wanted.append((field.removeprefix("metadata."), value.lstrip("=")))
        terms = filter(None, query.get("labelSelector", "").split(","))
        labels = [(key, value.lstrip("=")) for key, _, value in (term.partition("=") for term in terms)]
        return lambda lease: (all(lease["metadata"].get(field) == value for field, value in wanted) and
                              all(lease["metadata"].get("labels", {}).get(key) == value for key, value in labels))

    def watch(self, namespace, name, query, body):
        begin = query.get("resourceVersion") or "0"
        if not begin.isdigit():
            raise rules.bad_request(f'Invalid value: "{begin}": resourceVersion')
        chosen = self.selector(namespace, query)
        end = time.monotonic() + float(query.get("timeoutSeconds", 3600))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        with self.kubernetes.watching(self.connection):
            for event, lease in self.events(int(begin), chosen, end):
                self.kubernetes.running.wait()
                self.chunk(json.dumps({"type": event, "object": lease}).encode() + b"\n")
            self.chunk(b"")

    def events(self, seen, chosen, end):
        """What a watch from this version on sees, until a time; an ERROR ends it when the history is gone."""
        store = self.kubernetes.store
        if seen == 0:
            leases, seen = store.list(chosen)
            yield from (("ADDED", lease) for lease in leases)
        while time.monotonic() < end and self.server is self.kubernetes.server:
            with store.changed:
                forgotten = store.forgotten
                news = [entry for entry in store.history if entry[0] > seen]
                if seen >= forgotten and not news:
                    store.changed.wait(min(0.2, max(0.0, end - time.monotonic())))
            if seen < forgotten:
                yield "ERROR", Refusal(410, "Expired", f"too old resource version: {seen} ({forgotten})").status
                return
            for seen, event, lease in news:
                if chosen(lease):
                    yield event, lease

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
