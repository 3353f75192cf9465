#!/usr/bin/env python3
"""The client library, and a program that uses it, against a cluster on this machine: real processes of the loopback."""

import json
import os
import re
import subprocess
import sys
import time

from lib import local_nodes, product

PATIENCE = 600  # seconds, for all that a program does
programs = []


class Library(local_nodes.Test):
    def setUp(self):
        super().setUp()
        self.sight = self.up("--managers", "3", "--workers", "2", "--cores-per-worker", "1")
        said = product.Reader(self.start("target", "--listen", "127.0.0.1:0", "--cores", "1").stdout)
        self.url = re.search(r"https?://\S+", said.wait_for("listening on")).group()

    def run_program(self, program, *words):
        environment = {"BW_TEST_SETTINGS": str(self.dir / "client.yaml"), "BW_TEST_TARGET": self.url,
                       "BW_TEST_PROCESSES": ",".join(f"{name}={pid}" for name, pid in self.pids(self.sight).items())}
        return subprocess.run([program, *map(str, words)], env={**os.environ, **environment}, capture_output=True,
                              text=True, timeout=PATIENCE, check=False)

    def library(self, *names):
        done = self.run_program(programs[0], "--gtest_filter=" + ":".join(f"ClientOnCluster.{one}" for one in names))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"[  PASSED  ] {len(names)} test", done.stdout)

    def test_what_is_told_of_jobs(self):
        self.library("tells_each_second_and_each_workflow_as_it_ends", "comes_back_to_a_job_by_its_id",
                     "the_same_id_twice_is_one_job", "letting_go_of_a_job_leaves_it_alone_and_tells_nothing_more")

    def test_what_is_told_for_screens_and_on_demand(self):
        self.library("live_windows_come_closed_and_in_order_and_sum_up_to_what_the_shares_told",
                     "gives_each_step_and_each_past_second_when_asked")

    def test_what_is_asked_and_what_goes_wrong(self):
        self.library("one_workflow_is_cancelled_and_the_other_goes_on", "lists_what_there_is",
                     "a_mistake_in_a_scenario_comes_back_with_its_place", "with_a_wrong_secret_nobody_answers")

    def test_callbacks_that_do_what_they_should_not(self):
        self.library("a_callback_may_cancel_and_whatever_waits_is_refused_to_it",
                     "callbacks_that_throw_are_counted_and_hurt_nobody", "a_callback_may_let_go_of_its_job",
                     "a_callback_may_end_the_client_and_who_waits_is_told")

    def test_the_manager_of_a_job_dies(self):
        self.library("follows_over_the_death_of_the_manager_that_has_the_job")

    def test_the_example_runs(self):
        # Its own limits are for a machine that has nothing else to do.
        text = (product.ROOT / "examples/first.yaml").read_text(encoding="utf-8")
        for limit, patient in (("max_wait: 2s", "max_wait: 60s"), ("p(95)<300", "p(95)<60000")):
            self.assertIn(limit, text)
            text = text.replace(limit, patient)
        scenario = self.write("first.yaml", text)
        done = self.run_program(programs[1], self.dir / "client.yaml", scenario, f"BASE={self.url}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"job [0-9a-f]{16} is running")
        self.assertGreaterEqual(len(re.findall(r"^second \d+: ", done.stdout, re.M)), 9)
        self.assertIn("workflow browse completed", done.stdout)
        self.assertRegex(done.stdout, "(?m)^pass: ")
        wrong = self.write("wrong.yaml", "workflows: {w: {vus: ten}}\n")
        done = self.run_program(programs[1], self.dir / "client.yaml", wrong)
        self.assertEqual(done.returncode, 1)
        self.assertIn("wrong.yaml:1:22: ", done.stderr)

    def test_the_command_line_shows_windows_steps_and_seconds(self):
        options = ["--cluster", self.dir / "client.yaml"]
        scenario = self.write("load.yaml", "workflows: {w: {executor: constant-arrival-rate, rate: 40/s, "
                              f"duration: 12s, vus: {{preallocated: 20}}, "
                              f"steps: {{get: {{http: {{get: '{self.url}/json'}}}}}}}}}}\n")
        submitted = self.bellwether("job", "submit", scenario, *options)
        self.assertEqual(submitted.code, 0, submitted)
        job = submitted.out.strip()
        watched = self.bellwether("job", "watch", job, *options, "--ui", "none", "--windows", self.dir / "windows")
        self.assertEqual(watched.code, 0, watched)
        lines = [json.loads(line) for line in (self.dir / "windows").read_text().splitlines()]
        windows = {round(one["t"] * 10): one for one in lines if "t" in one}
        self.assertEqual(list(windows), list(range(min(windows), max(windows) + 1)))
        # Whoever comes late has the whole total, and no windows of before: there are 4 requests in each.
        missed = lines[-1]["total"]["requests"] - sum(one["requests"] for one in windows.values())
        self.assertIn(missed, range(4 * min(windows) + 1))
        self.assertLessEqual(lines[-1]["total"]["requests"], 480)
        self.assertGreaterEqual(len(windows), 25)
        status = self.bellwether("job", "status", job, *options, "--steps", "--series", "--json")
        self.assertEqual(status.code, 0, status)
        shown = json.loads(status.out)
        [step] = shown["steps"]
        self.assertEqual((step["workflow"], step["step"], step["requests"], step["failed"]), ("w", "w.get", 480, 0))
        self.assertEqual(sum(one["requests"] for one in shown["series"]), 480)
        status = self.bellwether("job", "status", job, *options, "--steps", "--series")
        self.assertRegex(status.out, r"(?m)^w\.get +480 +0 +\d")
        self.assertRegex(status.out, r"(?m)^2 +\d+ +0 +\d")
        wrong = self.bellwether("job", "watch", job, *options, "--windows", self.dir / "no/such")
        self.assertEqual(wrong.code, 104, wrong)
        self.assertIn("no/such", wrong.err)

    def test_the_command_line_tells_of_datacenters(self):
        deadline = time.monotonic() + PATIENCE
        one = {}
        while one.get("health") != "healthy" or one["free"] < 2:  # until both workers have reported
            self.assertLess(time.monotonic(), deadline, one)
            listed = self.bellwether("job", "datacenters", "--cluster", self.dir, "--json")
            self.assertEqual(listed.code, 0, listed)
            [one] = json.loads(listed.out)
        self.assertEqual((one["datacenter"], one["managers"], one["workers"], one["cores"]), ("dc1", 3, 2, 2))


if __name__ == "__main__":
    programs += [sys.argv.pop(2), sys.argv.pop(2)]
    product.main()
