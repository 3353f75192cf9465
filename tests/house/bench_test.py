#!/usr/bin/env python3
"""`./dev bench all` in a copy of bench/ and its pages, with a few small scripts in the place of real benches."""

import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = 300

BENCH = """# builds: bellwether
import sys, time
from pathlib import Path
from lib import needs, report

def compare(options, out):
{body}

report.main(report.parser("A bench."), compare)
"""
MET = "    out.goals([('steps, ms', 1234.5, '<=', 2000, '{:,.1f}', 'Steps in layers'), ('aside', 1, '<=', 2, '{}')])"
MISSED = "    out.goals([('late | early', 3, '>=', 4.5, '{}', 'Data')])"
FAILS = "    raise report.Failure('the server | said\\nno')"
CRASHES = "    print({}['figure'])"
MISSES = "    needs.find('no-such-program', optional=True)"
SILENT = "    out.remark('nothing')"
NOWHERE = "    out.goals([('steps', 1, '<=', 2, '{}', 'No Such Heading')])"
WAITS = """    try:
        Path(r'{folder}/begun').touch()
        time.sleep(1000)
    finally:
        Path(r'{folder}/cleaned').touch()"""


class All(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bellwether-bench-test-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.page = self.root / "docs/performance.md"
        shutil.copytree(ROOT / "bench", self.root / "bench", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "docs/contributing/measurements", self.root / "docs/contributing/measurements")
        shutil.copy(ROOT / "docs/performance.md", self.page)
        program = self.root / "build/src/cli/bellwether"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\necho bellwether 7.8.9\n", encoding="ascii")
        program.chmod(0o755)

    def start(self, benches, *options):
        for name, body in benches.items():
            (self.root / f"bench/{name}.py").write_text(BENCH.format(body=body), encoding="utf-8")
        return subprocess.Popen([sys.executable, "-B", self.root / "bench/all.py", "--build", self.root / "build",
                                 "--only", *benches, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run_all(self, benches, *options):
        """(exit code, rows of the table as lists of cells, stderr)"""
        process = self.start(benches, *options)
        out, err = process.communicate(timeout=LONGEST_S)
        return process.returncode, self.rows(out), err

    def rows(self, text):
        lines = text.partition("\nFigures and goals\n")[2].partition("\n\n")[0].splitlines()
        return [[cell.strip() for cell in line.strip().split("  ") if cell.strip()] for line in lines]

    def test_figures_with_a_section_are_the_rows_beside_their_goals(self):
        code, rows, err = self.run_all({"layers": MET, "data": MISSED})
        self.assertEqual(rows, [["figure", "measured", "goal", "met", "section"],
                                ["steps, ms", "1,234.5", "≤ 2,000", "yes", "Steps in layers"],
                                ["late | early", "3", "≥ 4.5", "no", "Data"]])
        self.assertEqual(code, 0, err)
        self.assertIn("bench all: 1 of 2: layers …\n", err)
        self.assertIn("bench all: 2 of 2: data …\n", err)

    def test_a_bench_that_gives_no_figure_is_a_row(self):
        code, rows, err = self.run_all({"wire": FAILS, "layers": MET, "data": CRASHES, "jobs": MISSES,
                                        "cluster": SILENT, "memory": NOWHERE})
        self.assertEqual(code, 1)
        self.assertEqual([row[:2] + row[2:][-1:] for row in rows[1:]], [
            ["bench wire", "not measured", "the server | said"], ["steps, ms", "1,234.5", "Steps in layers"],
            ["bench data", "not measured", "KeyError: 'figure'"],
            ["bench jobs", "not measured", "no-such-program is not installed: apt-get install no-such-program"],
            ["bench cluster", "no figure"],
            ["bench memory", "not measured",
             "no page of docs/contributing/measurements has the heading 'No Such Heading'"]])
        self.assertIn("Traceback", err)

    def test_markdown_replaces_the_table_of_the_page_and_nothing_else(self):
        before = self.page.read_text(encoding="utf-8")
        begin, end = "<!-- all: begin -->", "<!-- all: end -->"
        self.run_all({"layers": MET, "data": MISSED}, "--markdown")
        after = self.page.read_text(encoding="utf-8")
        self.assertEqual(after.partition(begin)[0], before.partition(begin)[0])
        self.assertEqual(after.partition(end)[2], before.partition(end)[2])
        section = after.partition(begin)[2].partition(end)[0]
        self.assertTrue(section.startswith("\n`./dev bench all --build "), section)
        self.assertIn("Versions: bellwether 7.8.9, util-linux ", section)
        self.assertIn("| steps, ms | 1,234.5 | ≤ 2,000 | yes | "
                      "[Steps in layers](contributing/measurements/http.md#steps-in-layers) |\n", section)
        self.assertIn("| late \\| early | 3 | ≥ 4.5 | **no** | [Data](", section)

    def test_a_quick_run_judges_nothing_and_leaves_the_page_alone(self):
        code, rows, _ = self.run_all({"layers": MET, "data": MISSES}, "--quick")
        self.assertEqual(rows[1], ["steps, ms", "1,234.5", "≤ 2,000", "Steps in layers"])
        self.assertEqual(code, 77)
        self.assertEqual(self.run_all({"data": FAILS, "jobs": MISSES}, "--quick")[0], 1)
        before = self.page.read_text(encoding="utf-8")
        self.assertEqual(self.run_all({"layers": MET}, "--quick", "--markdown")[0], 2)
        self.assertEqual(self.page.read_text(encoding="utf-8"), before)

    def test_ctrl_c_leaves_what_is_done(self):
        process = self.start({"layers": MET, "wire": WAITS.format(folder=self.root), "data": MISSED})
        deadline = time.monotonic() + LONGEST_S
        while not (self.root / "begun").exists():
            self.assertLess(time.monotonic(), deadline, "this never came: the second bench")
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONGEST_S)
        self.assertEqual(process.returncode, 105, err)
        self.assertEqual([row[:2] for row in self.rows(out)[1:]],
                         [["steps, ms", "1,234.5"], ["bench wire", "not run"], ["bench data", "not run"]])
        self.assertTrue((self.root / "cleaned").exists())


if __name__ == "__main__":
    # A shell without job control starts what runs in its background with SIGINT ignored, and its children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main()
