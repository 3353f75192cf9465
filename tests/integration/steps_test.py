#!/usr/bin/env python3
"""What steps do beside their requests: try again, leave out what comes after a failure, keep cookies, read pages."""

import base64
import hashlib
import hmac
import json
import urllib.parse

from lib import product
from lib.server import Served, response

PAGE = b"""<!doctype html><html><body><form action=/buy>
<input type=hidden name=csrf value='t&quot;0k'><ul><li class="item a"><a href=/items/7>Seven</a><li class=item>Eight
</ul></form></body></html>"""
FEED = b"<?xml version='1.0'?><feed><entry><id>one</id></entry><entry><id>two</id></entry></feed>"


class Steps(Served):
    def respond(self, request, connection):
        answers = self.answers.get(request.path)
        answer = answers.pop(0) if answers else self.usual
        return answer(request, connection) if callable(answer) else answer

    def one(self, steps, more="", iterations=1, **options):
        lines = "\n".join("      " + line for line in steps.strip("\n").splitlines())
        return self.load(f"""\
defaults: {{http: {{base: "{self.server.url}"}}}}
workflows:
  w:
    executor: per-vu-iterations
    iterations: {iterations}
    {more}
    steps:
{lines}
""", **options)

    # --- values of JSON bodies ---

    def test_a_value_goes_on_with_its_type_where_that_is_asked_for(self):
        self.answers["/cart"] = [response(b'{"id": 7, "paid": false, "items": [{"n": 1}], "name": "seven"}')]
        run = self.one("""
cart: {http: {get: /cart}}
as_is: {after: cart, http: {post: /a, json: {id: "${json(cart.json.$.id)}", paid: "${json(cart.json.$.paid)}",
        items: "${json(cart.json.$.items)}", text: "${cart.json.$.id}", user: "${json(vu)}"}}}
none: {after: as_is, http: {post: /b, json: {name: "${json(cart.json.$.name)}"}}}
""", code=product.PASS)
        self.assertEqual(self.paths(), ["/cart", "/a"])
        self.assertEqual(json.loads(self.server.requests[1].body),
                         {"id": 7, "paid": False, "items": [{"n": 1}], "text": "7", "user": 1})
        self.assertEqual((run.totals["requests"], run.errors), (3, {"template": 1}))

    # --- retries ---

    def test_a_request_that_fails_is_sent_again_and_each_counts(self):
        bad = response(b"no", status="503 Busy")
        self.answers["/a"] = [bad, bad]
        run = self.one("a: {http: {get: /a, retries: 5}, check: {body: ok}}\nb: {after: a, http: {get: /b}}")
        self.assertEqual(self.paths(), ["/a", "/a", "/a", "/b"])
        self.assertEqual((run.totals["requests"], run.totals["failed"], run.totals["iterations"]), (4, 2, 1))
        self.assertEqual(run.statuses, {200: 2, 503: 2})
        self.assertEqual([(check["passes"], check["fails"]) for check in run.result["checks"]], [(1, 2)])

    def test_retries_end(self):
        self.answers["/a"] = [response(b"no", status="500 Bad")] * 10
        run = self.one("a: {http: {get: /a, retries: {times: 2, wait: 10ms}}, on_error: end-iteration}\n"
                       "b: {after: a, http: {get: /b}}", code=product.ALL_FAILED)
        self.assertEqual(self.paths(), ["/a"] * 3)
        self.assertEqual((run.totals["requests"], run.totals["failed"], run.totals["iterations"]), (3, 3, 1))

    def test_only_for_what_is_named(self):
        self.answers["/a"] = [response(b"no", status="500 Bad", headers=["Connection: close"])]
        self.answers["/b"] = [lambda request, connection: connection.reset()]
        self.answers["/c"] = [response(b"soon", status="202 Accepted"), response(b"soon", status="202 Accepted")]
        run = self.one("""
a: {http: {get: /a, retries: {times: 3, on: [502, 503]}}}
b: {after: a, http: {get: /b, retries: {times: 3, on: error}}}
c: {after: b, http: {get: /c, retries: {times: 3, on: 202}}}
""")
        self.assertEqual(self.paths(), ["/a", "/b", "/b", "/c", "/c", "/c"])
        self.assertEqual((run.totals["requests"], run.totals["failed"]), (6, 2))

    def test_they_are_off_unless_asked_for(self):
        self.answers["/a"] = [response(b"no", status="503 Busy")]
        run = self.one("a: {http: {get: /a}}", code=product.ALL_FAILED)
        self.assertEqual(self.paths(), ["/a"])
        self.assertEqual((run.totals["requests"], run.totals["failed"]), (1, 1))

    # --- on_error: skip ---

    def test_what_comes_after_a_failure_is_left_out_and_the_rest_is_not(self):
        self.answers["/a"] = [response(b"no", status="500 Bad")]
        run = self.one("""
a: {http: {get: /a}, on_error: skip}
b: {after: a, http: {get: /b}}
c: {after: b, http: {get: /c}}
x: {http: {get: /x}}
y: {after: x, http: {get: /y}}
z: {after: [y, c], http: {get: /z}}
""", iterations=2)
        first, second = self.paths()[:3], self.paths()[3:]
        self.assertEqual(sorted(first), ["/a", "/x", "/y"])
        self.assertEqual(sorted(second), ["/a", "/b", "/c", "/x", "/y", "/z"])
        self.assertEqual(run.totals["iterations"], 2)

    # --- cookies ---

    def test_cookies_last_for_an_iteration_or_for_a_user(self):
        for more, seen in (("", [None, None]), ("keep_cookies: true", [None, "sid=1"])):
            with self.subTest(more):
                self.server.requests.clear()
                self.answers["/a"] = [response(b"ok", headers=["Set-Cookie: sid=1"])] * 2
                self.one("a: {http: {get: /a}}", more, iterations=2)
                self.assertEqual([request.header("cookie") for request in self.server.requests], seen)

    # --- values of pages ---

    def test_values_of_pages_feeds_and_cookies(self):
        fields = ["Content-Type: text/html; charset=utf-8", "Set-Cookie: s=c1; Path=/"]
        self.answers["/page"] = [response(PAGE, headers=fields)]
        self.answers["/feed"] = [response(FEED, headers=["Content-Type: application/atom+xml"])]
        self.one("""
page:
  http: {get: /page}
  extract:
    csrf: {css: "input[name=csrf]", attribute: value}
    item: {css: "li:nth-child(2)"}
    href: {xpath: "substring-after(//li[1]/a/@href, '/items/')"}
    none: {css: "#nothing", default: nobody}
    sid: {cookie: s}
feed: {http: {get: /feed}, extract: {id: {xpath: "/feed/entry[last()]/id"}}}
buy:
  after: [page, feed]
  http: {post: "/items/${href}", json: ["${csrf}", "${item}", "${none}", "${sid}", "${id}"]}
""")
        asked = self.server.requests[-1]
        self.assertEqual(asked.path, "/items/7")
        self.assertEqual(asked.body, b'["t\\"0k","Eight\\n","nobody","c1","two"]')

    def test_a_page_without_the_value_fails_what_mentions_it(self):
        self.answers["/page"] = [response(b"{}", headers=["Content-Type: application/json"])]
        run = self.one("a: {http: {get: /page}, extract: {x: {css: 'a', attribute: href}, c: {cookie: s}}}\n"
                       "b: {after: a, http: {get: \"/${x}\"}}\nc: {after: a, http: {get: \"/${c}\"}}",
                       code=product.PASS)
        self.assertEqual((run.totals["requests"], run.errors, run.statuses), (3, {"template": 2}, {200: 1}))
        self.assertEqual(self.paths(), ["/page"])

    # --- checks ---

    def test_pages_are_checked_by_selector_and_by_path(self):
        self.answers["/page"] = [response(PAGE, headers=["Content-Type: text/html"])]
        self.answers["/feed"] = [response(FEED, headers=["Content-Type: application/atom+xml"])]
        run = self.one("""
page:
  http: {get: /page}
  check:
    css:
      li: {count: 2, contains: [Seven, Nine]}
      "li:nth-child(2)": Eight
      a: {attribute: href, matches: "^/items/[0-9]+$"}
      h1: {exists: false}
      form: {attribute: action, equals: /sell}
    xpath: {"count(//li)": {gte: 2}, //input/@name: csrf, //li: {count: {gt: 2}}}
feed: {http: {get: /feed}, check: {xpath: {"//entry[2]/id": two, //entry: {count: [2, 3]}}}}
""")
        checks = {check["name"]: (check["passes"], check["fails"]) for check in run.result["checks"]}
        right, wrong = (1, 0), (0, 1)
        self.assertEqual(checks, {
            "css li count is 2": right, "css li contains 'Seven' or 'Nine'": right,
            "css li:nth-child(2) is 'Eight'": right, "css a @href matches '^/items/[0-9]+$'": right,
            "css h1 is absent": right, "css form @action is '/sell'": wrong, "xpath count(//li) >= 2": right,
            "xpath //input/@name is 'csrf'": right, "xpath //li count > 2": wrong,
            "xpath //entry[2]/id is 'two'": right, "xpath //entry count is 2 or 3": right})

    def test_all_headers_of_a_name_are_seen(self):
        self.answers["/a"] = [response(b"ok", headers=["Set-Cookie: a=1; Path=/", "Set-Cookie: b=2; Path=/"])]
        run = self.one("""
a: {http: {get: /a}, extract: {all: {header: set-cookie, pick: all}, n: {header: Set-Cookie, pick: count}},
    check: {header: {Set-Cookie: {matches: "^b=2", not: "c=3"}}}}
b: {after: a, http: {post: "/b?n=${n}", json: {all: "${json(all)}"}}}
""")
        self.assertEqual({fails for _, fails in run.checks.values()}, {0}, run.checks)
        self.assertEqual(self.server.requests[1].target, "/b?n=2")
        self.assertEqual(json.loads(self.server.requests[1].body), {"all": ["a=1; Path=/", "b=2; Path=/"]})

    def test_constants_of_a_check_have_the_type_of_the_response(self):
        self.answers["/a"] = [response(b'{"ok": true, "text": "true", "n": 7, "none": null}')]
        run = self.load(f"""\
env: {{YES: "true", SEVEN: "7", NONE: "null"}}
defaults: {{http: {{base: "{self.server.url}"}}}}
workflows:
  w:
    executor: per-vu-iterations
    iterations: 1
    steps:
      a:
        http: {{get: /a}}
        check: {{json: {{$.ok: "${{YES}}", $.text: "${{YES}}", $.n: "${{SEVEN}}", $.none: "${{NONE}}"}}}}
""")
        self.assertEqual([fails for _, fails in run.checks.values()], [0] * 4, run.checks)

    def test_a_check_compares_with_what_was_extracted(self):
        self.answers["/login"] = [response(b'{"user": {"id": 7, "name": "ann", "vip": true}, "limit": "1h"}')] * 2
        self.answers["/me"] = [response(b'{"id": 7, "name": "ann", "vip": true, "again": 7}', headers=["X-Id: 7"]),
                               response(b'{"id": 8, "name": "bob", "vip": false, "again": 7}', headers=["X-Id: 8"])]
        run = self.one("""
login:
  http: {get: /login}
  extract: {id: {json: $.user.id}, name: {json: $.user.name}, limit: {json: $.limit}, gone: {json: $.gone}}
me:
  after: login
  http: {get: /me}
  extract: {again: {json: $.again}}
  check:
    json: {$.id: "${id}", $.name: "${name}", $.vip: "${login.json.$.user.vip}", $.again: {not: "${gone}"}}
    header: {X-Id: {gte: "${id}", equals: "${again}"}}
    body: {contains: 'name": "${name}'}
    duration: {lt: "${limit}"}
    size: {gt: "${id}"}
    status: "20${random(0, 0)}"
""", iterations=2)
        checks = [(check["passes"], check["fails"]) for check in run.result["checks"]]
        self.assertEqual(checks, [(1, 1), (1, 1), (1, 1), (0, 2), (2, 0), (1, 1), (1, 1), (2, 0), (2, 0), (2, 0)])

    def test_objects_and_arrays_compare_by_their_text(self):
        self.answers["/me"] = [response(b'{"owner": {"id": 7}, "tags": ["load", "test"]}')]
        run = self.one("""
me:
  http: {get: /me}
  extract: {owner: {json: $.owner}, tags: {json: $.tags}}
  check:
    json: {$.owner: "${owner}", $.tags: {equals: "${tags}", contains: load, not: "${owner}"}}
again:
  after: me
  http: {get: /me}
  check: {json: {$.owner: {not: "${me.owner}"}}}
""")
        self.assertEqual([(check["passes"], check["fails"]) for check in run.result["checks"]],
                         [(1, 0), (1, 0), (1, 0), (1, 0), (0, 1)])

    def test_many_values_are_taken_as_a_list_or_counted(self):
        self.answers["/items"] = [response(b'{"a": [{"id": 1}, {"id": "x"}], "b": {"id": null}}')]
        self.one("""
items:
  http: {get: /items}
  check: {json: {$..id: {count: 3}, "$..none": {count: 0}}}
  extract:
    ids: {json: "$..id", pick: all}
    n: {json: "$..id", pick: count}
    one: {json: "$.a[*].id", pick: random}
    none: {json: "$..none", pick: all}
told: {after: items, http: {post: /told, json: {ids: "${json(ids)}", n: "${json(n)}", none: "${json(none)}",
       one: "${one}"}}}
""")
        told = json.loads(self.server.requests[-1].body)
        self.assertIn(told.pop("one"), ("1", "x"))
        self.assertEqual(told, {"ids": [1, "x", None], "n": 3, "none": []})

    # --- functions of values ---

    def test_digests_and_codings_of_values(self):
        self.answers["/login"] = [response(b'{"token": "t-1", "hex": "zz"}')]
        run = self.one("""
login: {http: {get: /login}, extract: {token: {json: $.token}, hex: {json: $.hex}}}
a:
  after: login
  http:
    post: "/a/${url.encode(hash.md5(token))}?b=${base64.encode(token, '?>')}"
    headers:
      X-Signature: "${base64.encode(hex.decode(hash.hmac(sha256, 'key', token, '-', vu)))}"
      X-Constant: "${hash.sha1('abc')}"
    json: {sum: "${hash.sha256(login.body)}", url: "${base64.encode_url(token, '?>')}"}
bad: {after: a, http: {get: "/bad/${hex.decode(hex)}"}}
""")
        self.assertEqual(len(self.server.requests), 2, "what is no hexadecimal digits fails its step")
        self.assertEqual(run.errors, {"template": 1})
        asked = self.server.requests[1]
        self.assertEqual(asked.target, f"/a/{hashlib.md5(b't-1').hexdigest()}?b="
                         + urllib.parse.quote(base64.b64encode(b"t-1?>"), safe=""))
        self.assertEqual(asked.header("x-signature"),
                         base64.b64encode(hmac.digest(b"key", b"t-1-1", "sha256")).decode())
        self.assertEqual(asked.header("x-constant"), hashlib.sha1(b"abc").hexdigest())
        self.assertEqual(json.loads(asked.body),
                         {"sum": hashlib.sha256(b'{"token": "t-1", "hex": "zz"}').hexdigest(),
                          "url": base64.urlsafe_b64encode(b"t-1?>").decode().rstrip("=")})

    # --- credentials ---

    def test_a_bearer_token_may_come_from_a_step(self):
        self.answers["/login"] = [response(b'{"token": "t-1"}')]
        self.one("login: {http: {get: /login}, extract: {token: {json: $.token}}}\n"
                 "a: {after: login, http: {get: /a, auth: {bearer: \"${token}\"}}}")
        self.assertEqual(self.server.requests[-1].header("authorization"), "Bearer t-1")


if __name__ == "__main__":
    product.main()
