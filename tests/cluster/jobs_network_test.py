#!/usr/bin/env python3
"""What the network does to a load test: cut, slow and lossy links between managers, workers and clients."""

from lib import jobs, nodes
from lib.world import until


class Cuts(jobs.Test):
    def taken_over_from(self, cluster, owner):
        until("another owner", lambda: any(cluster.said(name, "job_taken_over") for name in cluster.voters
                                           if name != owner))

    def test_the_owner_is_cut_off_from_all_and_another_one_goes_on(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_on_all(2, cluster.scenario(seconds=24))
        owner = cluster.owner(client)
        cluster.world.cut(owner, [name for name in cluster.names if name != owner])
        self.taken_over_from(cluster, owner)
        until("the end of its ownership", lambda: cluster.said(owner, "job_lost"))
        cluster.world.heal()
        result = self.ended(client)
        self.assert_whole(result, 1440, 24)
        self.assertEqual(set(jobs.kinds(result)), {"owner_changed"})
        cluster.all_alive()
        cluster.all_free()
        self.assertEqual(cluster.arrived(), 1440)

    def test_the_owner_is_cut_off_from_the_managers_and_still_reaches_the_workers(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_on_all(2, cluster.scenario(seconds=24))
        owner = cluster.owner(client)
        cluster.world.cut(owner, [name for name in cluster.voters if name != owner])
        self.taken_over_from(cluster, owner)
        result = self.ended(client)
        self.assert_whole(result, 1440)
        self.assertEqual(set(jobs.kinds(result)), {"owner_changed"})
        cluster.world.heal()
        cluster.all_alive()
        self.assertEqual(cluster.arrived(), 1440)

    def test_a_worker_that_no_manager_reaches_stops_before_another_one_continues(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_on_all(2, cluster.scenario(seconds=40))
        cluster.world.cut("w2", [name for name in cluster.names if name != "w2"])
        until("its assignment's moving", lambda: cluster.events(client.job, "assignment_moved"))
        until("its end", lambda: not cluster.children("w2"))
        cluster.world.heal()
        result = self.ended(client, jobs.LOST)
        [lost] = result["lost"]
        missing = 2400 - result["totals"]["requests"]
        self.assertGreater(missing, 0)
        self.assertLessEqual(missing, (lost["to"] - lost["from"]) * 20 + 20)
        self.assertEqual({one["name"]: one["state"] for one in result["generators"]},
                         {"w1": "completed", "w2": "lost", "w3": "completed"})
        cluster.all_free()
        self.assertTrue(result["totals"]["requests"] <= cluster.arrived() <= 2400)

    def test_the_client_is_cut_off_for_a_while_and_misses_nothing(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_for(2, cluster.scenario(seconds=20))
        cluster.world.cut("client", cluster.names)
        until("the end of the load", lambda: not cluster.children("w1") + cluster.children("w2"))
        client.says("no manager answers")
        cluster.world.heal()
        result = self.ended(client)
        self.assert_whole(result, 1200, 20)
        self.assertEqual(cluster.arrived(), 1200)


class BadLinks(jobs.Test):
    def test_a_slow_network_that_loses_packets_changes_no_count(self):
        cluster, _ = self.at_work(3, workers=3)
        cluster.world.set("*", "*", delay="25ms", jitter="5ms", loss="5%")
        result = self.ended(cluster.run(cluster.scenario(seconds=8)))
        self.assert_whole(result, 480, 8)
        cluster.world.clear()
        cluster.all_free()
        self.assertEqual(cluster.arrived(), 480)

    def test_workers_far_away_from_their_managers_are_as_good(self):
        cluster, _ = self.at_work(3, workers=2)
        cluster.world.set(["w1", "w2"], cluster.voters, delay="100ms")
        result = self.ended(cluster.run(cluster.scenario(seconds=6)))
        self.assert_whole(result, 360)
        # Both begin at one instant of their own clocks, wherever they are told from. The last answer may be late.
        self.assertLess(sum(point["covered_s"] for point in result["series"]), 12, result["series"])
        self.assertEqual(cluster.arrived(), 360)


if __name__ == "__main__":
    nodes.main()
