#!/usr/bin/env python3
"""Reports as files: all formats of one run, and the page in a browser, as its readers open it."""

import csv
import html
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as xml
from html.parser import HTMLParser

from lib import product
from lib.server import Server, response

SCENARIO = """\
thresholds: {http_req_failed: ["rate<0.1"]}
workflows:
  shop:
    vus: 2
    duration: 1200ms
    pacing: 20ms
    steps:
      list: {http: {get: "@BASE@/list"}, check: {status: 200}}
      pay: {http: {get: "@BASE@/pay"}, check: {status: 200}}
"""
KILOBYTES_60 = 60_000
MEGABYTES_3 = 3 << 20


class Page(HTMLParser):
    """What a page is made of, and everything in it that could ask for something else."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.asks, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.asks += [value for name, value in attributes if name in ("src", "href", "srcset", "action", "data")]

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


class Reports(product.Test):
    def in_browser(self, page):
        """The document after a real browser has read it, as text."""
        browser = shutil.which("chromium")
        self.assertIsNotNone(browser, "this test needs chromium: ./dev setup installs it")
        with tempfile.TemporaryDirectory(prefix="bellwether-browser-") as profile:
            done = subprocess.run(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--enable-logging=stderr", f"--user-data-dir={profile}", "--dump-dom", page.as_uri()],
                capture_output=True, text=True, timeout=product.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in done.stderr.splitlines():
            self.assertNotIn("CONSOLE", line, "the page's script or its rules complain")
        return done.stdout

    def with_pointers(self, page):
        """The page with a pointer over the middle of each of its charts."""
        script = """<script>for (const svg of document.querySelectorAll("svg[data-kind]")) {
            const box = svg.getBoundingClientRect(), middle = box.left + (58 + 530 / 2) / 600 * box.width;
            svg.dispatchEvent(new PointerEvent("pointermove", {clientX: middle + 1}));
        }</script></body>"""
        return pathlib.Path(self.write("pointed.html", page.read_text(encoding="utf-8").replace("</body>", script)))

    def with_keys(self, page):
        """The page whose title says what the first chart shows after each of some keys and moves of the pointer."""
        script = """<script>{const svg = document.querySelector("svg[data-kind]"), said = [svg.getAttribute("role")],
            out = svg.parentNode.querySelector("output"), box = svg.getBoundingClientRect(),
            press = key => {svg.dispatchEvent(new KeyboardEvent("keydown", {key})); said.push(out.textContent);},
            at = (type, x) => svg.dispatchEvent(new PointerEvent(type, {clientX: box.left + x * box.width}));
            svg.focus();
            press("End"); press("ArrowRight"); press("Home"); press("ArrowRight");
            at("pointermove", 0.95); at("pointerleave", 2); said.push(out.textContent);
            press("ArrowLeft"); svg.blur(); said.push(out.textContent); press("ArrowRight");
            document.title = JSON.stringify(said);}</script></body>"""
        return pathlib.Path(self.write("keys.html", page.read_text(encoding="utf-8").replace("</body>", script)))

    def assert_keys_move_through_a_chart(self, page):
        title = re.search("<title>(.*?)</title>", self.in_browser(self.with_keys(page)))[1]
        role, end, beyond, home, second, left, first, blurred, after = json.loads(html.unescape(title))
        self.assertEqual(role, "application")
        self.assertTrue(home.startswith("0 s: "), home)
        self.assertEqual((beyond, left, first, blurred, after), (end, second, home, "", second))
        self.assertEqual(len({home, second, end}), 3, "the run has three points at least")

    def assert_fits_a_phone(self, page):
        """The page does not scroll sideways, in a frame because a window of the browser is not as narrow."""
        frame = f"""<!doctype html><title></title><iframe style="width:375px;height:800px;border:0"
            srcdoc="{html.escape(page.read_text(encoding="utf-8"))}"></iframe><script>onload = () => {{
            const root = document.querySelector("iframe").contentDocument.documentElement;
            document.title = `${{root.querySelectorAll("h1").length}} h1, ${{root.scrollWidth - root.clientWidth}} px`;
            document.querySelector("iframe").remove(); }}</script>"""
        seen = self.in_browser(pathlib.Path(self.write("frame.html", frame)))
        self.assertIn("<title>1 h1, 0 px</title>", seen)

    def test_one_run_makes_all_reports_and_they_agree(self):
        server = Server(lambda request, _: response(b"[]", status="200 OK" if request.path == "/list" else "503 Busy"))
        self.addCleanup(server.close)
        outs = [word for name in ("html=r.html", "csv=r.csv", "junit=r.xml", "hdr=r.hgrm", "hdr:shop.pay=pay.hgrm")
                for word in ("--out", name)]
        run = self.load(SCENARIO.replace("@BASE@", server.url), *outs, code=product.THRESHOLDS)
        requests = run.totals["requests"]

        with open(self.folder / "r.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(int(rows[0]["requests"]), requests)
        self.assertEqual(sum(int(row["requests"]) for row in rows if row["row"] == "step"), requests)
        self.assertEqual(sum(int(row["requests"]) for row in rows if row["row"] == "second"), requests)

        suites = xml.parse(self.folder / "r.xml").getroot()
        self.assertEqual([suite.get("failures") for suite in suites], ["1", "1", "1"])
        for suite in suites:
            cases = suite.findall("testcase")
            self.assertEqual(int(suite.get("tests")), len(cases))
            self.assertEqual(int(suite.get("failures")), len(suite.findall("testcase/failure")))

        # With what the pace said while a user waited.
        times = {name: step["response_ms"]["count"] for name, step in run.result["steps"].items()}
        self.assertGreaterEqual(sum(times.values()), requests)
        self.assertIn(f"Total count    = {sum(times.values()):12}", (self.folder / "r.hgrm").read_text())
        self.assertIn(f"Total count    = {times['shop.pay']:12}", (self.folder / "pay.hgrm").read_text())

        page = Page((self.folder / "r.html").read_text(encoding="utf-8"))
        self.assertEqual(page.asks, [])
        self.assertIn(f"{requests:,}", page.text)
        self.assertIn(server.url, page.text)
        self.assertIn("2 VUs for 1.20s (constant-vus, closed model)", page.text)
        self.assertRegex(page.text, r"http_req_failed rate=\d\d(\.\d)?%, limit <10%")
        self.assertLess((self.folder / "r.html").stat().st_size, KILOBYTES_60)
        self.assert_fits_a_phone(self.folder / "r.html")

    def test_an_hour_with_fifty_steps_is_read_by_a_browser(self):
        buckets = [[(1024 + i) << 10, 5_000 + i] for i in range(1_000)]
        times = {"histogram": {"unit": "ns", "buckets": buckets, "sum": 8_000_000_000_000, "min": buckets[0][0],
                               "max": buckets[-1][0]}}
        step = {"count": 5_000_000, "failed": 0, "rate_per_s": 1_388.9, "bytes_sent": 1, "bytes_received": 1,
                "unanswered": 0, "unfinished": 0, "service_ms": times, "response_ms": times,
                "status": {"200": 5_000_000}, "errors": {}}
        point = {"p50": 1.25, "p95": 2.5, "p99": 5.125}
        step["series"] = [{"t": t, "covered_s": 32, "requests": 44_444, "failed": 32, "duration_ms": point}
                          for t in range(0, 3_600, 32)]
        own = {"counter": {"count": 1_234.5, "rate": 1_234.5}, "gauge": {"value": -3.5, "min": -17.25, "max": 99.125},
               "rate": {"rate": 0.75, "matches": 3, "total": 4}, "trend": {"count": 20, "med": 41.25, "p(95)": 87.5}}
        metrics = {f"{kind}_{i}": {"kind": kind, "custom": True, "unit": "EUR", "refused": 0,
                                   "series": [{"t": t, **figures} for t in range(i, 3_600)]}
                   for i in range(8) for kind, figures in own.items() if i < 6 or kind != "gauge"}
        result = {
            "format": "bellwether.result/1",
            "run": {"id": "0123456789abcdef", "scenario": "an hour </title><script>alert(1)</script>",
                    "started_at": "2026-01-02T03:04:05.678Z", "elapsed_s": 3_600, "verdict": "inconclusive",
                    "exit_code": 120, "reason": "a part of the run was lost",
                    "generator": {"saturated": False, "cores": 8, "cpu_cores": 3.5, "loop_lag_p99_ms": 0.2}},
            "totals": {"requests": 250_000_000, "failed": 0, "rate_per_s": 69_444.4, "bytes_sent": 1,
                       "bytes_received": 1, "iterations": 5_000_000, "dropped_iterations": 0},
            "steps": {f"shop.step number {i}": step for i in range(50)},
            "datacenters": [], "workflows": [], "thresholds": [], "generators": [], "metrics": metrics,
            "checks": [{"name": f"check {i}", "step": "shop." + 150 * "x", "passes": 5, "fails": 0} for i in range(50)],
            "lost": [{"from": 1_200, "to": 1_260, "ratio": 0.25, "cause": "worker w2 died"}],
            "events": [{"t": 1_200, "kind": "worker_lost", "detail": 150 * "w"}],
            "series": [{"t": t, "covered_s": 1, "requests": 69_444, "failed": t % 7, "rate_per_s": 69_000 + t % 500,
                        "iterations": 1_388, "dropped": 0, "vus": 5_000, "service_ms": point, "response_ms": point}
                       for t in range(3_600)]}
        file = self.write("hour.json", json.dumps(result))
        made = self.bellwether("report", file, "--to", "html=hour.html")
        self.assertEqual(made.code, 0, made)
        self.assertLessEqual((self.folder / "hour.html").stat().st_size, MEGABYTES_3)
        self.assert_fits_a_phone(self.folder / "hour.html")
        self.assert_keys_move_through_a_chart(self.folder / "hour.html")
        seen = self.in_browser(self.with_pointers(self.folder / "hour.html"))
        page = Page(seen)
        self.assertEqual((page.tags.count("svg"), page.tags.count("script")), (4 + 2 + 2 * 24 + 24, 1 + 1))
        self.assertIn("The first 24 metrics are shown; 6 more are", page.text)
        self.assertIn("The first 24 steps are shown; 26 more are", page.text)
        self.assertIn("worker w2 died", page.text)
        self.assertIn("an hour </title><script>alert(1)</script>", page.text)
        self.assertIn("step number 49", page.text)
        told = dict(re.findall(r"<b>([^<]*)</b>(?:<span[^>]*>[^<]*</span>)*<output>([^<]*)</output>", seen))
        self.assertEqual(told["Active virtual users"], "1,800 s: 5000")
        self.assertEqual(told["Response time, ms"], "1,800 s: p50 1.25, p95 2.5, p99 5.13 ms")
        self.assertEqual(told["shop.step number 7: requests per second"], "1,792 s: 1,389/s, failed 1/s")
        self.assertEqual(told["counter_0, EUR per second"], "1,800 s: 1,235/s")
        self.assertEqual(told["gauge_1, EUR"], "1,800 s: -3.5 (-17.3 to 99.1)")
        self.assertEqual(told["rate_2, EUR, % true"], "1,800 s: 75% of 32")
        self.assertEqual(told["trend_3, EUR"], "1,800 s: p50 41.3, p95 87.5")

    def test_a_file_that_is_no_result_is_refused_by_what_is_wrong_with_it(self):
        for text, word in (("{}", "format"), ("no", "JSON"), ('{"format": "bellwether.result/9"}', "result/9")):
            done = self.bellwether("report", self.write("wrong.json", text), "--to", "html=x.html")
            self.assertEqual(done.code, product.WRONG, done)
            self.assertIn(word, done.err)
            self.assertFalse((self.folder / "x.html").exists())


if __name__ == "__main__":
    product.main()
