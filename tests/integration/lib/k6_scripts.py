"""Further scripts of k6's `examples`: journeys, metrics, code, files."""


from .k6_examples import Example, lua, said, short, steps

# --- journeys ---------------------------------------------------------------------------------------------------------

FORM = "form_build_id: {css: \"input[name='form_build_id']\", attribute: value}"


def journey(*parts):
    """Steps that follow each other, each with the files of its page side by side after it."""
    out, before = "", None
    for name, http, check in parts:
        after = f"after: {before}, " if before else ""
        out += f"""\
{name}:
  {{{after}http: {{{http}}}, check: {{{check}}}, extract: {{{FORM}, here: {{url: true}},
   order: {{regex: 'action="/checkout/(.*?)[/"]', default: none}}}}}}
{name}_files:
  after: {name}
  steps:
""" + "".join(f"""\
    {name}_{file}:
      http: {{get: /static/{file}, headers: {{If-Modified-Since: "Tue, 21 Feb 2017 14:24:11 GMT"}}}}
      tags: {{name: static}}
""" for file in ("css", "js", "png"))
        before = f"{name}_files"
    return out


def sent(place, more):
    return f'post: "{place}", form: {{form_build_id: "${{{more}.form_build_id}}", form_id: user_login, op: Send}}'


def titled(text):
    return f'css: {{title: "{text}"}}'


PURCHASE = journey(
    ("first", "get: /", titled("Welcome")), ("enter", "get: /user/login", titled("User account")),
    ("login", sent("/user/login", "enter").replace("op:", 'name: "${users.name}", op:'), 'url: {contains: "/users/"}'),
    ("carry", "get: /collection/carry", titled("To carry")), ("bag", "get: /bags/messenger", titled("Bag")),
    ("add", sent("/bags/messenger", "bag"), "body: {contains: successfully added}"),
    ("cart", 'get: /cart, headers: {Referer: "${add.here}"}', titled("Shopping cart")),
    ("submit", sent("/cart", "cart"), 'url: {contains: "/checkout/"}'),
    ("checkout", sent("/checkout/${submit.order}", "submit"), 'url: "${submit.here}/shipping"'),
    ("shipping", sent("/checkout/${submit.order}/shipping", "checkout"), 'url: "${submit.here}/review"'),
    ("review", sent("/checkout/${submit.order}/review", "shipping"), 'css: {h1: Checkout complete}'),
    ("logout", "get: /user/logout", "body: {contains: Log in}"))
USERS = "data: {users: {csv: users.csv, pick: unique-per-vu}}\n"
SHOP = "defaults: {http: {base: http://test/shop, redirects: 10}}\n"

# The hidden fields of ASP.NET, and a pause of a reader (here in milliseconds) between the pages.
FIELDS = """{view: {regex: '"__VIEWSTATE" value="(.*?)"'}, valid: {regex: '"__EVENTVALIDATION" value="(.*?)"'}}"""


def booking():
    out = f"""\
landing: {{group: 01_landingpage, http: {{get: /}}}}
landing_css: {{after: landing, group: 01_landingpage, http: {{get: /static/css}}}}
landing_js: {{after: landing, group: 01_landingpage, http: {{get: /static/js}}, think: 5ms..10ms}}
booking: {{after: [landing_css, landing_js], group: 02_booking, http: {{get: /bags/1}}, extract: {FIELDS}, think: 5ms}}
"""
    before = "booking"
    for group in ("03_departure", "04_destination", "05_departdate", "06_returndate", "07_search"):
        name = group[3:]
        out += f"""\
{name}:
  {{after: {before}, group: "{group}", think: 5ms..10ms, extract: {FIELDS},
   http: {{post: /bags/1, form: {{form_build_id: form_build_id-7, __VIEWSTATE: "${{{before}.view}}",
                                 __EVENTVALIDATION: "${{{before}.valid}}"}}}}, check: {{status: 200}}}}
"""
        before = name
    return out.replace("extract: " + FIELDS + ", think: 5ms}", "extract: " + FIELDS + ", think: 5ms..10ms}")


LOGIN = """\
return function(user)
  if user.token == nil then
    user.token = http.post("/v3/account/login", {name = "login", json = {email = "a@b.example", password = "p"}})
      :json("$.token.key")
  end
  return {headers = {Authorization = "Token " .. user.token}}
end
"""


def rest_api(name, place, member):
    """One call of an API, by users that log in once."""
    return lua(f"""\
        local credentials = require("common")
        w:step("{name}", {{check = {{status = 200, header = {{["Content-Type"] = "application/json"}}}},
                          checks = {{"content OK"}}, requests = {{"login"}}, group = "{name}", think = "20ms"}},
          function(user)
            local res = http.get("{place}", credentials(user))
            check("content OK", res:json("$.{member}") ~= nil)
            metric("transaction_time", res.duration)
          end)
        """, head='vus = 2, iterations = 6', more="""\
scenario {defaults = {http = {base = "http://test/api"}}, metrics = {transaction_time = {kind = "trend", unit = "ms"}},
          thresholds = {transaction_time = {"avg<5000"}, http_req_duration = {"avg<5000"}}}""",
               files={"common.lua": LOGIN})


JOURNEYS = {
    "pantheontest.js": Example(steps(PURCHASE, more=SHOP + USERS), 48, files={"users.csv": "name\ntestuser1\n"}),
    "pantheon.js": Example(steps(f"""\
        front: {{group: front page, http: {{get: /}}, check: {{css: {{title: Welcome}}}}}}
        css: {{group: static, after: front, http: {{get: /static/css}}}}
        js: {{group: static, after: front, http: {{get: /static/js}}}}
        enter: {{after: [css, js], http: {{get: /user/login}}, check: {{css: {{title: User account}}}},
                extract: {{{FORM}}}}}
        login:
          after: enter
          group: login
          http: {{post: /user/login, form: {{name: "${{users.name}}", form_build_id: "${{enter.form_build_id}}"}}}}
          check: {{url: "http://test/shop/users/${{users.name}}"}}
          on_error: end-iteration
        carry: {{after: login, http: {{get: /collection/carry}}, check: {{css: {{title: To carry}}}}}}
        product: {{after: carry, choose: {{bag: {{http: {{get: /bags/messenger}}, check: {{css: {{title: Bag}}}}}}}}}}
        """, more=SHOP + "data: {users: {csv: users.csv, pick: random}}\n"), 7,
        files={"users.csv": "name\ntestuser1\n"}),
    "loadimpactair_script_sample.js": Example(
        steps(booking(), "stages: [{duration: 20s, target: 4}, {duration: 40s, target: 4}, {duration: 10s, target: 0}]",
              SHOP.replace("redirects: 10", "redirects: 15, tls: {verify: false}")
              + 'thresholds: {"group_duration{group:01_landingpage}": ["avg<5000"]}\n'), options=short("1s")),
    "REST_API_testsuite/v3_account_login.js": Example(steps("""\
        login:
          http: {post: http://test/api/v3/account/login, json: {email: a@b.example, password: p}}
          check: {status: 200, header: {Content-Type: application/json}, json: {$.token: {exists: true}}}
          group: login
          think: 100ms
        """, "vus: 1\n    duration: 5s", 'thresholds: {http_req_duration: ["avg<2000"]}\n'), options=short("1s")),
    "REST_API_testsuite/v3_account_me.js": rest_api("me", "/v3/account/me", "organizations"),
    "REST_API_testsuite/v3_tokens.js": rest_api("tokens", "/v3/tokens?organization_id=9", "tokens"),
    "REST_API_testsuite/v3_load-zones.js": rest_api("zones", "/v3/load-zones?organization_id=9", "load_zones"),
    "REST_API_testsuite/v3_server-agents.js": rest_api("agents", "/v3/server-agents?organization_id=9",
                                                       "server_agents"),
}

# --- metrics ----------------------------------------------------------------------------------------------------------

METRICS = {
    "custom_metrics.js": lua("""\
        w:step("get", {check = {status = 200}}, function(user)
          local res = http.get("http://test/")
          metric("my_counter", 1)
          user.slowest = math.max(user.slowest or 0, res.duration)
          metric("my_gauge", user.slowest)
          metric("my_rate", res.status == 200)
          metric("my_trend", res.timings.connect + res.timings.tls)
        end)
        """, head="iterations = 5", requests=5, more="""\
scenario {metrics = {my_counter = "counter", my_gauge = "gauge", my_rate = "rate",
                     my_trend = {kind = "trend", unit = "ms"}},
          thresholds = {my_counter = {"count==5"}, my_rate = {"rate==1"}, my_gauge = {"value>0"}}}"""),
    "tagging.js": lua("""\
        w:step("get", {tags = {my_tag = "I'm a tag"}, check = {status = 200}}, function(user)
          metric("my_trend", http.get("http://test/").timings.connect)
        end)
        """, requests=1, more="""\
scenario {metrics = {my_trend = {kind = "trend", unit = "ms"}}, thresholds = {
  ["my_trend{my_tag:I'm a tag}"] = {"avg>=0"}, ["http_reqs{my_tag:I'm a tag}"] = {"count==1"},
  ["checks{my_tag:I'm a tag}"] = {"rate==1"}}}"""),
    "es6sample.js": lua("""\
        w:step("top", {checks = {"top-level test", "random value is < 0.5", "always passes", "always fails"}},
          function(user)
            check("top-level test", math.random() < 1 / 3)
            metric("my_counter", 1)
            metric("my_rate", check("random value is < 0.5", math.random() < 0.5))
            check("always passes", true)
            check("always fails", false)
          end)
        w:step("json", {after = "top", group = "my group::json", http = {get = "http://test/get",
          headers = {["X-Test"] = "abc123"}}, check = {status = 200, json = {["$.headers['X-Test']"] = "abc123"}}})
        w:step("html", {after = "json", group = "my group::html", http = {get = "http://test/"},
          check = {status = 200, header = {["Content-Type"] = {contains = "text/html"}},
                   css = {["p.description"] = "a page for load tests"}}, think = "0s..20ms"})
        """, head="vus = 5, iterations = 50", requests=100, options=("--seed", "5"),
        failing=("top-level test", "random value is < 0.5", "always fails"), more="""\
scenario {metrics = {my_counter = "counter", my_rate = "rate"},
          thresholds = {my_rate = {"rate>=0.1"}, http_req_duration = {"avg<5000"}}}"""),
    "thresholds_readme_example.js": lua("""\
        w:step("main", {checks = {"status is 200", "content is present"}}, function(user)
          local res = http.get("http://test/")
          local good = check("status is 200", res.status == 200)
          good = check("content is present", res.body:find("load tests", 1, true) ~= nil) and good
          metric("check_failure_rate", not good)
        end)
        for _, file in ipairs({"css", "ico", "js"}) do
          local more = {after = "main", group = "Static Assets", tags = {staticAsset = "yes"}, think = "10ms..20ms",
                        checks = {"asset is 200"}}
          w:step(file, more, function(user)
            metric("check_failure_rate", not check("asset is 200", http.get("http://test/" .. file).status == 200))
          end)
        end
        """, head='stages = {{target = 5, duration = "1m"}, {target = 5, duration = "3m30s"}, '
        '{target = 0, duration = "30s"}}', options=short("1s"), more="""\
scenario {metrics = {check_failure_rate = "rate"}, thresholds = {
  http_req_duration = {"p(95)<5000"}, ["http_req_duration{staticAsset:yes}"] = {"p(99)<5000"},
  check_failure_rate = {"rate<0.01", {threshold = "rate<=0.05", abortOnFail = true}}}}"""),
    "custom_handle_summary.js": Example(steps("get: {http: {get: http://test/}, check: {status: 200}}"), 1,
                                        options=("--out", "json=summary.json", "--out", "json=summary2.json")),
}

# --- code and files ---------------------------------------------------------------------------------------------------

CODE = {
    "crypto.js": said("""\
        w:action("hash", {}, function(user)
          print(hash.sha1("some text"), base64.encode(hex.decode(hash.sha1("some " .. "other text"))))
        end)
        """, "37aa63c77398d954473262e1a0057c1e632eda77", "3jYGVrK22rC4frRfsE1UyMwVLb4="),
    "base64.js": said("""\
        local function bare(text) return (text:gsub("=", "")) end
        w:action("code", {checks = {"std", "rawstd", "url", "rawurl"}}, function(user)
          local odd = "a?>b~~"
          check("std", base64.encode("hello world") == "aGVsbG8gd29ybGQ=" and
                base64.decode("aGVsbG8gd29ybGQ=") == "hello world")
          check("rawstd", bare(base64.encode("hello world")) == "aGVsbG8gd29ybGQ")
          check("url", base64.encode_url(odd) .. "==" == "YT8-Yn5-==")
          check("rawurl", base64.decode(base64.encode_url(odd)) == odd)
        end)
        """),
    "jwt.js": said("""\
        local digests = {HS256 = "sha256", HS512 = "sha512"}
        local function sign(text, algorithm, secret)
          return base64.encode_url(hex.decode(hash.hmac(digests[algorithm], secret, text)))
        end
        local function encode(payload, secret)
          local text = base64.encode_url(json.encode({typ = "JWT", alg = "HS256"})) .. "." ..
                       base64.encode_url(json.encode(payload))
          return text .. "." .. sign(text, "HS256", secret)
        end
        local function decode(token, secret)
          local head, payload, signature = token:match("^(.-)%.(.-)%.(.-)$")
          local algorithm = json.decode(base64.decode(head)).alg
          if sign(head .. "." .. payload, algorithm, secret) ~= signature then error("the signature is wrong") end
          return json.decode(base64.decode(payload))
        end
        w:action("sign", {think = "10ms"}, function(user)
          print("decoded", json.encode(decode(encode({key2 = "value2"}, "secret"), "secret")))
          print("forged", pcall(decode, encode({}, "other"), "secret"))
        end)
        """, 'decoded {"key2":"value2"}', "forged false"),
    "secrets/totp.test.js": said("""\
        local function unbase32(text)
          local out, held, bits = {}, 0, 0
          for letter in text:gmatch("[A-Z2-7]") do
            held = held * 32 + ("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"):find(letter, 1, true) - 1
            bits = bits + 5
            if bits >= 8 then
              bits = bits - 8
              out[#out + 1] = string.char(math.floor(held / 2 ^ bits))
              held = held % 2 ^ bits
            end
          end
          return table.concat(out)
        end
        local function totp(secret, seconds)
          local digest = hash.hmac("sha1", unbase32(secret), hex.decode(("%016x"):format(math.floor(seconds / 30))))
          local at = tonumber(digest:sub(-1), 16) * 2
          return ("%06d"):format(tonumber(digest:sub(at + 1, at + 8), 16) % 2 ^ 31 % 1000000)
        end
        w:action("code", {args = {secret = "${SECRET}"}, checks = {"code is valid"}}, function(user, args)
          check("code is valid", totp(args.secret, 59) == "287082" and #totp(args.secret, os.time()) == 6)
        end)
        """, more="scenario {env = {SECRET = \"none\"}}",
        options=("--set", "SECRET=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")),
    "logging.js": said("""\
        local function assert_that(holds, text) if not holds then print(text) end end
        w:action("log", {}, function(user)
          print("log", "a", "b")
          assert_that(true, "this is silent")
          assert_that(false, "this is heard")
        end)
        """, "log a b", "this is heard"),
    "malicious.js": lua('w:step("spin", {}, function(user) while true do end end)', requests=1, code=110,
                        says=("ran for 1 s without waiting",)),
    "timers.js": said("""\
        w:action("tick", {}, function(user)
          for i = 1, 10 do
            sleep(0)
            print("tick", i)
          end
        end)
        """, "tick 1", "tick 10"),
    "events.js": Example(steps("""\
        tick: {repeat: 3, lua: {file: s.lua, call: tick}, think: 50ms}
        wait: {action: {set: {a: first}}, think: 100ms}
        first: {after: wait, action: {lua: {file: s.lua, call: first}}, think: 60ms}
        second: {after: first, action: {lua: {file: s.lua, call: second}}}
        third: {after: tick, http: {get: http://test/}}
        """, "executor: constant-vus\n    vus: 1\n    duration: 380ms\n    graceful_stop: 0s"),
        files={"s.lua": "".join(f'function {name}() print("{name}") end\n'
                                for name in ("tick", "first", "second"))},
        says=("tick", "first", "second")),
    "enhanced/script.ts": said("""\
        local new_user = require("user")
        w:action("make", {}, function(user) print(json.encode(new_user("John"))) end)
        """, '{"name":"John"}', files={"user.lua": "return function(name) return {name = name} end\n"}),
    "enhanced/abort.ts": lua('w:step("stop", {on_error = "abort"}, function(user) error("failed") end)',
                             requests=1, code=108, says=("failed",)),
    "source_map/issue_1804/main.js": lua(
        'local imported = require("imported")\nw:step("call", {}, function(user) imported.f2() end)', requests=1,
        code=110, files={"imported.lua": 'local f = {}\nfunction f.f1()\n  error("line 3")\nend\nfunction f.f2()\n'
                                         '  error("line 6")\nend\nreturn f\n'}, says=("imported.lua:6: line 6",)),
    "source_map/typescript_template/test1.ts": lua("""\
        local function cool_throw(text) error("cool " .. text) end
        w:step("throw", {}, function(user) cool_throw("is cool") end)
        """, requests=1, code=110, says=("scenario.lua:3", "cool is cool")),
    "experimental/encoding.js": said("""\
        w:action("code", {}, function(user) print(hex.decode(hex.encode("hello world"))) end)
        """, "hello world"),
    "experimental/csv.js": said("""\
        w:action("read", {}, function(user)
          local number = 0
          for line in io.lines("data.csv") do
            number = number + 1
            if number > 3 and number <= 13 then print(line) end
          end
        end)
        """, "row3", "row12", files={"data.csv": "name\n" + "".join(f"row{i}\n" for i in range(1, 20))},
        options=("--allow-files",)),
    "experimental/fs/fs.js": lua("""\
        w:step("read", {}, function(user)
          local file = assert(io.open("bonjour.txt"))
          local size = file:seek("end")
          file:seek("set")
          if #file:read("*a") ~= size then error("unexpected number of bytes") end
          file:close()
          http.get("http://test/get")
        end)
        """, head="vus = 10, iterations = 100", requests=100, files={"bonjour.txt": "Bonjour, tout le monde.\n"},
        options=("--allow-files",)),
}

EXAMPLES = {**JOURNEYS, **METRICS, **CODE}
