#!/usr/bin/env python3
"""Nodes that lead the making of contexts, in namespaces of their own: nothing that was acknowledged is lost, and
nothing is completed twice, whoever dies or is cut off."""

import os

from lib import contexts, nodes
from lib.world import until


class Requests(contexts.Test):
    def test_requests_are_done_in_the_order_of_their_priority(self):
        cluster = self.start(self.contexts(jobs=1, auto_start_generation=False))
        leader = self.context_leader(cluster)
        low = [self.submit(cluster, "a", "0.01", "--priority", "1") for _ in range(2)]
        high = [self.submit(cluster, "b", "0.01", "--priority", "9") for _ in range(2)]
        middle = self.submit(cluster, "c", "0.01", "--priority", "5")
        self.assertEqual(self.status(cluster, "a")["queued"], 5)
        self.assertEqual(self.context(cluster, "a", "start")[0], 0)
        self.all_done(cluster)
        self.assertEqual(contexts.begun(self.sink), [*high, middle, *low])
        code, out, _ = self.context(cluster, "b", "result", middle)
        self.assertEqual((code, out), (0, f"made of 0.01 by {leader}, 5 bytes\n"))
        # The same request again is the one that is done already.
        self.submit(cluster, "a", "0.01", request=middle)
        self.assertEqual(self.status(cluster, "a")["completed"], 5)

    def test_a_command_that_fails_hangs_or_prints_too_much_fails_its_request_and_no_other(self):
        cluster = self.start(self.contexts(job_timeout="6s", job_grace="200ms", jobs=3))
        self.context_leader(cluster)
        wrong = {takes: self.submit(cluster, "a", takes) for takes in contexts.FAILING}
        good = self.submit(cluster, "b", "0.05", "--priority", "1")
        self.all_done(cluster)
        reasons = {takes: self.outcome(cluster, "c", request)["reason"] for takes, request in wrong.items()}
        self.assertEqual(reasons, {"fails": "exit code 3: it cannot be done", "hangs": "took longer than 6s",
                                   "much": "printed more than 64 KiB"})
        self.assertEqual(self.context(cluster, "a", "result", wrong["fails"])[0], 2)
        self.assertEqual([self.outcome(cluster, "a", request)["attempt"] for request in wrong.values()], [3, 3, 3])
        self.assertEqual(self.outcome(cluster, "a", good)["attempt"], 1)
        self.assertEqual(cluster.metric(self.context_leader(cluster), "bellwether_context_failed"), 3)

    def test_what_is_wrong_is_said_with_the_remedy(self):
        cluster = self.contexts()
        cluster.start("a", context={"jobs": 0})
        self.assertEqual(cluster.running.pop("a").wait(), 104)
        self.assertIn("a.yaml:1:", (cluster.folder / "a.log").read_text())
        cluster.start("a", context={"cluster_health_treshold": 0.5})
        self.assertEqual(cluster.running.pop("a").wait(), 104)
        self.assertIn("cluster_health_threshold", (cluster.folder / "a.log").read_text())
        cluster.start("a", context={"serve": True, "queue_drain_timeout": "2m"})
        self.assertEqual(cluster.running.pop("a").wait(), 104)
        self.assertIn("longer than context_failover_timeout", (cluster.folder / "a.log").read_text())
        self.start(cluster)
        leader = self.context_leader(cluster)
        code, _, err = self.context(cluster, "a", "submit", payload="x" * 65537)
        self.assertEqual(code, 104)
        self.assertIn("more than 65536 bytes", err)
        code, _, err = self.context(cluster, "a", "submit", "--id", "short")
        self.assertEqual(code, 104)
        self.assertIn("32 hexadecimal digits", err)
        code, _, err = self.context(cluster, "a", "transfer", "nobody")
        self.assertEqual(code, 1)
        self.assertIn("'nobody' is not a member", err)
        code, _, err = self.context(cluster, "a", "transfer", leader)
        self.assertEqual(code, 1)
        self.assertIn("not another member", err)
        self.assertEqual(self.context(cluster, "a", "result", "1" * 32)[0], 1)
        code, _, err = self.context(cluster, "a", "start")
        self.assertEqual(code, 1)
        self.assertIn("running already", err)

    def test_a_node_without_a_manager_is_handed_nothing(self):
        cluster = self.contexts()
        self.start(cluster, "a", "b")
        self.start(cluster, "c", context={**contexts.QUICK, "serve": True}, priority=0, agent={"capabilities": []})
        cluster.all_alive()
        leader = self.context_leader(cluster, ["a", "b"])
        code, out, _ = self.context(cluster, "a", "transfer", "c")
        self.assertEqual(code, 1, out)
        self.assertIn("this node has no context manager", out)
        self.assertEqual(self.context_leader(cluster, ["a", "b"]), leader)
        request = self.submit(cluster, "c", "0.05")
        self.all_done(cluster)
        self.assertEqual(self.context(cluster, "c", "result", request)[0], 0)

    def test_voters_that_elect_by_quorum_have_a_leader_of_contexts_too(self):
        cluster = self.contexts()
        cluster.start(**self.other)
        leader = self.context_leader(cluster)
        self.submit_many(cluster, 6, "0.2")
        target = next(name for name in cluster.voters if name != leader)
        # Refused until the leader has heard of a voter that it is well and has the state of the group.
        until("a transfer", lambda: self.context(cluster, "a", "transfer", target)[0] == 0)
        cluster.running.pop(target).kill()
        self.context_leader(cluster, other_than=target)
        self.all_done(cluster)

    def test_each_node_says_how_fit_it_is(self):
        cluster = self.contexts()
        for name in cluster.voters:
            capable = ["context_generation", "context_curation"] if name != "c" else []
            self.start(cluster, name, agent={"capabilities": ["admin_election", *capable]})
        self.context_leader(cluster)
        self.submit(cluster, "a", "0.01")
        self.all_done(cluster)
        nodes_seen = {one["name"]: one for one in self.status(cluster, "b")["nodes"]}
        self.assertEqual(sorted(nodes_seen), ["a", "b", "c"])
        self.assertIn("context_generation", " ".join(nodes_seen["c"]["disqualified"]))
        self.assertNotIn("context_generation", " ".join(nodes_seen["a"]["disqualified"]))
        code, text, _ = self.context(cluster, "a", "status")
        self.assertEqual(code, 0)
        self.assertIn("NOT FIT BECAUSE", text)
        self.assertIn("1 completed, 0 failed", text)


class Leaders(contexts.Test):
    def fitness_has_counted(self, votes):
        """Who is fit to lead contexts is worth more as an admin."""
        [winner] = [one for one in votes["nodes"] if one["name"] == votes["winner"]]
        weights, parts = votes["weights"], winner["parts"]
        fitness, assignment = parts.pop("context"), weights.pop("context")
        self.assertEqual(assignment, 0.3)
        base = sum(weights[part] * value for part, value in parts.items())
        self.assertAlmostEqual(winner["score"], (1 - assignment) * base + assignment * fitness, places=6)

    def test_a_leader_that_is_killed_with_requests_queued_and_running_loses_none(self):
        cluster, leader = self.contexts_led()
        self.submit_many(cluster, 50, "0.3")
        until("some run", lambda: (self.status(cluster, leader) or {}).get("active", 0) > 0)
        cluster.running.pop(leader).kill()
        second = self.context_leader(cluster, other_than=leader)
        self.fitness_has_counted(cluster.ask(second, "votes"))
        self.all_done(cluster)
        # On a busy machine others may have led since.
        until("the leader knows of all", lambda: self.counts(cluster, second) == (0, 0, 50, 0))
        self.assertEqual(self.status_of(cluster, second)["last_failover"]["to"], second)
        until("the page of the leader has them", lambda: 50 in [
            cluster.metric(name, "bellwether_context_completed") for name in cluster.running])
        for name in cluster.voters:
            self.assertEqual(cluster.said(name, "job_taken_over") + cluster.said(name, "job_not_taken"), [],
                             "the register of requests is no job")
        self.start(cluster, leader, first=False)
        until("the one that was killed is well again",
              lambda: (self.status(cluster, second) or {"health": 0})["health"] == 1)

    def test_the_leadership_is_transferred_to_a_named_node_under_load(self):
        cluster, leader = self.contexts_led()
        target = next(name for name in cluster.voters if name != leader)
        with contexts.Load(self, cluster) as load:
            until("some are kept", lambda: load.acknowledged > 5)
            code, out, err = self.context(cluster, "a", "transfer", target, "--reason", "maintenance")
            self.assertEqual(code, 0, out + err)
            for step in ("the transfer to", "the generation is stopped", "the state is sent", "accepts the state",
                         "the office is given", f"{target} leads after {leader}"):
                self.assertIn(step, out)
            self.assertEqual(self.context_leader(cluster), target)
            kept = load.acknowledged
            until("more are kept", lambda: load.acknowledged > kept + 5)
        self.all_done(cluster)
        self.assertEqual(cluster.agreed()[0], target)
        self.assertEqual(cluster.metric(leader, "bellwether_context_transfers_total"), 1)
        self.assertEqual(cluster.metric(leader, "bellwether_context_transfers_failed_total"), 0)
        cluster.says(target, "generates contexts")
        cluster.says(leader, f"'{target}' generates contexts")

    def test_a_leader_that_is_cut_off_does_nothing_more_and_loses_nothing(self):
        cluster, leader = self.contexts_led()
        others = [name for name in cluster.voters if name != leader]
        with contexts.Load(self, cluster, takes="0.3") as load:
            until("some are kept", lambda: load.acknowledged > 5)
            cluster.world.cut(leader, others)
            second = self.context_leader(cluster, others, other_than=leader)
            until("who is cut off leads no contexts",
                  lambda: (self.status_of(cluster, leader) or {}).get("state") == "not_leading")
            kept = load.acknowledged
            until("more are kept", lambda: load.acknowledged > kept + 3)
            cluster.world.heal()
        self.all_done(cluster, second)
        # No command of the one that was cut off has begun after the first of its successor.
        holders = [line.split()[4] for line in self.sink.read_text().splitlines() if line.startswith("begun ")]
        self.assertNotIn(leader, holders[holders.index(second):])

    def test_a_leader_that_leaves_in_good_order_stops_its_commands_and_loses_nothing(self):
        cluster, leader = self.contexts_led()
        with contexts.Load(self, cluster, takes="0.5") as load:
            until("some are kept", lambda: load.acknowledged > 5)
            self.assertEqual(cluster.running.pop(leader).stop(), 0)
            second = self.context_leader(cluster, other_than=leader)
            kept = load.acknowledged
            until("more are kept", lambda: load.acknowledged > kept + 3)
        self.all_done(cluster, second)

    def test_a_leader_that_is_stopped_leaves_no_command_behind(self):
        cluster, leader = self.contexts_led()
        request = self.submit(cluster, "a", "8")
        until("it runs", lambda: contexts.commands_of(request))
        cluster.running[leader].pause()
        others = [name for name in cluster.voters if name != leader]
        self.context_leader(cluster, others, other_than=leader)
        self.assertNotIn(leader, contexts.commands_of(request), "the guardian has ended it with the term")
        cluster.running[leader].resume()
        self.all_done(cluster, others[0])
        self.assertNotIn(leader, [line.split()[4] for line in self.sink.read_text().splitlines()
                                  if line.startswith("done ")])

    def test_failovers_of_all_kinds_lose_nothing_and_complete_nothing_twice(self):
        """BW_CONTEXT_FAILOVERS of them, in turn: the leader is killed, hands over to a named node, is cut off."""
        count = int(os.environ.get("BW_CONTEXT_FAILOVERS", "3"))
        cluster, leader = self.contexts_led()
        acknowledged = 0
        for number in range(count):
            others = [name for name in cluster.voters if name != leader]
            with contexts.Load(self, cluster, takes="0.2") as load:
                until("some are kept", lambda: load.acknowledged > 3)
                if number % 3 == 0:
                    cluster.running.pop(leader).kill()
                    second = self.context_leader(cluster, others, other_than=leader)
                    self.start(cluster, leader, first=False)
                elif number % 3 == 1:
                    target = others[number % 2]
                    until(f"{target} leads", lambda: self.context(cluster, leader, "transfer", target)[0] == 0)
                    second = self.context_leader(cluster, [target])
                else:
                    cluster.world.cut(leader, others)
                    second = self.context_leader(cluster, others, other_than=leader)
                    cluster.world.heal()
                until("some are kept", lambda: load.acknowledged > 6)
            acknowledged += load.acknowledged
            cluster.all_alive()
            leader = self.context_leader(cluster, other_than=leader if number % 3 else None)
            self.all_done(cluster, leader)
            print(f"failovers {number + 1}, requests acknowledged {acknowledged}, lost {len(self.kept)}, "
                  f"completed twice {len(self.twice)}", flush=True)
        self.assertEqual(len(self.ended), acknowledged)


if __name__ == "__main__":
    nodes.main()
