"""The scripts of k6's `examples` as scenarios of Bellwether: those that need neither a browser nor another protocol."""

import dataclasses
import textwrap


@dataclasses.dataclass
class Example:
    """`text`: the scenario, with http://test and https://test for the server. `requests`: those that a run counts."""
    text: str
    requests: int | None = None
    lua: bool = False
    files: dict = dataclasses.field(default_factory=dict)
    options: tuple = ()
    code: int = 0
    says: tuple = ()      # texts in the output
    failing: tuple = ()   # names of checks that may fail


def steps(text, head="iterations: 1", more=""):
    return f"{more}workflows:\n  w:\n    {head}\n    steps:\n{textwrap.indent(textwrap.dedent(text), ' ' * 6)}"


def lua(text, head="iterations = 1", more="", **rest):
    """One workflow `w` of a script."""
    return Example(f'{more}\nlocal w = workflow("w", {{{head}}})\n{textwrap.dedent(text)}', lua=True, **rest)


def said(text, *says, **rest):
    """A script that sends nothing and prints."""
    return lua(text, head="", requests=0, says=says, **rest)


def short(seconds):
    return ("--duration", seconds)


def said_back(method, path, body, found):
    return f"""\
{method}:
  group: {method}
  http: {{method: {method}, url: "http://test/{path}"{body}}}
  check: {{status: 200, json: {{{found}: {method.lower()}, $.method: {method}}}}}
"""


VERBS = "".join(said_back(*one) for one in (
    ("GET", "get?verb=get", "", "$.args.verb"), ("POST", "post", ", form: {verb: post}", "$.form.verb"),
    ("PUT", "put", ", json: {verb: put}", "$.json.verb"), ("PATCH", "patch", ", json: {verb: patch}", "$.json.verb"),
    ("DELETE", "delete?verb=delete", "", "$.args.verb"), ("QUERY", "anything", ", json: {verb: query}", "$.json.verb")))

TRACEPARENT = ', Traceparent: "00-${random_hex(16)}-${random_hex(8)}-FLAG"'
MODEL = f"defaults: {{http: {{headers: {{X-Example-Header: instrumented{TRACEPARENT}}}}}}}\n"
SAMPLED = TRACEPARENT.replace("FLAG", "01")
TRACED = """\
get:
  http: {get: http://test/get}
  check: {status: 200, json: {$.headers.Traceparent: {matches: "^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$"}}}
"""

HTTP = {
    "http_get.js": Example(steps("get: {http: {get: http://test/}}"), 1),
    "http_batch.js": Example(steps("""\
        main: {http: {get: http://test/}, check: {status: 200}}
        pi: {http: {get: http://test/pi}, check: {status: 200, body: "3.14"}}
        """), 2),
    "http_verbs.js": Example(steps(VERBS), 6),
    "http_basic_auth.js": Example(steps("""\
        get:
          http: {get: http://test/basic-auth/user/passwd, auth: {basic: {user: user, password: passwd}}}
          check: {status: 200, json: {$.authenticated: true, $.user: user}}
        """), 1),
    "http_digest_auth.js": Example(steps("""\
        get:
          http: {get: http://test/digest-auth/auth/user/passwd, auth: {digest: {user: user, password: passwd}}}
          check: {status: 200, json: {$.authenticated: true, $.user: user}}
        """), 1),
    "html_form_post.js": Example(steps("""\
        post:
          http: {post: http://test/post, form: {name: Ann Lee, comment: Hello!, topping: [onion, cheese]}}
          check: {status: 200, json: {$.form.name: Ann Lee, $.form.comment: Hello!, "$.form.topping[1]": cheese}}
        """), 1),
    "json.js": Example(steps("""\
        post: {http: {post: http://test/post, json: {key: value}}, check: {status: 200, json: {$.json.key: value}}}
        """), 1),
    "cookies.js": Example(steps("""\
        simple:
          http: {get: http://test/cookies, headers: {Cookie: name=value1; name2=value2}}
          check: {status: 200, json: {$.cookies.name: value1, $.cookies.name2: value2}}
        advanced:
          after: simple
          http: {get: http://test/cookies, headers: {Cookie: name3=value3}}
          check: {status: 200, json: {$.cookies.name3: value3}}
        """), 2),
    "redirects.js": Example(steps("""\
        six: {http: {get: http://test/redirect/6}, check: {status: 302}}
        one: {after: six, http: {get: http://test/redirect/1, redirects: 1}, check: {status: 200, url: http://test/get}}
        """, more="defaults: {http: {redirects: 5}}\n"), 2),
    "tls_skip_cert_verification.js": Example(steps("""\
        get: {http: {get: https://test/}, check: {status: 200}}
        """, more="defaults: {http: {tls: {verify: false}}}\n"), 1),
    "bench_http1.js": Example(steps("""\
        get: {http: {get: https://test/metrics}, check: {status: 200}, think: 50ms}
        """, "vus: 20\n    duration: 30s",
        "defaults: {http: {tls: {verify: false, certificate: client.pem, key: client.key}}}\n"), options=short("1s")),
    "graphql.js": Example(steps("""\
        find:
          http: {post: http://test/graphql, json: {query: "query { repository { issues(first: 1) } }"}}
          extract: {issue: {json: "$..node.id"}, code: {status: true}}
        react:
          after: find
          if: {"${code}": 200}
          http: {post: http://test/graphql, json: {query: 'mutation { addReaction(input: {id: "${issue}"}) }'}}
          think: 300ms
        """, more="defaults: {http: {auth: {bearer: token}}}\n"), 2),
    "error.js": Example(steps("""\
        get: {http: {get: http://test/}}
        main: {after: get, http: {get: http://test/}, check: {status: 200}}
        pi: {after: get, http: {get: http://test/status/500}, check: {status: 200, body: "2"}}
        gone: {after: get, http: {get: http://test/status/404}, think: 50ms}
        """, "stages: [{duration: 10s, target: 5}, {duration: 5s, target: 5}, {duration: 5s, target: 0}]"),
        options=short("1s"), failing=("status is 200",)),
    "simple_batch_status.js": Example(steps("".join(f"""\
s{code}: {{http: {{get: "http://test/status/{code}"}}, tags: {{type: "s{code}"}}{more}}}
""" for code, more in ((200, ", check: {status: 200}"), (400, ", check: {status: 400}"), (404, ""), (500, ""),
                       (502, ""), (503, ""), (504, ", check: {status: 504}"))), "vus: 10\n    iterations: 100",
        'thresholds: {"http_reqs{expected_response:false}": ["rate>10"], "http_reqs{status:404}": ["count==100"]}\n'),
        700),
    "test.js": Example(steps("get: {http: {get: http://test/}, check: {status: 200}, think: 10ms}",
                             "vus: 10\n    duration: 10s",
                             'thresholds: {"http_reqs{expected_response:true}": ["rate>10"]}\n'), options=short("1s")),
    "scenarios.js": Example("""\
workflows:
  items: {start_vus: 1, stages: [{duration: 5s, target: 10}], steps: {get: {http: {get: http://test/a}, think: 50ms}}}
  contacts:
    start_time: 200ms
    start_vus: 5
    stages: [{duration: 2s, target: 5}]
    steps: {get: {http: {get: http://test/b}, think: 50ms}}
""", options=short("500ms")),
    "stages.js": Example(steps("get: {http: {get: http://test/}, check: {status: 200}, think: 20ms}",
                               "stages: [{duration: 10s, target: 5}, {duration: 5s, target: 5}, "
                               "{duration: 5s, target: 0}]"), options=short("1s")),
    "thresholds.js": Example(steps("""\
        get: {http: {get: http://test/}}
        post: {after: get, http: {post: http://test/post, form: {data: some data}}}
        """, more="""\
thresholds: {http_req_duration: ["p(95)<5000"], "http_req_duration{url:http://test/post}": ["max<10000"]}
"""), 2),
    "experimental/tracing/tracing-instrumentHTTP.js": Example(steps(TRACED, more=MODEL.replace("FLAG", "01")), 1),
    "experimental/tracing/tracing-sampling.js": Example(
        steps(TRACED, "vus: 10\n    iterations: 200", MODEL.replace(
            "FLAG", "${random_choice(01, 00, 00, 00, 00, 00, 00, 00, 00, 00)}")), 200),
    "experimental/tracing/tracing-client.js": Example(steps("".join(f"""\
{verb}:
  http: {{{verb}: "http://test/{verb}", headers: {{X-Example-Header: {verb}{header}}}}}
  check: {{status: 200, json: {{$.headers.Traceparent: {{exists: {exists}}}}}}}
""" for verb, header, exists in (("get", SAMPLED, "true"), ("post", "", "false"),
                                 ("delete", SAMPLED, "true")))), 3),
    "docker-compose/tracing/script.js": Example(
        steps(TRACED, "vus: 1\n    iterations: 3\n    start_time: 100ms",
              MODEL.replace("FLAG", "01") + "thresholds: {checks: [rate==1]}\n"), 3),
    "secrets/url-test.js": Example("""\
env: {TOKEN: t7}
setup:
  steps:
    read:
      http: {get: http://test/secrets/api-key/decrypt, auth: {bearer: "${TOKEN}"}}
      extract: {key: {json: $.plaintext}}
  provide: {w: {key: "${key}"}}
workflows:
  w:
    use: {setup: [key]}
    iterations: 1
    steps:
      use: {http: {get: http://test/get, headers: {X-Key: "${key}"}}, check: {json: {"$.headers['X-Key']": key-12345}}}
""", 1),
    "secrets/url-source.test.js": Example(steps("""\
        first: {action: {http: {get: http://test/secrets/my-secret-key/decrypt}},
                extract: {a: {json: $.plaintext}}, check: {json: {$.plaintext: my-value}}}
        key: {action: {http: {get: http://test/secrets/api-key/decrypt}},
              extract: {b: {json: $.plaintext}}, check: {json: {$.plaintext: key-12345}}}
        pass: {action: {http: {get: http://test/secrets/database-pass/decrypt}}, check: {json: {$.plaintext: db-789}}}
        use: {after: [first, key, pass], http: {get: "http://test/get?a=${first.a}&b=${key.b}"}, check: {status: 200}}
        """, more="defaults: {http: {auth: {bearer: t7}, retries: 2, timeout: 5s}}\n"), 1),
    "segmented-index.js": Example(steps("""\
        post:
          http: {post: http://test/anything, json: {something: "${rows.something}", password: "1"}}
          check: {status: 200, json: {$.json.something: "${rows.something}"}}
        """, "iterations: 10", "data: {rows: {csv: rows.csv}}\n"), 10,
        files={"rows.csv": "something\n" + "".join(f"one {i}\n" for i in range(10))}),
    "experimental/csv-parse.js": Example(steps("""\
        get: {http: {get: "http://test/get?name=${rows.name}"}, check: {json: {$.args.name: "${rows.name}"}}}
        """, "iterations: 4", "data: {rows: {csv: data.csv}}\n"), 4, files={"data.csv": "name\nann\nbob\ncy\n"}),
    "experimental/csv-parser.js": Example(steps("""\
        get: {http: {get: "http://test/get?name=${rows.name}"}}
        """, "iterations: 10", "data: {rows: {csv: data.csv, at_end: stop}}\n"), 3,
        files={"data.csv": "name\nann\nbob\ncy\n"}, says=("its data has no more rows",)),
    "experimental/csv-streaming-parser.js": Example(steps("""\
        get: {http: {get: "http://test/get?name=${rows.name}"}}
        """, "vus: 1\n    iterations: 100", "data: {rows: {csv: data.csv, at_end: stop}}\n"), 50,
        files={"data.csv": "name\n" + "".join(f"n{i}\n" for i in range(50))}, says=("its data has no more rows",)),
}
HTTP["checks.js"] = HTTP["test.js"]
HTTP["docker-compose/opentelemetry/script.js"] = dataclasses.replace(
    HTTP["test.js"], text=HTTP["test.js"].text.replace("10s", "3m"))
