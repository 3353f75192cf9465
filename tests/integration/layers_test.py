#!/usr/bin/env python3
"""Workflows that depend on others, on one machine: when they begin, and what they are given."""

import json
import signal
import threading
from pathlib import Path

from lib import product
from lib.daemon import PATIENCE, until
from lib.server import Served, response


FEW = "executor: per-vu-iterations\n    iterations: 4"


def scenario(url, auth=FEW, token="${login.json.$.token}"):
    return f"""\
workflows:
  auth:
    vus: 2
    {auth}
    steps: {{login: {{http: {{post: "{url}/login", json: {{user: "u${{vu}}"}}}}}}}}
    provide: {{browse: {{token: "{token}"}}}}
  browse:
    depends: [auth]
    use: {{auth: [token]}}
    vus: 2
    {FEW}
    steps:
      list: {{http: {{get: "{url}/items", headers: {{Authorization: "Bearer ${{token}}"}}}}, check: {{status: 200}}}}
"""


class Layers(Served):
    def setUp(self):
        super().setUp()
        self.logins = 0
        self.of_first = []
        self.broken = False
        self.blocked = None

    def respond(self, request, connection):
        if self.blocked is not None:
            self.blocked.wait(PATIENCE)
        if request.path != "/login":
            return response(b"[]")
        if self.broken:
            return response(b"no", status="503 Unavailable")
        self.logins += 1
        token = f"t{self.logins}"
        if b'"u1"' in request.body:
            self.of_first.append(token)
        return response(json.dumps({"token": token}).encode())

    def test_a_rate_counts_over_the_time_of_its_workflow(self):
        step = lambda path: f"steps: {{get: {{http: {{get: '{self.server.url}{path}'}}, think: 20ms}}}}"
        run = self.load(f"workflows:\n  long: {{vus: 1, duration: 3s, {step('/a')}}}\n"
                        f"  short: {{vus: 1, duration: 500ms, {step('/b')}}}\n")
        short = run.result["workflows"][1]
        self.assertLess(short["elapsed_s"], run.result["workflows"][0]["elapsed_s"])
        step = run.result["steps"]["short.get"]
        self.assertAlmostEqual(step["rate_per_s"], step["count"] / short["elapsed_s"], delta=0.01)
        self.assertIn("Closed model (fixed virtual users) in 'long', 'short':", " ".join(run.out.split()))

    def asked(self, path):
        return [request for request in self.server.requests if request.path == path]

    def states(self, run):
        return {one["name"]: one["status"] for one in run.result["workflows"]}

    def test_the_first_user_s_last_value_is_what_everybody_begins_with(self):
        run = self.load(scenario(self.server.url))
        self.assertEqual(self.states(run), {"auth": "completed", "browse": "completed"})
        given = {request.header("authorization") for request in self.asked("/items")}
        self.assertEqual(given, {f"Bearer {self.of_first[-1]}"})
        # One after the other, each in seconds of its own.
        self.assertGreater(self.asked("/items")[0].at, self.asked("/login")[-1].at)
        self.assertGreaterEqual(len([point for point in run.result["series"] if point["requests"]]), 2)
        self.assertEqual(sum(point["requests"] for point in run.result["series"]), run.totals["requests"])
        self.assertEqual(run.events, [])

    def test_without_a_value_that_nobody_provided_its_user_does_not_begin(self):
        self.broken = True
        run = self.load(scenario(self.server.url), code=product.ABORT)
        self.assertEqual(self.asked("/items"), [])
        self.assertEqual([event["kind"] for event in run.events], ["value_missing", "stopping"])
        self.assertIn("'auth' provided no 'token' for 'browse'", run.events[0]["detail"])
        self.assertIn("'auth' provided no 'token' for 'browse'", run.result["run"]["reason"])
        self.assertEqual(self.states(run)["browse"], "skipped")
        self.assertEqual(run.result["steps"]["browse.list"]["count"], 0)

    def test_something_may_stand_for_it(self):
        self.broken = True
        text = scenario(self.server.url).replace("use: {auth: [token]}", "use: {auth: {token: nobody}}")
        run = self.load(text)
        self.assertEqual({request.header("authorization") for request in self.asked("/items")}, {"Bearer nobody"})
        self.assertEqual(run.statuses, {503: len(self.asked("/login")), 200: len(self.asked("/items"))})
        self.assertEqual(run.events, [])

    def test_a_value_that_is_too_long_is_left_out(self):
        run = self.load(scenario(self.server.url, token="${random_hex(1024)}" * 40), code=product.ABORT)
        self.assertEqual([event["kind"] for event in run.events], ["value_too_large", "value_missing", "stopping"])
        self.assertEqual(self.asked("/items"), [])

    def lists(self, users, token="${login.json.$.token}", browse="vus: 7", user="${tokens[vu]}"):
        """Each user of the first workflow leaves a token; those of the second send what they are told of the list."""
        url = self.server.url
        return f"""\
workflows:
  auth:
    vus: {users}
    {FEW}
    steps: {{login: {{http: {{post: "{url}/login", json: {{user: "u${{vu}}"}}}}}}}}
    provide: {{browse: {{tokens: {{value: "u${{vu}} {token}", collect: all}}}}}}
  browse:
    depends: [auth]
    use: {{auth: [tokens]}}
    {browse}
    {FEW}
    steps:
      list: {{http: {{post: "{url}/items/${{vu}}", body: '{user}'}}}}
"""

    def sent(self):
        """What each user of the second workflow sent, all the same."""
        out = {}
        for request in self.server.requests:
            if not request.path.startswith("/items/"):
                continue
            out.setdefault(int(request.path.removeprefix("/items/")), set()).add(request.body.decode())
        return out

    def test_a_list_has_the_last_value_of_every_user_and_each_user_gets_one(self):
        last = {}
        respond = self.respond

        def remember(request, connection):
            answer = respond(request, connection)
            if request.path == "/login":
                last[json.loads(request.body)["user"]] = json.loads(answer.partition(b"\r\n\r\n")[2])["token"]
            return answer
        self.server.respond = remember
        run = self.load(self.lists(4), "--cores", "2")
        self.assertEqual(run.events, [])
        expected = [f"u{i} {last[f'u{i}']}" for i in range(1, 5)]
        self.assertEqual(self.sent(), {vu: {expected[(vu - 1) % 4]} for vu in range(1, 8)})

    def test_layers_of_one_seed_draw_different_random_values(self):
        one = '{vus: 1, iterations: 2, steps: {s: {http: {get: "%s/%s/${random(1, 1000000000)}"}}}%s}'
        url = self.server.url
        text = f"workflows:\n  a: {one % (url, 'a', '')}\n  b: {one % (url, 'b', ', depends: [a]')}\n"

        def drawn(seed):
            del self.server.requests[:]
            self.load(text, "--cores", "1", "--seed", seed)
            paths = [request.path for request in self.server.requests]
            return {layer: [path[3:] for path in paths if path.startswith(f"/{layer}/")] for layer in "ab"}
        first, again, other = drawn("7"), drawn("7"), drawn("8")
        self.assertNotEqual(first["a"][0], first["b"][0])
        self.assertEqual([first[layer][0] for layer in "ab"], [again[layer][0] for layer in "ab"])
        self.assertNotEqual(first["a"][0], other["a"][0])

    def test_the_whole_list_is_json(self):
        self.load(self.lists(3, token="\\\"x", browse="vus: 1", user="{\"all\": ${tokens}}"))
        [body] = self.sent()[1]
        self.assertEqual(json.loads(body), {"all": [f'u{i} "x' for i in range(1, 4)]})

    def test_a_list_that_is_too_long_is_cut_and_told(self):
        run = self.load(self.lists(30, token="${random_hex(1024)}" * 16, browse="vus: 1", user="${tokens[-1]}"))
        [event] = run.events
        self.assertEqual(event["kind"], "list_cut")
        self.assertIn("'tokens' of workflow 'auth' has the values of its first 7 virtual users", event["detail"])
        [body] = self.sent()[1]
        self.assertTrue(body.startswith("u7 "), body[:20])

    def test_a_list_of_nobody_is_missing(self):
        self.broken = True
        run = self.load(self.lists(2), code=product.ABORT)
        self.assertEqual([event["kind"] for event in run.events], ["value_missing", "stopping"])
        self.assertEqual(self.sent(), {})
        self.assertEqual(run.errors, {})

    def ranked(self, first, second):
        """Two workflows of these priorities, which would run side by side."""
        each = ('{{executor: per-vu-iterations, vus: 8, iterations: 20, priority: {}, '
                'steps: {{s: {{http: {{get: "{}/{}"}}}}}}}}')
        return (f"workflows:\n  a: {each.format(first, self.server.url, 'a')}\n"
                f"  b: {each.format(second, self.server.url, 'b')}\n")

    def test_workflows_with_priorities_have_cores_of_their_own(self):
        run = self.load(self.ranked("low", "high"), "--cores", "4")
        self.assertEqual([len(self.asked("/a")), len(self.asked("/b"))], [160, 160])
        self.assertEqual(self.states(run), {"a": "completed", "b": "completed"})
        self.assertEqual(run.result["run"]["generator"]["cores"], 4)
        run = self.load(self.ranked("low", "low"), "--cores", "4")
        self.assertEqual(run.result["run"]["generator"]["cores"], 2)

    def load_threads(self, priority):
        """How many the process has while it runs."""
        text = self.ranked(priority, priority).replace("priority: auto, ", "")
        self.blocked = threading.Event()
        self.addCleanup(self.blocked.set)
        run = self.start("run", self.named(text), "--ui", "none", "--cores", "4")
        until("requests of both", lambda: self.asked("/a") and self.asked("/b"))
        names = [(task / "comm").read_text() for task in Path(f"/proc/{run.pid}/task").iterdir()]
        self.blocked.set()
        self.assertEqual(self.finish(run).code, product.PASS)
        return sum(name.startswith("load-") for name in names)

    def test_a_thread_a_core(self):
        self.assertEqual(self.load_threads("auto"), 4)
        self.server.requests.clear()
        self.assertEqual(self.load_threads("low"), 2)

    def test_one_that_wants_to_be_alone_is_alone_and_what_finds_no_cores_waits(self):
        run = self.load(self.ranked("auto", "exclusive"), "--cores", "4")
        self.assertGreater(min(one.at for one in self.asked("/a")), max(one.at for one in self.asked("/b")))
        self.assertEqual(run.totals["requests"], 320)
        self.assertEqual(self.states(run), {"a": "completed", "b": "completed"})

    def test_check_says_what_comes_of_priorities(self):
        with_them = self.finish(self.start("check", self.named(self.ranked("normal", "exclusive"))))
        self.assertRegex(with_them.out, r"\n  on \d+ cores?: b on \d+, then a on \d+\n")
        without = self.finish(self.start("check", self.named(self.ranked("auto", "auto"))))
        self.assertNotIn(" then ", without.out)

    def test_what_comes_after_an_end_before_time_is_skipped(self):
        file = self.write("s.yaml", scenario(self.server.url, auth="duration: 1h\n    graceful_stop: 1s"))
        out = self.folder / "result.json"
        run = self.start("run", file, "--out", f"json={out}", "--ui", "none")
        until("a request", lambda: self.asked("/login"))
        run.send_signal(signal.SIGINT)
        ended = self.finish(run, out)
        self.assertEqual(ended.code, product.SIGNAL)
        workflows = {one["name"]: one for one in ended.result["workflows"]}
        self.assertEqual(workflows["auth"]["status"], "stopped")
        self.assertEqual(workflows["browse"]["status"], "skipped")
        self.assertIn("before the workflows that it depends on", workflows["browse"]["skipped_because"])
        self.assertEqual(self.asked("/items"), [])


if __name__ == "__main__":
    product.main()
