#!/usr/bin/env python3
"""Functions in templates as a server sees them, and the schema of scenario files against what the command takes."""

import json
import re
import urllib.parse

import jsonschema
import yaml

from lib import certificates, product
from lib.server import Server

SCHEMA = product.ROOT / "docs/formats/scenario.schema.json"

# Every key that there is, in one file or the other.
WHOLE = ["""\
name: whole
env: {BASE: "http://127.0.0.1:1", VUS: 3, MORE: ""}
timeout: 2h
on_loss: "pass"
metrics: {orders: counter, total: {kind: trend, unit: EUR}}
defaults:
  http:
    base: "${BASE}"
    headers: {A: b, C: [d, e]}
    timeout: 1m30s
    connect_timeout: 1.5s
    tls_timeout: 10s
    first_byte_timeout: 0
    redirects: 3
    compressed: true
    keep_alive: true
    connections: 2
    hosts: {shop.example: "10.0.0.7:80"}
    local_ips: [10.0.0.2, 10.0.1.0/28]
    expected_statuses: [200, 3xx, 500-503]
    tls: {verify: false, certificate: me.pem, key: me.key, server_name: shop.test, min_version: 1.2, max_version: 1.3,
          resume: true}
    body_max: 64KiB
    auth: {basic: {user: a, password: "${MORE}"}}
    retries: 2
    proxy: "http://a:b@127.0.0.1:3128"
workflows:
  users:
    executor: ramping-vus
    start_vus: 0
    stages: [{duration: 10s, target: 5}, {duration: 0, target: "${VUS}"}]
    graceful_ramp_down: 5s
    graceful_stop: 5s
    start_time: 1s
    pacing: 200ms..1s
    priority: high
    on_overtime: notify
    timeout: 10m
    keep_cookies: true
    keep_connections: true
    provide: {takers: {token: "${a.token}", all: {value: "${a.token}", collect: all}}}
    steps:
      a:
        http: {get: /, query: {q: 1, r: [a, b]}, headers: {X: true}}
        check:
          status: [200, 304]
          body: {not: error, contains: [a, b], matches: "c+", equals: d}
          size: {gt: 1, gte: 2, lt: 1MiB, lte: 10kB, equals: [512], not: 7}
          json:
            $.a: 1
            $.b: {exists: true}
            $.c: null
            $.d: [1, x]
            $.e: {equals: 1, not: 2, lt: 3, lte: 3, gt: 0, gte: 0, contains: "1", matches: "1"}
            $..f: {count: [1, 2]}
          header:
            A: b
            B: {exists: false}
            C: {equals: x, not: y, lt: 9, lte: 9, gt: 0, gte: 0, contains: z, matches: "."}
          duration: {lt: 200ms, lte: 1s, gt: 0, gte: "${VUS}s"}
          url: {contains: x}
          css:
            h1: [a, b]
            a: {attribute: href, equals: x, not: y, lt: 9, lte: 9, gt: 0, gte: 0, contains: z, matches: ".",
                exists: true, count: 1}
          xpath:
            //h1: a
            //a: {equals: x, not: y, lt: 9, lte: 9, gt: 0, gte: 0, contains: z, matches: ".", exists: true,
                  count: {equals: [1, 2], not: 3, lt: 4, lte: 4, gt: 0, gte: 1}}
        extract:
          every: {json: $..a, pick: all}
          token: {json: $.token, default: none}
          r: {regex: "a(b)", group: 1}
          h: {header: Location}
          whole: {body: true}
          code: {status: true}
          cookie: {cookie: sid}
          c: {css: "a.b", attribute: href}
          x: {xpath: "//a"}
          where: {url: true}
        think: {normal: {mean: 1s, stddev: 200ms, min: 0, max: 5s}}
        on_error: skip
        metric: {orders: 1, total: "${a.json.$.b}"}
      b:
        after: a
        http:
          post: /
          json: {a: [1, {b: null}]}
          auth: {bearer: "${token}"}
          retries: {times: 1, wait: 1s, on: [error, 503]}
        check: {status: {equals: 200, not: [500, 501], lt: 400, lte: 399, gt: 100, gte: 200}, size: 10, body: ok}
        think: {exponential: {mean: 1s, max: 5s}}
      c:
        after: [a, b]
        http: {put: /, body: text, auth: {digest: {user: a, password: b}}}
        think: {lognormal: {median: 1s, sigma: 0.5, max: 9s}}
      d: {http: {patch: /, form: {a: b, c: [d]}}, think: {uniform: {min: 1s, max: 2s}}}
      e: {http: {delete: /, timeout: 1s, connect_timeout: 1s, tls_timeout: 1s, first_byte_timeout: 1s}}
      f: {http: {head: /, redirects: 0, compressed: false, tls: {verify: true}, body_max: 1}}
      g: {http: {options: /}, think: 500ms}
      h: {http: {trace: /, proxy: none}}
      i: {http: {method: REPORT, url: /, keep_alive: false, expected_statuses: 404}}
      p:
        if: {"${vu}": {equals: 1, not: 2, lt: 3, lte: 3, gt: 0, gte: 0, contains: "1", matches: "1", exists: true}}
        http:
          post: /
          multipart: {a: {file: b.json, template: true, filename: x, type: text/plain}, b: {text: c}}
      j: {action: {set: {one: "1", two: "${random_string(3)}"}}}
      k: {after: j, if: {"${one}": [1, 2], "${two}": {not: x}}, repeat: 2, steps: {l: {http: {get: /}}}}
      m: {choose: {n: {weight: 2, http: {get: /}}, o: {http: {get: /}}}}
  takers:
    depends: [users]
    use: {users: [token, all]}
    rate: 30/m
    duration: 1m
    vus: {preallocated: 2, max: 3}
    max_wait: 1s
    rebalance: true
    steps: {a: {http: {get: "/${token}"}}}
  last:
    depends: takers
    executor: shared-iterations
    vus: "${VUS}"
    iterations: 10
    max_duration: 1m
    steps: {a: {http: {get: /}}}
thresholds:
  checks: rate>0.9
  http_req_failed: ["rate<0.01", {threshold: "rate<0.5", abort_on_fail: true, delay_abort_eval: 10s}]
""", """\
workflows:
  k6:
    executor: ramping-arrival-rate
    timeUnit: 1m
    startTime: 1s
    gracefulStop: 1s
    startRate: 0
    stages: [{duration: 10s, target: 5.5}]
    preAllocatedVUs: 1
    maxVUs: 10
    steps: {a: {http: {get: "http://h/", body: {file: b.json, template: true}, tls: {ca: ca.pem}}}}
  k62:
    executor: ramping-vus
    startVUs: 1
    stages: [{duration: 1s, target: 1}]
    gracefulRampDown: 1s
    steps: &steps {a: {http: {get: "http://h/"}}}
  k63: {executor: per-vu-iterations, maxDuration: 1s, steps: *steps}
  per_unit: {executor: constant-arrival-rate, rate: 500, time_unit: 1m, duration: 1s, vus: 1, steps: *steps}
  up: {start_rate: 1/s, stages: [{duration: 1s, target: 2/s}], vus: 1, steps: *steps}
  told: {executor: externally-controlled, max_vus: 5, duration: 0, steps: *steps}
thresholds:
  checks: [{threshold: "rate>0.9", abortOnFail: true, delayAbortEval: 1s}]
""", """\
include: shared.yaml
defaults: {http: {base: "http://h"}}
data:
  users: {csv: users.csv, pick: unique-per-vu, wrap: true, delimiter: ";"}
  items: {jsonl: items.jsonl, pick: random}
  once: {csv: users.csv, at_end: stop}
  places: {json: places.json}
setup: {steps: {a: {http: {post: /made}}}}
teardown: {steps: {a: {http: {delete: /made}}}}
workflows:
  w:
    vus: 1
    duration: 1s
    tags: {team: red}
    steps:
      a:
        lua: {file: whole.lua, call: f, args: {a: "${users.name}"}, sets: [x], checks: [y], requests: [z]}
        tags: {api: v1}
        group: g
      b: {native: {file: whole.bw, call: f}}
      c: {action: {http: {get: /}}}
      d: {action: {lua: {file: whole.lua, call: f}}}
      e: {action: {native: {file: whole.bw, call: f}}}
      f:
        http:
          post: /
          body: {directory: payloads}
          auth:
            oauth2:
              {token_url: "http://h/", client_id: a, client_secret: b, scope: c, audience: d, auth_style: body}
      g: {http: {post: /, body: {glob: "payloads/*.json", pick: random, template: true}}}
"""]

# What the command says of a mistake that the schema sees too. What an executor needs, it does not know.
SHAPE = re.compile(r"unknown key|is not available in this version|must be a map|means the same as '\w+'\n|"
                   r"'(?!rate|vus|duration|stages)\w+' is missing in")

RIGHT = "workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: 'http://h/', timeout: 1s}}}}}\n"
# (text of RIGHT, what takes its place)
WRONG = [("vus: 1", "vus: many"), ("vus: 1", "vus: 1.5"), ("vus: 1", "vus: -1"), ("vus: 1", "vus: 1000001"),
         ("vus: 1", "vus: [1]"), ("duration: 1s", "duration: 1"), ("duration: 1s", "duration: 1sec"),
         ("duration: 1s", "duration: 1s..2s"), ("timeout: 1s", "timeout: true"), ("timeout: 1s", "redirects: 101"),
         ("timeout: 1s", "compressed: maybe"), ("timeout: 1s", "body_max: 1 TB"), ("timeout: 1s", "tls: true"),
         ("timeout: 1s", "json: 1, jsn: 1"), ("timeout: 1s", "retries: {wait: 1s}"), ("timeout: 1s", "url: /"),
         ("timeout: 1s", "headers: [a]"), ("timeout: 1s", "auth: {basic: {user: a}}"), ("get:", "gets:"),
         ("vus: 1", "vus: 1, executor: constant"), ("vus: 1", "vus: 1, pacing: 1s..2"),
         ("vus: 1", "vus: 1, pacing: {normal: {mean: 1s}}"), ("vus: 1", "rate: fast, vus: 1"),
         ("vus: 1", "vus: 1, priority: 3"), ("w: {vus", "w w: {vus"), ("http: {get: 'http://h/', timeout: 1s}", ""),
         (RIGHT, "workflows: {}"), (RIGHT, "name: x"), ("steps: {a", "steps: {}, step: {a")]


class Loader(yaml.SafeLoader):
    """YAML as editors and the command read it: version 1.2, where `on` and `no` are texts."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in (("bool", r"true|false", "tf"), ("null", r"~|null|", ["~", "n", ""]),
                            ("int", r"[-+]?[0-9]+", "-+0123456789"),
                            ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789")):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))


def load(text):
    return yaml.load(text, Loader)


class Schema(product.Test):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        jsonschema.Draft7Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft7Validator(cls.schema)

    def takes(self, text):
        return self.validator.is_valid(load(text))

    def assert_takes(self, text):
        problem = jsonschema.exceptions.best_match(self.validator.iter_errors(load(text)))
        self.assertIsNone(problem, f"{problem}\n{text}")

    def test_the_command_prints_the_published_one(self):
        run = self.bellwether("check", "--schema")
        self.assertEqual((run.code, run.out), (product.PASS, SCHEMA.read_text(encoding="utf-8")))
        for arguments in (("check",), ("check", "--schema", product.ROOT / "examples/first.yaml")):
            run = self.bellwether(*arguments)
            self.assertEqual((run.code, run.out), (product.WRONG, ""), run)
            self.assertIn("FILE", run.err)

    def test_it_takes_the_examples_and_what_the_documentation_shows(self):
        texts = [path.read_text(encoding="utf-8") for path in (product.ROOT / "examples").glob("*.yaml")]
        for page in ("README.md", "docs/start/first-test.md", "docs/load/guides/models.md",
                     "docs/load/reference/scenario.md", "docs/load/reference/functions.md",
                     "docs/reference/metrics.md"):
            text = (product.ROOT / page).read_text(encoding="utf-8")
            pieces = re.findall(r"```yaml\n(.*?)```", text, re.S)
            texts += [piece for piece in pieces if re.search(r"^workflows:", piece, re.M)]
        self.assertGreater(len(texts), 10)
        for text in texts:
            with self.subTest(text):
                self.assert_takes(text)

    def test_it_takes_each_key_as_the_command_does(self):
        self.write("b.json", "{}")
        (self.folder / "payloads").mkdir()
        self.write("payloads/a.json", "{}")
        certificates.Authority(self.folder).issue("me", "DNS:me")  # ca.pem, me.pem, me.key
        for name, text in (("shared.yaml", "env: {A: b}"), ("users.csv", "name;age\nann;1\n"),
                           ("items.jsonl", '{"id": 1}\n'), ("places.json", '[{"a": 1}]'),
                           ("whole.lua", "function f() end"), ("whole.bw", "is looked at by runs only")):
            self.write(name, text)
        used = set()
        for text in WHOLE:
            self.assert_takes(text)
            run = self.bellwether("check", self.write("whole.yaml", text))
            self.assertEqual(run.code, product.PASS, run)
            self.collect(self.schema, load(text), used)
        known = {(name, key) for name, map_ in [("", self.schema), *self.schema["definitions"].items()]
                 for key in map_.get("properties", ())}
        self.assertEqual(known - used, set(), "keys that no file above has")

    def collect(self, schema, value, used, name=""):
        """Which keys of which maps the value has."""
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return self.collect(self.schema["definitions"][name], value, used, name)
        for branch in schema.get("allOf", ()):
            self.collect(branch, value, used, name)
        for branch in schema.get("anyOf", ()):
            if jsonschema.Draft7Validator({**branch, "definitions": self.schema["definitions"]}).is_valid(value):
                self.collect(branch, value, used, name)
        if isinstance(value, list) and "items" in schema:
            for item in value:
                self.collect(schema["items"], item, used)
        if isinstance(value, dict):
            for key, item in value.items():
                if key in schema.get("properties", ()):
                    used.add((name, key))
                    self.collect(schema["properties"][key], item, used)
                elif isinstance(schema.get("additionalProperties"), dict):
                    self.collect(schema["additionalProperties"], item, used)
        return None

    def test_it_refuses_the_mistakes_of_shape_that_the_command_tells(self):
        text = (product.ROOT / "src/load/plan/testdata/errors.txt").read_text(encoding="utf-8")
        seen = 0
        for case in re.split(r"^=== ", text, flags=re.M)[1:]:
            name, rest = case.split("\n", 1)
            scenario, told = rest.split("\n---\n", 1)
            if not SHAPE.search(told) or "this is not YAML" in told:
                continue
            with self.subTest(name):
                self.assertFalse(self.takes(scenario), scenario + told)
            seen += 1
        self.assertGreater(seen, 25)

    def test_it_refuses_wrong_values(self):
        self.assert_takes(RIGHT)
        for text, instead in WRONG:
            with self.subTest(instead):
                self.assertIn(text, RIGHT)
                wrong = RIGHT.replace(text, instead)
                self.assertFalse(self.takes(wrong))
                self.assertEqual(self.bellwether("check", self.write("wrong.yaml", wrong)).code, product.WRONG)


class Functions(product.Test):
    def test_each_request_has_other_values_which_arrive_as_they_were_made(self):
        server = Server()
        self.addCleanup(server.close)
        self.load(f"""\
workflows:
  w:
    executor: per-vu-iterations
    iterations: 40
    steps:
      invent: {{action: {{set: {{mail: "${{fake.email}}"}}}}}}
      a:
        after: invent
        http:
          post: "{server.url}/${{random_alpha(5)}}"
          query: {{name: "${{fake.name}}", pick: "${{random_choice('a b', 'c&d', e)}}", mail: "${{mail}}"}}
          headers: {{X-Day: "${{date}}", X-Url: "${{fake.url}}"}}
          json: {{mail: "${{mail}}", said: "${{fake.sentence(3)}}", id: "${{uuid}}"}}
""")
        requests = server.requests
        self.assertEqual(len(requests), 40)
        names, picks, ids = set(), set(), set()
        for request in requests:
            path, _, query = request.target.partition("?")
            self.assertRegex(path, r"^/[A-Za-z]{5}$")
            values = {key: value for key, [value] in urllib.parse.parse_qs(query).items()}
            body = json.loads(request.body)
            self.assertRegex(values["mail"], r"^[a-z]+\.[a-z]+\d+@example\.(com|net|org)$")
            self.assertEqual(values["mail"], body["mail"])
            self.assertRegex(body["said"], r"^[A-Z][a-z]*( [a-z]+){2}\.$")
            self.assertRegex(request.header("x-day"), r"^\d{4}-\d\d-\d\d$")
            self.assertRegex(request.header("x-url"), r"^https://[a-z]+-[a-z]+\.example/[a-z]+$")
            names.add(values["name"])
            picks.add(values["pick"])
            ids.add(body["id"])
        self.assertEqual(picks, {"a b", "c&d", "e"})
        self.assertEqual(len(ids), 40)
        self.assertGreater(len(names), 20)


if __name__ == "__main__":
    product.main()
