#!/usr/bin/env python3
"""Drills: leaders broken in every way, takeovers measured and held against the promise, nothing left behind."""

import json
import signal

from lib import product
from lib.daemon import until
from lib.redis import Redis


class Drill(product.Test):
    def setUp(self):
        super().setUp()
        self.redis = Redis(self.folder / "redis", persistence="none")
        self.redis.start()
        self.addCleanup(self.redis.stop)
        self.report = self.folder / "report.json"

    def sheet(self, **changes):
        loop = {"poll_interval": "300ms", "lock_key": "test:r", "lock_ttl": "1s", "renew_every": "250ms",
                "release_mode": "ttl_hold", **changes}
        lines = [f"    {key}: {value}" for key, value in loop.items()]
        return self.write("p.yaml", "\n".join(
            [f"store: {self.redis.url_at(self.redis.port)}", "leader_election:", "  r:", *lines]) + "\n")

    def drill(self, policy, *arguments):
        # A store and processes that share two cores with everything else answer late.
        return self.start("drill", policy, "--loop", "r", "--store-p99", "500ms", "--report", self.report, *arguments)

    def read(self):
        return json.loads(self.report.read_text())

    def processes(self):
        """Ours that belong to a drill of this test."""
        found = []
        for path in self.proc():
            try:
                if str(self.folder).encode() in path.read_bytes():
                    found.append(path)
            except OSError:
                pass
        return found

    def proc(self):
        import pathlib
        return pathlib.Path("/proc").glob("[0-9]*/cmdline")

    def check(self, fault):
        run = self.finish(self.drill(self.sheet(), "--fault", fault, "--rounds", "5"))
        report = self.read()
        self.assertEqual(run.code, 0, f"{run}\n{report}")
        self.assertEqual((len(report["rounds"]), report["overlaps"], report["epochs_grew"]), (5, 0, True))
        for one in report["rounds"]:
            self.assertTrue(one["taken_over"], one)
            self.assertNotEqual(one["old_holder"], one["new_holder"])
            self.assertGreater(one["new_epoch"], one["old_epoch"])
        self.assertGreater(report["acts"], 50)
        self.assertIn("longest takeover", run.out)
        self.assertIn("round 5 of 5", run.err)
        until("no process of the drill", lambda: not [p for p in self.processes() if b"redis" not in p.read_bytes()])

    def test_kill(self):
        self.check("kill")

    def test_pause(self):
        self.check("pause")

    def test_cut(self):
        self.check("cut")

    def test_a_promise_that_is_not_kept_is_said(self):
        run = self.finish(self.drill(self.sheet(takeover_slo="100ms"), "--rounds", "1"))
        self.assertEqual(run.code, 1, run)
        self.assertIn("OVER", run.out)
        self.assertEqual((self.read()["within"], self.read()["takeover_slo_s"]), (False, 0.1))

    def test_a_signal_ends_it_with_a_partial_report(self):
        process = self.drill(self.sheet(), "--rounds", "100")
        errors = product.Reader(process.stderr)
        errors.wait_for("round 1 of")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), 105)
        self.assertTrue(self.read()["interrupted"])
        self.assertGreaterEqual(len(self.read()["rounds"]), 1)
        until("no process of the drill", lambda: not [p for p in self.processes() if b"redis" not in p.read_bytes()])

    def test_what_cannot_be_cut_is_said(self):
        policy = self.sheet()
        run = self.bellwether("drill", policy, "--loop", "r", "--fault", "cut", "--via", f"flock:{self.folder}/locks")
        self.assert_refused(run, "cannot be cut")


if __name__ == "__main__":
    product.main()
