#!/usr/bin/env python3
"""Who stands still for a while during a load test and then goes on, and who leaves in good order or joins."""

import os
import signal

from lib import jobs, nodes
from lib.world import until


class Pauses(jobs.Test):
    def test_a_manager_that_stood_still_has_lost_the_job_and_counts_nothing_of_it(self):
        cluster = self.cluster(3, workers=3)
        leader, _ = cluster.at_work()
        client = cluster.run(cluster.scenario(seconds=14))
        cluster.under_load(client, 2)
        cluster.running[leader].pause()
        rest = [name for name in cluster.voters if name != leader]
        until("another owner", lambda: cluster.said(rest[0], "job_taken_over") + cluster.said(rest[1],
                                                                                             "job_taken_over"))
        cluster.running[leader].resume()
        code, result = client.finish()
        self.assertEqual(code, jobs.PASS)
        self.assert_whole(result, 840)
        self.assert_steady(result, 14)
        self.assertEqual([one["kind"] for one in result["events"]], ["owner_changed"])
        self.assertNotEqual(cluster.agreed()[0], leader)
        self.assertEqual(len(cluster.said(leader, "job_lost")), 1)
        cluster.all_free()
        self.assertEqual(cluster.arrived(), 840)

    def test_a_worker_that_is_only_suspected_loses_nothing(self):
        cluster = self.cluster(3, workers=3)
        leader, _ = cluster.at_work()
        client = cluster.run(cluster.scenario(seconds=8))
        cluster.under_load(client, 2)
        cluster.running["w2"].pause()
        until("a suspicion", lambda: cluster.members(leader).get("w2") != "alive")
        cluster.running["w2"].resume()
        code, result = client.finish()
        self.assertEqual(code, jobs.PASS)
        self.assert_whole(result, 480)
        self.assertEqual(cluster.arrived(), 480)

    def test_a_worker_that_was_held_dead_has_made_extra_load_that_nobody_counts(self):
        cluster = self.cluster(3, workers=3)
        leader, _ = cluster.at_work()
        client = cluster.run(cluster.scenario(seconds=16))
        cluster.under_load(client, 2)
        # Its share is a process of its own, and does not stand still.
        cluster.running["w2"].pause()
        until("its share's moving", lambda: cluster.events(client.job, "share_moved"))
        status = cluster.status(client.job)
        cluster.running["w2"].resume()
        [extra] = until("what it says", lambda: cluster.events(client.job, "extra_load"))
        self.assertRegex(extra["detail"], "[0-9]+ requests? a second were sent, and are not counted")
        code, result = client.finish()
        self.assertEqual(code, jobs.LOST)
        self.assertEqual([one["kind"] for one in status["events"]], ["worker_lost", "share_moved"])
        [lost] = result["lost"]
        self.assertEqual(round(lost["share"], 3), 0.333)
        missing = 960 - result["totals"]["requests"]
        self.assertGreater(missing, 0)
        self.assertLessEqual(missing, (lost["to"] - lost["from"]) * 20 + 20)
        cluster.all_free()
        self.assertGreater(cluster.arrived(), result["totals"]["requests"])


class Overtime(jobs.Test):
    def test_a_share_that_hangs_gets_more_time_and_is_killed_when_it_makes_nothing_of_it(self):
        cluster = self.cluster(3, workers=2)
        cluster.at_work()
        client = cluster.run(cluster.scenario(seconds=4, graceful_stop="0s"))
        cluster.under_load(client, 1)
        [share] = cluster.children("w2")
        os.kill(share, signal.SIGSTOP)
        # A minute beyond its end, what it is given, and ten seconds to save what it has.
        status = cluster.in_state(client.job, "failed", seconds=180)
        self.assertIn("killed", status["why"])
        [given] = [one["detail"] for one in status["events"] if one["kind"] == "share_extended"]
        self.assertIn("'w2'", given)
        self.assertIn("15.0 s more", given)
        [refused] = [one["detail"] for one in status["events"] if one["kind"] == "share_not_extended"]
        self.assertIn("no progress", refused)
        client.finish()
        cluster.all_free()


class Leaving(jobs.Test):
    def test_a_manager_that_leaves_gives_its_jobs_to_another_one(self):
        cluster = self.cluster(3, workers=3)
        leader, _ = cluster.at_work()
        client = cluster.run(cluster.scenario(seconds=8))
        cluster.under_load(client, 2)
        self.assertEqual(cluster.running[leader].stop(), 0)
        code, result = client.finish()
        self.assertEqual(code, jobs.PASS)
        self.assert_whole(result, 480)
        self.assert_steady(result, 8)
        self.assertEqual([one["kind"] for one in result["events"]], ["owner_changed"])
        self.assertEqual(cluster.arrived(), 480)

    def test_all_managers_are_replaced_one_after_the_other(self):
        cluster = self.cluster(3, workers=2)
        leader, _ = cluster.at_work()
        client = cluster.run(cluster.scenario(seconds=24))
        cluster.under_load(client, 1)
        for name in [*(name for name in cluster.voters if name != leader), leader]:
            self.assertEqual(cluster.running[name].stop(), 0)
            cluster.start(name, first=False)
            cluster.all_alive()
            cluster.agreed()
        self.assertEqual(cluster.status(client.job)["state"], "running", "it was too short for this machine")
        code, result = client.finish()
        self.assertEqual(code, jobs.PASS)
        self.assert_whole(result, 24 * 60)
        self.assert_steady(result, 24)
        self.assertEqual(cluster.arrived(), 24 * 60)

    def test_a_worker_that_leaves_hands_its_load_over(self):
        cluster = self.cluster(3, workers=3)
        cluster.at_work()
        client = cluster.run(cluster.scenario(seconds=10))
        cluster.under_load(client, 2)
        self.assertEqual(cluster.running["w2"].stop(), 0)
        self.assertEqual(cluster.status(client.job)["state"], "running", "it left before the end")
        code, result = client.finish()
        self.assertEqual(code, jobs.PASS)
        self.assert_whole(result, 600)
        self.assert_steady(result, 10)
        kinds = [one["kind"] for one in result["events"]]
        self.assertEqual(sorted(set(kinds)), ["share_moved", "worker_left"])
        self.assertEqual([one["state"] for one in result["generators"]], ["completed", "drained", "completed"])
        until("its leaving", lambda: cluster.members("a")["w2"] == "left")
        self.assertEqual(cluster.arrived(), 600)

    def test_what_nobody_else_has_room_for_stops_at_once_when_its_worker_leaves(self):
        cluster = self.cluster(3, workers=1)
        cluster.at_work()
        client = cluster.run(cluster.scenario(seconds=30))
        cluster.under_load(client, 2)
        cluster.running["w1"].signal(signal.SIGTERM)
        until("the end of the load", lambda: not cluster.children("w1"), 5)
        until("its leaving", lambda: cluster.members("a")["w1"] == "left")

    def test_a_second_signal_ends_a_worker_that_still_has_load_to_hand_over(self):
        cluster = self.cluster(3, workers=3)
        cluster.at_work()
        client = cluster.run(cluster.scenario(seconds=10, more={"on_loss": "pass"}))
        cluster.under_load(client, 2)
        cluster.running["w2"].signal(signal.SIGTERM)
        cluster.says("w2", "leaves: signal")
        cluster.running["w2"].signal(signal.SIGTERM)
        self.assertEqual(cluster.running["w2"].popen.wait(2), 128 + signal.SIGTERM)
        code, result = client.finish()
        self.assertEqual(code, jobs.PASS)
        self.assert_steady(result, 10)
        self.assertGreater(len(result["lost"]), 0)

    def test_what_asks_for_it_is_spread_onto_a_worker_that_joins(self):
        cluster = self.cluster(3, workers=2)
        cluster.settings("w1", cores=2)
        cluster.at_work("a", "b", "c", "w1")
        client = cluster.run(cluster.scenario(seconds=16, rebalance=True))
        cluster.under_load(client, 1)
        cluster.start("w2")
        code, result = client.finish()
        self.assertEqual(code, jobs.PASS)
        self.assert_whole(result, 960)
        self.assert_steady(result, 16)
        self.assertEqual([one["name"] for one in result["generators"]], ["w1", "w2"])
        self.assertEqual([one["kind"] for one in result["events"]], ["share_moved"])
        cluster.all_free()
        self.assertEqual(cluster.arrived(), 960)

    def test_a_worker_that_joins_gets_the_next_job_and_not_the_one_that_runs(self):
        cluster = self.cluster(3, workers=2)
        cluster.at_work("a", "b", "c", "w1")
        client = cluster.run(cluster.scenario(seconds=8))
        cluster.under_load(client, 1)
        cluster.start("w2")
        cluster.all_free(["w2"])
        code, result = client.finish()
        self.assertEqual(code, jobs.PASS)
        self.assertEqual([one["name"] for one in result["generators"]], ["w1"])
        cluster.all_free()
        code, result = cluster.run(cluster.scenario(seconds=2)).finish()
        self.assertEqual(code, jobs.PASS)
        self.assert_whole(result, 120)
        self.assertEqual([one["name"] for one in result["generators"]], ["w1", "w2"])


if __name__ == "__main__":
    nodes.main()
