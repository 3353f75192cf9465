#!/usr/bin/env python3
"""Policy sheets of control loops: refused where they are wrong, budgeted, and turned into alerts that fire."""

import json
import re
import subprocess

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
        path = self.write("q.yaml", "store: redis://127.0.0.1\n" + sheet())
        code, out = self.budget(path, "--via", "flock:/run/locks")
        self.assertEqual([(loop["mechanism"], loop["store"]) for loop in out["loops"]],
                         [("host lock", "flock:/run/locks")])

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


class Alerts(product.Test):
    """The rules, judged by Prometheus itself (promtool): each fires when it should, and stays quiet when not."""

    HEALTHY = {
        'bellwether_leader{key="k",instance="a"}': "1x480",
        'bellwether_leader{key="k",instance="b"}': "0x480",
        'bellwether_lease_epoch{key="k",instance="a"}': "7x480",
        'bellwether_lease_transitions_total{key="k",instance="a"}': "0x200 1x280",
        'bellwether_lease_renewals_total{key="k",instance="a"}': "0+1x480",
        'bellwether_lease_renewal_failures_total{key="k",instance="a"}': "0x480",
        'bellwether_failover_seconds{key="k",instance="a"}': "0x200 60x280",
        'bellwether_fail_open_total{key="k",instance="a"}': "0x480",
        'job_lock_wait_bucket{loop="reconciler",le="0.05"}': "0+100x480",
        'job_lock_wait_bucket{loop="reconciler",le="0.5"}': "0+100x480",
        'job_lock_wait_bucket{loop="reconciler",le="+Inf"}': "0+100x480",
        'stale_jobs{loop="reconciler"}': "0 3 1 0 5 2 0 0 4 0x472",
        'orphan_replayed_total{loop="reconciler"}': "0x200 3x280",
        # Another loop in trouble is not this one's trouble.
        'bellwether_leader{key="other",instance="a"}': "1x480",
        'bellwether_leader{key="other",instance="b"}': "1x480",
        'stale_jobs{loop="other"}': "0+1x480",
    }
    # What is wrong, and at which time (of 120 minutes) the alert must be there.
    TROUBLE = {
        "NoLeader": ({'bellwether_leader{key="k",instance="a"}': "1x200 0x280"}, "60m"),
        "TwoLeaders": ({'bellwether_leader{key="k",instance="b"}': "0x200 1x280"}, "60m"),
        "TakeoverOverBudget": ({'bellwether_failover_seconds{key="k",instance="a"}': "0x200 200x280"}, "55m"),
        "RenewalsFailing": ({'bellwether_lease_renewal_failures_total{key="k",instance="a"}': "0+1x480"}, "60m"),
        "FallOpen": ({'bellwether_fail_open_total{key="k",instance="a"}': "0x200 1x280"}, "55m"),
        "LockWaitHigh": ({'job_lock_wait_bucket{loop="reconciler",le="0.05"}': "0+90x480"}, "60m"),
        "StaleDebtGrows": ({'stale_jobs{loop="reconciler"}': "0+1x480"}, "60m"),
        "ReplayPressure": ({'orphan_replayed_total{loop="reconciler"}': "0+1x480"}, "60m"),
        "LeaderChangesOften": ({'bellwether_lease_transitions_total{key="k",instance="a"}': "0+0.025x480"}, "90m"),
        "LeaderFlaps": ({'bellwether_lease_transitions_total{key="k",instance="a"}': "0+0.05x480"}, "90m"),
    }
    # Trouble that is nearly there.
    NEARLY = {
        "NoLeader": {'bellwether_leader{key="k",instance="a"}': "1x200 0x4 1x276"},
        "TwoLeaders": {'bellwether_leader{key="k",instance="b"}': "0x200 1 1 0x278"},
        "TakeoverOverBudget": {'bellwether_failover_seconds{key="k",instance="a"}': "0x200 92x280"},
        "RenewalsFailing": {'bellwether_lease_renewal_failures_total{key="k",instance="a"}': "0+0.1x480"},
        "LockWaitHigh": {'job_lock_wait_bucket{loop="reconciler",le="0.05"}': "0+99.5x480"},
        "StaleDebtGrows": {'stale_jobs{loop="reconciler"}': "40x480"},
        "ReplayPressure": {'orphan_replayed_total{loop="reconciler"}': "0+0.4x480"},
        "LeaderChangesOften": {'bellwether_lease_transitions_total{key="k",instance="a"}': "0+0.015x480"},
        "LeaderFlaps": {'bellwether_lease_transitions_total{key="k",instance="a"}': "0+0.035x480"},
    }

    def rules(self, policy, *arguments):
        run = self.bellwether("alerts", policy, *arguments)
        self.assertEqual(run.code, 0, run)
        return run.out

    def promtool(self, *arguments):
        return subprocess.run(["promtool", *arguments], capture_output=True, text=True, cwd=self.folder, check=False)

    def judge(self, rules, tests):
        self.write("rules.yaml", rules)
        self.write("tests.json", json.dumps({"rule_files": ["rules.yaml"], "evaluation_interval": "1m",
                                             "tests": tests}))
        done = self.promtool("test", "rules", "tests.json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @staticmethod
    def alerts(rules):
        """Each alert's labels and annotations; their texts are written as JSON has them."""
        found = {}
        for text in rules.split("      - alert: ")[1:]:
            severity, loop = re.search(r"labels: {severity: (\w+), loop: (.*)}", text).groups()
            annotations = re.findall(r"^          (\w+): (.*)$", text, re.M)
            found[text.split("\n")[0]] = {"labels": {"severity": severity, "loop": json.loads(loop)},
                                          "annotations": {name: json.loads(value) for name, value in annotations}}
        return found

    @staticmethod
    def case(series, name, at, rule=None):
        expected = [{"exp_labels": rule["labels"], "exp_annotations": rule["annotations"]}] if rule else []
        return {"interval": "15s",
                "input_series": [{"series": key, "values": values} for key, values in series.items()],
                "alert_rule_test": [{"eval_time": time, "alertname": name, "exp_alerts": expected} for time in at]}

    def test_prometheus_accepts_the_rules_of_any_sheet(self):
        odd = self.write("odd.yaml", sheet(lock_key='"k\\"e\\\\y\\n{{ .Value }}\\u0001 grüße"'))
        for policy in (EXAMPLE, odd):
            self.write("rules.yaml", self.rules(policy, "--runbook-url", "https://wiki.example/runbook"))
            done = self.promtool("check", "rules", "rules.yaml")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for rule in self.alerts(self.rules(EXAMPLE)).values():
            self.assertTrue(rule["annotations"]["runbook"])

    def test_each_alert_fires_in_its_trouble_and_in_no_other(self):
        rules = self.rules(self.write("p.yaml", sheet()))
        alerts = self.alerts(rules)
        self.assertEqual(set(alerts), {f"Bellwether{name}" for name in self.TROUBLE})
        quiet = ["10m", "30m", "52m", "55m", "60m", "90m", "119m"]
        tests = []
        for name, (trouble, at) in self.TROUBLE.items():
            full = f"Bellwether{name}"
            tests.append(self.case(self.HEALTHY, full, quiet))
            tests.append(self.case(self.HEALTHY | trouble, full, [at], alerts[full]))
            if name in self.NEARLY:
                tests.append(self.case(self.HEALTHY | self.NEARLY[name], full, quiet))
        self.judge(rules, tests)

    def test_the_rule_of_an_odd_key_asks_for_the_label_that_the_page_of_metrics_shows(self):
        """Control characters and what is no text: shown as \\xNN, in the label and in the rule."""
        rules = self.rules(self.write("p.yaml", sheet(lock_key='"a\\"b\\\\c\\u0001\\u007f\\nä"')))
        name = "BellwetherTwoLeaders"
        # As the page writes it, see PrometheusText.
        label = 'a\\"b\\\\c\\\\x01\\\\x7f\\nä'
        series = {f'bellwether_leader{{key="{label}",instance="{instance}"}}': "1x480" for instance in "ab"}
        self.judge(rules, [self.case(series, name, ["10m"], self.alerts(rules)[name])])

    def test_no_series_at_all_is_no_leader(self):
        rules = self.rules(self.write("p.yaml", sheet()))
        name = "BellwetherNoLeader"
        self.judge(rules, [self.case({}, name, ["10m"], self.alerts(rules)[name])])

    def test_a_loop_that_gives_its_key_back_is_judged_by_its_epoch(self):
        rules = self.rules(self.write("p.yaml", sheet(release_mode="explicit", poll_interval="5s", lock_ttl="30s",
                                                      renew_every="0s")))
        name = "BellwetherNoLeader"
        alert = self.alerts(rules)[name]
        epoch, leader = 'bellwether_lease_epoch{key="k"}', 'bellwether_leader{key="k"}'
        self.judge(rules, [self.case({epoch: "1+3x480", leader: "0x480"}, name, ["10m", "60m"]),
                           self.case({epoch: "1+3x200 601x280", leader: "0x480"}, name, ["60m"], alert)])
        self.assertNotIn("BellwetherLeaderFlaps", self.alerts(rules))

    def test_wrong_arguments_are_refused(self):
        self.assert_refused(self.bellwether("alerts", EXAMPLE, "--scrape", "0s"), "--scrape")
        self.assert_refused(self.bellwether("alerts", EXAMPLE, "--runbook-url", "x{{y"), "{{")
        self.assert_refused(self.bellwether("alerts", self.write("p.yaml", "a: 1\n")), "unknown key 'a'")


if __name__ == "__main__":
    product.main()
