#!/usr/bin/env python3
"""A target that is down, lies, hangs or talks nonsense: each failure is counted by its kind, and the run goes on."""

import contextlib
import socket

from lib import product
from lib.faults import FAULTS, ODDITIES, endless
from lib.server import Server, closed_port, response

# Every workflow asks for something bad and then for something good, so that it shows whether life goes on.
WORKFLOW = """\
  {name}:
    vus: 1
    iterations: 3
    steps:
      bad:
        http: {{{method}: /{name}, timeout: {timeout}, body_max: 1MiB, compressed: true}}
        check: {{body: {{contains: body}}}}
      good: {{after: [bad], http: {{get: /good}}}}
"""


def scenario(url, names):
    methods = {"head-with-body": "head"}
    in_vain = {name for name, (_, kind) in FAULTS.items() if kind == "timeout"}
    return f"defaults:\n  http: {{base: '{url}'}}\nworkflows:\n" + "".join(
        WORKFLOW.format(name=name, method=methods.get(name, "get"), timeout="300ms" if name in in_vain else "20s")
        for name in names)


class FailingTarget(product.Test):
    def serve(self, answers):
        def respond(request, connection):
            name = request.path.strip("/")
            return response(b"good") if name == "good" else answers[name](request, connection)

        server = Server(respond)
        self.addCleanup(server.close)
        return server

    def test_each_fault_is_counted_under_its_kind(self):
        server = self.serve({name: answer for name, (answer, _) in FAULTS.items()})
        run = self.load(scenario(server.url, FAULTS))
        for name, (_, kind) in FAULTS.items():
            with self.subTest(name):
                bad, good = run.result["steps"][f"{name}.bad"], run.result["steps"][f"{name}.good"]
                self.assertGreater(bad["count"], 0)
                self.assertEqual((bad["errors"], bad["failed"]), ({kind: bad["count"]}, bad["count"]))
                self.assertEqual((good["count"], good["failed"]), (bad["count"], 0), "the run goes on after it")
        for kind in run.errors:
            self.assertIn(kind, run.out)
        said = {error["kind"]: error["count"] for error in run.result["datacenters"][0]["errors"]}
        self.assertEqual(said, run.errors)

    def test_odd_answers_are_answers(self):
        server = self.serve({name: answer for name, (answer, _, _) in ODDITIES.items()})
        run = self.load(scenario(server.url, ODDITIES))
        for name, (_, status, kept) in ODDITIES.items():
            with self.subTest(name):
                bad = run.result["steps"][f"{name}.bad"]
                self.assertEqual((bad["errors"], bad["status"]), ({}, {str(status): bad["count"]}))
                asked = [request for request in server.requests if request.path == f"/{name}"]
                self.assertEqual(len(asked), bad["count"])
                connections = {request.connection.number for request in asked}
                self.assertEqual(len(connections), 1 if kept else len(asked), "connections used")

    def test_bodies_that_nobody_looks_at_are_not_decoded(self):
        server = self.serve({name: answer for name, (answer, _) in FAULTS.items()})
        run = self.load(f"{server.url}/gzip-bomb", "-n", "5")
        self.assertEqual(run.totals["failed"], 0)

    def test_a_flood_starves_nobody(self):
        """Three users are sent more than they can read, for as long as they listen. Timeouts and others go on."""
        server = self.serve({"flood": endless("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n",
                                               "1\r\nx\r\n" * 100_000)})
        run = self.load(f"""\
defaults: {{http: {{base: "{server.url}"}}}}
workflows:
  flood: {{executor: per-vu-iterations, vus: 3, iterations: 10, steps: {{get: {{http: {{get: /flood, timeout: 1s}}}}}}}}
  calm: {{vus: 1, duration: 10s, pacing: 60ms, steps: {{get: {{http: {{get: /good}}}}}}}}
""", "--cores", "1")
        self.assertEqual(run.result["steps"]["flood.get"]["errors"], {"timeout": 30})
        self.assertEqual(run.result["steps"]["calm.get"]["errors"], {})
        self.assertGreater(run.result["steps"]["calm.get"]["count"], 3)


class HalfTheRequests(product.Test):
    """Half the requests get no response. No figure is better for that, and a limit that needs it is not kept."""

    def run_against(self, respond, *arguments):
        answered = [0]

        # On connections of their own: a request that is closed on a used one is repeated, and may be answered then.
        def every_second(request, connection):
            answered[0] += 1
            return response(b"ok") if answered[0] % 2 else respond(connection)

        with Server(every_second) as server:
            run = self.load(f"""\
workflows:
  w:
    executor: per-vu-iterations
    vus: 4
    iterations: 4
    steps: {{s: {{http: {{get: "{server.url}", timeout: 1s, keep_alive: false}}}}}}
thresholds: {{http_req_duration: ["p(95)<5000", "p(25)<5000"]}}
""", *arguments, code=product.THRESHOLDS)
        late, early = run.result["thresholds"]
        self.assertTrue(late["at_least"])
        self.assertEqual((late["ok"], early["ok"], "at_least" in early), (False, True, False))
        times = run.result["steps"]["w.s"]["response_ms"]
        self.assertIn("p95", times["lower_bounds"])
        self.assertIn("p(95)", run.result["metrics"]["http_req_duration"]["lower_bounds"])
        self.assertRegex(run.out, r"response .*≥")
        self.assertIn("1 of 2 thresholds failed: http_req_duration p(95)≥", run.out)
        return times

    def test_that_time_out_count_with_their_wait(self):
        self.assertGreaterEqual(self.run_against(lambda connection: connection.wait_for_close())["p95"], 1000)

    def test_that_are_closed_at_once_are_slower_than_every_response(self):
        times = self.run_against(lambda _: None)
        self.assertGreaterEqual(times["p95"], max(low for low, _ in times["histogram"]["buckets"]) / 1e6)


class DeadTarget(product.Test):
    def test_a_dead_target_is_not_asked_a_million_times_a_second(self):
        run = self.load(f"http://127.0.0.1:{closed_port()}/", "--duration", "700ms", "--vus", "3",
                        code=product.ALL_FAILED)
        # After 0, 10, 30, 70, 150, 310 and 630 ms.
        self.assertLessEqual(run.totals["requests"], 3 * 7)
        # But its users try again.
        run = self.load(f"http://127.0.0.1:{closed_port()}/", "-n", "6", "--vus", "3", code=product.ALL_FAILED)
        self.assertEqual(run.totals["requests"], 6)

    def test_nobody_listens(self):
        run = self.load(f"http://127.0.0.1:{closed_port()}/", "-n", "2", code=product.ALL_FAILED)
        self.assertEqual(set(run.errors), {"connect_refused"})
        self.assertIn("is the target listening", run.out)
        self.assertIn("every request failed", run.result["run"]["reason"])
        self.assertEqual(run.result["run"]["verdict"], "fail")

    def test_a_name_that_does_not_exist(self):
        run = self.load("http://no-such-host.invalid/", "-n", "2", "--no-lookup", code=product.ALL_FAILED)
        self.assertEqual(set(run.errors), {"dns"})

    def test_reset_when_it_connects(self):
        with Server(on_accept=lambda connection: connection.reset()) as server:
            run = self.load(server.url, "-n", "2", code=product.ALL_FAILED)
        self.assertLessEqual(set(run.errors), {"connect_reset", "reset", "send"})

    def test_no_answer_to_the_connection(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as crowd:
            for _ in range(3):  # the queue is full then, and the kernel ignores whoever else knocks
                waiting = crowd.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(listener.getsockname())
            run = self.load("workflows:\n  w:\n    vus: 2\n    iterations: 2\n    steps: {s: {http: {get: "
                            f"'http://127.0.0.1:{listener.getsockname()[1]}/', connect_timeout: 200ms}}}}}}\n",
                            code=product.ALL_FAILED)
        self.assertEqual(run.errors, {"connect_timeout": 2})
        self.assertIn("firewall", run.out)

    def test_https_where_http_was_meant(self):
        def refuse(connection):
            connection.sock.recv(4096)
            connection.send(response(b"this is plain HTTP", status="400 Bad Request"))

        with Server(on_accept=refuse) as server:
            run = self.load(server.url.replace("http:", "https:"), "-n", "2", code=product.ALL_FAILED)
        self.assertEqual(set(run.errors), {"tls"})

    def test_a_target_that_ails_for_a_while(self):
        """While the server hangs up, requests fail; before and after, they do not; the run sees it through."""
        server = Server(lambda request, connection: None if 20 < len(server.requests) < 60 else response(b"ok"))
        self.addCleanup(server.close)
        run = self.load(server.url, "--rate", "100/s", "--vus", "100", "--duration", "1s")
        self.assertEqual(run.totals["requests"], 100)
        self.assertEqual(set(run.errors), {"closed"})
        self.assertGreater(server.requests[-1].at - server.requests[60].at, 0)
        self.assertEqual(run.statuses[200], 100 - run.totals["failed"])


class Statuses(product.Test):
    def test_statuses_are_counted_and_failures_told_apart(self):
        with Server(lambda request, connection: response(b"x", status=f"{request.path[1:]} Word")) as server:
            steps = "".join(f"      s{code}: {{http: {{get: /{code}, redirects: 0}}}}\n"
                            for code in (200, 204, 301, 404, 418, 500, 503, 599))
            text = f"defaults: {{http: {{base: '{server.url}'}}}}\nworkflows:\n  w:\n    vus: 1\n" \
                   f"    iterations: 2\n    steps:\n{steps}" \
                   "      allowed: {http: {get: /404}, check: {status: 404}}\n"
            run = self.load(text)
        for code in (200, 204, 301, 404, 418, 500, 503, 599):
            step = run.result["steps"][f"w.s{code}"]
            self.assertEqual(step["status"], {str(code): step["count"]})
            self.assertEqual(step["failed"], step["count"] if code >= 400 else 0, code)
        self.assertEqual(run.result["steps"]["w.allowed"]["failed"], 0, "a check that allows it decides")
        self.assertIn("418", run.out)

    def test_all_statuses_bad_is_a_failed_run(self):
        with Server(lambda request, connection: response(b"no", status="503 No")) as server:
            run = self.load(server.url, "-n", "2", code=product.ALL_FAILED)
        self.assertEqual(run.statuses, {503: run.totals["requests"]})
        self.assertEqual(run.errors, {})


if __name__ == "__main__":
    product.main()
