#!/usr/bin/env python3
"""An elector on a Kubernetes Lease that behaves as those of client-go do, for tests of interoperation.

It trusts no other's clock: a record counts from the moment this process saw it change, for as long as the record says.
It renews each retry period, gives up when nothing has succeeded for the renew deadline, and prints at each change

    leader NS TRANSITIONS      it leads from now on
    stopped NS                 it does not any more; it exits with 1, or with 0 after SIGTERM
    saw NS HOLDER              another holder than before ("-": none)

NS: nanoseconds of CLOCK_BOOTTIME.
"""

import argparse
import datetime
import json
import random
import signal
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request


class Api:
    """The Lease as the API server has it. Each call raises OSError, or gives the object."""

    def __init__(self, options):
        self.collection = f"{options.server}/apis/coordination.k8s.io/v1/namespaces/{options.namespace}/leases"
        self.name = options.name
        self.token = options.token
        self.timeout = options.renew_deadline / 2
        self.tls = None
        if options.server.startswith("https"):
            self.tls = ssl.create_default_context(cafile=options.ca)

    def call(self, method, path, value=None):
        request = urllib.request.Request(self.collection + path, method=method,
                                         data=None if value is None else json.dumps(value).encode())
        request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=self.timeout, context=self.tls) as response:
            return json.loads(response.read())

    def get(self):
        return self.call("GET", f"/{self.name}")

    def create(self, spec):
        return self.call("POST", "", {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                                      "metadata": {"name": self.name}, "spec": spec})

    def update(self, lease, spec):
        return self.call("PUT", f"/{self.name}", {**lease, "spec": {**lease.get("spec", {}), **spec}})


class Elector:
    def __init__(self, options):
        self.api = Api(options)
        self.id = options.id
        self.lease_duration = options.lease_duration
        self.renew_deadline = options.renew_deadline
        self.retry_period = options.retry_period
        self.release_on_cancel = options.release_on_cancel
        self.end = threading.Event()
        self.lease = None  # the object as last read or written
        self.observed = {}  # its spec
        self.observed_at = 0.0  # when this process saw it change, on its own clock
        self.reported = ""

    def run(self):
        while not self.try_acquire_or_renew():
            self.report()
            if self.end.wait(self.retry_period * (1 + 1.2 * random.random())):
                return 0
        self.report()
        say("leader", self.observed.get("leaseTransitions", 0))
        while not self.end.wait(self.retry_period) and self.renew_in_time():
            self.report()
        cancelled = self.end.is_set()
        say("stopped")
        if cancelled and self.release_on_cancel and self.is_leader():
            self.release()
        return 0 if cancelled else 1

    def renew_in_time(self):
        deadline = time.monotonic() + self.renew_deadline
        while time.monotonic() < deadline:
            if self.try_acquire_or_renew():
                return True
            self.report()
            if self.end.wait(min(self.retry_period, max(0.0, deadline - time.monotonic()))):
                return False
        return False

    def try_acquire_or_renew(self):
        now = micro_time()
        spec = {"holderIdentity": self.id, "leaseDurationSeconds": int(self.lease_duration), "acquireTime": now,
                "renewTime": now, "leaseTransitions": 0}
        try:
            if self.is_leader() and self.is_valid():
                try:
                    return self.store(self.api.update(self.lease, self.renewed(spec)))
                except OSError:
                    pass  # it may have been changed by someone: look
            try:
                lease = self.api.get()
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    raise
                return self.store(self.api.create(spec))
            self.lease = lease
            self.observe(lease.get("spec", {}))
            if self.observed.get("holderIdentity") and self.is_valid() and not self.is_leader():
                return False
            if self.is_leader():
                spec = self.renewed(spec)
            else:
                spec["leaseTransitions"] = self.observed.get("leaseTransitions", 0) + 1
            return self.store(self.api.update(lease, spec))
        except (OSError, ValueError) as error:
            print(f"client-go: {error}", file=sys.stderr, flush=True)
            return False

    def renewed(self, spec):
        return {**spec, "acquireTime": self.observed.get("acquireTime", spec["acquireTime"]),
                "leaseTransitions": self.observed.get("leaseTransitions", 0)}

    def release(self):
        """Leaves the record to whoever comes next, without a holder and with the shortest duration."""
        now = micro_time()
        try:
            self.api.update(self.lease, {"holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": now,
                                         "renewTime": now,
                                         "leaseTransitions": self.observed.get("leaseTransitions", 0)})
        except OSError as error:
            print(f"client-go: release: {error}", file=sys.stderr, flush=True)

    def store(self, lease):
        self.lease = lease
        self.observe(lease["spec"], always=True)
        return True

    def observe(self, spec, always=False):
        if always or spec != self.observed:
            self.observed = spec
            self.observed_at = time.monotonic()

    def is_leader(self):
        return self.observed.get("holderIdentity") == self.id

    def is_valid(self):
        return time.monotonic() < self.observed_at + self.observed.get("leaseDurationSeconds", 0)

    def report(self):
        holder = self.observed.get("holderIdentity") or "-"
        if holder != self.reported:
            self.reported = holder
            say("saw", holder)


def micro_time():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def say(word, *more):
    print(word, time.clock_gettime_ns(time.CLOCK_BOOTTIME), *more, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", required=True, help="URL of the API server")
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--name", required=True)
    parser.add_argument("--id", required=True)
    parser.add_argument("--token")
    parser.add_argument("--ca", help="file of the authority")
    parser.add_argument("--lease-duration", type=float, default=15, help="seconds, as all of them")
    parser.add_argument("--renew-deadline", type=float, default=10)
    parser.add_argument("--retry-period", type=float, default=2)
    parser.add_argument("--release-on-cancel", action="store_true")
    options = parser.parse_args()
    if not options.lease_duration > options.renew_deadline > 1.2 * options.retry_period > 0:
        parser.error("what must hold: lease duration > renew deadline > 1.2 * retry period > 0")
    elector = Elector(options)
    # On a thread of its own: the signal may come while this one holds the lock of the event.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=elector.end.set).start())
    return elector.run()


if __name__ == "__main__":
    sys.exit(main())
