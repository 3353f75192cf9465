#!/usr/bin/env python3
"""Who leaves in good order during a load test, and who joins."""

import signal

from lib import jobs, nodes
from lib.world import until


class Managers(jobs.Test):
    def test_a_manager_that_leaves_gives_its_jobs_to_another_one(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_on_all(2, cluster.scenario(seconds=24))
        self.assertEqual(cluster.running[cluster.owner(client)].stop(), 0)
        result = self.ended(client)
        self.assert_whole(result, 1440, 24)
        # A busy machine may depose the next one, too.
        self.assertEqual(set(jobs.kinds(result)), {"owner_changed"})
        self.assertEqual(cluster.arrived(), 1440)

    def test_all_managers_are_replaced_one_after_the_other(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_for(1, cluster.scenario(rate=30, seconds=75))
        owner = cluster.owner(client)
        for name in [owner, *(name for name in cluster.voters if name != owner)]:
            self.assertEqual(cluster.running[name].stop(), 0)
            cluster.start(name, first=False)
            cluster.whole()
        result = self.ended(client)
        self.assert_whole(result, 75 * 30, 75)
        self.assertIn("owner_changed", jobs.kinds(result))
        self.assertEqual(cluster.arrived(), 75 * 30)


class Workers(jobs.Test):
    def test_a_worker_that_leaves_hands_its_load_over(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_on_all(2, cluster.scenario(seconds=40))
        self.assertEqual(cluster.running["w2"].stop(), 0)
        self.assertEqual(cluster.status(client.job)["state"], "running", "it left before the end")
        result = self.ended(client)
        self.assert_whole(result, 40 * 60, 40)
        self.assertEqual(sorted(set(jobs.kinds_of_load(result))), ["assignment_moved", "worker_left"])
        self.assertEqual([one["state"] for one in result["generators"]], ["completed", "drained", "completed"])
        until("its leaving", lambda: cluster.members("a").get("w2") == "left")
        self.assertEqual(cluster.arrived(), 40 * 60)

    def test_what_nobody_else_has_room_for_stops_at_once_when_its_worker_leaves(self):
        cluster = self.cluster(3, workers=1)
        cluster.settings("w1", hand_over="10m")
        cluster.at_work()
        cluster.run_for(2, cluster.scenario(seconds=600))
        cluster.running["w1"].signal(signal.SIGTERM)
        until("the end of the load", lambda: not cluster.children("w1"))
        until("its leaving", lambda: cluster.members("a").get("w1") == "left")

    def test_a_second_signal_ends_a_worker_that_still_has_load_to_hand_over(self):
        cluster = self.cluster(3, workers=3)
        cluster.settings("w2", hand_over="10m")
        cluster.at_work()
        client = cluster.run_on_all(2, cluster.scenario(seconds=30, more={"on_loss": "pass"}))
        # So that it has nobody to hand its load over to before the second signal.
        cluster.world.cut("w2", cluster.voters)
        cluster.running["w2"].signal(signal.SIGTERM)
        cluster.says("w2", "leaves: signal")
        cluster.running["w2"].signal(signal.SIGTERM)
        self.assertEqual(cluster.running["w2"].wait(), 128 + signal.SIGTERM)
        cluster.world.heal()
        result = self.ended(client)
        self.assert_steady(result, 30)
        self.assertGreater(len(result["lost"]), 0)


class Joining(jobs.Test):
    def test_what_asks_for_it_is_spread_onto_a_worker_that_joins(self):
        cluster = self.cluster(3, workers=2)
        cluster.settings("w1", cores=2)
        cluster.at_work("a", "b", "c", "w1")
        client = cluster.run_for(1, cluster.scenario(seconds=45, rebalance=True))
        cluster.start("w2")
        result = self.ended(client)
        self.assert_whole(result, 2700, 45)
        self.assertEqual([one["name"] for one in result["generators"]], ["w1", "w2"])
        self.assertEqual(jobs.kinds_of_load(result), ["assignment_moved"])
        cluster.all_free()
        self.assertEqual(cluster.arrived(), 2700)

    def test_a_worker_that_joins_gets_the_next_job_and_not_the_one_that_runs(self):
        cluster = self.cluster(3, workers=2)
        cluster.at_work("a", "b", "c", "w1")
        client = cluster.run_for(1, cluster.scenario(seconds=8))
        cluster.start("w2")
        cluster.all_free(["w2"])
        result = self.ended(client)
        self.assertEqual([one["name"] for one in result["generators"]], ["w1"])
        cluster.all_free()
        result = self.ended(cluster.run_on_all(1, cluster.scenario(seconds=4)))
        self.assert_whole(result, 240)
        self.assertEqual([one["name"] for one in result["generators"]], ["w1", "w2"])


if __name__ == "__main__":
    nodes.main()
