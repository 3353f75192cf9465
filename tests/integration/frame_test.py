#!/usr/bin/env python3
"""What stands around the load: setup and teardown, requests that are not measured, and tags by which steps are judged
together."""

from lib import product
from lib.product import PATIENCE
from lib.server import Served, response


class Around(Served):
    usual = response(b'{"id":"i-1"}')

    def scenario(self, text):
        return f'defaults: {{http: {{base: "{self.server.url}"}}}}\n{text}'

    def test_setup_comes_first_and_teardown_last_and_neither_is_measured(self):
        run = self.load(self.scenario("""
teardown:
  use: {setup: [id]}
  steps: {clean: {http: {delete: "/made/${id}"}}}
workflows:
  w:
    use: {setup: [id]}
    executor: per-vu-iterations
    iterations: 2
    steps: {a: {http: {get: "/a/${id}"}}}
setup:
  steps: {make: {http: {post: /made}, check: {status: 200}, extract: {id: {json: $.id}}}}
  provide: {w: {id: "${id}"}, teardown: {id: "${id}"}}
"""))
        self.assertEqual(self.paths(), ["/made", "/a/i-1", "/a/i-1", "/made/i-1"])
        self.assertEqual((run.totals["requests"], list(run.result["steps"])), (2, ["w.a"]))
        self.assertEqual(run.checks, {"status is 200": (1, 0)}, "what is checked there counts")

    def test_teardown_follows_a_run_that_was_stopped(self):
        process = self.start("run", self.named(self.scenario("""
workflows: {w: {vus: 1, duration: 1h, graceful_stop: 0s, steps: {a: {http: {get: /a}, think: 20ms}}}}
teardown: {steps: {clean: {http: {post: /clean}}}}
""")), "--ui", "ci")
        product.Reader(process.stderr).wait_for("running")
        product.interrupt(process)
        process.wait(PATIENCE)
        self.assertEqual(process.returncode, product.SIGNAL)
        self.assertEqual(self.paths()[-1], "/clean")
        self.assertEqual(self.paths().count("/clean"), 1)

    def test_teardown_follows_a_failed_threshold(self):
        self.answers["/a"] = response(b"", status="500 Bad")
        self.load(self.scenario("""
workflows: {w: {vus: 1, duration: 1h, graceful_stop: 0s, steps: {a: {http: {get: /a}, think: 20ms}}}}
thresholds: {http_req_failed: [{threshold: "rate<0.1", abortOnFail: true}]}
teardown: {steps: {clean: {http: {post: /clean}}}}
"""), code=product.THRESHOLDS)
        self.assertEqual(self.paths()[-1], "/clean")

    def test_an_action_sends_a_request_that_is_not_measured(self):
        run = self.load(self.scenario("""
workflows:
  w:
    executor: per-vu-iterations
    steps:
      id: {action: {http: {get: /id}}, check: {json: {$.id: i-1}}}
      a: {after: id, http: {get: "/a/${id.json.$.id}"}}
"""))
        self.assertEqual(self.paths(), ["/id", "/a/i-1"])
        self.assertEqual((run.totals["requests"], run.checks), (1, {"json $.id is 'i-1'": (1, 0)}))

    def test_steps_are_judged_by_their_tags_and_groups(self):
        self.answers["/bad"] = response(b"", status="500 Bad")
        run = self.load(self.scenario("""
workflows:
  w:
    executor: per-vu-iterations
    tags: {team: red}
    steps:
      a: {http: {get: /a}, group: read}
      b: {http: {get: /bad}, group: write, tags: {team: blue, api: v2}}
      c: {http: {get: /c}, group: write}
thresholds:
  "http_req_failed{group:read}": ["rate==0"]
  "http_req_failed{group:write}": ["rate==0.5"]
  "http_reqs{team:red}": ["count==2"]
  "http_reqs{team:red,group:write}": ["count==1"]
  "http_reqs{team:blue,api:v2}": ["count==1"]
"""))
        self.assertEqual({each["ok"] for each in run.result["thresholds"]}, {True})
        self.assertEqual(run.result["steps"]["w.b"]["tags"], {"team": "blue", "api": "v2", "group": "write"})
        by_tag = {tag: (sums["count"], sums["failed"]) for tag, sums in run.result["by_tag"].items()}
        self.assertEqual(by_tag, {"api:v2": (1, 1), "group:read": (1, 0), "group:write": (2, 1), "team:blue": (1, 1),
                                  "team:red": (2, 0)})
        for text in (run.out, self.bellwether("results", "show", "last").out):
            self.assertRegex(text, r"\nTAGS  of all steps(?:.*\n)+  group:write +2 +\S+/s +50\.00%  ")

    def test_tags_that_nobody_has_are_refused(self):
        text = self.scenario("""
workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: /a}, tags: {team: red}, group: one}}}}
thresholds: {"http_reqs{TAG}": ["count>0"]}
""")
        for tag, words in (("teem:red", ["no tag 'teem'", "did you mean 'team'?"]),
                           ("team:rd", ["unknown value of tag 'team': 'rd'", "did you mean 'red'?"]),
                           ("group:two", ["unknown value of tag 'group': 'two'"])):
            with self.subTest(tag):
                self.assert_refused(self.bellwether("check", self.named(text.replace("TAG", tag))), *words)
        for wrong, words in (("tags: {step: x}", ["'step' cannot be the name of a tag"]),
                             ("tags: {a: \"x,y\"}", ["none of , { and }"]),
                             ("group: \"\"", ["wrong 'group' of step 'w.a'"])):
            with self.subTest(wrong):
                text = self.scenario("workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: /a}, %s}}}}\n"
                                     % wrong)
                self.assert_refused(self.bellwether("check", self.named(text)), *words)


if __name__ == "__main__":
    product.main()
