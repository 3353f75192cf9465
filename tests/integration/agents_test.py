#!/usr/bin/env python3
"""A fleet of agents: its registry, the watchdog that keeps its leader alive, and the doctor."""

import datetime
import json
import os
import signal
import time
from pathlib import Path

from lib import product
from lib.product import PATIENCE

EXAMPLE = product.ROOT / "examples/leadership/policy.yaml"


def ago(seconds):
    when = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)
    return when.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def agent(name, seconds, role="worker", status="active"):
    """An agent as the registry file has it, heard of so long ago."""
    return {"id": name, "role": role, "host": "h", "pid": 7, "registered_at": ago(seconds + 10),
            "last_heartbeat": ago(seconds), "status": status}


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Fleet(product.Test):
    def setUp(self):
        super().setUp()
        self.registry = str(self.folder / "fleet.json")

    def agents(self, act, *arguments, code=0):
        run = self.bellwether("agents", act, "--registry", self.registry, *arguments)
        self.assertEqual(run.code, code, run)
        return run

    def listed(self, *arguments):
        return json.loads(self.agents("list", "--json", *arguments).out)

    def fill(self, *agents):
        self.write("fleet.json", json.dumps({"format": "bellwether.agents/1", "agents": agents}))

    def lease(self, seconds, holder="boss", epoch=42):
        """A lease as programs write it that know only these four fields."""
        return self.write("lease.json", json.dumps({"leader_id": holder, "leader_epoch": epoch,
                                                    "last_heartbeat": ago(seconds), "ttl_ms": 180000}))

    def eventually(self, what, holds, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if holds():
                return
            time.sleep(0.02)
        self.fail(f"never came: {what}")


class Registry(Fleet):
    def test_agents_come_and_go(self):
        self.agents("register", "--id", "a", "--role", "orchestrator")
        self.agents("register", "--id", "b")
        self.agents("heartbeat", "--id", "a")
        found = {one["id"]: one for one in self.listed()["agents"]}
        self.assertEqual({name: one["role"] for name, one in found.items()}, {"a": "orchestrator", "b": "worker"})
        self.assertEqual(found["a"]["status"], "active")
        self.assertEqual(found["a"]["pid"], os.getpid())
        self.agents("deregister", "--id", "a")
        self.assertEqual([one["id"] for one in self.listed()["agents"]], ["b"])
        self.assertIn("register it again", self.agents("heartbeat", "--id", "a", code=1).err.lower())
        self.agents("deregister", "--id", "a", code=1)

    def test_both_ages_are_settings(self):
        self.fill(agent("fresh", 1), agent("quiet", 60), agent("gone", 400))
        status = lambda *ages: [one["status"] for one in self.listed(*ages)["agents"]]  # fresh, gone, quiet
        self.assertEqual(status(), ["active", "stale", "active"])
        self.assertEqual(status("--stale-after", "30s"), ["active", "stale", "stale"])
        self.assertEqual(status("--stale-after", "30s", "--dead-after", "5m"), ["active", "dead", "stale"])
        self.assertEqual(status("--profile", "lenient"), ["active", "stale", "active"])
        self.assertIn("stale (marked active)", self.agents("list").out)
        self.fill(agent("quiet", 60) | {"status": "stale"})
        self.assertEqual(status(), ["stale"], "the leader has shorter times and has marked it")
        self.assertIn("--dead-after", self.agents("list", "--dead-after", "1s", code=104).err)

    def test_the_leaders_cleanup_marks_the_silent_hands_their_tasks_back_and_spares_itself(self):
        self.fill(agent("boss", 1000), agent("silent", 130), agent("well", 1), agent("dead", 700))
        task = lambda number, who: {"number": number, "name": f"t{number}", "payload": "", "state": "running",
                                    "agent": who, "epoch": 5, "attempt": 1}
        tasks = [task(1, "silent"), task(2, "well"), task(3, "dead")]
        queue = self.write("tasks.json", json.dumps({"format": "bellwether.tasks/1", "fence": 5, "cursor": 1, "next": 4,
                                                     "past": [], "tasks": tasks}))
        run = self.agents("heartbeat", "--id", "boss", "--clean", "--queue", queue, "--epoch", 4, code=1)
        self.assertIn("is not current", run.err)
        run = self.agents("heartbeat", "--id", "boss", "--clean", "--queue", queue, "--epoch", 5, "--json")
        self.assertEqual(json.loads(run.out)["handed_back"], 2)
        self.assertEqual([one["id"] for one in self.listed()["agents"]], ["boss", "silent", "well"])
        states = [one["state"] for one in json.loads((self.folder / "tasks.json").read_text())["tasks"]]
        self.assertEqual(states, ["waiting", "running", "waiting"], "also of one that was forgotten before")

    def test_a_torn_registry_is_reported_and_set_aside_by_the_next_change(self):
        self.write("fleet.json", '{"format": "bellw')
        self.assertIn("not a registry", self.agents("list", code=1).err)
        self.assertIn(".quarantine-", self.agents("register", "--id", "a").err)
        aside = [path.read_text() for path in self.folder.glob("fleet.json.quarantine-*")]
        self.assertEqual(aside, ['{"format": "bellw'])
        self.assertEqual([one["id"] for one in self.listed()["agents"]], ["a"])

    def test_one_screen_tells_who_leads_for_how_long_and_who_is_next(self):
        self.fill(agent("boss", 1, "orchestrator"), agent("next", 1, "orchestrator"), agent("w", 1))
        via = ["--via", f"file:{self.lease(10)}", "--key", "default"]
        lease = self.listed(*via)["lease"]
        self.assertEqual((lease["leader"], lease["epoch"], lease["next"]), ("boss", 42, ["next"]))
        self.assertGreater(lease["valid_for_ms"], 100_000)
        self.assertLessEqual(lease["valid_for_ms"], 170_000)
        screen = self.agents("list", *via).out
        for words in ("LEADER", "boss", "epoch", "42", "unless renewed", "next", "last change", "boss *"):
            self.assertIn(words, screen)


class Watch(Fleet):
    def watch(self, script, *arguments):
        self.agents("register", "--id", "a")
        self.log = self.folder / "log"
        self.log.touch()
        process = self.start("watch", "--registry", self.registry, "--id", "a", "--interval", "100ms", "--state",
                             self.folder / "watch.json", *arguments, "--", "sh", "-c", f"echo $$ >> log; {script}")
        self.said = product.Reader(process.stderr)
        return process

    def pids(self):
        return [int(line) for line in self.log.read_text().split()]

    def state(self):
        return json.loads((self.folder / "watch.json").read_text())

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), 0)
        self.eventually("the end of all that was started", lambda: not any(lives(pid) for pid in self.pids()))

    def test_a_process_that_dies_is_started_again_and_counted(self):
        process = self.watch("exit 3")
        self.eventually("a second start", lambda: len(self.pids()) >= 2)
        self.assertIn("exit code 3", self.said.wait_for("dead"))
        self.eventually("the count", lambda: self.state()["restarts_last_hour"] >= 1)
        self.end(process)

    def test_a_process_that_lives_without_a_heartbeat_is_frozen_and_ended_with_its_group(self):
        process = self.watch("trap '' TERM; sleep 1000 & echo $! >> log; wait", "--stale-after", "500ms", "--grace",
                             "200ms")
        self.assertIn("alive, but no heartbeat", self.said.wait_for("frozen"))
        self.eventually("a second start", lambda: len(self.pids()) >= 4)
        self.assertFalse(any(lives(pid) for pid in self.pids()[:2]), "the frozen one and its child")
        self.end(process)

    def test_one_that_was_stopped_is_frozen_too(self):
        process = self.watch("kill -STOP $$", "--stale-after", "500ms")
        self.eventually("a second start", lambda: len(self.pids()) >= 2)
        self.assertFalse(lives(self.pids()[0]))
        self.end(process)

    def test_a_restart_can_be_asked_for(self):
        process = self.watch("sleep 1000")
        self.eventually("the first start", lambda: len(self.pids()) == 1 and (self.folder / "watch.json").exists())
        run = self.bellwether("watch", "--restart", "--state", self.folder / "watch.json")
        self.assertEqual(run.code, 0, run)
        self.said.wait_for("a restart was requested")
        self.eventually("the second start", lambda: len(self.pids()) == 2)
        self.end(process)
        run = self.bellwether("watch", "--restart", "--state", self.folder / "watch.json")
        self.assertEqual(run.code, 104, "no watchdog lives, and no command is given")

    def test_wrong_arguments_are_refused(self):
        self.assert_refused(self.bellwether("watch", "--", "true"), "--via")
        self.assert_refused(self.bellwether("watch", "--registry", "r", "--id", "a"), "keep running")
        self.assert_refused(self.bellwether("watch", "--registry", "r", "--id", "a", "--interval", "0s", "--", "true"),
                            "--interval")


class Doctor(Fleet):
    def doctor(self, *arguments):
        run = self.bellwether("doctor", "--json", "--for", "0s", *arguments)
        out = json.loads(run.out)
        for finding in out["findings"]:
            for part in ("what", "evidence", "why", "command"):
                self.assertTrue(finding[part], finding)
        return run.code, " | ".join(finding["what"] for finding in out["findings"])

    def test_promises_are_judged_without_asking_a_store(self):
        self.assertEqual(self.doctor("--policy", EXAMPLE, "--offline"), (0, ""))
        text = EXAMPLE.read_text().replace("takeover_slo: 20s", "takeover_slo: 10s")
        code, what = self.doctor("--policy", self.write("p.yaml", text), "--offline")
        self.assertEqual(code, 1)
        self.assertIn("loop 'delay_poller' cannot meet its objective", what)

    def test_a_store_that_does_not_answer_is_critical_and_asked_once(self):
        text = EXAMPLE.read_text().replace("127.0.0.1:6379", "127.0.0.1:1")
        code, what = self.doctor("--policy", self.write("p.yaml", text), "--timeout", "2s")
        self.assertEqual((code, what.count("cannot be asked")), (2, 1))

    def test_a_store_of_the_command_line_replaces_those_in_the_sheet(self):
        text = EXAMPLE.read_text().replace("127.0.0.1:6379", "127.0.0.1:1")
        what = self.doctor("--policy", self.write("p.yaml", text), "--via", f"flock:{self.folder}/locks")[1]
        self.assertNotIn("cannot be asked", what)
        self.assertIn("has no holder", what)

    def test_a_lease_is_judged_by_its_age(self):
        for seconds, code, words in ((10, 0, ""), (100, 1, "is late"), (200, 2, "has expired"),
                                     (-60, 2, "cannot be asked")):
            via = ["--via", f"file:{self.lease(seconds)}", "--key", "default"]
            found, what = self.doctor(*via)
            self.assertEqual(found, code, f"{seconds}: {what}")
            self.assertIn(words, what)

    def test_changes_of_leader_are_counted_from_run_to_run(self):
        for epoch, code in ((1, 0), (5, 0), (6, 1), (11, 2)):
            via = ["--via", f"file:{self.lease(1, epoch=epoch)}", "--key", "default"]
            found, what = self.doctor(*via, "--history", self.folder / "epochs.json")
            self.assertEqual(found, code, f"{epoch}: {what}")

    def test_a_fleet_is_judged(self):
        self.fill(agent("a", 1))
        self.assertEqual(self.doctor("--registry", self.registry), (0, ""))
        self.fill(agent("a", 1), agent("b", 130))
        self.assertEqual(self.doctor("--registry", self.registry), (1, "agents are silent"))
        self.fill(agent("a", -60))
        self.assertEqual(self.doctor("--registry", self.registry), (1, "clock skew: heartbeats from the future"))
        self.write("fleet.json", "{torn")
        self.assertEqual(self.doctor("--registry", self.registry), (2, "the registry cannot be read"))

    def test_a_fleet_is_judged_by_its_folder(self):
        """What was set aside beside a file is found, and so is a queue that nobody can read."""
        fleet = self.folder / "fleet"
        run = self.bellwether("agents", "tasks", "add", "--dir", fleet, "nightly")
        self.assertEqual(run.code, 0, run)
        self.assertIn("has no holder", self.doctor("--dir", fleet)[1])
        (fleet / "agents.json.quarantine-2026").write_text("{torn")
        self.assertIn("a corrupt file was set aside", self.doctor("--dir", fleet)[1])
        (fleet / "tasks.json").write_text("{torn")
        code, what = self.doctor("--queue", fleet / "tasks.json")
        self.assertEqual((code, what), (2, "the queue cannot be read"))

    def test_a_fleet_beside_a_sheet_keeps_a_lease_of_its_own(self):
        """A store that is not given is not made up: neither the fleet's for the sheet nor the other way round."""
        fleet = self.folder / "fleet"
        fleet.mkdir()
        (fleet / "orchestrator-state.json").write_text(Path(self.lease(100)).read_text())
        sheet = self.write("p.yaml", "leader_election:\n  r: {poll_interval: 5s, lock_key: loop, lock_ttl: 15s, "
                           "release_mode: ttl_hold, command: 'true'}\n")
        self.assertEqual(self.doctor("--policy", sheet), (0, ""))
        late = "the record of 'default' is unusual | the heartbeat of 'default' is late"
        code, what = self.doctor("--policy", sheet, "--dir", fleet)
        self.assertEqual((code, what), (1, late))
        store = f"flock:{self.folder}/locks"
        code, what = self.doctor("--policy", sheet, "--dir", fleet, "--via", store)
        self.assertIn("'loop'", what)
        self.assertIn("'default' is late", what)
        self.assertNotIn("'default'", self.doctor("--policy", sheet, "--dir", fleet, "--offline")[1])

    def test_the_watchdog_is_judged(self):
        path = self.write("watch.json", json.dumps({"restarts_last_hour": 20, "last_cause": "it is dead"}))
        self.assertEqual(self.doctor("--watch", path)[0], 1)
        path = self.write("watch.json", json.dumps({"restarts_last_hour": 19, "last_cause": "it is dead"}))
        self.assertEqual(self.doctor("--watch", path)[0], 0)
        self.assertEqual(self.doctor("--watch", self.folder / "nowhere"), (1, "there is no watchdog"))

    def test_findings_are_shown_with_what_to_do(self):
        self.fill(agent("b", 130))
        run = self.bellwether("doctor", "--registry", self.registry)
        for words in ("warning: agents are silent", "evidence: b (stale)", "why it matters:", "do: bellwether agents"):
            self.assertIn(words, run.out)

    def test_wrong_arguments_are_refused(self):
        self.assert_refused(self.bellwether("doctor"), "--policy")
        self.assert_refused(self.bellwether("doctor", "--via", "memory:x"), "--key")
        self.assert_refused(self.bellwether("doctor", "--policy", EXAMPLE, "--key", "k"), "--via")
        self.assert_refused(self.bellwether("doctor", "--policy", self.write("p.yaml", "a: 1\n")), "unknown key")


if __name__ == "__main__":
    product.main()
