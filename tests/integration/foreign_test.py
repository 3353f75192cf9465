#!/usr/bin/env python3
"""The foreign electors that the product must live beside keep their own rules, so that they are worth meeting."""

import contextlib
import json
import os
import time

from lib import product
from lib.daemon import until
from lib.foreign import Foreign
from lib.kubernetes import Kubernetes


class Test(product.Test):
    def setUp(self):
        super().setUp()
        self.running = contextlib.ExitStack()
        self.addCleanup(self.running.close)

    def begin(self, program, *arguments):
        return self.running.enter_context(Foreign(program, *arguments))


class NipLe(Test):
    def join(self, id, *more):
        return self.begin("nip_le", "--dir", self.folder / "locks", "--key", "k", "--refresh", "5", "--id", id, *more)

    @property
    def claim(self):
        return json.loads((self.folder / "locks" / "k.lock").read_text())

    def put(self, text):
        (self.folder / "locks").mkdir(exist_ok=True)
        (self.folder / "locks" / "k.lock").write_text(text)

    def test_the_first_leads_and_a_release_or_a_crash_hands_over(self):
        first = self.join("first")
        first.wait_for("leader")
        second = self.join("second")
        second.wait_for("observer")
        self.assertEqual((self.claim["instance_id"], self.claim["pid"]), ("first", first.process.pid))
        inode = os.stat(self.folder / "locks" / "k.lock").st_ino
        self.assertEqual(first.end(), 0)
        second.wait_for("leader")
        third = self.join("third")
        third.wait_for("observer")
        second.crash()
        third.wait_for("leader")
        self.assertEqual(os.stat(self.folder / "locks" / "k.lock").st_ino, inode)
        self.assertEqual(len(first.said("leader") + second.said("leader")), 2)

    def test_one_that_is_paused_for_two_refreshes_loses_and_sees_it(self):
        first = self.join("first")
        first.wait_for("leader")
        first.pause()
        second = self.join("second")
        second.wait_for("leader")
        first.resume()
        first.wait_for("observer")

    def test_a_release_empties_its_own_claim_and_no_other(self):
        first = self.join("first")
        first.wait_for("leader")
        first.end()
        self.assertEqual((self.folder / "locks" / "k.lock").read_text(), "")
        second = self.join("second", "--refresh", "60")
        second.wait_for("leader")
        successor = json.dumps({**self.claim, "instance_id": "third"})
        self.put(successor)
        second.end()
        self.assertEqual((self.folder / "locks" / "k.lock").read_text(), successor)

    def test_what_may_be_taken(self):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        alive = {"instance_id": "other", "pid": os.getpid(), "claimed_at": now}
        for text, leads in (("", True), ("nonsense", True), (json.dumps(alive), False),
                            (json.dumps({**alive, "pid": 2**22 + 1}), True),
                            (json.dumps({**alive, "claimed_at": "2026-01-01T00:00:00.123456789Z"}), True),
                            (json.dumps({**alive, "epoch": 5, "boot_id": "x"}), False),
                            (json.dumps({**alive, "instance_id": "me", "pid": 1}), True)):
            self.put(text)
            process = self.join("me", "--refresh", "5", "--once-acquire")
            self.assertEqual(process.finish(), 0 if leads else 1, text)
            self.assertEqual(self.claim["instance_id"], "me" if leads else "other")

    def test_of_many_at_once_one_leads(self):
        several = [self.join(f"i{number}", "--refresh", "60") for number in range(8)]
        until("all their states", lambda: all(process.lines for process in several))
        self.assertEqual(sorted(process.lines[0][0] for process in several), ["leader"] + ["observer"] * 7)


class ClientGo(Test):
    def setUp(self):
        super().setUp()
        self.kubernetes = self.running.enter_context(Kubernetes())

    def join(self, id, *more):
        return self.begin("client_go", "--server", self.kubernetes.url, "--name", "job", "--id", id,
                          "--lease-duration", "9", "--renew-deadline", "7", "--retry-period", "0.2", *more)

    @property
    def spec(self):
        return self.kubernetes.lease("job")["spec"]

    def test_one_leads_and_another_after_the_lease_of_one_that_crashed(self):
        first = self.join("first")
        self.assertEqual(first.wait_for("leader")[1], ["0"])
        second = self.join("second")
        self.assertEqual(second.wait_for("saw")[1], ["first"])
        self.assertEqual((self.spec["holderIdentity"], self.spec["leaseDurationSeconds"]), ("first", 9))
        renewed = self.spec["renewTime"]
        until("a renewal", lambda: self.spec["renewTime"] > renewed)
        first.crash()
        self.assertEqual(second.wait_for("leader")[1], ["1"])
        self.assertEqual((self.spec["holderIdentity"], self.spec["leaseTransitions"]), ("second", 1))

    def test_a_release_hands_over_at_once(self):
        first = self.join("first", "--release-on-cancel", "--lease-duration", "3600")
        first.wait_for("leader")
        second = self.join("second")
        second.wait_for("saw")
        self.assertEqual(first.end(), 0)
        self.assertEqual(len(first.said("stopped")), 1)
        second.wait_for("leader")

    def test_without_the_api_it_stops_before_its_lease_is_over(self):
        first = self.join("first")
        led, _ = first.wait_for("leader")
        self.kubernetes.stop()
        stopped, _ = first.wait_for("stopped")
        self.assertEqual(first.finish(), 1)
        self.assertGreater(stopped, led)
        self.kubernetes.start()
        self.assertEqual(self.spec["holderIdentity"], "first")

    def test_it_believes_no_clock_but_its_own(self):
        self.kubernetes.store.create("default", {"kind": "Lease", "metadata": {"name": "job"}, "spec": {
            "holderIdentity": "old", "leaseDurationSeconds": 1, "renewTime": "2099-01-01T00:00:00.000000Z"}})
        seen, holder = self.join("first").wait_for("saw")
        self.assertEqual(holder, ["old"])
        until("a takeover", lambda: self.spec["holderIdentity"] == "first")
        self.assertGreaterEqual(time.clock_gettime_ns(time.CLOCK_BOOTTIME) - seen, 900_000_000)


class OpenCode(Test):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "memory" / "orchestrator-state.json"

    def join(self, id, *more):
        return self.begin("opencode", "--file", self.file, "--id", id, "--ttl-ms", "9000", "--heartbeat-ms", "300",
                          *more)

    @property
    def lease(self):
        return until("a whole lease", self.parsed)

    def parsed(self):
        try:
            return json.loads(self.file.read_text())
        except ValueError:
            return None

    def test_the_next_epoch_follows_an_expired_lease(self):
        first = self.join("first")
        self.assertEqual(first.wait_for("leader")[1], ["1"])
        second = self.join("second")
        self.assertEqual(second.wait_for("follower")[1], ["1"])
        self.assertEqual(self.join("third", "--exit-if-follower").finish(), 0)
        first.crash()
        self.assertEqual(second.wait_for("leader")[1], ["2"])
        self.assertEqual((self.lease["leader_id"], self.lease["leader_epoch"], self.lease["ttl_ms"]),
                         ("second", 2, 9000))
        self.assertRegex(self.lease["last_heartbeat"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_its_weaknesses(self):
        """A torn file counts as none, epochs begin anew, foreign fields are dropped, and half a write can be read."""
        self.file.parent.mkdir()
        self.file.write_text('{"leader_id": "x", "leader_ep')
        first = self.join("first", "--torn-ms", "300")
        self.assertEqual(first.wait_for("leader")[1], ["1"])
        self.file.write_text(json.dumps({**self.lease, "boot_id": "mine"}))
        until("a refresh", lambda: "boot_id" not in self.lease)
        until("half a write", self.is_torn)

    def is_torn(self):
        """Whether half of a lease is there, and not just for the moment between two system calls."""
        text = self.file.read_text()
        return text.startswith("{") and not text.endswith("}") and all(
            self.file.read_text() == text for _ in range(50))


if __name__ == "__main__":
    product.main()
