#!/usr/bin/env python3
"""A load as the command line gives it: iterations, stages, tags, bodies; each request in a log or on the terminal."""

import csv
import datetime
import json
import re

from lib import product
from lib.server import Served, response

TWO = """\
workflows:
  a: {{vus: 5, duration: 1h, steps: {{s: {{http: {{get: "{url}/a"}}}}}}}}
  b: {{executor: constant-arrival-rate, rate: 1/s, vus: 5, duration: 1h, steps: {{s: {{http: {{get: "{url}/b"}}}}}}}}
"""


class CommandLoad(Served):
    def respond(self, request, connection):
        if request.path == "/moved":
            return response(b"", status="302 Found", headers=["Location: /there", "Set-Cookie: id=s3cret"])
        return response(b"line one\nline two") if request.path == "/lines" else response(b"ok")

    # --- iterations, stages, tags, bodies ---

    def test_a_number_of_iterations_is_the_whole_load_of_a_url(self):
        run = self.load(self.server.url, "-n", "7", "--vus", "3")
        self.assertEqual((run.totals["requests"], run.totals["iterations"]), (7, 7))
        self.assertEqual(run.result["workflows"][0]["executor"], "shared-iterations")

    def test_a_number_of_iterations_replaces_the_load_of_each_workflow(self):
        run = self.load(TWO.format(url=self.server.url), "--iterations", "3")
        self.assertEqual(sorted(self.paths()), ["/a"] * 3 + ["/b"] * 3)
        self.assertEqual([one["vus"]["peak"] for one in run.result["workflows"]], [1, 1])

    def test_stages_are_users_or_rates(self):
        run = self.load(self.server.url, "--stage", "0s:3", "--stage", "500ms:3")
        self.assertEqual(run.result["workflows"][0]["executor"], "ramping-vus")
        self.assertEqual(run.result["workflows"][0]["vus"]["peak"], 3)
        run = self.load(self.server.url, "--stage", "1s:40/s", "--stage", "1s:40/s")
        self.assertEqual(run.result["workflows"][0]["executor"], "ramping-arrival-rate")
        self.assertEqual(run.totals["scheduled_iterations"], 60)

    def test_loads_that_contradict_each_other_are_refused(self):
        for arguments, words in ((["--stage", "30s"], "DURATION:TARGET"),
                                 (["--stage", "x:3"], "duration"),
                                 (["--stage", "1s:2.5"], "whole number"),
                                 (["--stage", "1s:3", "--stage", "1s:3/s"], "or all are rates"),
                                 (["--stage", "1s:3", "-d", "1s"], "their own durations"),
                                 (["-n", "3", "--stage", "1s:3"], "exclude each other"),
                                 (["-n", "3", "--rate", "3/s"], "exclude each other"),
                                 (["--tag", "x"], "KEY=VALUE"),
                                 (["--tag", "step=x"], "cannot be the name of a tag"),
                                 (["-b", "@none"], "none")):
            run = self.bellwether("run", self.server.url, *arguments)
            self.assert_refused(run, words)
        self.assertEqual(self.server.requests, [])

    def test_a_rate_of_a_workflow_is_of_the_time_in_which_it_ran(self):
        steps = f"steps: {{s: {{http: {{get: '{self.server.url}/'}}}}}}"
        text = f"""workflows:
  first: {{rate: 50/s, duration: 1s, vus: 50, {steps}}}
  second: {{rate: 50/s, duration: 1s, vus: 50, start_time: 20s, {steps}}}
thresholds:
  http_reqs: rate<5
  "http_reqs{{workflow:first}}": rate>=5
  "http_reqs{{step:second.s}}": rate>=5
  "iterations{{workflow:second}}": rate>=5
"""
        run = self.load(text)
        for step in run.result["steps"].values():
            self.assertGreaterEqual(step["rate_per_s"], 5)

    def test_tags_of_the_run_are_in_its_result_and_thresholds_select_them(self):
        text = TWO.format(url=self.server.url) + 'thresholds: {"http_reqs{build:7}": "count>=2"}\n'
        run = self.load(text, "-n", "1", "--tag", "build=7", "--tag", "branch=main", "--out",
                        f"csv={self.folder / 'r.csv'}", "--out", f"html={self.folder / 'r.html'}")
        self.assertEqual(run.result["run"]["tags"], {"build": "7", "branch": "main"})
        self.assertEqual(run.result["steps"]["a.s"]["tags"], {"build": "7", "branch": "main"})
        rows = list(csv.reader((self.folder / "r.csv").open()))
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        self.assertEqual([(row[1], row[-2]) for row in rows if row[0] == "tag"], [("build", "7"), ("branch", "main")])
        self.assertIn("build: 7", (self.folder / "r.html").read_text())

    def test_a_body_may_be_a_file(self):
        file = self.write("body.bin", b"\x00one\r\ntwo\xff")
        self.load(self.server.url, "-n", "1", "-X", "POST", "-b", f"@{file}")
        self.assertEqual(self.server.requests[0].body, b"\x00one\r\ntwo\xff")

    # --- connections ---

    def test_a_host_may_have_an_address_of_its_own(self):
        url = "http://shop.example/"
        self.load(url, "-n", "1", "--resolve", f"shop.example=127.0.0.1:{self.server.port}")
        self.load(f"""\
defaults: {{http: {{hosts: {{shop.example: "127.0.0.1:{self.server.port}"}}}}}}
workflows: {{w: {{vus: 1, iterations: 1, steps: {{s: {{http: {{get: "{url}"}}}}}}}}}}
""")
        self.assertEqual([request.header("host") for request in self.server.requests], ["shop.example"] * 2)
        for place in ("shop.example", "shop.example=elsewhere", "=127.0.0.1"):
            self.assert_refused(self.bellwether("run", url, "--resolve", place), "--resolve" if place[0] == "=" or
                                "=" not in place else "wrong address 'elsewhere'")

    def test_users_may_have_addresses_of_their_own(self):
        local = "127.0.0.4/31, 127.0.0.9, 192.0.2.1"
        self.load(self.server.url, "-n", "6", "-u", "3", "--cores", "2", "--local-ips", local)
        self.assertEqual({peer for peer, _ in self.server.peers}, {"127.0.0.4", "127.0.0.5", "127.0.0.9"})
        self.server.peers.clear()
        self.load(f"""\
defaults: {{http: {{local_ips: 127.0.0.6-127.0.0.7, connections: 1}}}}
workflows: {{w: {{vus: 1, iterations: 2, steps: {{s: {{http: {{get: "{self.server.url}/", keep_alive: false}}}}}}}}}}
""", "--check-targets")
        self.assertLessEqual({peer for peer, _ in self.server.peers}, {"127.0.0.6", "127.0.0.7"})
        run = self.bellwether("run", self.server.url, "--local-ips", "192.0.2.1")
        self.assert_refused(run, "this machine has none of the addresses of 'local_ips'")
        self.assertNotIn("--check-targets", run.err)
        self.assert_refused(self.bellwether("run", self.server.url, "--local-ips", "lo"), "'lo' is no local address")

    def connections(self, workflow="", http=""):
        before = self.server.connections
        self.load(f"""\
workflows:
  w:
    vus: 1
    iterations: 3
    {workflow}
    steps:
      a: {{http: {{get: "{self.server.url}/a"{http}}}}}
      b: {{after: a, http: {{get: "{self.server.url}/b"{http}}}}}
""")
        return self.server.connections - before

    def test_connections_may_end_with_the_iteration_or_the_request(self):
        self.assertEqual(self.connections(), 1)
        self.assertEqual(self.connections(workflow="keep_connections: false"), 3)
        self.assertEqual({request.header("connection") for request in self.server.requests}, {None})
        self.assertEqual(self.connections(http=", keep_alive: false"), 6)
        self.assertEqual(self.server.requests[-1].header("connection"), "close")

    def test_options_without_effect_are_said(self):
        url, once = self.server.url, ("-n", "1", "--no-store")
        place = f"127.0.0.1:{self.server.port}"
        for arguments, words in (
                (("--resolve", f"shop.example={place}"), "no URL has the host 'shop.example'"),
                (("-k",), "only after a redirect to https"), (("--allow-files",), "no script in Lua")):
            run = self.load(url, *once, *arguments)
            self.assertIn("warning: ", run.err)
            self.assertIn(words, run.err)
        self.assertNotIn("warning", self.load(f"http://shop.example:{self.server.port}/", *once, "--resolve",
                                              f"shop.example={place}").err)
        self.assert_refused(self.bellwether("run", url, "--resolve", "http://shop=127.0.0.1"), "is no name of a host")
        self.assert_refused(self.bellwether("run", url, "--seed", "-1"), "--seed '-1': write a whole number from 0 on")
        self.assert_refused(self.bellwether("run", url, "-u", "1000001"), "from 1 to 1000000")
        self.assert_refused(self.bellwether("run", "http://a:b@h/"), "'auth'", "--header 'Authorization")

    def test_a_run_without_measured_requests_says_why(self):
        run = self.load(f"""\
workflows:
  w:
    executor: per-vu-iterations
    iterations: 2
    steps: {{a: {{if: {{"${{vu}}": 7}}, http: {{get: "{self.server.url}"}}}}}}
""", code=product.ALL_FAILED)
        self.assertIn("no measured request was made: 'if', 'choose' or a failure left out its steps in each of 2 "
                      "iterations", run.result["run"]["reason"])

    # --- the request log ---

    def test_the_request_log_has_a_row_for_each_request(self):
        log = self.folder / "log.csv"
        run = self.load(TWO.format(url=self.server.url), "-n", "5", "--request-log", log, "--cores", "2", "--tag",
                        "build=7")
        rows = list(csv.DictReader(log.open()))
        self.assertEqual(len(rows), run.totals["requests"])
        self.assertEqual(sorted((row["workflow"], row["step"]) for row in rows), [("a", "s")] * 5 + [("b", "s")] * 5)
        self.assertEqual(sorted(row["iteration"] for row in rows if row["workflow"] == "a"), list("01234"))
        for row in rows:
            self.assertEqual((row["vu"], row["status"], row["failed"], row["error"]), ("1", "200", "false", ""))
            self.assertIn("build=7", row["tags"].split(";"))
            self.assertRegex(row["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
            self.assertGreaterEqual(int(row["response_us"]), int(row["service_us"]))
            # Both name one moment as the start of the run, this one to a microsecond and the result to a millisecond.
            begin = datetime.datetime.fromisoformat(row["time"]) - datetime.timedelta(seconds=float(row["t_s"]))
            started = datetime.datetime.fromisoformat(run.result["run"]["started_at"])
            self.assertLess(abs(begin - started), datetime.timedelta(milliseconds=2))
        self.assertEqual(sum(int(row["bytes_received"]) for row in rows), run.totals["bytes_received"])

    def test_the_request_log_names_the_error_of_a_request_without_a_response(self):
        log = self.folder / "log.jsonl"
        self.load("http://127.0.0.1:1/", "-n", "2", "--request-log", log, code=product.ALL_FAILED)
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([(row["error"], row["failed"]) for row in rows], [("connect_refused", True)] * 2)
        self.assertFalse({"status", "service_us"} & set(rows[0]))

    def test_a_request_log_that_cannot_be_written_is_a_failure(self):
        run = self.bellwether("run", self.server.url, "-n", "1", "--request-log", self.folder / "log.txt")
        self.assert_refused(run, ".csv or .jsonl")
        run = self.bellwether("run", self.server.url, "--request-log", self.folder / "a.csv", "--out",
                              f"csv={self.folder}/./a.csv")
        self.assert_refused(run, "a report goes to that file")
        full = self.folder / "full.csv"
        full.symlink_to("/dev/full")
        run = self.load(self.server.url, "-n", "1", "--request-log", full, code=product.NOT_WRITTEN)
        self.assertIn("No space left", run.err)
        self.assertIn("request log", run.result["run"]["reason"])

    # --- requests on the terminal ---

    def test_http_debug_prints_each_request_and_response(self):
        run = self.load(f"{self.server.url}/moved", "-n", "1", "-H", "Authorization: Bearer s3cret", "--http-debug")
        sent = re.findall(r"^> \[url vu 1 iteration 0\] to (\S+),", run.err, re.M)
        self.assertEqual(sent, [self.server.url] * 2)
        self.assertIn("> GET /moved HTTP/1.1\n", run.err)
        self.assertIn("> GET /there HTTP/1.1\n", run.err)
        self.assertIn("< HTTP/1.1 302\n", run.err)
        self.assertIn("> Authorization: ***\n", run.err)
        self.assertIn("< Set-Cookie: ***\n", run.err)
        self.assertIn("> Cookie: ***\n", run.err)
        self.assertNotIn("s3cret", run.err)
        self.assertNotIn("< ok", run.err)

    def test_http_debug_prints_bodies_and_credentials_when_asked(self):
        run = self.load(f"{self.server.url}/lines", "-n", "1", "-X", "POST", "-b", "x" * 5000, "-H",
                        "Authorization: Bearer s3cret", "--http-debug=full", "--show-credentials")
        self.assertIn("> Authorization: Bearer s3cret\n", run.err)
        self.assertIn("< line one\n< line two\n", run.err)
        self.assertIn("> … 904 more bytes\n", run.err)

    def test_http_debug_is_for_few_users(self):
        for arguments, words in ((["--http-debug", "--vus", "11"], "at most 10 virtual users"),
                                 (["--http-debug=all"], "--http-debug=full"),
                                 (["--http-debug", "--ui", "full"], ""),
                                 (["--show-credentials"], "--http-debug")):
            self.assert_refused(self.bellwether("run", self.server.url, *arguments), words)


if __name__ == "__main__":
    product.main()
