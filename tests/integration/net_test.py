#!/usr/bin/env python3
"""What ends workflows, and how requests get to their server: timeouts, proxies, tokens, bodies of many files."""

import base64
import collections
import json
import ssl
import threading
import time
import urllib.parse

from lib import certificates, product
from lib.product import PATIENCE
from lib.proxy import Tinyproxy
from lib.server import Server, response


class Net(product.Test):
    def setUp(self):
        super().setUp()
        self.server = self.serve(self.respond)

    def serve(self, respond, **more):
        server = Server(respond, **more)
        self.addCleanup(server.close)
        return server

    def respond(self, request, connection):
        if request.path == "/hangs":
            connection.wait_for_close()
            return None
        return response(b'{"ok": true}')


class WorkflowTimeout(Net):
    def statuses_of(self, run):
        return {one["name"]: one["status"] for one in run.result["workflows"]}

    def events(self, run):
        return [(one["kind"], one["detail"]) for one in run.result["events"]]

    def test_one_that_takes_longer_is_ended_and_the_others_go_on(self):
        run = self.load(f"""\
defaults: {{http: {{base: '{self.server.url}'}}}}
workflows:
  hangs: {{vus: 2, duration: 1h, timeout: 2s, steps: {{s: {{http: {{get: /hangs}}}}}}}}
  works: {{vus: 1, iterations: 5, pacing: 0, steps: {{s: {{http: {{get: /works}}}}}}}}
  later: {{depends: hangs, vus: 1, iterations: 1, steps: {{s: {{http: {{get: /later}}}}}}}}
  after: {{depends: works, vus: 1, iterations: 1, steps: {{s: {{http: {{get: /after}}}}}}}}
teardown: {{steps: {{s: {{http: {{get: /tidy}}}}}}}}
""".replace("pacing: 0, ", ""), code=product.ABORT)
        self.assertEqual(self.statuses_of(run), {"hangs": "timed_out", "works": "completed", "later": "skipped",
                                                 "after": "completed", "teardown": "completed"})
        self.assertEqual(run.result["workflows"][2]["skipped_because"], "'hangs' is timed_out")
        self.assertEqual(run.errors, {"interrupted": 2})
        self.assertEqual(self.events(run), [("workflow_timed_out", "workflow 'hangs': its timeout of 2s is over")])
        self.assertIn("workflow 'hangs': its timeout of 2s is over", run.result["run"]["reason"])
        self.assertEqual(run.result["run"]["verdict"], "aborted")
        paths = [request.path for request in self.server.requests]
        self.assertEqual((paths.count("/works"), paths.count("/after"), paths.count("/later")), (5, 1, 0))
        self.assertEqual(paths[-1], "/tidy")

    def test_a_setup_and_a_script_that_wait_for_ever(self):
        self.write("wait.lua", 'function wait() sleep("1h") end')
        for work in ("http: {get: /hangs}", "action: {http: {get: /hangs}}", "lua: {file: wait.lua, call: wait}"):
            with self.subTest(work):
                run = self.load(f"""\
defaults: {{http: {{base: '{self.server.url}'}}}}
setup: {{timeout: 1s, steps: {{s: {{{work}}}}}}}
workflows: {{w: {{vus: 1, duration: 1h, steps: {{s: {{http: {{get: /}}}}}}}}}}
""", code=product.ABORT)
                self.assertEqual(self.statuses_of(run), {"setup": "timed_out", "w": "skipped"})
                self.assertEqual(run.totals["requests"], 0)
        self.assertEqual({request.path for request in self.server.requests}, {"/hangs"})

    def test_one_that_ends_in_time_never_hears_of_it(self):
        began = time.monotonic()
        run = self.load(f"workflows: {{w: {{vus: 1, iterations: 3, timeout: 10m, "
                        f"steps: {{s: {{http: {{get: '{self.server.url}/'}}}}}}}}}}\n")
        self.assertEqual(self.statuses_of(run), {"w": "completed"})
        self.assertEqual(run.events, [])
        self.assertLess(time.monotonic() - began, 300)


class Proxies(Net):
    SECRET = "hush-hush"

    def setUp(self):
        super().setUp()
        self.proxy = Tinyproxy(self.folder / "proxy", "ann", self.SECRET)
        self.addCleanup(self.proxy.stop)
        certificates.Authority(self.folder).issue("server", "IP:127.0.0.1")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "server.pem", self.folder / "server.key")
        self.secure = self.serve(self.respond, tls=context)

    def scenario(self, step, url=None, more=""):
        return f"""\
env: {{SECRET: none}}
defaults:
  http: {{base: '{url or self.server.url}', {more}
          proxy: "http://ann:${{SECRET}}@127.0.0.1:{self.proxy.port}"}}
workflows: {{w: {{vus: 1, iterations: 20, steps: {{s: {{http: {{{step}}}}}}}}}}}
"""

    def load(self, what, *flags, **more):
        run = super().load(what, *flags, **more)
        for file in (self.folder / "result.json",):
            self.assertNotIn(self.SECRET, file.read_text(encoding="utf-8"))
        self.assertNotIn(self.SECRET, run.out + run.err)
        return run

    def test_http_goes_in_absolute_form(self):
        run = self.load(self.scenario("get: '/a?b=c'"), "--set", f"SECRET={self.SECRET}")
        self.assertEqual((run.statuses, run.errors), ({200: 20}, {}))
        self.assertEqual({request.target for request in self.server.requests}, {"/a?b=c"})
        self.assertEqual({request.header("host") for request in self.server.requests}, {self.server.url[7:]})
        self.assertEqual({request.header("proxy-authorization") for request in self.server.requests}, {None})
        self.assertEqual({request.header("via") is None for request in self.server.requests}, {False})

    def test_https_goes_through_a_tunnel_that_is_kept(self):
        text = self.scenario("get: /", self.secure.url, "tls: {ca: ca.pem},")
        run = self.load(text, "--set", f"SECRET={self.SECRET}")
        self.assertEqual((run.statuses, run.errors), ({200: 20}, {}))
        self.assertEqual(self.secure.connections, 1)
        self.assertEqual({request.header("via") for request in self.secure.requests}, {None})
        self.assertIn(f"CONNECT 127.0.0.1:{self.secure.port}", self.proxy.log())

    def test_a_step_goes_straight_where_it_says_so(self):
        self.load(self.scenario("get: /, proxy: none"))
        self.assertEqual({request.header("via") for request in self.server.requests}, {None})

    def test_the_environment_counts_where_the_scenario_says_so(self):
        place = f"http://ann:{self.SECRET}@127.0.0.1:{self.proxy.port}"
        for proxy, variables, through in (("proxy: environment", {"HTTP_PROXY": place}, True),
                                          ("proxy: environment", {"HTTP_PROXY": place, "NO_PROXY": "127.0.0.1"}, False),
                                          ("redirects: 0", {"HTTP_PROXY": place}, False)):
            with self.subTest(proxy, **variables):
                self.server.requests.clear()
                self.load(f"workflows: {{w: {{vus: 1, iterations: 1, steps: {{s: {{http: "
                          f"{{get: '{self.server.url}/', {proxy}}}}}}}}}}}\n", environment=variables)
                self.assertEqual([request.header("via") is not None for request in self.server.requests], [through])

    def test_a_proxy_that_refuses_is_an_error_with_its_status(self):
        for url, more, errors, statuses in ((self.secure.url, "tls: {ca: ca.pem},", {"proxy": 20}, {}),
                                            (self.server.url, "", {}, {401: 20, 407: 20})):
            run = self.load(self.scenario("get: /", url, more), "--set", "SECRET=wrong", code=product.ALL_FAILED)
            self.assertEqual(run.errors, errors)
            self.assertTrue(run.statuses.items() <= statuses.items(), run.statuses)
            if errors:
                [event] = run.events
                self.assertRegex(event["detail"], "the proxy opened no tunnel, and answered with status 40[17]")
        self.assertEqual(self.server.requests + self.secure.requests, [])


class TokenServer:
    """Gives tokens (RFC 6749, section 4.4) that are good for a while, and says whether one is."""

    def __init__(self, good_for):
        self.good_for = good_for
        self.asked = []
        self.ends = {}
        self.down = False
        self.lock = threading.Lock()

    def give(self, request):
        form = dict(urllib.parse.parse_qsl(request.body.decode(), keep_blank_values=True))
        client = form.get("client_id"), form.get("client_secret")
        kind, _, credentials = (request.header("authorization") or "").partition(" ")
        if kind == "Basic":
            client = tuple(urllib.parse.unquote_plus(one)
                           for one in base64.b64decode(credentials).decode().split(":"))
        with self.lock:
            self.asked.append((kind, form, client))
            if self.down:
                return response(b"busy", status="503 Busy")
            if form.get("grant_type") != "client_credentials" or client != ("me:1", "hush & hush"):
                return response(b'{"error": "invalid_client", "error_description": "who are you"}', status="401 No")
            token = f"token-{len(self.asked)}"
            self.ends[token] = time.monotonic() + self.good_for
            body = json.dumps({"access_token": token, "token_type": "Bearer", "expires_in": self.good_for})
            return response(body.encode())

    def is_good(self, request):
        kind, _, token = (request.header("authorization") or "").partition(" ")
        return kind == "Bearer" and time.monotonic() < self.ends.get(token, 0)


class OAuth2(Net):
    def setUp(self):
        super().setUp()
        self.tokens = TokenServer(good_for=3600)

    def respond(self, request, connection):
        if request.path == "/token":
            return self.tokens.give(request)
        good = self.tokens.is_good(request)
        return response(b"ok" if good else b"no", status="200 OK" if good else "401 Unauthorized")

    def scenario(self, executor, more="", secret="hush & hush"):
        return f"""\
env: {{SECRET: "{secret}"}}
defaults:
  http:
    base: '{self.server.url}'
    timeout: 5s
    auth:
      oauth2: {{token_url: '{self.server.url}/token', client_id: "me:1", client_secret: "${{SECRET}}", {more}}}
workflows: {{w: {{{executor}, steps: {{s: {{http: {{get: /api}}}}}}}}}}
"""

    def test_one_token_a_load_thread_is_asked_for_and_not_measured(self):
        for style, kind in (("header", "Basic"), ("body", "")):
            with self.subTest(style):
                self.tokens.asked.clear()
                text = self.scenario("vus: 4, iterations: 40", f"scope: a b, auth_style: {style}")
                run = self.load(text, "--cores", 1)
                self.assertEqual(run.statuses, {200: 40})
                self.assertEqual(run.totals["requests"], 40)
                [(given, form, _)] = self.tokens.asked
                self.assertEqual((given, form["scope"], "client_secret" in form), (kind, "a b", style == "body"))
                self.assertNotIn("hush", (self.folder / "result.json").read_text(encoding="utf-8") + run.out + run.err)

    def test_it_is_renewed_before_it_runs_out(self):
        self.tokens.good_for = 4
        run = self.load(self.scenario("vus: 2, duration: 10s, pacing: 50ms"), "--cores", 1)
        self.assertEqual(run.errors, {})
        self.assertGreater(len(self.tokens.asked), 2)
        given = collections.Counter(request.header("authorization") for request in self.server.requests
                                    if request.path == "/api")
        self.assertGreater(len(given), 2)

    def test_a_refused_client_is_an_error_before_anything_is_sent(self):
        run = self.bellwether("run", self.named(self.scenario("vus: 1, duration: 1h", secret="wrong")), "--ui", "none")
        self.assertNotEqual(run.code, product.PASS)
        self.assertIn(f"no access token from {self.server.url}/token: status 401, invalid_client (who are you)",
                      " ".join(run.err.split()))
        self.assertEqual({request.path for request in self.server.requests}, {"/token"})
        self.assertEqual(len(self.tokens.asked), 1, "what is refused is not asked for again")

    def test_what_fails_by_chance_is_tried_again(self):
        self.tokens.down = True
        process = self.start("run", self.named(self.scenario("vus: 1, iterations: 3")), "--ui", "none",
                             "--cores", 1)
        deadline = time.monotonic() + PATIENCE
        while len(self.tokens.asked) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        self.tokens.down = False
        self.assertEqual(self.finish(process).code, product.PASS)

    def test_without_a_renewal_requests_fail_as_having_no_token(self):
        self.tokens.good_for = 1
        server, tokens = self.server, self.tokens

        def respond(request, connection):
            answer = OAuth2.respond(self, request, connection)
            tokens.down = True  # after the first token
            return answer

        server.respond = respond
        # A threshold judges in place of "every request failed": a busy machine may use no token in time.
        run = self.load(self.scenario("vus: 1, duration: 4s, pacing: 50ms") +
                        "thresholds: {http_req_failed: ['rate>0']}\n", "--cores", 1)
        self.assertGreater(run.errors.get("token", 0), 0, run.result["steps"])
        self.assertLess(run.errors["token"], 20, "it is waited for, with pauses that grow")
        self.assertTrue(any("no access token from" in one["detail"] and "503" in one["detail"]
                            for one in run.result["events"]), run.result["events"])


class Bodies(Net):
    def setUp(self):
        super().setUp()
        (self.folder / "payloads").mkdir()
        for name, text in (("b.json", '{"b": 1}'), ("a.json", '{"a": 1}'), ("c.txt", "${vu}"), (".hidden", "x")):
            self.write(f"payloads/{name}", text)

    def bodies(self, body, *flags, iterations=6):
        self.server.requests.clear()
        run = self.load(f"workflows: {{w: {{vus: 1, iterations: {iterations}, steps: {{s: {{http: "
                        f"{{post: '{self.server.url}/', body: {body}}}}}}}}}}}\n", "--cores", 1, *flags)
        self.assertEqual(run.errors, {})
        return [request.body.decode() for request in self.server.requests]

    def test_each_request_takes_the_next_file_in_the_order_of_names(self):
        self.assertEqual(self.bodies("{directory: payloads}"), ['{"a": 1}', '{"b": 1}', "${vu}"] * 2)
        self.assertEqual(self.bodies('{glob: "payloads/*.json"}'), ['{"a": 1}', '{"b": 1}'] * 3)
        self.assertEqual(self.bodies('{glob: "payloads/c.*", template: true}', iterations=1), ["1"])

    def test_or_any_one(self):
        taken = set(self.bodies("{directory: payloads, pick: random}", iterations=100))
        self.assertEqual(taken, {'{"a": 1}', '{"b": 1}', "${vu}"})

    def test_check_names_what_was_read(self):
        run = self.bellwether("check", self.write("scenario.yaml", """\
workflows: {w: {vus: 1, duration: 1s, steps: {s: {http: {post: "http://h/", body: {glob: "payloads/*.json"}}}}}}
"""))
        self.assertEqual(run.code, product.PASS, run)
        self.assertIn("payloads/a.json", run.out)
        self.assertNotIn("c.txt", run.out)


if __name__ == "__main__":
    product.main()
