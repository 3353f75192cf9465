#!/usr/bin/env python3
"""Runs that are stored: written as they go, listed, shown, reported, compared, exported and deleted."""

import json
import sqlite3

from lib import product
from lib.server import Server, response


class Results(product.Test):
    def setUp(self):
        super().setUp()
        self.server = Server(lambda request, connection: response(b"[]"))
        self.addCleanup(self.server.close)
        self.store = self.folder / "data/bellwether/results.db"

    def run_short(self, *arguments, **more):
        return self.bellwether("run", self.server.url, "--vus", 2, "--duration", "1s", "--ui", "none", *arguments,
                               **more)

    def results(self, *arguments, code=0):
        done = self.bellwether("results", *arguments)
        self.assertEqual(done.code, code, done)
        return done

    def listed(self):
        return json.loads(self.results("list", "--json").out)

    def test_a_run_is_listed_shown_reported_exported_and_deleted(self):
        self.assertEqual(self.run_short().code, 0)
        [run] = self.listed()
        self.assertEqual((run["state"], run["verdict"], run["exit_code"]), ("ended", "pass", 0))
        self.assertIn(run["id"], self.results("list").out)
        text = self.results("show", run["id"][:6]).out
        self.assertIn("url.get", text)
        headings = [line.split("  ")[0] for line in text.splitlines() if line[:1].isupper()]
        self.assertEqual(headings, ["REQUESTS", "ITERATIONS", "LATENCY", "STATUS", "GENERATOR", "NOTES"])
        self.assertEqual(text.splitlines()[-1], "  PASS  no threshold was given (exit code 0)")
        shown = json.loads(self.results("show", "last", "--json").out)
        self.assertEqual((shown["run"]["id"], shown["totals"]["requests"]), (run["id"], run["requests"]))
        made = self.bellwether("report", "last", "--to", "html=page.html", "--to", "json=again.json")
        self.assertEqual(made.code, 0, made)
        self.assertIn(run["id"], (self.folder / "page.html").read_text())
        self.assertEqual(json.loads((self.folder / "again.json").read_text()), shown)
        self.results("export", "last", "kept.db")
        self.results("export", "last", "kept.json")
        self.assertIn(run["id"], self.results("delete", "last").out)
        self.assertEqual(self.listed(), [])
        for kept in ("kept.db", "kept.json"):
            self.assertIn(run["id"], self.results("show", kept).out)

    def test_what_was_lost_late_or_too_slow_is_shown_of_a_stored_run_too(self):
        run = self.bellwether("run", self.server.url, "--rate", "40/s", "--duration", "300ms", "--ui", "none")
        self.assertEqual(run.code, 0, run)
        shown = self.results("show", "last").out
        for part in ("ITERATIONS", "SCHEDULE", "GENERATOR"):
            lines = lambda text: text.split(f"\n{part}")[1].split("\n\n")[0]
            self.assertEqual(lines(shown), lines(run.out))
        result = json.loads(self.results("show", "last", "--json").out)
        result["lost"] = [{"from": 0.75, "to": 1.75, "ratio": 0.25, "cause": "worker w2 died"}]
        result["generators"] = [{"name": "w2", "cores": 2, "assignments": 1, "state": "lost"}]
        result["events"] = [{"t": 1.2, "kind": "worker_lost", "detail": "worker w2 is dead"}]
        result["datacenters"][0]["errors"] = [{"kind": "reset", "count": 3, "detail": "connection reset"}]
        result["run"]["generator"].update(saturated=True, reason="2 cores were busy", remedy="more cores")
        result["workflows"][0]["iterations"]["dropped"] = 5
        shown = self.results("show", self.write("lost.json", json.dumps(result))).out
        for words in ("! from 750ms to 1.75s, 25.00% of the load: worker w2 died", "w2  2 cores  1 assignment  lost",
                      "- at 1.20s: worker w2 is dead", "3  reset  connection reset", "raise vus.max",
                      "! The generator was a bottleneck: 2 cores were busy."):
            self.assertIn(words, shown)

    def test_a_run_without_responses_has_no_times_to_compare(self):
        self.server.close()
        for _ in range(2):
            self.run_short()
        done = self.results("compare", "last~1", "last", code=product.NO_SAMPLES)
        self.assertRegex(done.out, r"p50 +- +- +- +- +not judged")
        told = json.loads(self.results("compare", "last~1", "last", "--json", code=product.NO_SAMPLES).out)
        p50 = {one["figure"]: one for one in told["steps"][0]["differences"]}["p50"]
        self.assertEqual((p50["before"], p50["after"], p50["change"]), (None, None, None))

    def test_a_run_whose_process_is_killed_is_aborted_and_keeps_what_was_written(self):
        process = self.start("run", self.server.url, "--vus", 2, "--duration", "60s")
        lines = product.Reader(process.stderr)
        lines.wait_for("2s ")
        self.assertEqual(self.listed()[0]["state"], "running")
        self.results("show", "last", code=product.WRONG)
        process.kill()
        process.wait()
        [run] = self.listed()
        self.assertEqual(run["state"], "aborted")
        self.assertGreaterEqual(run["elapsed_s"], 1)
        self.assertGreater(run["requests"], 0)
        result = json.loads(self.results("show", "last", "--json").out)
        self.assertEqual(result["run"]["verdict"], "aborted")
        self.assertEqual(result["totals"]["requests"], run["requests"])

    def test_who_wants_nothing_stored_has_nothing_stored(self):
        self.assertEqual(self.run_short("--no-store").code, 0)
        self.assertEqual(self.run_short(environment={"BELLWETHER_NO_STORE": "1"}).code, 0)
        self.assertFalse(self.store.exists())
        self.assertEqual(self.listed(), [])

    def test_trouble_with_the_store_is_a_warning(self):
        self.run_short()
        with sqlite3.connect(self.store) as database:
            database.execute("PRAGMA user_version=7")
        newer = self.run_short()
        self.assertEqual(newer.code, 0, newer)
        self.assertIn("format 7", newer.err)
        for log in self.store.parent.iterdir():
            log.unlink()
        self.store.write_text("no database, but long enough to be looked at as if it were one, which it is not\n")
        damaged = self.run_short()
        self.assertEqual(damaged.code, 0, damaged)
        self.assertIn("warning: the run was not stored", damaged.err)
        self.assertTrue(self.store.read_text().startswith("no database"))
        self.results("list", code=product.WRONG)
        nowhere = self.run_short("--store", "/proc/nowhere/results.db")
        self.assertEqual(nowhere.code, 0, nowhere)
        self.assertIn("/proc/nowhere", nowhere.err)

    def test_a_slip_is_answered_with_what_was_meant(self):
        self.run_short()
        self.results("export", "last", "kept.json")
        for arguments, words in (
                (("show", "lost"), ("did you mean 'last'",)),
                (("show", "last~4"), ("1 are stored",)),
                (("show", "nowhere.db"), ("there is no file",)),
                (("compare", "kept.json", "last"), ("results export",)),
                (("delete", "last", "zzz"), ("no run 'zzz'",)),
                (("compare", "last", "last", "--tolerance", "much"), ("--tolerance", "5%"))):
            done = self.results(*arguments, code=product.WRONG)
            for word in words:
                self.assertIn(word, done.err)
        self.assertEqual(len(self.listed()), 1, "nothing was deleted")
        wrong = self.bellwether("report", "last", "--to", "hdr:url.got=x")
        self.assertEqual(wrong.code, product.WRONG)
        self.assertIn("did you mean 'url.get'", wrong.err)

    def test_a_run_that_is_slower_is_a_regression_and_the_same_run_is_none(self):
        scenario = self.write("compare.yaml", """\
workflows:
  main:
    vus: 4
    duration: 8500ms
    steps: {get: {http: {get: "${BASE}${PATH}"}}}
""")
        target = self.start("target", "--listen", "127.0.0.1:0")
        base = product.Reader(target.stdout).wait_for("http://").split()[2]
        # Both at once, into one store.
        both = [self.start("run", scenario, "--ui", "none", "--set", f"BASE={base}", "--set", f"PATH=/delay/{delay}ms")
                for delay in (20, 40)]
        for process in both:
            done = self.finish(process)
            self.assertEqual(done.code, 0, done)
            self.assertNotIn("warning: the run was not stored", done.err)
        fast, slow = sorted(self.listed(), key=lambda run: -run["requests"])
        wide = ("--tolerance", "1000%", "--errors", "1")
        same = self.results("compare", fast["id"], fast["id"], *wide)
        self.assertIn("No regression", same.out)
        worse = self.results("compare", fast["id"], slow["id"], code=product.THRESHOLDS)
        self.assertIn("REGRESSION", worse.out)
        told = json.loads(self.results("compare", fast["id"], slow["id"], "--json", code=product.THRESHOLDS).out)
        p50 = {one["figure"]: one for one in told["steps"][0]["differences"]}["p50"]
        self.assertEqual((told["verdict"], p50["verdict"]), ("regression", "worse"))
        self.assertLess(p50["low"], p50["change"])
        self.results("compare", fast["id"], slow["id"], *wide)
        self.results("compare", slow["id"], fast["id"], *wide)

    def test_a_run_that_dropped_arrivals_is_worse_than_one_that_did_not(self):
        scenario = self.write("drops.yaml", """\
workflows:
  main:
    rate: 60/s
    duration: 8500ms
    vus: "${VUS}"
    steps: {get: {http: {get: "${BASE}/delay/30ms"}}}
""")
        target = self.start("target", "--listen", "127.0.0.1:0")
        base = product.Reader(target.stdout).wait_for("http://").split()[2]
        both = [self.start("run", scenario, "--ui", "none", "--set", f"BASE={base}", "--set", f"VUS={vus}")
                for vus in (200, 1)]
        for process in both:
            self.finish(process)
        whole, dropping = sorted(self.listed(), key=lambda run: -run["requests"])
        # Of all figures only the drops are worse by more than this.
        worse = json.loads(self.results("compare", whole["id"], dropping["id"], "--tolerance", "1000%", "--json",
                                        code=product.THRESHOLDS).out)
        row = {one["figure"]: one for one in worse["steps"][0]["differences"]}["dropped"]
        self.assertEqual((row["before"], row["verdict"]), (0, "worse"))
        self.assertGreater(row["after"], 0.1)
        same = self.results("compare", whole["id"], whole["id"], "--tolerance", "1000%", "--errors", "1")
        self.assertNotIn("dropped", same.out)

    def test_what_is_too_short_cannot_be_compared(self):
        self.run_short()
        self.assertIn("Nothing can be compared", self.results("compare", "last", "last", code=product.NO_SAMPLES).out)


if __name__ == "__main__":
    product.main()
