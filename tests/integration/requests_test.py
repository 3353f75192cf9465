#!/usr/bin/env python3
"""Thresholds on a part of the requests, expected statuses, and forms with files."""

import email
import email.policy
import json
import time
from pathlib import Path

from lib import product
from lib.server import Served, Server, response

SLOW_S = 7
ONCE = "executor: per-vu-iterations"


def parts_of(request):
    """The parts of a form, read by Python's own parser: (name, file name, media type or None, bytes)."""
    head = f"Content-Type: {request.header('content-type')}\r\n\r\n".encode()
    message = email.message_from_bytes(head + request.body, policy=email.policy.HTTP)
    return [(part.get_param("name", header="content-disposition"), part.get_filename(),
             part["content-type"] and part.get_content_type(), part.get_payload(decode=True))
            for part in message.iter_parts()]


class Requests(Served):
    def scenario(self, text, http=""):
        return f'defaults: {{http: {{base: "{self.server.url}"{http}}}}}\n{text}'

    def alternate(self, statuses):
        """Answers that go through these statuses, again and again."""
        sent = iter(range(1_000_000))

        def answer(request, connection):
            return response(b"x", status=f"{statuses[next(sent) % len(statuses)]} Some")

        return answer

    # --- thresholds on a part of the requests ---

    def test_thresholds_select_requests_by_what_they_are_and_got(self):
        self.answers["/often"] = self.alternate([200, 503, 404, 200])
        self.answers["/none"] = None
        run = self.load(self.scenario(f"""
workflows:
  w:
    {ONCE}
    iterations: 20
    steps:
      often: {{http: {{get: /often, query: {{n: 1}}}}, check: {{status: [200, 404]}}}}
      sent: {{http: {{post: "/sent/${{iteration}}"}}, tags: {{name: order}}}}
      none: {{http: {{put: /none}}}}
thresholds:
  "http_reqs{{status:503}}": ["count==5"]
  "http_reqs{{status:200}}": ["count==30"]
  "http_reqs{{status:200,step:often}}": ["count==10"]
  "http_reqs{{status:0}}": ["count==20"]
  "http_reqs{{status:500}}": ["count==0"]
  "http_reqs{{expected_response:true}}": ["count==35"]
  "http_reqs{{expected_response:false,method:GET}}": ["count==5"]
  "http_reqs{{method:POST}}": ["count==20"]
  "http_reqs{{url:/often}}": ["count==20"]
  "http_reqs{{url:{self.server.url}/often?n=1}}": ["count==20"]
  "http_reqs{{url:/sent/${{iteration}}}}": ["count==20"]
  "http_reqs{{name:order}}": ["count==20"]
  "http_req_failed{{name:often}}": ["rate==0.25"]
  "http_req_failed{{status:503}}": ["rate==1"]
  "http_req_failed{{status:404}}": ["rate==0"]
  "http_req_failed{{method:POST}}": ["rate==0"]
  "http_req_duration{{expected_response:true}}": ["max<60000", "min>0"]
  "http_req_duration{{status:503,name:often}}": ["p(95)<60000"]
  "http_req_receiving{{status:404,step:often}}": ["max<60000"]
  "http_req_connecting{{status:0,method:PUT}}": ["max<60000"]
"""))
        self.assertEqual([each["metric"] for each in run.result["thresholds"] if not each["ok"]], [])

    def test_durations_of_expected_responses_leave_out_the_others(self):
        def slow_failure(request, connection):
            if len(self.server.requests) % 2:
                return response(b"x")
            time.sleep(SLOW_S)
            return response(b"x", status="500 Slow")

        self.answers["/"] = slow_failure
        limit = SLOW_S * 990
        run = self.load(self.scenario(f"""
workflows: {{w: {{{ONCE}, iterations: 6, steps: {{a: {{http: {{get: /}}}}}}}}}}
thresholds:
  "http_req_duration{{expected_response:true}}": ["max<{limit}"]
  "http_req_duration{{expected_response:false}}": ["min>{limit}"]
  "http_req_duration{{status:500}}": ["min>{limit}"]
  "http_req_service{{status:500}}": ["min>{limit}"]
  "http_req_waiting{{status:200}}": ["max<{limit}"]
  "http_req_waiting{{expected_response:false}}": ["min>{limit}"]
  "http_req_duration{{name:a}}": ["max<{limit}"]
"""), code=product.THRESHOLDS)
        self.assertEqual([each["ok"] for each in run.result["thresholds"]], [True] * 6 + [False])

    def test_a_selection_without_requests_has_no_duration(self):
        run = self.load(self.scenario(f"""
workflows: {{w: {{{ONCE}, steps: {{a: {{http: {{get: /}}}}}}}}}}
thresholds: {{"http_req_duration{{status:503}}": ["max<1"], "http_reqs{{status:503}}": ["count<1"]}}
"""), code=product.NO_SAMPLES)
        self.assertEqual([each["ok"] for each in run.result["thresholds"]], [False, True])

    # --- links ---

    def test_a_value_at_the_begin_of_a_url_is_a_link(self):
        with Server() as other:
            links = {"far": other.url + "/x?a=b%20c#d", "near": "/y?z=1"}
            self.answers["/first"] = response(json.dumps(links).encode())
            self.load(self.scenario(f"""
workflows:
  w:
    {ONCE}
    steps:
      first: {{http: {{get: /first}}, extract: {{far: {{json: $.far}}, near: {{json: $.near}}}}}}
      far: {{after: first, http: {{get: "${{far}}", query: {{n: 1}}}}, check: {{status: 200}}}}
      near: {{after: first, http: {{get: "${{near}}"}}, check: {{status: 200}}}}
      part: {{after: first, http: {{get: "/in/${{near}}"}}}}
"""))
            self.assertEqual([request.target for request in other.requests], ["/x?a=b%20c&n=1"])
        self.assertEqual(sorted(request.target for request in self.server.requests),
                         ["/first", "/in/%2Fy%3Fz%3D1", "/y?z=1"])

    # --- expected statuses ---

    def test_expected_statuses_decide_what_is_a_failure(self):
        self.answers["/missing"] = response(b"", status="404 Gone")
        self.answers["/moved"] = response(b"", status="302 Away", headers=["Location: /"])
        run = self.load(self.scenario(f"""
workflows:
  w:
    {ONCE}
    steps:
      found: {{http: {{get: /}}}}
      missing: {{http: {{get: /missing}}}}
      own: {{http: {{get: /missing, expected_statuses: [200, 400-404]}}}}
      moved: {{http: {{get: /moved, redirects: 0, expected_statuses: 2xx}}}}
thresholds: {{"http_reqs{{expected_response:false}}": ["count==2"]}}
""", ", expected_statuses: [200, 3xx]"))
        self.assertEqual({name: step["failed"] for name, step in run.result["steps"].items()},
                         {"w.found": 0, "w.missing": 1, "w.own": 0, "w.moved": 1})

    def test_an_unexpected_status_is_sent_again_and_ends_what_it_should(self):
        self.load(self.scenario(f"""
workflows:
  w:
    {ONCE}
    steps:
      a: {{http: {{get: /a, expected_statuses: [204], retries: 2}}, on_error: end-iteration}}
      b: {{after: a, http: {{get: /b}}}}
"""), code=product.ALL_FAILED)
        self.assertEqual([request.path for request in self.server.requests], ["/a", "/a", "/a"])

    def lua(self, text, http=""):
        return Path(self.write("w.lua", f'scenario {{defaults = {{http = {{base = "{self.server.url}"{http}}}}}}}\n'
                                        'local w = workflow("w", {executor = "per-vu-iterations", iterations = 1})\n'
                                        + text))

    def test_a_request_in_lua_has_its_own_expected_statuses(self):
        self.answers["/missing"] = response(b"", status="404 Gone")
        run = self.load(self.lua("""
w:step("a", {requests = {"b", "c", "d"}, on_error = "end-iteration"}, function()
  http.get("/missing", {name = "b"})
  http.get("/missing", {name = "c", expected_statuses = 200})
  http.get("/", {name = "d", expected_statuses = {"4xx", 500}})
  http.get("/missing", {expected_statuses = {200, "400-499"}})
end)
w:step("after", {after = "a"}, function() http.get("/after") end)
""", ", expected_statuses = {404}"))
        self.assertEqual({name: step["failed"] for name, step in run.result["steps"].items()},
                         {"w.a": 0, "w.b": 0, "w.c": 1, "w.d": 1, "w.after": 1})

    def test_a_request_in_cpp_has_its_own_expected_statuses(self):
        self.answers["/missing"] = response(b"", status="404 Gone")
        run = self.load(Path(self.write("w.cc", """
#include <bellwether/workflow.h>
using namespace bellwether::workflow;
BELLWETHER_SCENARIO("defaults: {http: {base: 'URL'}}")
class W : public Workflow {
 public:
  static constexpr Settings settings{.name = "w", .executor = "per-vu-iterations", .iterations = 2};
  static void steps(Steps<W>& s) { s.step("a", &W::a).requests("b", "c", "d"); }

 private:
  Task<Response> a() {
    co_await missing_;
    co_await get("/missing").name("c").expected_statuses({{200, 399}});
    co_await get("/").name("d").expected_statuses({201, {202, 204}});
    co_return co_await get("/missing").expected_statuses({200, 404});
  }
  Request missing_ = get("/missing").name("b").expected_statuses({404});
};
BELLWETHER_WORKFLOWS(W)
""".replace("URL", self.server.url))))
        self.assertEqual({name: (step["count"], step["failed"]) for name, step in run.result["steps"].items()},
                         {"w.a": (2, 0), "w.b": (2, 0), "w.c": (2, 2), "w.d": (2, 2)})

    # --- forms with files ---

    def test_a_form_with_files_arrives_byte_for_byte(self):
        picture = bytes(range(256)) * 300 + b"\r\n--bellwether\r\n"
        self.write("a b.png", picture)
        self.write("note.txt", "for ${vu}\r\n")
        run = self.load(self.scenario(f"""
workflows:
  w:
    {ONCE}
    iterations: 2
    steps:
      a:
        http:
          post: /form
          multipart:
            title: "Run ${{iteration}}: \\"quoted\\""
            "odd\\"name": [one, {{text: "a,b\\n", type: text/csv, filename: "${{iteration}}.csv"}}]
            picture: {{file: a b.png, type: image/png}}
            raw: {{file: note.txt}}
            note: {{file: note.txt, filename: "über\\".txt", template: true}}
      b: {{http: {{post: /constant, multipart: {{a: x}}}}}}
"""))
        self.assertEqual(run.totals["failed"], 0)
        forms = [request for request in self.server.requests if request.path == "/form"]
        for iteration, request in enumerate(forms):
            self.assertEqual(int(request.header("content-length")), len(request.body))
            boundary = request.header("content-type").removeprefix("multipart/form-data; boundary=").encode()
            field = b"--" + boundary + b"\r\nContent-Disposition: form-data; name="
            self.assertEqual(request.body, b"".join((
                field, b'"title"\r\n\r\nRun %d: "quoted"\r\n' % iteration,
                field, b'"odd%22name"\r\n\r\none\r\n',
                field, b'"odd%%22name"; filename="%d.csv"\r\nContent-Type: text/csv\r\n\r\na,b\n\r\n' % iteration,
                field, b'"picture"; filename="a b.png"\r\nContent-Type: image/png\r\n\r\n', picture, b"\r\n",
                field, b'"raw"; filename="note.txt"\r\nContent-Type: application/octet-stream\r\n\r\n',
                b"for ${vu}\r\n\r\n",
                field, "\"note\"; filename=\"über%22.txt\"\r\nContent-Type: application/octet-stream\r\n\r\n".encode(),
                b"for 1\r\n\r\n",
                b"--", boundary, b"--\r\n")))
        self.assertEqual(len(forms), 2)
        constant = next(request for request in self.server.requests if request.path == "/constant")
        self.assertEqual(parts_of(constant), [("a", None, None, b"x")])

    def test_a_form_with_files_in_lua(self):
        run = self.load(self.lua(r"""
w:step("a", function()
  http.post("/form", {multipart = {
    title = "A text", count = 7, list = {"x", {text = "y,z", type = "text/csv"}},
    file = {text = "\0\1\255\r\n", filename = "bytes \"1\".bin"}}})
end)
""", ', headers = {["Content-Type"] = "text/plain"}'))
        self.assertEqual(run.totals["failed"], 0)
        request, = self.server.requests
        self.assertEqual(parts_of(request), [
            ("count", None, None, b"7"),
            ("file", "bytes %221%22.bin", "application/octet-stream", b"\0\1\xff\r\n"),
            ("list", None, None, b"x"),
            ("list", None, "text/csv", b"y,z"),
            ("title", None, None, b"A text")])

    def test_a_wrong_form_or_status_in_lua_says_so(self):
        for options, words in (("multipart = 1", "'multipart' must be a table"),
                               ("multipart = {a = true}", "the part 'a' of 'multipart' must be a text"),
                               ("multipart = {a = {text = 'x', name = 'y'}}", "the part 'a' of 'multipart'"),
                               ("multipart = {a = 'x'}, body = 'y'", "one of 'body', 'json' and 'multipart'"),
                               ("multipart = {a = 'x'}, headers = {['content-type'] = 'y'}", "its own Content-Type"),
                               ("expected_statuses = 'ok'", "statuses and ranges of them"),
                               ("expected_statuses = {}", "statuses and ranges of them")):
            with self.subTest(options):
                run = self.load(self.lua(f'w:step("a", function() http.post("/", {{{options}}}) end)\n'),
                                code=product.ALL_FAILED)
                self.assertIn(words, json.dumps(run.result["events"], ensure_ascii=False))
        self.assertEqual(self.server.requests, [])


if __name__ == "__main__":
    product.main()
