#!/usr/bin/env python3
"""A fleet of agents that works a queue off, with real processes: kills, pauses, wrong set-ups, broken files."""

import collections
import json
import os
import signal
import unittest

from lib import fleet, leading, product
from lib.cut import Cut
from lib.daemon import descendants, freeze, lives, until
from lib.redis import Redis


class Work(fleet.Test):
    def test_of_fifty_tasks_each_is_completed_once_though_two_leaders_are_killed(self):
        self.add(50)
        stuck = "if (number, epoch) in ((20, 1), (35, 2)): time.sleep(1000)"
        # Long enough that nobody but the killed ones ever loses it.
        agents = [self.agent(name, work=stuck, ttl="10s") for name in ("a", "b", "c")]
        for number, epoch in ((20, 1), (35, 2)):
            self.begun(number, epoch)
            leader = next(agent for agent in agents if agent.runs() and agent.all("elected"))
            work = [pid for pid in descendants(leader.pid) if lives(pid)]
            leader.signal(signal.SIGKILL)
            until("the end of its command", lambda: not any(map(lives, work)))
        until("the rest", lambda: self.states() == {"done": 50})
        queue = self.queue("--all")
        self.assertEqual((queue["cursor"], queue["fence"], queue["settled"]), (51, 3, 50))
        accepted = collections.Counter(event["number"] for agent in agents for event in agent.all("task_done"))
        self.assertEqual(accepted, collections.Counter(range(1, 51)), "each result was accepted once")
        finished = collections.Counter(line.number for line in self.log() if line.what == "end")
        self.assertEqual(finished, collections.Counter(range(1, 51)), "each was carried out once")
        for task in queue["tasks"]:
            epoch = 1 if task["number"] < 20 else 2 if task["number"] < 35 else 3
            self.assertEqual((task["epoch"], task["attempt"]), (epoch, 2 if task["number"] in (20, 35) else 1), task)
        epochs = [line.epoch for line in self.log()]
        self.assertEqual(epochs, sorted(epochs), "nothing was begun under an older epoch than before")

    def test_a_leader_that_was_paused_completes_nothing_when_it_comes_back(self):
        self.add(3)
        paused = self.agent("a", work="if epoch == 1: time.sleep(3)")
        self.begun(1, 1)
        whole = freeze(paused.pid)
        other = self.agent("b")
        until("the end of all tasks", lambda: self.states() == {"done": 3})
        for pid in reversed(whole):
            os.kill(pid, signal.SIGCONT)
        paused.wait_for("deposed")
        paused.wait_for("task_abandoned")
        paused.wait_for("follower", text="'b'")
        self.assertEqual(paused.all("task_done"), [])
        self.assertEqual([task["epoch"] for task in self.queue("--all")["tasks"]], [2, 2, 2])
        self.assertEqual([line.number for line in self.log() if line.what == "end" and line.epoch == 2], [1, 2, 3])
        self.assertEqual(len(other.all("task_done")), 3)

    def test_a_task_that_goes_on_is_ended_before_another_agent_leads(self):
        self.add(1)
        command = ["sh", "-c", "exec " + " ".join(f"'{word}'" for word in leading.RECORDER) + f" {self.folder}/acts"]
        first = self.agent("a", command=command)
        until("acts", lambda: len(leading.acts(self.folder / "acts")) > 10)
        first.signal(signal.SIGSTOP)
        self.agent("b", command=command).elected()
        until("acts of the next", lambda: {epoch for epoch, _ in leading.acts(self.folder / "acts")} == {1, 2})
        first.signal(signal.SIGCONT)
        first.wait_for("deposed")
        self.assertEqual(leading.overlaps(leading.acts(self.folder / "acts")), [])

    def test_two_leaders_by_a_wrong_set_up_still_complete_each_task_once(self):
        self.add(6)
        # The first task of the first leader is done only when all are done elsewhere.
        go = self.folder / "go"
        first = self.agent("a", work=f"while epoch == 1 and not os.path.exists('{go}'): time.sleep(0.01)")
        self.begun(1, 1)
        second = self.agent("b", "--via", f"file:{self.folder}/another.json")
        second.elected()
        until("the end of all tasks", lambda: self.states() == {"done": 6})
        go.touch()
        refused = first.wait_for("task_refused")
        self.assertIn("is too late", refused["text"])
        self.assertEqual(first.all("task_done"), [])
        self.assertEqual({task["epoch"] for task in self.queue("--all")["tasks"]}, {2}, "higher than that of the queue")
        # The first comes back after a lease, under the epoch that the other has in its own.
        refused = first.wait_for("refused", text="under the same epoch")
        self.assertIn("compare --via", refused["text"])
        self.tasks("add", *(f"more{i}" for i in range(6)))
        until("the end of all tasks", lambda: self.states() == {"done": 12})
        accepted = collections.Counter(event["number"] for agent in (first, second) for event in agent.all("task_done"))
        self.assertEqual(accepted, collections.Counter(range(1, 13)), "each result was accepted once")

    def test_tasks_run_side_by_side_when_that_is_asked_for(self):
        self.add(4)
        # Each waits until all have begun.
        together = "\nwhile open(sys.argv[1]).read().count('begin') < 4: time.sleep(0.01)"
        self.leader("a", "--parallel", "4", work=together)
        until("the end of all tasks", lambda: self.states() == {"done": 4})

    def test_a_task_that_fails_is_tried_again_put_aside_and_retried_by_hand(self):
        self.add(2)
        fails = "if number == 1 and not os.path.exists(payload): sys.exit(3)"
        self.tasks("add", "t3", "--payload", self.folder / "mended")
        fails = fails.replace("number == 1", "number == 3")
        agent = self.agent("a", "--until-done", "--attempts", "2", "--retry-after", "50ms", work=fails)
        told = agent.wait_for("task_failed", text="agents tasks retry 3")
        self.assertIn("exit code 3", told["text"])
        failed = self.queue("--state", "failed")["tasks"]
        self.assertEqual([(task["name"], task["attempt"], task["outcome"]) for task in failed],
                         [("t3", 2, "exit code 3")])
        self.assertEqual(self.queue()["cursor"], 4, "the queue goes on")
        self.assertEqual(agent.wait(), 1, "with --until-done")
        agent = self.agent("a", "--until-done", work=fails)
        self.assertEqual(agent.wait(), 1, "it does not begin what was put aside")
        agent = self.leader("a", work=fails)
        self.write("mended", "")
        self.tasks("retry", "t3")
        until("the third attempt", lambda: self.states() == {"done": 3})
        self.tasks("retry", "t3", code=1)

    def test_an_agent_that_is_ended_gives_its_task_back_and_leaves(self):
        self.add(1)
        agent = self.agent("a", "--audit", "audit", "--attempts", "1",
                           work="time.sleep(1000) if epoch == 1 else None")
        self.begun(1, 1)
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait(), 0)
        self.assertEqual(self.agents(), {})
        [task] = self.queue()["tasks"]
        self.assertEqual((task["state"], task["attempt"], task["tries"]), ("waiting", 1, 0))
        audit = [json.loads(line) for line in (self.folder / "audit").read_text().splitlines()]
        self.assertEqual([line["event"] for line in audit],
                         ["registered", "elected", "taken_over", "task_begun", "task_given_back", "resigned"])
        self.assertEqual(self.agent("b", "--attempts", "1", "--until-done").wait(), 0)
        self.assertEqual(self.states(), {"done": 1})

    def test_a_command_that_ends_well_because_it_was_asked_to_has_not_done_its_task(self):
        self.add(1)
        agent = self.agent("a", command=["sh", "-c", "trap 'exit 0' TERM; echo > begun; sleep 1000 & wait"])
        until("the command", (self.folder / "begun").exists)
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait(), 0)
        self.assertEqual(len(agent.all("task_given_back")), 1)
        self.assertEqual(self.states(), {"waiting": 1})

    def test_a_command_that_does_not_end_when_asked_is_killed_after_the_grace(self):
        self.add(1)
        agent = self.agent("a", "--grace", "200ms", ttl="1000s",
                           command=["sh", "-c", "trap '' TERM; echo $$ > begun; while :; do sleep 1; done"])
        begun = self.folder / "begun"
        until("the command", lambda: begun.exists() and begun.read_text().strip())
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait(), 0)
        self.assertFalse(lives(int(begun.read_text())))
        self.assertEqual(self.states(), {"waiting": 1})

    def test_a_command_that_cannot_be_started_ends_the_agent_and_loses_no_task(self):
        self.add(1)
        agent = self.agent("a", command=["/nowhere/at/all"])
        self.assertEqual(agent.wait(), 127)
        self.assertEqual(self.states(), {"waiting": 1})


class Roles(fleet.Test):
    def test_followers_touch_nothing_but_the_registry(self):
        self.add(2)
        self.leader("a", ttl="100s")
        until("the end of all tasks", lambda: self.states() == {"done": 2})
        before = self.snapshot()
        follower = self.agent("b", "--heartbeat", "100ms", ttl="10s")
        follower.wait_for("follower", text="'a'")
        beat = self.agents()["b"]["last_heartbeat"]
        until("two heartbeats", lambda: self.agents()["b"]["last_heartbeat"] > beat)
        self.assertEqual(self.snapshot(), before)
        self.assertEqual({name: one["role"] for name, one in self.agents().items()},
                         {"a": "orchestrator", "b": "orchestrator"})

    def test_a_follower_that_shall_not_wait_leaves_in_good_order_and_says_who_leads(self):
        self.leader("a", ttl="60s")
        run = self.bellwether(*self.agent_format("b", "--exit-if-follower", ttl="60s")[1:],
                              environment=self.environment())
        self.assertEqual(run.code, 0, run)
        self.assertIn("'a' is the leader under epoch 1", run.err)
        self.assertEqual(list(self.agents()), ["a"])

    def test_it_leads_when_the_leader_was_killed(self):
        leader = self.leader("a")
        leader.signal(signal.SIGKILL)
        leader.wait()
        self.add(1)
        self.assertEqual(self.agent("b", "--exit-if-follower", "--until-done").wait(), 0)
        self.assertEqual([task["epoch"] for task in self.queue("--all")["tasks"]], [2])

    def test_one_that_lost_the_leadership_to_another_leaves_too(self):
        first = self.leader("a", "--exit-if-follower")
        first.signal(signal.SIGSTOP)
        self.leader("b")
        first.signal(signal.SIGCONT)
        self.assertEqual(first.wait(), 0)
        self.assertIn("'b' is the leader", first.wait_for("left")["text"])

    def test_the_watchdog_starts_a_follower_again_when_the_leader_falls_silent(self):
        self.add(1)
        first = self.leader("a")
        until("the task", lambda: self.states() == {"done": 1})
        words = self.agent_format("b", "--exit-if-follower")
        watch = self.start("watch", "--via", f"file:{self.fleet}/orchestrator-state.json", "--key", "default",
                           "--interval", "100ms", "--stale-after", "16s", "--", *words,
                           environment=self.environment())
        said = product.Reader(watch.stderr)
        said.wait_for("'a' is the leader under epoch 1")
        first.signal(signal.SIGKILL)
        said.wait_for("leads the fleet, epoch 2")
        watch.send_signal(signal.SIGTERM)
        self.assertEqual(watch.wait(product.PATIENCE), 0)
        self.assertEqual(list(self.agents()), ["a"], "the one that was killed could not take itself out")

    def test_a_living_agents_name_is_not_taken(self):
        self.leader("a")
        run = self.bellwether(*self.agent_format("a")[1:], environment=self.environment())
        self.assertEqual(run.code, 104, run)
        self.assertIn("another --id", run.err)

    def test_the_leader_cleans_the_registry_and_registers_again_when_forgotten(self):
        agent = self.leader("a", "--heartbeat", "100ms", "--stale-after", "1s", "--dead-after", "2s")
        self.bellwether("agents", "register", "--dir", self.fleet, "--id", "silent")
        told = agent.wait_for("cleaned", text="stale silent")
        until(f"the leader is active: {told}", lambda: self.agents()["a"]["status"] == "active")
        agent.wait_for("cleaned", text="removed silent")
        self.assertEqual(list(self.agents()), ["a"])
        self.bellwether("agents", "deregister", "--dir", self.fleet, "--id", "a")
        agent.wait_for("warning", text="registered again")
        until("the agent", lambda: list(self.agents()) == ["a"])

    def test_tasks_of_an_agent_that_falls_silent_are_handed_back(self):
        self.leader("a", "--heartbeat", "100ms", "--stale-after", "600ms", "--dead-after", "900ms")
        self.put_in(state="running", agent="silent")
        until("its end", lambda: self.states() == {"done": 1})
        self.assertEqual([(task["agent"], task["attempt"]) for task in self.queue("--all")["tasks"]], [("a", 2)])


    def put_in(self, **task):
        """Writes one task into the queue, as if it had come to be there."""
        path = self.fleet / "tasks.json"
        until("the queue", path.exists)
        queue = json.loads(path.read_text())
        queue.update(next=2, tasks=[{"number": 1, "name": "t1", "payload": "", "epoch": 1, "attempt": 1, "tries": 1,
                                     "outcome": "", **task}])
        self.write("fleet/tasks.json", json.dumps(queue))

    def test_a_task_that_runs_under_a_leader_that_does_not_know_of_it_is_begun_again(self):
        self.leader("a")
        self.put_in(state="running", agent="a")
        until("its end", lambda: self.states() == {"done": 1})
        self.assertEqual([(task["epoch"], task["attempt"]) for task in self.queue("--all")["tasks"]], [(1, 2)])

    def test_a_task_that_was_lost_with_its_leader_too_often_is_put_aside_and_told(self):
        leader = self.leader("a", "--attempts", "2")
        self.put_in(state="waiting", agent="b", attempt=2, tries=2, outcome="its leader was lost before it was done")
        told = leader.wait_for("task_failed", text="its leader was lost")
        self.assertIn(f"tasks retry 1 --queue {self.fleet}/tasks.json", told["text"])
        self.assertEqual(self.states(), {"failed": 1})


class Times(fleet.Test):
    def test_a_leader_whose_work_is_not_sound_gives_the_leadership_up(self):
        sound = [self.write(f"sound-{name}", "") for name in ("a", "b")]
        a, b = (self.agent(name, "--health-cmd", f"test -e {path}", "--health-every", "1s")
                for name, path in zip("ab", sound))
        until("a leader", lambda: a.all("elected") or b.all("elected"))
        first, second, path = (a, b, sound[0]) if a.all("elected") else (b, a, sound[1])
        os.unlink(path)
        self.assertIn("unhealthy", first.wait_for("deposed")["text"])
        second.elected()
        self.write(os.path.basename(path), "")

    def test_a_lease_under_three_heartbeats_is_warned_about(self):
        agent = self.agent("a", "--heartbeat", "400ms", ttl="1s")
        self.assertIn("< 3", agent.wait_for("warning", text="safety margin")["text"])
        leader = self.lead("--renew", "400ms", command=["true"], ttl="1s")
        leader.wait_for("warning", text="safety margin")
        for profile in ("production", "high-availability", "lenient"):
            quiet = self.agent("b", "--profile", profile)
            quiet.wait_for("registered")
            self.assertEqual(quiet.all("warning"), [])
            quiet.signal(signal.SIGTERM)
            self.assertEqual(quiet.wait(), 0)

    def test_a_successor_in_the_leaders_region_goes_first(self):
        leader = self.leader("a", "--region", "eu")
        far = self.agent("us", "--region", "us", "--cross-region-wait", "30s")
        far.wait_for("follower")
        near = self.agent("eu", "--region", "eu", "--cross-region-wait", "30s")
        near.wait_for("follower")
        leader.signal(signal.SIGKILL)
        near.elected()
        self.assertEqual(far.all("elected"), [])

    def test_the_lease_follows_a_store_that_becomes_slow(self):
        redis = Redis(self.folder / "redis").start()
        self.addCleanup(redis.stop)
        cut = Cut(redis)
        self.addCleanup(cut.close)
        agent = self.leader("a", "--via", redis.url_at(cut.port), "--trust-empty", "--adaptive", "--ttl-max", "20s",
                            "-v", ttl="2s")
        cut.delay(0.05)
        agent.wait_for("note", text="the lease adapts to the store")

        def lease_ms():
            run = self.bellwether("lease", "show", "default", "--via", redis.url_at(redis.port), "--json")
            return json.loads(run.out)["lease_ms"]
        until("a longer lease", lambda: 2500 < lease_ms() <= 20_000)
        self.assertEqual(agent.all("deposed"), [])

    def test_times_that_contradict_each_other_are_refused(self):
        for options, words in (((), "COMMAND"), (("--ttl", "0s"), "lease"), (("--profile", "x"), "profile"),
                               (("--stale-after", "10s"), "--stale-after"), (("--heartbeat", "170s"), "renew"),
                               (("--adaptive", "--ttl-min", "200s"), "--ttl-min"), (("--poll", "0s"), "--poll")):
            command = ["--", "true"] if options else []
            self.assert_refused(self.bellwether("agents", "lead", "--dir", self.fleet, *options, *command), words)
        self.assert_refused(self.bellwether("agents", "lead", "--queue", "q", "--", "true"), "--dir")


class Files(fleet.Test):
    def test_a_broken_queue_is_set_aside_and_nothing_is_done_until_somebody_has_seen_it(self):
        self.add(1)
        agent = self.leader("a")
        until("the first task", lambda: self.states() == {"done": 1})
        self.write("fleet/tasks.json", '{"format": "bellwether.ta')
        told = agent.wait_for("trouble", text="the queue is halted")
        self.assertIn("agents tasks resume", told["text"])
        aside = [path.read_text() for path in self.fleet.glob("tasks.json.quarantine-*")]
        self.assertEqual(aside, ['{"format": "bellwether.ta'])
        self.assertIn("HALTED", self.tasks("list").out)
        self.assertIn("was renamed to .quarantine-", self.tasks("add", "t2", code=1).err)
        self.tasks("resume")
        self.tasks("add", "t2")
        until("the next task", lambda: self.states() == {"done": 1})
        self.assertEqual(agent.all("deposed"), [])
        self.tasks("resume", code=1)

    @unittest.skipIf(os.geteuid() != 0, "only root can act as another")
    def test_what_root_changes_stays_with_its_owner(self):
        self.add(1)
        queue = self.fleet / "tasks.json"
        for path in (self.folder, self.fleet, *self.fleet.iterdir()):
            os.chown(path, 65534, 65534)
        self.tasks("add", "t2")
        self.assertEqual((queue.stat().st_uid, queue.stat().st_gid), (65534, 65534))

    def test_without_a_leader_a_broken_queue_is_left_alone_and_explained(self):
        self.add(1)
        self.write("fleet/tasks.json", "no queue")
        for act in (("list",), ("add", "t2"), ("retry", "1")):
            self.assertIn("this is not a task queue", self.tasks(*act, code=1).err)
        self.assertEqual((self.fleet / "tasks.json").read_text(), "no queue")

    def test_a_lease_file_that_was_lost_does_not_take_the_epoch_back(self):
        self.add(1)
        self.assertEqual(self.agent("a", "--until-done").wait(), 0)
        for path in self.fleet.glob("orchestrator-state.json*"):
            path.unlink()
        self.tasks("add", "t2")
        self.remembered = "another machine"
        self.assertEqual(self.agent("b", "--until-done").wait(), 0)
        self.assertEqual([task["epoch"] for task in self.queue("--all")["tasks"]], [1, 2])

    def test_what_is_added_is_checked(self):
        self.assertIn("known already", (self.tasks("add", "t1"), self.tasks("add", "t1"))[1].out)
        for arguments, words in ((("a\nb",), "control"), (("a", "--payload", "x" * 20_000), "16384"), ((), "--from"),
                                 (("a", "--payload-file", "/nowhere"), "cannot be read"),
                                 (("--from", self.write("lines", '{"name": "a"}\n{"nome": 1}\n')), "lines:2")):
            self.assert_refused(self.bellwether("agents", "tasks", "add", "--dir", self.fleet, *arguments), words)
        self.assertEqual(len(self.queue()["tasks"]), 1, "all or none")
        payload = {"day": 1}
        self.tasks("add", "--from", self.write("lines", json.dumps({"name": "t2", "payload": payload})))
        self.assertEqual(json.loads(self.queue()["tasks"][1]["payload"]), payload)
        self.tasks("drop", "t1", "2")
        self.assertEqual(self.states(), {"dropped": 2})
        self.tasks("drop", "t1", code=1)
        self.assert_refused(self.bellwether("agents", "tasks", "retry", "--dir", self.fleet), "--all")

    def test_tasks_are_dropped_all_or_none_and_a_number_that_is_a_name_too_is_asked_about(self):
        self.tasks("add", "a", "b", "1")
        self.assertIn("none was changed", self.tasks("drop", "a", "7", code=1).err)
        self.assertEqual(self.states(), {"waiting": 3})
        run = self.bellwether("agents", "tasks", "drop", "--dir", self.fleet, "1")
        self.assert_refused(run, "the name of task 3 and the number of task 'a'")
        self.assertEqual(self.states(), {"waiting": 3})
        self.tasks("drop", "a", "2", "b", "3")
        self.assertEqual(self.states(), {"dropped": 3})


if __name__ == "__main__":
    product.main()
