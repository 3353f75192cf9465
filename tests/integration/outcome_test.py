#!/usr/bin/env python3
"""How a run ends: verdicts and exit codes, thresholds that stop it, Ctrl-C, and results that cannot be written."""

import json
import os
import signal
import subprocess
import time

from lib import product
from lib.product import PATIENCE
from lib.server import Served, response


def scenario(url, more="", thresholds="", duration="1s", step=""):
    return f"""\
workflows:
  w:
    vus: 2
    duration: {duration}
    pacing: 10ms
    {more}
    steps: {{s: {{http: {{get: "{url}"}}{step}}}}}
thresholds: {{{thresholds}}}
"""


class Outcome(Served):
    hold = 0
    fail_from = 10**9

    def respond(self, request, connection):
        time.sleep(self.hold)
        bad = request.path == "/bad" or len(self.server.requests) > self.fail_from
        return response(b"bad", status="500 Bad") if bad else response(b'{"ok": true}')


class Verdicts(Outcome):
    def verdict(self, run):
        return run.result["run"]["verdict"]

    def test_pass(self):
        run = self.load(scenario(self.server.url, thresholds="http_req_failed: [rate<0.01], checks: ['rate>0.9']",
                                 step=", check: {status: 200}"))
        self.assertEqual(self.verdict(run), "pass")
        self.assertEqual([threshold["ok"] for threshold in run.result["thresholds"]], [True, True])
        self.assertIn("all 2 thresholds passed", run.out)

    def test_a_run_that_takes_longer_than_it_may(self):
        for text, *flags in ((scenario(self.server.url, duration="60s") + "timeout: 2s\n",),
                             (scenario(self.server.url, duration="60s"), "--timeout", "2s")):
            with self.subTest(flags=flags):
                run = self.load(text, *flags, code=product.ABORT)
                self.assertLess(run.result["run"]["elapsed_s"], 30)
                self.assertGreater(run.totals["requests"], 0)
                self.assertEqual([one["status"] for one in run.result["workflows"]], ["stopped"])
                self.assertIn("timeout of 2s", run.out)

    def test_a_threshold_that_does_not_hold(self):
        run = self.load(scenario(self.server.url + "/bad", thresholds="http_req_failed: [rate<0.01, rate<=1]"),
                        code=product.THRESHOLDS)
        self.assertEqual(self.verdict(run), "fail")
        self.assertEqual([(threshold["ok"], threshold["value"]) for threshold in run.result["thresholds"]],
                         [(False, 1), (True, 1)])
        self.assertEqual((run.result["run"]["reason"], run.result["run"]["failed_thresholds"]),
                         ("1 of 2 thresholds failed", ["http_req_failed rate=100%, limit <1%"]))
        self.assertTrue(run.out.endswith(
            "  FAIL  1 of 2 thresholds failed: http_req_failed rate=100%, limit <1% (exit code 99)\n"), run.out)

    def test_thresholds_of_each_kind(self):
        held = ["count>1", "rate>0"], ["avg<10000", "min>=0", "med<10000", "max<10000", "p(90)<1e4", "p(99.9)<1e4"]
        # Without a pace: a user who is late at the end would leave lower bounds, which keep no limit.
        run = self.load(scenario(self.server.url, thresholds=f"""
  http_reqs: {json.dumps(held[0])}, data_sent: [count>1], data_received: [count>1], iterations: [count>1],
  http_req_duration: {json.dumps(held[1])}, "http_req_waiting{{step:w.s}}": ["p(95)<10000"],
  "http_req_duration{{workflow:w}}": [max<10000], iteration_duration: [max<10000], vus: [value<=2],
  vus_max: [value==2], "checks{{check:status is 200}}": [rate==1], http_req_failed: [rate==0]""",
                                 step=", check: {status: 200}").replace("    pacing: 10ms\n", ""))
        self.assertEqual({threshold["ok"] for threshold in run.result["thresholds"]}, {True})
        values = {threshold["metric"] + threshold["expression"]: threshold["value"]
                  for threshold in run.result["thresholds"]}
        self.assertEqual(values["http_reqscount>1"], len(self.server.requests))

    def test_a_threshold_without_samples(self):
        run = self.load(scenario(self.server.url, thresholds="http_req_tls_handshaking: [avg<5]"),
                        code=product.NO_SAMPLES)
        self.assertEqual(self.verdict(run), "inconclusive")
        self.assertIsNone(run.result["thresholds"][0]["value"])
        self.assertIn("no samples", run.out)

    def test_all_failed_and_nobody_said_what_is_good(self):
        run = self.load(scenario(self.server.url + "/bad"), code=product.ALL_FAILED)
        self.assertEqual(self.verdict(run), "fail")

    def test_some_failed_and_nobody_said_what_is_good(self):
        self.fail_from = 3
        self.assertEqual(self.verdict(self.load(scenario(self.server.url))), "pass")

    def test_a_threshold_of_the_user_wins_over_ours(self):
        self.load(scenario(self.server.url + "/bad", thresholds="http_reqs: [count>0]"))

    def test_a_threshold_stops_the_run(self):
        began = time.monotonic()
        run = self.load(scenario(self.server.url + "/bad", duration="1h",
                                 thresholds="http_req_failed: [{threshold: rate<0.5, abortOnFail: true}]"),
                        code=product.THRESHOLDS)
        self.assertLess(time.monotonic() - began, 60)
        self.assertEqual(run.result["workflows"][0]["status"], "stopped")
        self.assertIn("threshold http_req_failed rate<0.5 failed", run.out)
        self.assertEqual(run.events[0]["kind"], "stopping")

    def test_a_step_stops_the_run(self):
        self.fail_from = 20
        run = self.load(scenario(self.server.url, duration="1h", step=", on_error: abort"), code=product.ABORT)
        self.assertEqual(self.verdict(run), "aborted")
        self.assertLess(len(self.server.requests), 40)
        self.assertIn("w.s failed and says on_error: abort", " ".join(run.out.split()))

    def test_a_request_that_the_end_of_its_time_cuts_off_stops_nothing(self):
        self.hold = 1
        run = self.load(scenario(self.server.url, "graceful_stop: 0s", "http_reqs: [count>0]",
                                 step=", on_error: abort"))
        self.assertEqual(self.verdict(run), "pass")
        self.assertEqual(run.result["workflows"][0]["iterations"]["interrupted"], 2)

    def test_a_step_ends_its_iteration_or_its_user(self):
        base = f"defaults: {{http: {{base: '{self.server.url}'}}}}\nworkflows:\n"
        run = self.load(base + "".join(f"""\
  {name}:
    executor: per-vu-iterations
    vus: 3
    iterations: 4
    steps:
      bad: {{http: {{get: /bad}}, on_error: {what}}}
      next: {{after: bad, http: {{get: /next-{name}}}}}
""" for name, what in (("goes", "continue"), ("iteration", "end-iteration"), ("user", "end-vu"))))
        count = {name: step["count"] for name, step in run.result["steps"].items()}
        self.assertEqual(count, {"goes.bad": 12, "goes.next": 12, "iteration.bad": 12, "iteration.next": 0,
                                 "user.bad": 3, "user.next": 0})

    def test_an_action_without_requests_passes(self):
        run = self.load("workflows:\n  w: {steps: {a: {action: {set: {x: y}}}}}\n")
        self.assertEqual(run.totals["requests"], 0)
        self.assertEqual(run.totals["iterations"], 1)


class Signals(Outcome):
    def begin(self, *arguments, duration="1h", more="graceful_stop: 20s"):
        self.file = self.folder / "result.json"
        process = self.start("run", self.named(scenario(self.server.url, duration=duration, more=more)),
                             "--ui", "none", "--out", f"json={self.file}", *arguments)
        deadline = time.monotonic() + PATIENCE
        while len(self.server.requests) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertGreaterEqual(len(self.server.requests), 2, "the run never began")
        return process

    def test_once_lets_iterations_finish(self):
        self.hold = 0.3
        process = self.begin()
        process.send_signal(signal.SIGINT)
        run = self.finish(process, self.file)
        self.assert_sound(run)
        self.assertEqual((run.code, run.result["run"]["verdict"]), (product.SIGNAL, "aborted"))
        self.assertEqual(run.errors, {}, "what was on its way was waited for")
        self.assertEqual(run.totals["requests"], len(self.server.requests))
        self.assertIn("Stop again to end at once", run.err)
        self.assertIn("SIGINT", run.out)
        self.assertEqual(run.result["workflows"][0]["status"], "stopped")

    def test_terminate_is_the_same(self):
        process = self.begin()
        process.send_signal(signal.SIGTERM)
        run = self.finish(process, self.file)
        self.assert_sound(run)
        self.assertEqual(run.code, product.SIGNAL)
        self.assertIn("SIGTERM", run.out)

    def test_twice_ends_at_once(self):
        self.hold = 90
        process = self.begin()
        said = product.Reader(process.stderr)
        process.send_signal(signal.SIGINT)
        said.wait_for("Stop again")
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        self.assertLess(time.monotonic() - began, 60, "well before the server would have answered")
        self.assertEqual(process.returncode, product.SIGNAL)
        said.wait_for("Ending at once")
        result = json.loads(self.file.read_text())
        self.assertEqual(result["steps"]["w.s"]["errors"], {"interrupted": 2})

    def test_graceful_stop_has_an_end(self):
        self.hold = 90
        process = self.begin(more="graceful_stop: 100ms")
        process.send_signal(signal.SIGINT)
        run = self.finish(process, self.file)
        self.assert_sound(run)
        self.assertEqual(run.errors, {"interrupted": 2})
        self.assertEqual(run.result["workflows"][0]["iterations"]["interrupted"], 2)

    def test_what_the_end_of_the_duration_cuts_off_is_said(self):
        self.hold = 90
        run = self.load(scenario(self.server.url, more="graceful_stop: 100ms"), code=product.ALL_FAILED)
        self.assertEqual(run.errors, {"interrupted": 2})
        self.assertIn("still running when the run ended", run.out)
        # The two that were sent, and what the pace said meanwhile: 100 in all for each user who began at once.
        self.assertIn(run.result["steps"]["w.s"]["unfinished"], range(3, 201))

    def test_the_reader_of_its_output_goes_away(self):
        """`bellwether … | head`: the run goes on, and its result file is written."""
        file = self.folder / "result.json"
        process = self.start("run", self.named(scenario(self.server.url)), "--ui", "ci", "--out", f"json={file}")
        process.stdout.close()
        process.stderr.close()
        process.stdout = process.stderr = None
        self.assertEqual(process.wait(PATIENCE), product.PASS)
        self.assertEqual(json.loads(file.read_text())["run"]["exit_code"], product.PASS)


class Outputs(Outcome):
    def run_with_out(self, *outs, **more):
        arguments = [word for out in outs for word in ("--out", f"json={out}")]
        return self.bellwether("run", self.server.url, "--ui", "none", "-n", "1", *arguments, **more)

    def test_a_full_disk(self):
        run = self.run_with_out("/dev/full")
        self.assertEqual(run.code, product.NOT_WRITTEN, run)
        self.assertIn("1 report could not be written (exit code 124)", " ".join(run.out.split()))
        self.assertIn("/dev/full", run.err)
        self.assertIn("No space left on device", run.err)
        self.assertIn("free some space", run.err)
        self.assertIn("REQUESTS", run.out, "the result is on the terminal all the same")

    def test_a_full_disk_keeps_the_old_file(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("only root may mount a small disk")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        file = disk / "result.json"
        file.write_text("old")
        (disk / "filler").write_bytes(bytes(8192))
        run = self.run_with_out(file)
        self.assertEqual(run.code, product.NOT_WRITTEN, run)
        self.assertIn("free some space", run.err)
        self.assertIn("REQUESTS", run.out)
        self.assertEqual(file.read_text(), "old")
        self.assertEqual(sorted(os.listdir(disk)), ["filler", "result.json"], "nothing half-written stays")

    def test_one_of_two_files_can_be_written(self):
        good = self.folder / "good.json"
        run = self.run_with_out("/dev/full", good)
        self.assertEqual(run.code, product.NOT_WRITTEN)
        self.assertEqual(json.loads(good.read_text())["format"], "bellwether.result/1")

    def test_a_file_is_replaced_as_a_whole(self):
        file = self.folder / "result.json"
        file.write_text("old")
        self.assertEqual(self.run_with_out(file).code, product.PASS)
        self.assertEqual(json.loads(file.read_text())["format"], "bellwether.result/1")

    def test_places_that_cannot_be_written_are_known_before_the_run(self):
        (self.folder / "folder").mkdir()
        for place, words in (("nowhere/result.json", "make its folder first"), ("folder", "directory"),
                             ("x" * 300, "too long"), ("scenario.yaml/result.json", "Not a directory")):
            with self.subTest(place[:30]):
                self.write("scenario.yaml", "")
                run = self.run_with_out(self.folder / place)
                self.assert_refused(run, words)
        self.assertEqual(self.server.connections, 0)

    def test_standard_output_can_be_the_file(self):
        run = self.run_with_out("/dev/stdout")
        self.assertEqual(run.code, product.PASS)
        result, end = json.JSONDecoder().raw_decode(run.out)  # the summary follows
        self.assertEqual(result["run"]["exit_code"], 0)
        self.assertIn("PASS", run.out[end:])

    def test_the_summary_cannot_be_written(self):
        file = self.folder / "result.json"
        with open("/dev/full", "wb") as full:
            process = subprocess.run([product.binary, "run", self.server.url, "-n", "1", "--ui", "none",
                                      "--out", f"json={file}"], stdout=full, stderr=subprocess.PIPE, text=True,
                                     check=False)
        self.assertTrue(file.exists(), "the file is written all the same")
        self.assertIn("No space left on device", process.stderr)
        self.assertEqual(process.returncode, product.NOT_WRITTEN)


if __name__ == "__main__":
    product.main()
