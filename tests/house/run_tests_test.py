#!/usr/bin/env python3
"""tools/run_tests.py on folders of tests that only end: which begins when, and beside which others."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORD = "Testing/Temporary/CTestCostData.txt"


class Order(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name)

    def begun_and_ended(self, tests, *words):
        """What ctest says of {name: kind} on one processor: [("Start" or "Test", name)]."""
        (self.build / "CTestTestfile.cmake").write_text("".join(
            f'add_test({name} "true")\nset_tests_properties({name} PROPERTIES RESOURCE_GROUPS "{kind}:1")\n'
            for name, kind in tests.items()))
        one = {min(os.sched_getaffinity(0))}
        run = subprocess.run([sys.executable, "-B", ROOT / "tools/run_tests.py", self.build, *words], text=True,
                             capture_output=True, preexec_fn=lambda: os.sched_setaffinity(0, one))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        log = (self.build / "last-test.log").read_text()
        return re.findall(r"(Start|Test) +#?\d+: (\S+)", log)

    def test_one_test_a_processor_computes_beside_those_that_wait(self):
        said = self.begun_and_ended({"c.1": "computing", "c.2": "computing", "w.1": "waiting", "w.2": "waiting"},
                                    "--jobs", "2")
        self.assertEqual({name for _, name in said[:3]}, {"c.1", "w.1", "w.2"}, said)
        self.assertEqual([one for one in said if one[1].startswith("c.")],
                         [("Start", "c.1"), ("Test", "c.1"), ("Start", "c.2"), ("Test", "c.2")])

    def test_the_longest_begin_first_in_a_folder_that_has_run_none(self):
        table = [line.split()[0] for line in (ROOT / "tests/durations").read_text().splitlines()]
        longest, shorter = table[0], table[-1]
        said = self.begun_and_ended({"unknown": "waiting", shorter: "waiting", longest: "waiting"}, "--jobs", "1")
        self.assertEqual([name for what, name in said if what == "Start"], [longest, shorter, "unknown"])

    def test_what_was_measured_counts_more_than_the_table(self):
        longest, second = [line.split()[0] for line in (ROOT / "tests/durations").read_text().splitlines()][:2]
        (self.build / RECORD).parent.mkdir(parents=True)
        (self.build / RECORD).write_text(f"{longest} 1 0.5\n---\n")
        said = self.begun_and_ended({longest: "waiting", second: "waiting"}, "--jobs", "1")
        self.assertEqual([name for what, name in said if what == "Start"], [second, longest])
        self.assertIn(f"{longest} 2 ", (self.build / RECORD).read_text())


if __name__ == "__main__":
    unittest.main()
