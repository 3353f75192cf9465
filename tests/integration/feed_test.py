#!/usr/bin/env python3
"""Files of data: each iteration takes a row, and what it takes is what the file says."""

import base64
import json
import os
from collections import Counter
from urllib.parse import unquote

from lib import product
from lib.server import Served


class Feed(Served):
    def scenario(self, data, steps, vus=1, iterations=1, kind="per-vu-iterations"):
        lines = "\n".join("      " + line for line in steps.strip("\n").splitlines())
        return f"""\
data: {{{data}}}
defaults: {{http: {{base: "{self.server.url}"}}}}
workflows:
  w:
    executor: {kind}
    vus: {vus}
    iterations: {iterations}
    steps:
{lines}
"""

    def one(self, data, steps, *arguments, code=product.PASS, cores=1, **more):
        return self.load(self.scenario(data, steps, **more), "--cores", cores, *arguments, code=code)

    def paths(self):
        return [unquote(request.target) for request in self.server.requests]

    def test_rows_come_one_after_the_other_and_again(self):
        self.write("users.csv", "\ufeffname,word\r\nann,\"a,\"\"b\"\"\"\r\n\r\nbob,c d\r\n")
        self.one("users: {csv: users.csv}", """
a: {http: {get: "/a/${users.name}/${users.word}"}}
b: {after: a, http: {get: "/b/${users.name}"}}
""", iterations=3)
        self.assertEqual(self.paths(), ['/a/ann/a,"b"', "/b/ann", "/a/bob/c d", "/b/bob", '/a/ann/a,"b"', "/b/ann"])

    def test_json_keeps_its_numbers_and_is_escaped_for_its_place(self):
        self.write("people.json", json.dumps([{"name": "Zoë \"Z\"", "address": {"city": "Köln"}, "n": [1.50, 20]}]))
        self.write("lines.jsonl", '{"amount": 1.50}\n{"amount": 2e3}\n')
        self.one("people: {json: people.json}, lines: {jsonl: lines.jsonl}", """
a:
  http:
    post: "/${people.address.city}?n=${people.n[1]}"
    headers: {X-Amount: "${lines.amount}"}
    json: {name: "${people.name}"}
""", iterations=2)
        first, second = self.server.requests
        self.assertEqual(self.paths(), ["/Köln?n=20"] * 2)
        self.assertEqual(json.loads(first.body), {"name": "Zoë \"Z\""})
        self.assertEqual([first.header("x-amount"), second.header("x-amount")], ["1.50", "2e3"])

    def test_cores_take_all_rows_between_them(self):
        self.write("ids.csv", "id\n" + "".join(f"{i}\n" for i in range(10)))
        self.one("ids: {csv: ids.csv}", "a: {http: {get: \"/${ids.id}\"}}", cores=2, vus=2, iterations=10)
        self.assertEqual(Counter(self.paths()), {f"/{i}": 2 for i in range(10)})

    def test_each_user_keeps_a_row_of_its_own(self):
        self.write("ids.csv", "id\n1\n2\n3\n4\n")
        self.one("ids: {csv: ids.csv, pick: unique-per-vu}", "a: {http: {get: \"/${vu}/${ids.id}\"}}", cores=2, vus=4,
                 iterations=3)
        self.assertEqual(Counter(self.paths()), {f"/{i}/{i}": 3 for i in range(1, 5)})

    def test_users_may_share_rows_when_told(self):
        self.write("ids.csv", "id\n1\n2\n")
        self.one("ids: {csv: ids.csv, pick: unique-per-vu, wrap: true}", "a: {http: {get: \"/${vu}/${ids.id}\"}}",
                 vus=3)
        self.assertEqual(set(self.paths()), {"/1/1", "/2/2", "/3/1"})

    def test_a_workflow_may_end_with_its_rows(self):
        self.write("ids.csv", "id\n" + "".join(f"{i}\n" for i in range(10)))
        self.write("three.csv", "id\n1\n2\n3\n")
        step = "a: {http: {get: \"/${ids.id}\"}}"
        data = "ids: {csv: ids.csv, at_end: stop}"
        executors = {"duration: 1m": 2, "executor: ramping-vus\n    start_vus: 2\n    stages: "
                     "[{duration: 1m, target: 2}]": None, "executor: per-vu-iterations\n    iterations: 100": 2,
                     "executor: shared-iterations\n    iterations: 100": 2,
                     "rate: 100/s\n    duration: 1m": "{preallocated: 2, max: 20}",
                     "executor: externally-controlled\n    duration: 1m": 2}
        for executor, vus in executors.items():
            for cores in (1, 2):
                with self.subTest(executor, cores=cores):
                    self.server.requests.clear()
                    text = self.scenario(data, step, vus=vus).replace("    executor: per-vu-iterations\n", "") \
                        .replace("    iterations: 1\n", f"    {executor}\n").replace("    vus: None\n", "")
                    run = self.load(text, "--cores", cores)
                    self.assertEqual(Counter(self.paths()), {f"/{i}": 1 for i in range(10)})
                    self.assertEqual((run.totals["iterations"], run.totals["dropped_iterations"]), (10, 0))
                    self.assertIn("its data has no more rows", run.out)
        self.server.requests.clear()
        self.one(data + ", few: {csv: three.csv, at_end: stop}", "a: {http: {get: \"/${ids.id}${few.id}\"}}",
                 iterations=9)
        self.assertEqual(self.paths(), ["/01", "/12", "/23"])

    def test_random_rows_are_of_the_file_and_more_than_one(self):
        self.write("ids.csv", "id\n1\n2\n3\n")
        self.one("ids: {csv: ids.csv, pick: random}", "a: {http: {get: \"/${ids.id}\"}}", iterations=100)
        self.assertEqual(set(self.paths()), {"/1", "/2", "/3"})

    def test_a_row_without_the_member_fails_its_step_and_sends_nothing(self):
        self.write("rows.jsonl", '{"a": 1}\n{"b": 2}\n')
        run = self.one("rows: {jsonl: rows.jsonl}", "a: {http: {get: \"/${rows.a}\"}}", iterations=2)
        self.assertEqual(self.paths(), ["/1"])
        self.assertEqual(run.errors, {"template": 1})

    def test_a_wrong_row_is_refused_where_it_stands(self):
        self.write("users.csv", "name,word\nann,1\nbob\n")
        run = self.bellwether("check", self.named(self.scenario("users: {csv: users.csv}", "a: {http: {get: /}}")))
        self.assertEqual(run.code, product.WRONG)
        self.assertIn("users.csv:3:1: the row has 1 field, and the first line names 2\n", run.err)
        self.assertIn("scenario.yaml:1:21", run.err)

    def test_other_bytes_than_utf8_are_refused_with_their_line(self):
        (self.folder / "users.csv").write_bytes("name\nann\nbärbel\n".encode("latin-1"))
        run = self.bellwether("check", self.named(self.scenario("users: {csv: users.csv}",
                                                                'a: {http: {get: "/${users.name}"}}')))
        self.assert_refused(run, "users.csv:3:2: this is no text in UTF-8")

    def test_check_names_the_files_that_were_read(self):
        self.write("common.yaml", f"env: {{BASE: \"{self.server.url}\"}}\ndata: {{users: {{csv: users.csv}}}}\n")
        self.write("users.csv", "name\nann\n")
        scenario = self.write("shop.yaml", """\
include: common.yaml
workflows: {w: {iterations: 1, steps: {a: {http: {get: "${BASE}/${users.name}"}}}}}
""")
        checked = self.bellwether("check", scenario)
        self.assertEqual(checked.code, product.PASS, checked)
        for name in ("common.yaml", "users.csv"):
            self.assertIn(f"  reads {self.folder}/{name}\n", checked.out)
        self.bellwether("run", scenario, "--ui", "none")
        self.assertEqual(self.paths(), ["/ann"])

    def test_a_large_file_runs_here_and_travels_beside_the_scenario(self):
        row = "x" * 1000
        self.write("big.csv", "id,filler\n" + "".join(f"{i},{row}\n" for i in range(20_000)))
        steps = "a: {http: {get: \"/${big.id}\"}}"
        self.one("big: {csv: big.csv, pick: unique-per-vu}", steps, vus=3)
        self.assertEqual(set(self.paths()), {"/0", "/1", "/2"})
        scenario = self.scenario("big: {csv: big.csv}", steps).replace("executor: per-vu-iterations", "duration: 1s") \
            .replace("iterations: 1", "")
        secret = self.write("secret", base64.b64encode(os.urandom(24)))
        os.chmod(secret, 0o600)
        settings = self.write("client.yaml", f"cluster: demo\nseeds: [127.0.0.1:1]\nsecret: {{file: {secret}}}\n")
        run = self.bellwether("run", self.named(scenario), "--cluster", settings)
        self.assertNotEqual(run.code, product.PASS)
        self.assertIn("the data file 'big.csv' (", run.err)
        self.assertIn("was not uploaded", run.err)


if __name__ == "__main__":
    product.main()
