#!/usr/bin/env python3
"""Metrics of the scenario's own, recorded by steps in YAML, Lua and C++: thresholds, summary, reports and store."""

import csv
import json
import pathlib
import re

from lib import product
from lib.server import Served, closed_port, response

ORDER = b'{"total": 12.5, "paid": true, "stock": "many", "left": -3}'

YAML = """
metrics:
  orders: counter
  total: {{kind: trend, unit: EUR}}
  took: {{kind: trend, unit: ms}}
  paid: rate
  left: gauge
{thresholds}
defaults: {{http: {{base: "{url}"}}}}
workflows:
  shop:
    executor: per-vu-iterations
    vus: 2
    iterations: 5
    steps:
      order:
        http: {{get: /order}}
        metric: {{orders: 1, total: "${{order.json.$.total}}", paid: "${{order.json.$.paid}}"}}
      after: {{after: order, metric: {{orders: "0.5", left: "${{order.json.$.left}}", took: 20}}}}
"""

LUA = """
scenario {
  metrics = {orders = "counter", total = {kind = "trend", unit = "EUR"}, took = {kind = "trend", unit = "ms"},
             paid = "rate", left = "gauge"},
}
local shop = workflow("shop", {executor = "per-vu-iterations", vus = 2, iterations = 5})
shop:step("order", function(user)
  local res = http.get("URL/order")
  metric("orders", 1)
  metric("total", res:json("$.total"))
  metric("paid", res:json("$.paid"))
  return res:json("$.left")
end)
shop:action("after", {after = "order"}, function(user)
  metric("orders", 0.5)
  metric("left", user.results.order)
  metric("took", 20)
end)
"""

CPP = """
#include <bellwether/workflow.h>
using namespace bellwether::workflow;
BELLWETHER_SCENARIO(R"(
  metrics: {orders: counter, total: {kind: trend, unit: EUR}, took: {kind: trend, unit: ms}, paid: rate, left: gauge}
)")
class Shop : public Workflow {
 public:
  static constexpr Settings settings{.name = "shop", .vus = 2, .iterations = 5, .executor = "per-vu-iterations"};
  static void steps(Steps<Shop>& s) {
    s.step("order", &Shop::order);
    s.step("after", &Shop::after).after("order");
  }
 private:
  Task<Response> order() {
    auto response = co_await get("URL/order");
    record("orders", 1);
    record("total", response.json("$.total").number());
    record("paid", response.json("$.paid").is_true() ? 1 : 0);
    left_ = response.json("$.left").number();
    co_return response;
  }
  Task<void> after() {
    record("orders", 0.5);
    record("left", *left_);
    record("took", 20);
    co_return;
  }
  Value<double> left_;
};
BELLWETHER_WORKFLOWS(Shop)
"""


class Metrics(Served):
    answer = ORDER

    def respond(self, request, connection):
        return response(self.answer, headers=["Content-Type: application/json"])

    def yaml(self, thresholds=""):
        return pathlib.Path(self.write("shop.yaml", YAML.format(url=self.server.url, thresholds=thresholds)))

    def assert_recorded(self, run):
        """Ten iterations, whatever the steps are written in."""
        metrics = run.result["metrics"]
        self.assertEqual((metrics["orders"]["kind"], metrics["orders"]["count"]), ("counter", 15))
        total = metrics["total"]
        self.assertEqual((total["count"], total["avg"], total["unit"]), (10, 12.5, "EUR"))
        self.assertEqual((metrics["took"]["med"], metrics["took"]["max"]), (20, 20))
        self.assertEqual((metrics["paid"]["rate"], metrics["paid"]["matches"], metrics["paid"]["total"]), (1, 10, 10))
        self.assertEqual((metrics["left"]["value"], metrics["left"]["max"]), (-3, -3))
        for name in ("orders", "total", "took", "paid", "left"):
            self.assertEqual((metrics[name]["custom"], metrics[name]["refused"]), (True, 0))
        self.assertEqual(sum(point["count"] for point in metrics["orders"]["series"]), 15)
        self.assertEqual(sum(point["matches"] for point in metrics["paid"]["series"]), 10)
        self.assertEqual({(point["med"], point["p(95)"]) for point in metrics["took"]["series"]}, {(20, 20)})
        self.assertEqual(metrics["left"]["series"][-1]["value"], -3)
        seconds = [point["t"] for point in run.result["series"]]
        self.assertLessEqual({point["t"] for point in metrics["total"]["series"]}, set(seconds))

    def test_steps_record_in_yaml(self):
        self.assert_recorded(self.load(self.yaml()))

    def test_steps_record_in_lua(self):
        self.assert_recorded(self.load(pathlib.Path(self.write("shop.lua", LUA.replace("URL", self.server.url)))))

    def test_steps_record_in_cpp(self):
        self.assert_recorded(self.load(pathlib.Path(self.write("shop.cc", CPP.replace("URL", self.server.url)))))

    def test_thresholds_judge_them_by_step(self):
        held = """
thresholds:
  orders: ["count==15"]
  "orders{step:order}": ["count==10"]
  "orders{step:shop.after}": ["count==5"]
  total: ["p(95)<=12.51", "avg==12.5"]
  paid: ["rate==1"]
  left: ["value==-3"]
"""
        run = self.load(self.yaml(held))
        self.assertEqual(len(run.result["thresholds"]), 7)
        self.load(self.yaml(held.replace("count==10", "count>10")), code=product.THRESHOLDS)

    def test_a_threshold_of_what_was_never_recorded_has_no_samples(self):
        self.answer = b"{}"
        run = self.load(self.yaml('thresholds: {total: ["avg<100"]}'), code=product.NO_SAMPLES)
        metrics = run.result["metrics"]
        self.assertEqual((metrics["total"]["avg"], metrics["total"]["refused"]), (None, 10), "all were missing")
        self.assertEqual(metrics["orders"]["count"], 15)

    def test_what_is_no_number_is_refused_and_said(self):
        scenario = YAML.replace("$.total", "$.stock").replace("took: 20", 'took: "${{order.json.$.left}}"')
        path = pathlib.Path(self.write("shop.yaml", scenario.format(url=self.server.url, thresholds="")))
        file = self.folder / "result.json"
        run = self.finish(self.start("run", path, "--out", f"json={file}"), file)
        self.assertEqual(run.code, 0, run)
        self.assertEqual([run.result["metrics"][name]["refused"] for name in ("total", "took", "left")], [10, 10, 0])
        self.assertIn("10 values refused", run.out)

    def test_what_fails_records_nothing(self):
        port = closed_port()
        run = self.load(pathlib.Path(self.write("shop.yaml", YAML.format(
            url=f"http://127.0.0.1:{port}", thresholds=""))), code=product.ALL_FAILED)
        metrics = run.result["metrics"]
        self.assertEqual((metrics["orders"]["count"], metrics["total"]["refused"]), (5, 0), "only of the step after it")
        self.assertEqual(metrics["left"]["refused"], 10)

    def test_the_summary_the_page_and_the_store_show_them(self):
        page, table = self.folder / "run.html", self.folder / "run.csv"
        outs = ("--out", f"html={page}", "--out", f"csv={table}")
        run = self.finish(self.start("run", self.yaml(), "--ui", "none", *outs))
        self.assertEqual(run.code, 0, run)
        html = page.read_text()
        for text in ("Custom metrics", "total, EUR", "count 15", "Custom metrics over time",
                     "<b>orders per second</b>"):
            self.assertIn(text, html)
        with open(table, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["row"] == "metric_second"]
        orders = [float(row["value"]) for row in rows if (row["name"], row["figure"]) == ("orders", "count")]
        self.assertEqual(sum(orders), 15)
        shown = self.finish(self.start("results", "show", "last"))
        self.assertRegex(shown.out, r"METRICS\n(?s:.*)total +count 10, avg 12.5 EUR, min 12.5 EUR")
        whole = self.finish(self.start("results", "show", "last", "--json"))
        kept = json.loads(whole.out)["metrics"]
        self.assertEqual(kept["orders"]["count"], 15)
        self.assertEqual(sum(point["total"] for point in kept["paid"]["series"]), 10)

    def test_what_a_script_does_not_declare_is_said_with_the_way_out(self):
        script = pathlib.Path(self.write("shop.lua", LUA.replace("URL", self.server.url).replace(
            'metric("took", 20)', 'metric("taken", 20)')))
        run = self.load(script, code=product.PASS)
        self.assertIn("the scenario declares no metric 'taken': scenario {metrics = {taken = \"counter\"}}",
                      " ".join(run.out.split()))

    def test_the_example(self):
        target = self.start("target", "--listen", "127.0.0.1:0", "--cores", "1")
        url = re.search(r"http://[\d.:]+", product.Reader(target.stdout).wait_for("listening on")).group()
        run = self.load(product.ROOT / "examples/metrics.yaml", "--set", f"BASE={url}", "--duration", "1s")
        metrics = run.result["metrics"]
        self.assertGreater(metrics["carts"]["count"], 0)
        self.assertEqual(metrics["sold"]["rate"], 1)
        self.assertEqual([metrics[name]["refused"] for name in ("carts", "price", "sold")], [0, 0, 0])


if __name__ == "__main__":
    product.main()
