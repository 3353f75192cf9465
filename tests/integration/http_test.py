#!/usr/bin/env python3
"""HTTP through the whole path: methods, bodies, templates, extraction, checks, cookies, concurrency of steps, think."""

import json
import threading
import time

from lib import product
from lib.product import PATIENCE
from lib.server import Served, Server, chunked, response


class HttpTest(Served):
    ONCE = "executor: per-vu-iterations\n    vus: 1\n    iterations: 1"

    def one(self, steps, workflow=ONCE, defaults="", arguments=(), **more):
        """Runs one iteration (unless `workflow` says otherwise) of these steps, given as lines of YAML."""
        lines = "\n".join("      " + line for line in steps.strip("\n").splitlines())
        return self.load(f"""\
env: {{BASE: "{self.server.url}"}}
defaults: {{http: {{base: "${{BASE}}"{defaults}}}}}
workflows:
  w:
    {workflow}
    steps:
{lines}
""", *arguments, **more)

    def asked(self, path):
        """The only request for this path."""
        found = [request for request in self.server.requests if request.path == path]
        self.assertEqual(len(found), 1, f"{path} of {[request.path for request in self.server.requests]}")
        return found[0]


class Requests(HttpTest):
    def test_every_method(self):
        methods = ["get", "post", "put", "patch", "delete", "head", "options", "trace"]
        self.answers["/head"] = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
        run = self.one("\n".join(f"{method}: {{http: {{{method}: /{method}}}}}" for method in methods) +
                       "\nown: {http: {method: PURGE, url: /own}}")
        self.assertEqual(run.totals["failed"], 0)
        for method in methods:
            self.assertEqual(self.asked(f"/{method}").method, method.upper())
        self.assertEqual(self.asked("/own").method, "PURGE")
        self.assertEqual(self.asked("/post").header("content-length"), "0")
        self.assertIsNone(self.asked("/get").header("content-length"))

    def test_bodies(self):
        self.write("plain.txt", "from a file ${not_filled}")
        self.write("filled.json", '{"user": "${vu}"}')
        self.write("bytes.bin", bytes(range(256)) * 100)
        self.one("""
json: {http: {post: /json, json: {text: "a\\"b", number: 1.5, yes: true, nothing: null, list: [1, "2"], vu: "${vu}"}}}
text: {http: {post: /text, body: "user ${vu}"}}
form: {http: {post: /form, form: {a: "1 & 2", ü: "${vu}"}}}
file: {http: {post: /file, body: {file: plain.txt}}}
filled: {http: {post: /filled, body: {file: filled.json, template: true}}}
bytes: {http: {put: /bytes, body: {file: bytes.bin}}}
none: {http: {post: /none}}
""")
        self.assertEqual(json.loads(self.asked("/json").body),
                         {"text": 'a"b', "number": 1.5, "yes": True, "nothing": None, "list": [1, "2"], "vu": "1"})
        self.assertEqual(self.asked("/json").header("content-type"), "application/json")
        self.assertEqual(self.asked("/text").body, b"user 1")
        self.assertEqual(self.asked("/form").body, "a=1%20%26%202&%C3%BC=1".encode())
        self.assertEqual(self.asked("/form").header("content-type"), "application/x-www-form-urlencoded")
        self.assertEqual(self.asked("/file").body, b"from a file ${not_filled}")
        self.assertEqual(json.loads(self.asked("/filled").body), {"user": "1"})
        self.assertEqual(self.asked("/bytes").body, bytes(range(256)) * 100)
        self.assertEqual(self.asked("/none").body, b"")

    def test_a_large_body_and_a_slow_reader(self):
        self.write("large.bin", bytes(8 << 20))
        run = self.one("up: {http: {post: /up, body: {file: large.bin}}}")
        self.assertEqual(len(self.asked("/up").body), 8 << 20)
        self.assertGreater(run.totals["bytes_sent"], 8 << 20)
        self.assertEqual(run.totals["failed"], 0)

    def test_headers_and_query(self):
        self.one("""
a: {http: {get: "/a?x=1", query: {q: "a b&c", list: [1, 2]}, headers: {X-Own: "${vu}-${iteration}", Accept: text/html}}}
""", defaults=', headers: {Accept: application/json, X-Default: "yes"}')
        request = self.asked("/a")
        self.assertEqual(request.target, "/a?x=1&q=a%20b%26c&list=1&list=2")
        self.assertEqual(request.header("x-own"), "1-0")
        self.assertEqual(request.header("accept"), "text/html")
        self.assertEqual(request.header("x-default"), "yes")
        self.assertEqual([name for name, _ in request.headers].count("host"), 1)

    def test_a_value_cannot_break_out_of_its_place(self):
        """What a hostile server makes us extract is escaped where it is put in: no smuggled header, path or field."""
        evil = 'x\r\nX-Evil: 1\r\n\r\nGET /evil HTTP/1.1\r\n"}&a=b/../?#%'
        self.answers["/evil-value"] = response(json.dumps({"v": evil}).encode())
        self.one("""
first: {http: {get: /evil-value}, extract: {v: {json: $.v}}}
url: {after: first, http: {get: "/url/${v}"}}
query: {after: first, http: {get: /query, query: {v: "${v}"}}}
json: {after: first, http: {post: /json, json: {v: "${v}"}}}
form: {after: first, http: {post: /form, form: {v: "${v}"}}}
header: {after: first, http: {get: /header, headers: {X-Value: "${v}"}}}
""")
        for request in self.server.requests:
            self.assertIsNone(request.header("x-evil"), request.target)
            self.assertNotIn("evil HTTP", request.target)
        self.assertEqual(json.loads(self.asked("/json").body), {"v": evil})
        self.assertNotIn("/evil", self.server.paths())
        self.assertEqual(self.asked("/form").body.count(b"&"), 0)

    def test_templates(self):
        self.one("""
t:
  http:
    post: /t
    json: {uuid: "${uuid}", random: "${random(3, 3)}", hex: "${random_hex(8)}", now: "${now}", ms: "${now_ms}",
           literal: "$${x}", constant: "${BASE}", number: 7, text: "${iteration}"}
""")
        body = json.loads(self.asked("/t").body)
        self.assertRegex(body["uuid"], r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertEqual(body["random"], "3")
        self.assertRegex(body["hex"], r"^[0-9a-f]{16}$")
        self.assertRegex(body["now"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d.*Z$")
        self.assertLess(abs(int(body["ms"]) / 1000 - time.time()), 600)
        self.assertEqual((body["literal"], body["constant"], body["text"]), ("${x}", self.server.url, "0"))


class Responses(HttpTest):
    def test_values_go_from_step_to_step(self):
        self.answers["/first"] = response(
            b'{"token": "abc", "items": [{"id": 7}, {"id": 9}], "deep": {"a b": [true]}}',
            headers=["X-Trace: t-1", "Content-Type: application/json"], status="201 Created")
        self.one("""
first:
  http: {get: /first}
  extract:
    token: {json: $.token}
    last: {json: "$.items[-1].id"}
    deep: {json: "$.deep['a b'][0]"}
    trace: {header: x-trace}
    number: {regex: '"id": (\\d+)'}
    second: {regex: '"(id)": (\\d+)', group: 2}
    code: {status: true}
    missing: {json: $.nothing, default: none}
second:
  after: first
  http:
    post: /second
    json: {token: "${token}", last: "${last}", deep: "${deep}", trace: "${trace}", number: "${number}",
           second: "${second}", code: "${code}", missing: "${missing}", direct: "${first.json.$.items[0].id}",
           header: "${first.header.X-Trace}", status: "${first.status}"}
set: {after: second, action: {set: {both: "${first.token}/${first.code}"}}}
third: {after: set, http: {get: "/third/${both}"}}
""")
        self.assertEqual(json.loads(self.asked("/second").body), {
            "token": "abc", "last": "9", "deep": "true", "trace": "t-1", "number": "7", "second": "7", "code": "201",
            "missing": "none", "direct": "7", "header": "t-1", "status": "201"})
        self.assertIn("/third/abc/201", {path.replace("%2F", "/") for path in self.server.paths()})

    def test_a_missing_value_fails_the_step_that_needs_it_and_sends_nothing(self):
        self.answers["/first"] = response(b"no json here")
        run = self.one("""
first: {http: {get: /first}, extract: {token: {json: $.token}}}
second: {after: first, http: {get: "/second/${token}"}}
third: {after: second, http: {get: /third}}
""")
        self.assertEqual(self.server.paths(), {"/first", "/third"})
        self.assertEqual(run.errors, {"template": 1})

    def test_iterations_that_wait_for_nothing_leave_their_neighbours_room(self):
        """Of two workflows one can never send anything; the other one goes on, and both end on time."""
        run = self.load(f"""\
workflows:
  busy:
    vus: 1
    duration: 10s
    steps:
      name: {{action: {{set: {{host: "no host"}}}}}}
      get: {{after: name, http: {{get: "http://${{name.host}}/"}}}}
  calm:
    executor: per-vu-iterations
    vus: 1
    iterations: 12
    maxDuration: 10s
    steps: {{get: {{http: {{get: "{self.server.url}/calm"}}}}}}
""", "--cores", "1")
        self.assertEqual(set(run.result["steps"]["busy.get"]["errors"]), {"template"})
        self.assertEqual(run.result["steps"]["calm.get"]["count"], 12)
        self.assertEqual(run.result["steps"]["calm.get"]["failed"], 0)

    def test_values_last_for_one_iteration(self):
        """The token of the first iteration must not be used in later ones: one has none, the others no response."""
        def first(request, _):
            return {"0": response(b'{"token": "abc"}'), "1": response(b"{}")}.get(request.header("x-iteration"))

        self.answers["/first"] = first
        run = self.one("""
first: {http: {get: /first, headers: {X-Iteration: "${iteration}"}}, extract: {token: {json: $.token}}}
second: {after: first, http: {get: "/second/${token}"}}
""", workflow="executor: per-vu-iterations\n    vus: 1\n    iterations: 6")
        self.assertEqual(run.totals["iterations"], 6)
        self.asked("/second/abc")
        self.assertEqual(run.errors, {"template": 5, "closed": 4})

    def test_checks_pass_and_fail_one_by_one(self):
        self.answers["/c"] = response(b'{"n": 5, "s": "text", "list": [1]}', headers=["X-Kind: fine"])
        run = self.one("""
good:
  http: {get: /c}
  check:
    status: [200, 201]
    body: {contains: '"n"', matches: "tex."}
    size: {gt: 10, lte: 34}
    json: {$.n: {gt: 4, lt: 6}, $.s: text, "$.list[0]": 1, $.none: {exists: false}}
    header: {X-Kind: fine, X-None: {exists: false}}
    duration: {lt: 50s}
bad:
  http: {get: /c}
  check:
    status: 404
    body: {matches: "^$"}
    size: 1
    json: {$.n: 6, $.none: {exists: true}}
    header: {X-Kind: {not: fine}}
    duration: {lt: 1ns}
""")
        for check in run.result["checks"]:
            good = check["step"] == "w.good"
            self.assertEqual((check["passes"], check["fails"]), (1, 0) if good else (0, 1), check)
        self.assertEqual(len(run.result["checks"]), 20)
        self.assertEqual(run.totals["failed"], 0, "checks do not fail requests")
        self.assertIn("65.00% of 20 passed", run.out)

    def test_chunked_bodies_are_put_together(self):
        self.answers["/chunks"] = chunked(b"he", b"l", b"lo " * 10000, b"!")
        run = self.one('a: {http: {get: /chunks}, check: {size: 30004, body: {matches: "^hello .*!$"}}}')
        self.assertEqual({fails for _, fails in run.checks.values()}, {0})

    def test_redirects(self):
        for status in (301, 302, 303, 307, 308):
            self.answers[f"/{status}"] = response(status=f"{status} Moved", headers=[f"Location: to-{status}?a=b#c"])
        steps = "".join(f"s{status}: {{http: {{post: /{status}, body: text, headers: {{Authorization: secret}}}}}}\n"
                        for status in (301, 302, 303, 307, 308))
        run = self.one(steps)
        self.assertEqual(run.totals["requests"], 5)
        for status in (301, 302, 303, 307, 308):
            request = self.asked(f"/to-{status}")
            self.assertEqual((request.method, request.body),
                             ("POST", b"text") if status >= 307 else ("GET", b""), status)
            self.assertEqual((request.target, request.header("authorization")), (f"/to-{status}?a=b", "secret"))

    def test_redirects_to_another_host_take_no_credentials_along(self):
        with Server() as other:
            self.answers["/away"] = response(status="302 Found", headers=[f"Location: {other.url}/there"])
            self.one('a: {http: {get: /away, headers: {Authorization: secret, Cookie: "a=b", X-Own: "yes"}}}')
            request = other.requests[0]
        self.assertEqual((request.header("authorization"), request.header("cookie"), request.header("x-own")),
                         (None, None, "yes"))
        self.assertEqual(request.header("host"), f"127.0.0.1:{other.port}")

    def test_how_many_redirects_are_followed(self):
        self.answers.update({f"/hop{n}": response(status="302 Found", headers=[f"Location: /hop{n + 1}"])
                             for n in range(5)})
        run = self.one("enough: {http: {get: /hop0, redirects: 5}}\nfew: {http: {get: /hop0, redirects: 4}}\n"
                       "none: {http: {get: /hop0, redirects: 0}, check: {status: 302}}")
        self.assertEqual(run.result["steps"]["w.enough"]["status"], {"200": 1})
        self.assertEqual(run.result["steps"]["w.few"]["status"], {"302": 1}, "the last redirect is the response")
        self.assertEqual(run.result["steps"]["w.none"]["status"], {"302": 1})


class Users(HttpTest):
    def test_each_user_has_cookies_of_its_own(self):
        """A cookie set for one user comes back from that user only, where it belongs, until it is deleted."""
        def login(request, _):
            user = request.target.split("=")[1]
            return response(headers=[f"Set-Cookie: id={user}; Path=/", "Set-Cookie: deep=1; Path=/deep",
                                     "Set-Cookie: secret=1; Secure", "Set-Cookie: old=1; Max-Age=0"])

        self.answers["/login"] = login
        self.answers["/logout"] = response(headers=["Set-Cookie: id=; Max-Age=0; Path=/"])
        run = self.one("""
login: {http: {get: "/login?user=${vu}"}}
use: {after: login, http: {get: "/use/${vu}"}}
deep: {after: use, http: {get: "/deep/${vu}"}}
logout: {after: deep, http: {get: /logout}}
after: {after: logout, http: {get: "/after/${vu}"}}
""", workflow="executor: per-vu-iterations\n    vus: 5\n    iterations: 3")
        self.assertEqual(run.totals["iterations"], 15)
        for request in self.server.requests:
            place, _, user = request.path[1:].partition("/")
            expected = {"use": f"id={user}", "after": None, "login": None}.get(place, "skip")
            if place == "deep":
                self.assertEqual(sorted(request.header("cookie").split("; ")), ["deep=1", f"id={user}"])
            elif expected != "skip":
                self.assertEqual(request.header("cookie"), expected, request.target)

    def test_values_and_numbers_of_users_do_not_mix(self):
        self.answers["/token"] = lambda request, _: response(b'{"t": "%s"}' % request.header("x-user").encode())
        self.one("""
token: {http: {get: /token, headers: {X-User: "${vu}-${iteration}"}}, extract: {t: {json: $.t}}}
use: {after: token, http: {get: /use, headers: {X-User: "${vu}-${iteration}", X-Token: "${t}"}}}
""", workflow="executor: per-vu-iterations\n    vus: 6\n    iterations: 5", arguments=("--cores", "2"))
        uses = [request for request in self.server.requests if request.path == "/use"]
        self.assertEqual([request.header("x-token") for request in uses],
                         [request.header("x-user") for request in uses])
        self.assertEqual({int(request.header("x-user").split("-")[0]) for request in uses}, set(range(1, 7)))
        self.assertEqual(len({request.header("x-user") for request in uses}), len(uses), "an iteration happens once")

    def test_a_connection_is_kept_for_its_user(self):
        run = self.one("a: {http: {get: /a}}\nb: {after: a, http: {get: /b}}",
                       workflow="executor: per-vu-iterations\n    vus: 3\n    iterations: 10")
        self.assertEqual(run.totals["requests"], 60)
        self.assertEqual(self.server.connections, 3)

    def test_pacing_sets_the_earliest_start(self):
        run = self.one("a: {http: {get: /a}}", workflow="vus: 2\n    duration: 960ms\n    pacing: 200ms")
        self.assertLessEqual(run.totals["iterations"], 10)
        self.assertGreaterEqual(run.totals["iterations"], 2)

    def test_think_time_is_between_steps_and_in_no_measured_time(self):
        run = self.one("a: {http: {get: /a}, think: 1s}\nb: {after: a, http: {get: /b}, think: 10ms..20ms}")
        self.assertGreaterEqual(self.asked("/b").at - self.asked("/a").at, 0.99)
        # Whatever a busy machine adds to a request or a pause is in the iteration too.
        requests_ms = sum(run.result["steps"][name]["service_ms"]["max"] for name in ("w.a", "w.b"))
        self.assertLessEqual(requests_ms, run.result["workflows"][0]["iteration_ms"]["max"] - 1000)

    def test_start_time(self):
        run = self.load(f"""\
defaults: {{http: {{base: "{self.server.url}"}}}}
workflows:
  early: {{vus: 1, duration: 1500ms, pacing: 1m, steps: {{s: {{http: {{get: /early}}}}}}}}
  later: {{vus: 1, duration: 1500ms, pacing: 1m, start_time: 400ms, steps: {{s: {{http: {{get: /later}}}}}}}}
""")
        self.assertEqual(sorted(request.path for request in self.server.requests), ["/early", "/later"])
        self.assertGreaterEqual(run.result["run"]["elapsed_s"], 0.4)


class Concurrency(HttpTest):
    """Steps that do not come after each other run at once. The server answers only when all of them are there."""

    def test_steps_of_one_user_overlap(self):
        together = threading.Barrier(3)

        def meet(*_):
            together.wait(PATIENCE)
            return response(b"met")

        self.answers.update({"/x": meet, "/y": meet, "/z": meet})
        run = self.one("""
first: {http: {get: /first}}
x: {after: first, http: {get: /x}, check: {body: met}}
y: {after: first, http: {get: /y}, check: {body: met}}
z: {after: [first], http: {get: /z}, check: {body: met}}
last: {after: [x, y, z], http: {get: /last}}
""")
        self.assertEqual({fails for _, fails in run.checks.values()}, {0})
        self.assertEqual(self.server.most_inside, 3)
        order = [request.path for request in self.server.requests]
        self.assertEqual((order[0], set(order[1:4]), order[4]), ("/first", {"/x", "/y", "/z"}, "/last"))

    def test_steps_without_after_start_at_once(self):
        together = threading.Barrier(2)
        self.answers["/a"] = self.answers["/b"] = lambda *_: (together.wait(PATIENCE), response(b"ok"))[1]
        run = self.one("a: {http: {get: /a}}\nb: {http: {get: /b}}")
        self.assertEqual(run.totals["failed"], 0)

    def test_a_chain_never_overlaps(self):
        self.one("a: {http: {get: /a}}\nb: {after: a, http: {get: /b}}\nc: {after: b, http: {get: /c}}",
                 workflow="vus: 1\n    iterations: 5")
        self.assertEqual(self.server.most_inside, 1)
        order = [request.path for request in self.server.requests]
        self.assertEqual(order, (["/a", "/b", "/c"] * len(order))[:len(order)])


if __name__ == "__main__":
    product.main()
