#!/usr/bin/env python3
"""A run that goes on is looked at and controlled by `bellwether ctl`."""

import contextlib
import json
import signal
import socket
import time
from pathlib import Path

from lib import product
from lib.product import PATIENCE
from lib.server import Server, response

NO, WRONG, SIGNAL, SATURATED = 1, 104, 105, 122


def scenario(url, executor="executor: externally-controlled, vus: 2, max_vus: 20", name="w"):
    step = f"{{a: {{http: {{get: \"{url}\"}}, think: 20ms}}}}"
    return f"workflows: {{{name}: {{{executor}, steps: {step}}}}}\n"


class Control(product.Test):
    def setUp(self):
        super().setUp()
        self.server = Server(lambda request, connection: response(b"{}"))
        self.addCleanup(self.server.close)
        (self.folder / "runtime").mkdir(mode=0o700)
        self.here = {"XDG_RUNTIME_DIR": str(self.folder / "runtime")}

    def begin(self, text, name="s"):
        file = self.folder / f"{name}.yaml"
        file.write_text(text)
        before = len(self.listed())
        process = self.start("run", file, "--ui", "none", "--out", f"json={self.folder / name}.json",
                             environment=self.here)
        self.until(lambda: len(self.listed()) > before, process)
        return process

    def until(self, true, process):
        deadline = time.monotonic() + PATIENCE
        while not true():
            self.assertLess(time.monotonic(), deadline, "that never came")
            self.assertIsNone(process.poll(), "the run has ended")

    def ctl(self, *words, code=0):
        run = self.bellwether("ctl", *words, environment=self.here)
        self.assertEqual(run.code, code, run)
        return run

    def state(self, *words):
        return json.loads(self.ctl(*words, "--json").out)

    def listed(self):
        return json.loads(self.ctl("--json").out)

    def test_users_come_and_go_as_they_are_told_and_a_stop_is_its_end(self):
        process = self.begin(scenario(self.server.url))
        self.assertEqual(self.state("last")["controlled"], [{"name": "w", "vus": 2, "max_vus": 20}])
        self.assertEqual(self.state("last", "vus", "15")["controlled"][0]["vus"], 15)
        self.until(lambda: self.state("last")["vus"] > 5, process)
        run_id = self.state("last")["run"]
        self.assertEqual(self.state(run_id[:6], "vus", "0")["controlled"][0]["vus"], 0)
        self.until(lambda: self.state("last")["vus"] == 0, process)
        self.assertEqual(self.state("last", "stop")["state"], "stopping")
        run = self.finish(process)
        self.assertEqual(run.code, 0, run)
        result = json.loads((self.folder / "s.json").read_text())
        self.assertEqual(result["run"]["id"], run_id)
        kinds = [event["kind"] for event in result["events"] if not event["kind"].startswith("generator_")]
        self.assertEqual(kinds, ["scaled", "scaled", "stopping"])
        self.assertEqual(result["workflows"][0]["status"], "completed")
        self.assertEqual(self.listed(), [], "its socket is gone")

    def test_any_run_can_be_paused_resumed_and_stopped(self):
        process = self.begin(scenario(self.server.url, "vus: 3, duration: 1h"))
        self.assertRegex(self.ctl("last").out, r" is running, \S+ after its start: \S+ users, ")
        self.until(lambda: self.state("last")["requests"] > 0, process)
        self.assertEqual(self.state("last", "pause")["state"], "paused")
        self.until(lambda: self.state("last")["vus"] == 0, process)
        done = self.state("last")["iterations"]
        self.assertIn("paused", self.ctl("last").out)
        self.assertEqual(self.state("last", "resume")["state"], "running")
        self.until(lambda: self.state("last")["iterations"] > done, process)
        self.ctl("last", "stop")
        run = self.finish(process)
        self.assertEqual(run.code, SIGNAL, run)
        self.assertIn("cancelled before its end", run.out)

    def test_a_generator_that_stood_still_is_the_cause_of_what_it_dropped(self):
        process = self.begin(scenario(self.server.url, "rate: 50/s, duration: 5s, vus: 3"))
        self.until(lambda: self.state("last")["requests"] > 0, process)
        process.send_signal(signal.SIGSTOP)
        time.sleep(2)  # how long it stands still is the subject
        process.send_signal(signal.SIGCONT)
        run = self.finish(process)
        self.assertEqual(run.code, SATURATED, run)
        generator = json.loads((self.folder / "s.json").read_text())["run"]["generator"]
        self.assertIn("its event loop stood still for", generator["reason"])
        self.assertGreater(max(one["worst"] for one in generator["findings"] if one["cause"] == "loop_lag"), 1)

    def test_several_runs_are_told_apart(self):
        first = self.begin(scenario(self.server.url), "first")
        second = self.begin(scenario(self.server.url), "second")
        runs = self.listed()
        self.assertEqual([run["scenario"] for run in runs], ["first", "second"])
        self.assertEqual(self.state("last")["scenario"], "second")
        self.assertIn("second", self.ctl().out)
        for run in runs:
            self.ctl(run["run"], "stop")
        for process in (first, second):
            self.assertEqual(self.finish(process).code, 0)

    def test_what_a_killed_run_left_is_taken_away(self):
        process = self.begin(scenario(self.server.url))
        process.kill()
        process.communicate(timeout=PATIENCE)
        folder = self.folder / "runtime" / "bellwether"
        self.assertEqual(len(list(folder.iterdir())), 1)
        self.assertIn("no run of this user is in progress", self.ctl("last", "stop", code=NO).err)
        self.assertEqual(list(folder.iterdir()), [])

    def test_what_is_wrong_is_told(self):
        self.assertIn("no run of this user is in progress", self.ctl("last", code=NO).err)
        process = self.begin(scenario(self.server.url))
        self.assertIn("at most 20 virtual users", self.ctl("last", "vus", "21", code=NO).err)
        self.assertIn("no run 'zz' is in progress; there is", self.ctl("zz", "pause", code=NO).err)
        self.assertIn("no workflow 'x'", self.ctl("last", "vus", "3", "-w", "x", code=NO).err)
        self.assertIn("needs a number", self.ctl("last", "vus", code=WRONG).err)
        self.assertIn("write a whole number", self.ctl("last", "vus", "many", code=WRONG).err)
        self.assertIn("belong to 'vus'", self.ctl("last", "stop", "3", code=WRONG).err)
        self.ctl("last", "dance", code=WRONG)
        self.assertEqual(self.state("last")["controlled"][0]["vus"], 2)
        self.ctl("last", "stop")
        self.assertEqual(self.finish(process).code, 0)

    def test_whoever_says_nothing_or_nonsense_holds_up_nobody(self):
        process = self.begin(scenario(self.server.url))
        path = next((self.folder / "runtime" / "bellwether").iterdir())
        with contextlib.ExitStack() as stack:
            for text in [b"", b"\0\xff{", b"x" * 100_000, b"[[[[[[\n", b"{\"do\": 7}\n"]:
                one = stack.enter_context(socket.socket(socket.AF_UNIX))
                one.connect(str(path))
                with contextlib.suppress(OSError):
                    one.sendall(text)
            self.assertEqual(self.state("last")["state"], "running")
        self.ctl("last", "stop")
        self.assertEqual(self.finish(process).code, 0)

    def test_a_folder_that_is_not_ours_alone_leaves_the_run_uncontrolled(self):
        folder = Path(self.here["XDG_RUNTIME_DIR"]) / "bellwether"
        folder.mkdir()
        folder.chmod(0o777)
        file = self.folder / "s.yaml"
        file.write_text(scenario(self.server.url, "vus: 1, iterations: 1"))
        run = self.bellwether("run", file, "--ui", "none", environment=self.here)
        self.assertEqual(run.code, 0, run)
        self.assertIn("cannot control this run", run.err)


if __name__ == "__main__":
    product.main()
