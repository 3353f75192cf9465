#!/usr/bin/env python3
"""Whose connections requests take, and what is known of their targets before the load starts."""

import collections
import csv
import threading

from lib import product
from lib.certificates import Authority
from lib.server import Served, Server, closed_port, response, tls_context


class Connections(Served):
    def scenario(self, connections, vus=8, iterations=20, more=""):
        return f"""\
defaults: {{http: {{base: "{self.server.url}", connections: {connections}{more}}}}}
workflows:
  w:
    executor: per-vu-iterations
    vus: {vus}
    iterations: {iterations}
    steps: {{a: {{http: {{get: /a}}, check: {{status: 200}}}}, b: {{after: a, http: {{post: /b, body: x}}}}}}
"""

    def assert_all_sent(self, run, count):
        self.assertEqual((run.totals["requests"], run.totals["failed"]), (count, 0), run)
        self.assertEqual(len(self.server.requests), count)

    def test_each_user_has_its_own(self):
        self.assert_all_sent(self.load(self.scenario("per_user"), "--cores", "1"), 320)
        self.assertEqual(self.server.connections, 8)

    def test_a_number_is_the_most_to_a_server_on_a_core(self):
        self.assert_all_sent(self.load(self.scenario(3), "--cores", "1"), 320)
        self.assertEqual(self.server.connections, 3)
        self.assertLessEqual(self.server.most_inside, 3)

    def test_each_core_has_its_own(self):
        self.assert_all_sent(self.load(self.scenario(1), "--cores", "2"), 320)
        self.assertEqual(self.server.connections, 2)

    def test_shared_without_a_limit(self):
        """The users come one after the other, so one connection is enough for them."""
        self.assert_all_sent(self.load(f"""\
defaults: {{http: {{base: "{self.server.url}", connections: shared}}}}
workflows:
  a: {{executor: per-vu-iterations, vus: 1, iterations: 5, steps: {{s: {{http: {{get: /a}}}}}}}}
  b: {{start_time: 8s, executor: per-vu-iterations, vus: 1, iterations: 5, steps: {{s: {{http: {{get: /b}}}}}}}}
""", "--cores", "1"), 10)
        self.assertEqual(self.server.connections, 1)

    def test_a_server_that_closes_its_connections_starves_nobody(self):
        self.answers["/a"] = response(b"ok", headers=["Connection: close"])
        self.assert_all_sent(self.load(self.scenario(2), "--cores", "1"), 320)
        self.assertLessEqual(self.server.most_inside, 2)

    def test_a_request_that_is_sent_again_is_counted(self):
        """The server closes each connection in place of its third response."""
        seen = collections.Counter()

        def close_third(_, connection):
            seen[connection.number] += 1
            return None if seen[connection.number] == 3 else response(b"ok")

        self.answers["/a"] = close_third
        table = self.folder / "run.csv"
        run = self.load(f"""\
workflows:
  w: {{executor: per-vu-iterations, vus: 2, iterations: 9, steps: {{s: {{http: {{get: "{self.server.url}/a"}}}}}}}}
thresholds: {{"http_reqs_repeated{{step:w.s}}": ["count==8"], http_reqs_repeated: ["rate>0"]}}
""", "--out", f"csv={table}")
        with table.open(newline="", encoding="utf-8") as file:
            self.assertEqual([row["repeated"] for row in csv.DictReader(file)][:2], ["8", "8"])
        self.assertEqual((run.totals["requests"], run.totals["failed"], run.totals["repeated"]), (18, 0, 8))
        self.assertEqual(len(self.server.requests), 18 + 8)

    def test_cookies_stay_with_their_user(self):
        self.answers["/login"] = lambda request, connection: response(
            b"", headers=[f"Set-Cookie: id={request.header('x-user')}"])
        self.load(f"""\
defaults: {{http: {{base: "{self.server.url}", connections: 1}}}}
workflows:
  w:
    executor: per-vu-iterations
    vus: 5
    iterations: 4
    steps:
      login: {{http: {{get: /login, headers: {{X-User: "${{vu}}"}}}}}}
      look: {{after: login, http: {{get: /look, headers: {{X-User: "${{vu}}"}}}}}}
""", "--cores", "1")
        looks = [request for request in self.server.requests if request.path == "/look"]
        self.assertEqual(len(looks), 20)
        for request in looks:
            self.assertEqual(request.header("cookie"), "id=" + request.header("x-user"))
        self.assertEqual(self.server.connections, 1)

    def test_who_waits_longer_than_its_timeout_fails(self):
        over = threading.Event()
        self.addCleanup(over.set)
        self.answers["/a"] = lambda request, connection: over.wait() and response(b"ok")
        run = self.load(self.scenario(1, vus=3, iterations=1, more=", timeout: 300ms"), "--cores", "1")
        # Also of one whose turn comes in its last moments, with no time left to connect.
        self.assertEqual(run.errors, {"timeout": 3})

    def test_a_stop_ends_those_that_wait(self):
        over = threading.Event()
        self.addCleanup(over.set)
        self.answers["/a"] = lambda request, connection: over.wait() and response(b"ok")
        run = self.load(f"""\
defaults: {{http: {{base: "{self.server.url}", connections: 1}}}}
workflows: {{w: {{vus: 50, duration: 1s, graceful_stop: 0, steps: {{a: {{http: {{get: /a}}}}}}}}}}
""", "--cores", "1", code=product.ALL_FAILED)
        self.assertEqual(run.errors, {"interrupted": 50})

    def test_wrong_values(self):
        for value in ("0", "1000001", "none", "[1]"):
            self.assert_refused(self.bellwether("run", self.named(self.scenario(value))), "'connections'")


class Urls(Served):
    def test_the_url_after_redirects(self):
        self.answers["/from"] = response(status="302 Found", headers=["Location: to?x=1#y"])
        self.answers["/script"] = response(status="302 Found", headers=["Location: /to/../end"])
        self.write("w.lua", """\
function look()
  local res = http.get("/script")
  check("there", res.url == BASE .. "/end")
  check("here", http.get("/plain?a=b").url == BASE .. "/plain?a=b")
end
""".replace("BASE", f'"{self.server.url}"'))
        run = self.load(f"""\
defaults: {{http: {{base: "{self.server.url}"}}}}
workflows:
  w:
    executor: per-vu-iterations
    vus: 1
    iterations: 1
    steps:
      a:
        http: {{get: /from}}
        check: {{url: "{self.server.url}/to?x=1"}}
        extract: {{end: {{url: true}}}}
      b:
        after: a
        http: {{get: "/b/${{iteration}}", headers: {{X-End: "${{end}}"}}}}
        check: {{url: {{matches: "/b/0$"}}}}
      c: {{lua: {{file: w.lua, call: look, checks: [there, here]}}}}
""")
        self.assertEqual({name: counts for name, counts in run.checks.items() if counts != (1, 0)}, {}, run)
        self.assertEqual(len(run.checks), 4)
        sent = [request for request in self.server.requests if request.path == "/b/0"]
        self.assertEqual(sent[0].header("x-end"), f"{self.server.url}/to?x=1")


class BeforeTheLoad(Served):
    def test_a_name_without_an_address_refuses_the_run(self):
        run = self.bellwether("run", self.named(f"""\
defaults: {{http: {{base: "http://no-such-host.invalid:81/x"}}}}
workflows:
  w: {{vus: 1, duration: 1s, steps: {{a: {{http: {{get: "{self.server.url}"}}}}, b: {{http: {{get: /b}}}}}}}}
"""))
        self.assert_refused(run, "http://no-such-host.invalid:81 cannot be reached", "'no-such-host.invalid'",
                            "nothing was sent", "--no-lookup")
        self.assertEqual(self.server.requests, [])

    def test_a_name_that_only_the_run_knows_is_not_looked_up(self):
        run = self.load("""\
workflows:
  w: {executor: per-vu-iterations, vus: 1, iterations: 1,
      steps: {a: {action: {set: {host: no-such-host.invalid}}}, b: {after: a, http: {get: "http://${host}/"}}}}
""", code=product.ALL_FAILED)
        self.assertEqual(run.errors, {"dns": 1})

    def test_the_proxy_is_looked_up_in_place_of_its_targets(self):
        scenario = """\
defaults: {http: {base: "http://no-such-host.invalid", proxy: "http://@PROXY@"}}
workflows: {w: {executor: per-vu-iterations, vus: 1, iterations: 1, steps: {a: {http: {get: /}}}}}
"""
        run = self.load(scenario.replace("@PROXY@", f"127.0.0.1:{self.server.port}"))
        self.assertEqual(run.statuses, {200: 1})
        run = self.bellwether("run", self.named(scenario.replace("@PROXY@", "no-proxy.invalid:1")))
        self.assert_refused(run, "http://no-such-host.invalid, through the proxy no-proxy.invalid")

    def test_targets_are_connected_to_only_when_asked(self):
        port = closed_port()
        url = f"http://127.0.0.1:{port}/"
        self.load(url, "-n", "1", code=product.ALL_FAILED)
        run = self.bellwether("run", url, "-n", "1", "--check-targets")
        self.assert_refused(run, f"http://127.0.0.1:{port} cannot be reached: Connection refused", "--check-targets")
        self.load(self.server.url, "-n", "1", "--check-targets")

    def test_the_check_shakes_hands(self):
        ca = Authority(self.folder)
        ca.issue("its", "IP:127.0.0.1")
        with Server(tls=tls_context(self.folder / "its.pem", self.folder / "its.key")) as server:
            run = self.bellwether("run", server.url, "--check-targets")
            self.assert_refused(run, f"{server.url} cannot be reached", "certificate")
            self.load(server.url, "-n", "1", "--cacert", ca.file, "--check-targets")

    def test_contradictions(self):
        run = self.bellwether("run", self.server.url, "--check-targets", "--no-lookup")
        self.assert_refused(run, "--no-lookup contradicts --check-targets")
        run = self.bellwether("run", self.server.url, "--cluster", "none", "--no-lookup")
        self.assert_refused(run, "--no-lookup", "of this machine")


if __name__ == "__main__":
    product.main()
