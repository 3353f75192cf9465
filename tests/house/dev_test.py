#!/usr/bin/env python3
"""`./dev` refuses what a verb does not take, before it installs or builds anything."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

DEV = Path(__file__).resolve().parents[2] / "dev"


class Dev(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bellwether-dev-test-")
        self.addCleanup(folder.cleanup)
        self.copy = shutil.copy(DEV, folder.name)

    def dev(self, *words):
        # Without programs but bash's own and those that find the folder: what goes on to install or to build fails.
        tools = Path(self.copy).parent / "bin"
        tools.mkdir(exist_ok=True)
        for name in ("bash", "cat", "dirname", "readlink"):
            (tools / name).unlink(missing_ok=True)
            (tools / name).symlink_to(shutil.which(name))
        done = subprocess.run([self.copy, *words], env={"PATH": str(tools)}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_help_is_shown_for_each_way_to_ask(self):
        for words in ((), ("help",), ("--help",), ("-h",), ("test", "--help")):
            code, out, err = self.dev(*words)
            self.assertEqual((code, err), (0, ""), words)
            self.assertTrue(out.startswith("Usage: ./dev VERB"), words)

    def test_verbs_and_arguments_that_do_not_exist_are_refused(self):
        self.assertEqual(self.dev("tset"), (1, "", "dev: there is no verb 'tset'; ./dev --help lists them.\n"))
        for words in ("clean x", "format x", "setup x", "check x", "upgrade now", "help x", "lint --alll", "sim many",
                      "fuzz nope", "fuzz url_fuzz soon", "fuzz url_fuzz 1 2", "build dev asan", "build --fast",
                      "test --nope", "test unit.a B c"):
            verb, given = words.split(" ", 1)
            with self.subTest(words):
                self.assertEqual(self.dev(*words.split()), (
                    1, "", f"dev: '{verb}' does not take '{given}'; ./dev --help says what it takes.\n"))

    def test_arguments_that_exist_go_on_to_the_requirements(self):
        for words in ("format", "lint --all", "sim", "sim 5", "fuzz url_fuzz 600", "build asan", "test",
                      "test unit.metrics Histogram.*"):
            with self.subTest(words):
                self.assertIn("this needs Debian 12", self.dev(*words.split())[2])


if __name__ == "__main__":
    unittest.main()
