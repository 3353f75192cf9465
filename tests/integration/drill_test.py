#!/usr/bin/env python3
"""Drills: leaders broken in every way, takeovers measured and held against the promise, nothing left behind."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from lib import product
from lib.daemon import PATIENCE, free_port, listens, until
from lib.redis import Redis


ACTS_ON = """
import sys, time
while True:
    try:
        holder, epoch, acts = open(sys.argv[1]).read().split()
        break
    except (OSError, ValueError):
        time.sleep(0.01)
with open(acts, "a", buffering=1) as file:
    while True:
        file.write(f"{holder} {epoch} {time.clock_gettime_ns(time.CLOCK_BOOTTIME)}\\n")
        time.sleep(0.01)
"""


class Drill(product.Test):
    def setUp(self):
        super().setUp()
        self.redis = Redis(self.folder / "redis", persistence="none")
        self.redis.start()
        self.addCleanup(self.redis.stop)
        self.report = self.folder / "report.json"

    def sheet(self, **changes):
        loop = {"poll_interval": "300ms", "lock_key": "test:r", "lock_ttl": "3s", "renew_every": "700ms",
                "release_mode": "ttl_hold", **changes}
        lines = [f"    {key}: {value}" for key, value in loop.items()]
        return self.write("p.yaml", "\n".join(
            [f"store: {self.redis.url_at(self.redis.port)}", "leader_election:", "  r:", *lines]) + "\n")

    def drill(self, policy, *arguments):
        # A store and processes that share two cores with everything else answer late.
        return self.start("drill", policy, "--loop", "r", "--store-p99", "5s", "--report", self.report, *arguments)

    def read(self):
        return json.loads(self.report.read_text())

    def processes(self):
        """Ours that belong to a drill of this test."""
        found = []
        for path in self.proc():
            try:
                if str(self.folder).encode() in path.read_bytes():
                    found.append(path)
            except OSError:
                pass
        return found

    def proc(self):
        import pathlib
        return pathlib.Path("/proc").glob("[0-9]*/cmdline")

    def act_on(self):
        """Starts what a leader must not be: it acts for ever as the holder and epoch in a file, which is returned."""
        who = self.folder / "who"
        process = subprocess.Popen([sys.executable, "-c", ACTS_ON, str(who)])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return who

    def check(self, fault):
        run = self.finish(self.drill(self.sheet(), "--fault", fault, "--rounds", "5"))
        report = self.read()
        self.assertEqual(run.code, 0, f"{run}\n{report}")
        self.assertEqual((len(report["rounds"]), report["overlaps"], report["epochs_grew"]), (5, 0, True))
        for one in report["rounds"]:
            self.assertTrue(one["taken_over"], one)
            self.assertNotEqual(one["old_holder"], one["new_holder"])
            self.assertGreater(one["new_epoch"], one["old_epoch"])
        self.assertGreater(report["acts"], 50)
        self.assertIn("longest takeover", run.out)
        self.assertIn("round 5 of 5", run.err)
        until("no process of the drill", lambda: not [p for p in self.processes() if b"redis" not in p.read_bytes()])

    def test_kill(self):
        self.check("kill")

    def test_pause(self):
        self.check("pause")

    def test_cut(self):
        self.check("cut")

    def test_a_promise_that_is_not_kept_is_said(self):
        run = self.finish(self.drill(self.sheet(takeover_slo="100ms"), "--rounds", "1"))
        self.assertEqual(run.code, 1, run)
        self.assertIn("OVER", run.out)
        self.assertEqual((self.read()["within"], self.read()["takeover_slo_s"]), (False, 0.1))

    def test_a_store_that_does_not_answer_is_named(self):
        self.sheet()
        text = (self.folder / "p.yaml").read_text().replace(f":{self.redis.port}", ":1")
        run = self.bellwether("drill", self.write("down.yaml", text), "--loop", "r", "--rounds", "1")
        self.assertEqual(run.code, product.WRONG, run)
        self.assertIn("does not answer", run.err)

    def test_a_signal_ends_it_with_a_partial_report(self):
        process = self.drill(self.sheet(), "--rounds", "100")
        errors = product.Reader(process.stderr)
        errors.wait_for("round 1 of")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=PATIENCE), 105)
        self.assertTrue(self.read()["interrupted"])
        self.assertGreaterEqual(len(self.read()["rounds"]), 1)
        until("no process of the drill", lambda: not [p for p in self.processes() if b"redis" not in p.read_bytes()])

    def test_a_candidate_that_acts_after_its_lease_is_found_out(self):
        """Broken on purpose: part of the first leader goes on under its epoch when it is no leader any more."""
        who = self.act_on()
        load = f'test -e {who} || echo "$BELLWETHER_HOLDER $BELLWETHER_EPOCH $XDG_STATE_HOME/acts" >{who}'
        run = self.finish(self.drill(self.sheet(), "--rounds", "1", "--load", load))
        self.assertEqual(run.code, 2, run)
        self.assertGreater(self.read()["overlaps"], 0)

    def test_load_of_the_product_itself_runs_beside_the_rounds(self):
        port = free_port()
        target = self.start("target", "--listen", f"127.0.0.1:{port}")
        until("the target", lambda: listens(target.pid, port))
        scenario = self.write("load.yaml", f"""
workflows:
  w:
    vus: 2
    duration: 60s
    pacing: 20ms
    steps:
      get: {{http: {{get: "http://127.0.0.1:{port}/items"}}}}
""")
        run = self.finish(self.drill(self.sheet(), "--rounds", "2", "--scenario", scenario))
        self.assertEqual(run.code, 0, run)
        self.assertGreater(self.read()["load"]["requests"], 10)
        self.assertIn("load: ", run.out)
        run = self.finish(self.drill(self.sheet(), "--rounds", "1", "--scenario", "/nowhere.yaml"))
        self.assertEqual(run.code, 1, "load that does not run is no load")
        self.assertRegex(run.err, "no result: .*/nowhere.yaml")
        self.assertIn("/nowhere.yaml", self.read()["error"])

    def test_what_cannot_be_cut_is_said(self):
        policy = self.sheet()
        run = self.bellwether("drill", policy, "--loop", "r", "--fault", "cut", "--via", f"flock:{self.folder}/locks")
        self.assert_refused(run, "cannot be cut")


class Attached(Drill):
    """Drills of what runs already: no process and no key of their own."""

    test_kill = test_pause = test_cut = None
    test_a_promise_that_is_not_kept_is_said = test_a_signal_ends_it_with_a_partial_report = None
    test_a_store_that_does_not_answer_is_named = None
    test_a_candidate_that_acts_after_its_lease_is_found_out = test_what_cannot_be_cut_is_said = None
    test_load_of_the_product_itself_runs_beside_the_rounds = None

    def candidates(self, count, *arguments, tick="r=sleep 0.1"):
        self.policy = self.sheet()
        self.found = {}
        for number in range(count):
            self.found[f"c{number}"] = self.start("loops", "run", self.policy, "--on-tick", tick, "--id", f"c{number}",
                                                  "--trust-empty", *arguments)
        self.pids = [argument for name, process in self.found.items()
                     for argument in ("--pid", f"{name}={process.pid}")]
        until("a leader", lambda: self.redis.cli("GET", "test:r").strip() != "")

    def attached(self, *arguments):
        return self.finish(self.drill(self.policy, "--attach", "--yes", *arguments))

    def test_the_real_leader_is_broken_only_when_that_is_said_twice(self):
        self.candidates(1)
        self.assert_refused(self.finish(self.drill(self.policy, "--attach", *self.pids)), "--yes",
                            "at most 5 rounds", "stays dead")
        self.assert_refused(self.attached("--fault", "cut"), "--break-with")
        self.assert_refused(self.finish(self.drill(self.policy, "--pid", "a=77")), "--attach")
        self.assert_refused(self.attached("--pid", "a=x"), "HOLDER=PID")
        self.assert_refused(self.attached("--rounds", "1"), "--candidates N")
        self.assert_refused(self.attached("--rounds", "1", *self.pids), "1 round would kill", "1 candidate,")
        self.assert_refused(self.attached("--rounds", "3", "--candidates", "3"), "3 rounds would kill", "3 candidates,")
        run = self.attached("--rounds", "1", "--candidates", "2")
        self.assertIn("--pid", run.err)
        self.assertIsNone(self.found["c0"].poll())

    def test_running_candidates_are_killed_one_after_the_other(self):
        self.candidates(3)
        run = self.attached("--rounds", "2", *self.pids)
        report = self.read()
        self.assertEqual(run.code, 0, f"{run}\n{report}")
        self.assertEqual((report["attached"], report["key"], report["acts_known"]), (True, "test:r", False))
        killed = [round["old_holder"] for round in report["rounds"]]
        self.assertEqual(len(set(killed)), 2)
        for name, process in self.found.items():
            if name in killed:
                self.assertEqual(process.wait(timeout=PATIENCE), -signal.SIGKILL)
            else:
                self.assertIsNone(process.poll())
        self.assertIn("is unknown without --acts", run.out)

    def test_a_paused_leader_goes_on_afterwards(self):
        self.candidates(2)
        run = self.attached("--rounds", "2", "--fault", "pause", *self.pids)
        self.assertEqual(run.code, 0, f"{run}\n{self.read()}")
        for process in self.found.values():
            self.assertNotIn("State:\tT", Path(f"/proc/{process.pid}/status").read_text())

    def test_holders_are_found_by_their_usual_names(self):
        self.policy = self.sheet()
        for _ in range(2):
            self.start("loops", "run", self.policy, "--on-tick", "r=true", "--trust-empty")
        run = self.attached("--candidates", "2")
        self.assertEqual(run.code, 0, run)
        self.assertEqual(len(self.read()["rounds"]), 1, "the default leaves one candidate")

    def test_commands_of_the_operator_break_and_repair(self):
        self.candidates(2)
        log = self.folder / "log"
        run = self.attached("--rounds", "1", "--break-with",
                            f'echo "broke $BELLWETHER_HOLDER $BELLWETHER_EPOCH $BELLWETHER_KEY" >>{log}; '
                            'kill -9 $BELLWETHER_PID', "--repair-with", f'echo "repaired $BELLWETHER_HOLDER" >>{log}',
                            *self.pids)
        report = self.read()
        self.assertEqual(run.code, 0, f"{run}\n{report}")
        old = report["rounds"][0]
        self.assertEqual(log.read_text().splitlines(), [f"broke {old['old_holder']} {old['old_epoch']} test:r",
                                                        f"repaired {old['old_holder']}"])
        run = self.attached("--rounds", "1", "--break-with", "echo first; echo no way in >&2; exit 3")
        self.assertIn("failed: no way in", run.err)

    def test_acts_under_an_old_epoch_are_found_out(self):
        acts, who = self.folder / "acts", self.act_on()
        self.candidates(2, tick=f'r=test -e {who} || echo "$BELLWETHER_HOLDER $BELLWETHER_EPOCH {acts}" >{who}; '
                                f"{product.binary} drill-act {acts} 200")
        until("acts under the first epoch", lambda: acts.exists() and acts.stat().st_size > 0)
        run = self.attached("--rounds", "1", "--acts", acts, *self.pids)
        report = self.read()
        self.assertEqual(run.code, 2, f"{run}\n{report}")
        self.assertGreater(report["overlaps"], 0)
        self.assertTrue(report["acts_known"])


if __name__ == "__main__":
    product.main()
