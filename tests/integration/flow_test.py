#!/usr/bin/env python3
"""The flow of an iteration: conditions, rounds, choices, and the time of a group, here and on a cluster."""

import collections
import json

from lib import local_nodes, product
from lib.server import Served, response

STEPS = """\
    steps:
      cart: {http: {get: /cart}, extract: {total: {json: $.total}}}
      pay: {after: cart, if: {"${total}": {gt: 10}}, http: {get: /pay}}
      receipt: {after: pay, http: {get: /receipt}}
      pages: {repeat: 3, group: reading, http: {get: "/page/${repeat.index}"}, think: 20ms}
      visit: {after: pages, choose: {browse: {weight: 3, http: {get: /browse}}, buy: {http: {get: /buy}}}}
"""


class Flow(Served):
    usual = response(b'{"total": 7}')

    def scenario(self, more=""):
        return (f'defaults: {{http: {{base: "{self.server.url}"}}}}\nworkflows:\n  w:\n'
                f"    executor: per-vu-iterations\n    vus: 4\n    iterations: 25\n{STEPS}{more}")

    def shares(self):
        return collections.Counter(self.paths())

    def test_conditions_rounds_and_choices_show_in_the_requests_and_in_the_figures(self):
        run = self.load(self.scenario())
        seen = self.shares()
        self.assertEqual(seen["/browse"] + seen["/buy"], 100)
        self.assertTrue(55 <= seen["/browse"] <= 95, seen)
        for path in ("/cart", "/page/0", "/page/1", "/page/2"):
            self.assertEqual(seen[path], 100, path)
        self.assertEqual(seen["/pay"] + seen["/receipt"], 0)
        counts = {name: step["count"] for name, step in run.result["steps"].items() if step["count"]}
        self.assertEqual(counts, {"w.cart": 100, "w.pages": 300, "w.browse": seen["/browse"], "w.buy": seen["/buy"]})
        self.assertEqual((run.totals["iterations"], run.totals["failed"]), (100, 0))

    def test_a_condition_that_holds_lets_the_steps_after_it_run(self):
        self.answers["/cart"] = response(b'{"total": 10.5}')
        self.load(self.scenario())
        self.assertEqual((self.shares()["/pay"], self.shares()["/receipt"]), (100, 100))

    def test_a_seed_repeats_the_draws(self):
        def drawn(seed):
            del self.server.requests[:]
            self.load(self.scenario().replace("vus: 4", "vus: 1"), "--cores", "1", "--seed", seed)
            return [path for path in self.paths() if path in ("/browse", "/buy")]
        first = drawn("7")
        self.assertEqual(first, drawn("7"))
        self.assertNotEqual(first, drawn("8"))

    def test_the_time_of_a_group_is_a_metric_with_thresholds_in_all_reports(self):
        csv = self.folder / "result.csv"
        run = self.load(self.scenario('thresholds: {"group_duration{group:reading}": ["min>=40", "avg<1"]}\n'),
                        "--out", f"csv={csv}", code=product.THRESHOLDS)
        metric = run.result["metrics"]["group_duration{group:reading}"]
        self.assertEqual((metric["kind"], metric["unit"], metric["count"]), ("trend", "ms", 100))
        self.assertGreaterEqual(metric["min"], 40, "two of the three pauses")
        self.assertEqual([(one["expression"], one["ok"]) for one in run.result["thresholds"]],
                         [("min>=40", True), ("avg<1", False)])
        self.assertIn("group_duration{group:reading}", run.out)
        self.assertIn("group_duration{group:reading}", csv.read_text(encoding="utf-8"))


class OnACluster(local_nodes.Test, Served):
    usual = Flow.usual

    def test_the_same_holds_on_a_cluster(self):
        self.up("--managers", "1", "--workers", "2")
        text = Flow.scenario(self, 'thresholds: {"group_duration{group:reading}": ["min>=40"]}\n')
        file = self.folder / "job.json"
        run = self.bellwether("run", self.named(text), "--cluster", self.dir, "--ui", "ci", "--out", f"json={file}")
        self.assertEqual(run.code, product.PASS, run)
        result = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(result["metrics"]["group_duration{group:reading}"]["count"], 100)
        seen = Flow.shares(self)
        self.assertEqual(seen["/browse"] + seen["/buy"], 100)
        self.assertEqual((seen["/page/2"], seen["/pay"]), (100, 0))


if __name__ == "__main__":
    product.main()
