#!/usr/bin/env python3
"""Policy sheets of control loops: refused where they are wrong, budgeted, and turned into alerts that fire."""

import json

from lib import product

EXAMPLE = product.ROOT / "examples/leadership/policy.yaml"


def sheet(**changes):
    """A sheet with one loop; a value of None leaves the key out."""
    loop = {"poll_interval": "30s", "lock_key": "k", "lock_ttl": "60s", "renew_every": "20s",
            "release_mode": "ttl_hold", **changes}
    lines = [f"    {key}: {value}" for key, value in loop.items() if value is not None]
    return "\n".join(["leader_election:", "  reconciler:", *lines]) + "\n"


class Budget(product.Test):
    def budget(self, *arguments):
        run = self.bellwether("budget", *arguments, "--json")
        return run.code, json.loads(run.out)

    def test_the_example_keeps_its_promises(self):
        run = self.bellwether("budget", EXAMPLE)
        self.assertEqual(run.code, 0, run)
        for loop in ("scheduler_reconciler", "scheduler_pending_replayer", "workflow_reconciler", "delay_poller",
                     "snapshot_writer"):
            self.assertRegex(run.out, rf"(?m)^{loop} .* holds$")
        self.assertIn("one failure domain", run.err)

    def test_the_figures_of_the_five_loops(self):
        code, out = self.budget(EXAMPLE)
        self.assertEqual((code, out["format"], out["holds"]), (0, "bellwether.budget/1", True))
        worst = {loop["loop"]: loop["crash"]["worst"]["seconds"] for loop in out["loops"]}
        # TTL + poll, and at most five per cent for clocks, spread and the store.
        for name, plain in (("scheduler_reconciler", 90), ("scheduler_pending_replayer", 90),
                            ("workflow_reconciler", 15), ("delay_poller", 15), ("snapshot_writer", 35)):
            self.assertGreater(worst[name], plain)
            self.assertLess(worst[name], plain * 1.05)

    def test_a_promise_that_cannot_hold_is_shown_with_the_arithmetic_and_values_that_would(self):
        path = self.write("p.yaml", sheet(takeover_slo="15s"))
        run = self.bellwether("budget", path)
        self.assertEqual(run.code, 1, run)
        self.assertIn("CANNOT HOLD", run.out)
        self.assertIn("30s + 0.05s + 60.6s + 1.875s + 0.1s = 92.625s", run.out)
        code, out = self.budget(path)
        self.assertEqual(code, 1)
        found = out["loops"][0]["suggestion"]
        path = self.write("q.yaml", sheet(takeover_slo="15s", poll_interval=f"{found['poll_interval']}s",
                                          lock_ttl=f"{found['lock_ttl']}s", renew_every=None))
        self.assertEqual(self.bellwether("budget", path).code, 0)

    def test_values_come_from_the_stale_window(self):
        path = self.write("p.yaml", sheet(stale_window="1m"))
        code, out = self.budget(path)
        self.assertEqual((code, out["loops"][0]["stale_holds"]), (1, False))
        found = out["loops"][0]["suggestion"]
        path = self.write("q.yaml", sheet(stale_window="1m", poll_interval=f"{found['poll_interval']}s",
                                          lock_ttl=f"{found['lock_ttl']}s", renew_every="0s"))
        self.assertEqual(self.bellwether("budget", path).code, 0)

    def test_a_slow_store_breaks_a_promise(self):
        path = self.write("p.yaml", sheet(takeover_slo="93s"))
        self.assertEqual(self.bellwether("budget", path).code, 0)
        self.assertEqual(self.bellwether("budget", path, "--store-p99", "500ms").code, 1)

    def test_the_mechanism_counts(self):
        path = self.write("p.yaml", sheet(takeover_slo="35s", poll_interval="5s", lock_ttl="30s", renew_every="10s"))
        self.assertEqual(self.bellwether("budget", path, "--via", "redis://127.0.0.1").code, 1)
        code, out = self.budget(path, "--via", "flock:/run/locks")
        self.assertEqual((code, out["loops"][0]["mechanism"]), (0, "host lock"))
        self.assertGreater(out["loops"][0]["hang"]["worst"]["seconds"], 35)

    def test_profiles_and_single_candidates_have_a_budget(self):
        for name, margin, lease in (("production", 3.0, 180), ("high-availability", 4.0, 120), ("lenient", 4.5, 270)):
            code, out = self.budget("--profile", name)
            self.assertEqual((code, out["safety_margin"], out["lease"]), (0, margin, lease))
            self.assertGreater(out["crash"]["worst"]["seconds"], lease)
        code, out = self.budget("--via", "etcd://127.0.0.1", "--ttl", "15s")
        self.assertEqual((code, out["mechanism"]), (0, "etcd"))
        self.assertEqual(out["crash"]["worst"]["seconds"], 18.1)

    def test_what_cannot_be_is_refused_where_it_stands(self):
        path = self.write("p.yaml", sheet(renew_every="60s"))
        self.assert_refused(self.bellwether("budget", path), f"{path}:6:5:", "renew_every", "1 error")
        path = self.write("p.yaml", sheet(lock_tll="1s"))
        self.assert_refused(self.bellwether("budget", path), f"{path}:8:5:", "did you mean 'lock_ttl'?")
        path = self.write("p.yaml", sheet(poll_interval="90s"))
        self.assert_refused(self.bellwether("budget", path), f"{path}:5:5:", "ttl_hold")
        self.assert_refused(self.bellwether("budget", "/nowhere.yaml"), "/nowhere.yaml")
        self.assert_refused(self.bellwether("budget"), "--profile")
        self.assert_refused(self.bellwether("budget", "--profile", "fast"), "high-availability")
        self.assert_refused(self.bellwether("budget", EXAMPLE, "--store-p99", "fast"), "50ms")
        self.assert_refused(self.bellwether("budget", "--via", "redis://a", "--ttl", "x"), "x")

    def test_unsafe_times_of_a_candidate_are_refused_with_the_arithmetic(self):
        run = self.bellwether("budget", "--via", "redis://a", "--ttl", "15s", "--renew", "9s")
        self.assertEqual(run.code, 1, run)
        self.assertIn("renew deadline", run.err)


if __name__ == "__main__":
    product.main()
