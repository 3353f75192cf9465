#!/usr/bin/env python3
"""Workflows written in Lua, against a server that notes what comes."""

import base64
import hashlib
import hmac
import json
import pathlib

from lib import product
from lib.faults import raw
from lib.server import Served, response
from lib.target import Target

JSON = b'{"token":"t-1","items":[{"id":7,"name":"Seven"},{"id":8}],"none":null,"ok":true}'


class Lua(Served):
    usual = response(JSON, headers=["Content-Type: application/json", "X-A: b"])

    def script(self, text, settings="executor = \"per-vu-iterations\", iterations = 1", head=""):
        return pathlib.Path(self.write(
            "w.lua", f'scenario {{defaults = {{http = {{base = "{self.server.url}"}}}}{head}}}\n'
                     f'local w = workflow("w", {{{settings}}})\n{text}\n'))

    def one(self, text, settings="executor = \"per-vu-iterations\", iterations = 1", head="", arguments=(), **more):
        return self.load(self.script(text, settings, head), *arguments, **more)

    # --- requests ---

    def test_methods_headers_and_bodies(self):
        run = self.one("""
w:step("a", function()
  http.get("/get")
end)
w:step("b", {after = "a"}, function()
  http.post("/post", {json = {b = {1, 2}, a = "x"}, headers = {["X-Own"] = 5}})
end)
w:step("c", {after = "b"}, function()
  http.put("/put", {body = "text", headers = {["Content-Type"] = "text/plain"}})
  http.delete("/gone")
end)
""")
        sent = self.server.requests
        self.assertEqual([(one.method, one.path) for one in sent],
                         [("GET", "/get"), ("POST", "/post"), ("PUT", "/put"), ("DELETE", "/gone")])
        self.assertEqual(sent[1].body, b'{"a":"x","b":[1,2]}')
        self.assertEqual(sent[1].header("content-type"), "application/json")
        self.assertEqual(sent[1].header("x-own"), "5")
        self.assertEqual((sent[2].body, sent[2].header("content-type")), (b"text", "text/plain"))
        self.assertEqual(run.totals["requests"], 4)
        self.assertEqual([run.result["steps"]["w." + step]["count"] for step in "abc"], [1, 1, 2])

    def test_what_a_response_says(self):
        self.answers["/bad"] = response(b"no", status="503 Busy")
        self.one("""
w:step("a", {checks = {"all"}}, function()
  local res = http.get("/a")
  local got = {res.status, res.ok, res.error == nil, res:header("x-a"), res:header("none") == nil,
    res:json("$.token"), res:json("$.items[0].id"), res:json("$.items[-1].id"), res:json("$.none") == nil,
    res:json("$.items[0]").name, res:json().ok, res.duration > 0, res.bytes > 100, #res.body}
  local bad = http.get("/bad")
  http.post("/told", {json = {got = got, bad = {bad.status, bad.ok}}})
end)
""")
        self.assertEqual(self.server.requests[-1].body.decode(),
                         '{"bad":[503,false],"got":[200,true,true,"b",true,"t-1",7,8,true,"Seven",true,true,true,%d]}'
                         % len(JSON))

    def test_a_failed_exchange_is_a_response_with_an_error(self):
        self.answers["/gone"] = lambda request, connection: None
        run = self.one("""
w:step("a", function()
  local res = http.get("/gone")
  http.get("/told/" .. tostring(res.status) .. res.error, {measured = false})
end)
""", code=product.ALL_FAILED)
        self.assertEqual(self.paths()[-1], "/told/0closed")
        self.assertEqual((run.totals["requests"], run.totals["failed"], run.totals["left_out"]), (1, 1, 1))
        self.assertRegex(run.out, r"left out +1 +not measured, as the program asks")

    def test_a_response_that_breaks_off_is_none(self):
        self.answers["/half"] = raw("HTTP/1.1 200 OK\nX-A: b\nContent-Length: 100\n\nhalf")
        self.one("""
w:step("a", function()
  local res = http.get("/half")
  local measured = {res.duration > 0, res.timings.wait > 0}
  local got = {res.status, res.ok, res.error, res:header("x-a") == nil, res.body, measured}
  http.post("/told", {json = got})
end)
""")
        self.assertEqual(self.server.requests[-1].body, b'[0,false,"truncated",true,"",[true,true]]')

    def test_each_request_counts_as_the_target_counts_it(self):
        target = Target(self)
        script = self.write("six.lua", f"""
scenario {{defaults = {{http = {{base = "{target.url}"}}}},
  thresholds = {{http_req_failed = {{"rate<0.8"}}, ["http_reqs{{step:w.list}}"] = {{"count==14"}},
                ["http_req_failed{{step:list}}"] = {{"rate<=0"}}}}}}
workflow("w", {{executor = "per-vu-iterations", vus = 2, iterations = 7}})
  :step("six", {{requests = {{"list", "never"}}}}, function()
    for i = 1, 4 do http.get("/status/500") end
    http.get("/status/200", {{name = "list"}})
    http.get("/status/503")
    http.get("/status/500", {{measured = false}})
  end)
""")
        run = self.load(pathlib.Path(script), "--cores", "2", code=product.THRESHOLDS)
        totals, steps = run.totals, run.result["steps"]
        self.assertEqual((totals["requests"], totals["failed"], totals["left_out"]), (84, 70, 14))
        self.assertEqual(target.answered(), totals["requests"] + totals["left_out"])
        self.assertEqual({name: (step["count"], step["failed"], step["left_out"], step["status"])
                          for name, step in steps.items()},
                         {"w.six": (70, 70, 14, {"500": 56, "503": 14}), "w.list": (14, 0, 0, {"200": 14}),
                          "w.never": (0, 0, 0, {})})
        self.assertEqual([threshold["ok"] for threshold in run.result["thresholds"]], [False, True, True])
        self.assertIn("w.list  14 requests", run.out)

    def test_a_status_that_the_step_checks_is_no_failure_of_any_of_its_requests(self):
        self.answers["/gone"] = response(b"", status="404 Gone")
        run = self.one("""
w:step("a", {check = {status = {200, 404}}}, function()
  http.get("/gone")
  http.get("/a")
end)
w:step("b", function()
  http.get("/gone")
  http.get("/b")
end)
""")
        steps = run.result["steps"]
        self.assertEqual([(steps[name]["count"], steps[name]["failed"]) for name in ("w.a", "w.b")], [(2, 0), (2, 1)])
        self.assertEqual(run.checks, {"status is 200 or 404": (1, 0)})

    def test_where_the_time_of_a_response_went(self):
        self.one("""
w:step("a", function()
  local res = http.get("/a")
  local timings = res.timings
  local again = http.get("/b").timings
  local sum = 0
  for _, name in ipairs {"send", "wait", "receive"} do sum = sum + timings[name] end
  http.post("/told", {json = {timings.connect > 0, timings.tls, again.connect, sum > 0 and sum <= res.duration}})
end)
""")
        self.assertEqual(json.loads(self.server.requests[-1].body), [True, 0, 0, True])

    def test_a_document_that_is_sent_back_is_the_same(self):
        document = (b'{"a":[1,null,2],"b":[],"big":9007199254740993,"c":{},"deep":[[],[null]],"n":null,'
                    b'"neg":-9223372036854775808,"x":1.5}')
        self.answers["/doc"] = response(document)
        self.one("""
w:step("a", function()
  local res = http.get("/doc")
  local doc, big = res:json(), res:json("$.big")
  http.put("/back", {json = doc})
  http.get("/" .. big)
  doc.a[2], doc.b[1], doc.n = 7, json.null, nil
  http.put("/changed", {json = {doc.a, doc.b, json.array(), {}, doc.n == nil, doc.deep[2][1] == json.null}})
end)
""")
        self.assertEqual(self.paths(), ["/doc", "/back", "/9007199254740993", "/changed"])
        self.assertEqual(self.server.requests[1].body, document)
        self.assertEqual(self.server.requests[3].body, b"[[1,7,2],[null],[],{},true,true]")

    def test_what_is_printed_is_a_note_with_spaces_between(self):
        self.answers["/doc"] = response(b"[9007199254740993,null]")
        run = self.one("""
w:step("a", function()
  local doc = http.get("/doc"):json()
  print("a   b", 1, true, {1, 2}, doc[1], doc[2])
end)
""")
        self.assertEqual([event["detail"] for event in run.events],
                         ["w.a: a   b 1 true [1,2] 9007199254740993 null"])
        self.assertIn("a   b 1 true [1,2] 9007199254740993 null", run.out)

    def test_hashes_and_encodings(self):
        self.one("""
w:step("a", function()
  local all = "\\0\\255~~?"
  http.post("/told", {json = {
    hash.md5(""), hash.sha1("abc"), hash.sha256("abc"), hash.sha512("abc"),
    hash.hmac("sha256", "key", "text"), hash.hmac("sha1", "", ""),
    base64.encode(all), base64.encode_url(all), hex.encode(all),
    base64.decode(base64.encode(all)) == all, base64.decode(base64.encode_url(all)) == all,
    hex.decode(hex.encode(all)) == all, base64.encode(""), pcall(hex.decode, "0"), pcall(hash.hmac, "md4", "", ""),
  }})
end)
""")
        every = b"\0\xff~~?"
        self.assertEqual(json.loads(self.server.requests[0].body), [
            hashlib.md5(b"").hexdigest(), hashlib.sha1(b"abc").hexdigest(), hashlib.sha256(b"abc").hexdigest(),
            hashlib.sha512(b"abc").hexdigest(), hmac.new(b"key", b"text", "sha256").hexdigest(),
            hmac.new(b"", b"", "sha1").hexdigest(), base64.b64encode(every).decode(),
            base64.urlsafe_b64encode(every).decode().rstrip("="), every.hex(), True, True, True, "", False, False,
            "hash.hmac: 'md4' is no digest; expected: one of md5, sha1, sha256, sha512"])

    def test_pages_and_many_values(self):
        page = b"<h1>Shop</h1><ul><li><a href=/1>One</a><li>Two</ul>"
        self.answers["/page"] = response(page, headers=["Content-Type: text/html"])
        self.one("""
w:step("a", function()
  local res = http.get("/page")
  local got = {res:css("h1"), res:css("li a", "href"), res:css("p") == nil, res:xpath("count(//li)"),
    res:xpath("//li[2]"), res:json_all("$..id") == nil}
  local _, wrong = pcall(res.css, res, "li[")
  local _, path = pcall(res.xpath, res, "//li[")
  res = http.get("/json")
  local ids, names = res:json_all("$..id"), res:json_all("$.items[*].name")
  local _, one = pcall(res.json_all, res, "$.token")
  http.post("/told", {json = {got = got, ids = ids, names = names, none = res:json_all("$..x"),
    wrong = {wrong:sub(1, 23), one}, path = path:sub(1, 25), url = url.encode("a b/")}})
end)
""")
        told = json.loads(self.server.requests[-1].body)
        self.assertEqual(told.pop("wrong"), [
            "'li[' is not a selector",
            "the path '$.token' names one value: use res:json()"])
        self.assertEqual(told, {"got": ["Shop", "/1", True, "2", "Two", True], "ids": [7, 8], "names": ["Seven"],
                                "none": [], "path": "'//li[' is not an XPath: ", "url": "a%20b%2F"})

    def test_a_response_does_not_outlive_the_next_request(self):
        run = self.one("""
w:step("a", function()
  local first = http.get("/a")
  local second = http.get("/b")
  local fine = first.status
  return first.body
end)
""")
        self.assertIn("w.lua:8: this response is gone", run.out)
        self.assertEqual((run.totals["requests"], run.errors), (3, {"script": 1}), "the failed step is one more")

    # --- state ---

    def test_users_keep_their_own_and_results_last_for_an_iteration(self):
        self.one("""
w:step("a", function(user)
  user.count = (user.count or 0) + 1
  http.get("/a/" .. user.id .. "/" .. user.iteration .. "/" .. user.count .. "/" .. tostring(user.results.b))
  return "from a"
end)
w:step("b", {after = "a"}, function(user)
  http.get("/b/" .. user.id .. "/" .. user.results.a:gsub(" ", "-"))
  return "from b"
end)
""", settings='executor = "per-vu-iterations", vus = 2, iterations = 2')
        self.assertEqual(sorted(self.paths()), [
            "/a/1/0/1/nil", "/a/1/1/2/nil", "/a/2/0/1/nil", "/a/2/1/2/nil",
            "/b/1/from-a", "/b/1/from-a", "/b/2/from-a", "/b/2/from-a"])

    def test_what_a_script_adds_to_the_results_lasts_as_long_as_they_do(self):
        self.one("""
w:step("a", function(user)
  http.get("/a/" .. tostring(user.results.a) .. "/" .. tostring(user.results.own))
  user.results.own = "mine"
  return user.iteration
end)
w:step("b", {after = "a"}, function(user)
  http.get("/b/" .. user.results.a .. "/" .. user.results.own)
  if user.iteration == 1 then user.results = nil end
end)
""", settings='executor = "per-vu-iterations", vus = 1, iterations = 3')
        self.assertEqual(self.paths(),
                         ["/a/nil/nil", "/b/0/mine", "/a/nil/nil", "/b/1/mine", "/a/nil/nil", "/b/2/mine"])

    def test_any_number_of_names_urls_and_paths_is_found(self):
        run = self.one("""
local names = {}
for i = 1, 20 do names[i] = "check " .. i end
w:step("a", {checks = names}, function(user)
  for i = 20, 1, -1 do
    local res = http.get("/items/" .. (i % 12))
    check("check " .. i, res:json("$.items[" .. (i % 2) .. "].id") == 7 + i % 2)
  end
end)
""", settings="vus = 2, iterations = 6")
        self.assertEqual([check["passes"] for check in run.result["checks"]], [6] * 20)
        self.assertEqual(sorted(set(self.paths())), sorted(f"/items/{i}" for i in range(12)))

    def test_steps_of_one_layer_run_side_by_side_and_sleep_holds_up_nobody(self):
        # The first one sleeps until the other one, which sleeps too, has sent its request.
        self.answers["/has-it-come"] = lambda *_: response(b"yes" if "/quick" in self.paths() else b"no")
        self.one("""
w:step("slow", function() repeat sleep("20ms") until http.get("/has-it-come").body == "yes" end)
w:step("quick", function() sleep(0.1) http.get("/quick") end)
""")
        self.assertEqual(self.paths().count("/quick"), 1)

    def test_a_response_is_there_after_a_long_wait_and_counts_for_the_step(self):
        run = self.one("""
w:step("a", {extract = {token = {json = "$.token"}}, checks = {"same"}}, function()
  local res = http.get("/a")
  local body, kind = res.body, res:header("Content-Type")
  sleep("30ms")
  check("same", res.body == body and #body > 0 and res:header("content-type") == kind and res:json("$.token") == "t-1")
  sleep("20ms")
end)
w:step("b", {after = "a", http = {get = "/b/${token}"}})
""", settings="vus = 3, iterations = 30")
        self.assertEqual(run.result["steps"]["w.a"]["count"], 30)
        self.assertEqual(self.paths().count("/b/t-1"), 30)
        self.assertEqual([check["passes"] for check in run.result["checks"]], [30])

    def test_what_is_dropped_while_a_script_is_busy_is_charged_to_its_step(self):
        run = self.one("""
w:step("a", function() http.get("/a") sleep("300ms") end)
w:step("b", {after = "a"}, function() http.get("/b") end)
""", settings='rate = "20/s", duration = "2s", vus = {preallocated = 1, max = 1}',
                       code=(product.SCHEDULE, product.SATURATED))
        dropped = run.totals["dropped_iterations"]
        self.assertGreater(dropped, 10)
        a, b = (run.result["steps"]["w." + step] for step in "ab")
        self.assertEqual(a["unfinished"], dropped)
        self.assertEqual(a["response_ms"]["count"], a["count"] + dropped)
        self.assertGreater(a["response_ms"]["max"], 200)
        self.assertEqual(b["unfinished"], 0, "it is due when the step before it has ended")

    def test_values_between_scripts_and_settings(self):
        self.one("""
w:step("a", {extract = {token = {json = "$.token"}}}, function() http.get("/a") end)
w:step("b", {after = "a", args = {token = "${token}", who = "${NAME}"}, sets = {"made"}}, function(user, args)
  http.get("/b/" .. args.token .. "/" .. args.who)
  set("made", args.token .. "!")
end)
w:step("c", {after = "b", http = {get = "/c/${made}"}})
""", head=', env = {NAME = "ann"}')
        self.assertEqual(self.paths(), ["/a", "/b/t-1/ann", "/c/t-1%21"])

    def test_actions_send_what_is_not_measured(self):
        run = self.one("""
w:action("warm", function() http.get("/warm") end)
w:step("a", {after = "warm"}, function() http.get("/a") end)
""")
        self.assertEqual(self.paths(), ["/warm", "/a"])
        self.assertEqual(run.totals["requests"], 1)

    def test_checks_count(self):
        run = self.one("""
w:step("a", {check = {status = 200}, checks = {"odd", "never"}}, function(user)
  http.get("/a")
  check("odd", user.iteration % 2 == 1)
end)
""", settings='executor = "per-vu-iterations", iterations = 4')
        self.assertEqual([(one["name"], one["passes"], one["fails"]) for one in run.result["checks"]],
                         [("status is 200", 4, 0), ("odd", 2, 2), ("never", 0, 0)])

    def test_what_is_random_follows_the_seed(self):
        text = """
w:step("a", function() http.get("/" .. math.random(1, 1000000) .. "/" .. uuid()) end)
"""
        for _ in range(2):
            self.one(text, arguments=("--seed", "7", "--cores", "1"))
        first, second = self.paths()
        self.assertEqual(first, second)
        self.assertRegex(first, r"^/\d+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")

    def test_the_end_of_the_run_ends_what_a_step_waits_for(self):
        run = self.one("""
w:step("a", function(user)
  if user.iteration == 0 then return http.get("/a").status end
  sleep("10m")
  http.get("/never")
end)
""", settings='vus = 2, duration = "10s", graceful_stop = "0s"')
        self.assertEqual(self.paths(), ["/a", "/a"])
        counts = run.result["workflows"][0]["iterations"]
        self.assertEqual((counts["completed"], counts["interrupted"]), (2, 2))

    def test_modules_come_from_the_folder_of_the_script(self):
        (self.folder / "lib").mkdir()
        self.write("lib/paths.lua", """
local m = require('base')
function m.of(n) return m.root .. '/' .. n end
return m
""")
        self.write("base.lua", "return {root = '/from'}")
        script = self.script("""
local paths = require("lib.paths")
w:step("a", function(user) http.get(paths.of(user.id)) end)
""")
        self.load(script)
        self.assertEqual(self.paths(), ["/from/1"])
        scenario = self.write("w.yaml", f"""
defaults: {{http: {{base: "{self.server.url}"}}}}
workflows: {{w: {{executor: per-vu-iterations, iterations: 1, steps: {{s: {{lua: {{file: w.lua, call: w.a}}}}}}}}}}
""")
        self.load(pathlib.Path(scenario), cwd="/")
        self.assertEqual(self.paths(), ["/from/1", "/from/1"])
        (self.folder / "base.lua").unlink()
        run = self.bellwether("check", str(script))
        self.assertEqual(run.code, product.WRONG)
        self.assertIn("the module 'base': cannot read", run.err)

    # --- what goes wrong ---

    def test_an_error_is_counted_and_told_with_its_line(self):
        run = self.one("""
w:step("a", function() local x = nil + 1 end)
w:step("b", {after = "a"}, function() http.get("/b") end)
""")
        self.assertEqual(run.totals["failed"], 1)
        self.assertEqual(run.errors, {"script": 1})
        self.assertIn("w.a: w.lua:4: cannot compute with a nil value; nil means", " ".join(run.out.split()))
        self.assertEqual(self.paths(), ["/b"], "on_error: continue")

    def test_wrong_calls_are_explained(self):
        for call, told in (
                ("http.get()", "the URL of a request must be a text, not a no value"),
                ("http.get({})", "the URL of a request must be a text, not a table"),
                ("http.get('/a', {heders = {}})", "did you mean 'headers'?"),
                ("http.get('/a', {headers = {['A b'] = 'x'}})", "cannot be sent: its URL or a header is wrong"),
                ("http.post('/a', {body = 'x', json = {}})", "a request has one of 'body', 'json' and 'multipart'"),
                ("http.get('/a', {timeout = 'soon'})", "'timeout' takes a time"),
                ("http.get('/a', {name = 'no'})", "the step declares no request 'no': add it to the options"),
                ("sleep('x')", "sleep takes a time"),
                ("check('no', true)", "the step declares no check 'no': add it to the options of the step"),
                ("set('no', 1)", "the step declares no value 'no'"),
                ("http.get('/a').stats", "a response has no 'stats'"),
                ("http.get('/a'):json('$[')", "is no JSON path"),
                ("shared = 1", "a step cannot make the global 'shared'"),
                ("while true do end", "ran for 1 s without waiting for anything, and was stopped"),
        ):
            with self.subTest(call):
                run = self.one(f'w:step("a", function() local x = {call} end)' if "=" not in call.split("(")[0]
                               and "while" not in call else f'w:step("a", function() {call} end)',
                               code=product.PASS if "http.get('/a')" in call else product.ALL_FAILED)
                self.assertIn(told, " ".join(run.out.split()))
                self.assertIn("w.a: w.lua:3: ", " ".join(run.out.split()))

    def test_a_wrong_script_is_refused_before_anything_is_sent(self):
        for text, told in (
                ("local x = = 1", "w.lua:3: this is not Lua: unexpected symbol near '='"),
                ("http.get('/a')", "w.lua:3: http can be called only while a step runs"),
                ('w:step("a", {chek = {status = 200}}, function() end)', "w.lua:3: unknown key 'chek' in step 'w.a'"),
                ('\n\nw:step("a", {after = "b"}, function() end)', "w.lua:5: "),
                ('w:step("a", {args = {x = "${nobody}"}}, function() end)', "w.lua:3: unknown name 'nobody'"),
                ('w:step("a", {requests = {"a"}}, function() end)', "w.lua:3: workflow 'w' has the name 'a' twice"),
                ('w:step("a", {requests = {"b c"}}, function() end)', "w.lua:3: 'b c' cannot be the name of a request"),
                ('w:action("a", {requests = {"b"}}, function() end)', "w.lua:3: 'requests' names requests to measure"),
                ('w:step("a", function() hash.hmac("md4", "", "") end)', "w.lua:3: hash.hmac: 'md4' is no digest"),
                ("while true do end", "w.lua:3: ran for 1 s without waiting for anything"),
        ):
            with self.subTest(text):
                self.assert_refused(self.bellwether("check", self.script(text)), told)
        self.assertEqual(self.paths(), [])

    def test_files_and_processes_only_by_permission(self):
        secret = self.write("secret", "s3")
        text = f"""
w:step("a", function()
  http.get("/" .. tostring(io and io.open("{secret}"):read("*l")) .. "/" .. tostring(os.execute ~= nil))
end)
"""
        self.one(text)
        self.one(text, arguments=("--allow-files",))
        self.one(text.replace("io and io", "false and io"), arguments=("--allow-processes",))
        self.assertEqual(self.paths(), ["/nil/false", "/s3/false", "/false/true"])

    def test_functions_of_a_script_in_a_yaml_scenario(self):
        self.write("lib.lua", 'function buy(user, args) http.get("/buy/" .. args.what) end\n')
        scenario = f"""\
defaults: {{http: {{base: "{self.server.url}"}}}}
workflows:
  w:
    executor: per-vu-iterations
    steps:
      a: {{lua: {{file: lib.lua, call: buy, args: {{what: "x-${{vu}}"}}}}, check: {{status: 200}}}}
"""
        self.load(scenario)
        self.assertEqual(self.paths(), ["/buy/x-1"])
        wrong = self.write("wrong.yaml", scenario.replace("call: buy", "call: bui"))
        self.assert_refused(self.bellwether("check", wrong), "there is no function 'bui': did you mean 'buy'?")


if __name__ == "__main__":
    product.main()
