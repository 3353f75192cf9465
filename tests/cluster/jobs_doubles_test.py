#!/usr/bin/env python3
"""Load tests that meet two faults at once, and jobs that wait while their managers die."""

from datetime import datetime

from lib import jobs, nodes
from lib.world import until


class Doubles(jobs.Test):
    def assert_accounted(self, result, seconds, rate):
        """What is missing of `rate` requests a second is in the losses, to within a second of each."""
        missing = seconds * rate - result["totals"]["requests"]
        lost = sum((one["to"] - one["from"] + 1) * one["ratio"] * rate for one in result["lost"])
        self.assertGreaterEqual(missing, 0)
        self.assertLessEqual(missing, lost, result["lost"])

    def test_the_owner_and_a_worker_are_killed_at_once(self):
        cluster, _ = self.at_work(3, workers=4)
        # The next owner counts permits from when it takes over, and they last 10 s here.
        client = cluster.run_on_all(2, cluster.scenario(rate=80, seconds=40))
        owner = cluster.owner(client)
        cluster.running["w2"].kill()
        cluster.running[owner].kill()
        result = self.ended(client, jobs.LOST)
        self.assertEqual({one["ratio"] for one in result["lost"]}, {0.25})
        self.assert_accounted(result, 40, 80)
        self.assert_steady(result, 40)
        # The owner may have lived to give the assignment away, and have died before its word was heard:
        # `assignment_lost`. The next one may ask the dead worker before it hears of its death: `assignment_refused`.
        kinds = set(jobs.kinds(result)) - {"assignment_lost", "assignment_refused"}
        self.assertEqual(kinds, {"owner_changed", "assignment_moved", "worker_lost"}, result["events"])
        cluster.all_free(["w1", "w3", "w4"])
        self.assertGreaterEqual(cluster.arrived(), result["totals"]["requests"])

    def test_a_worker_dies_while_all_managers_are_away(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_on_all(2, cluster.scenario(seconds=20))
        for name in [*cluster.voters, "w2"]:
            cluster.running[name].kill()
        cluster.start(*cluster.voters, first=False)
        result = self.ended(client, jobs.LOST)
        self.assert_accounted(result, 20, 60)
        self.assert_steady(result, 20)
        # An owner that has not seen a living worker in time counts it as lost too, and says so.
        states = {one["name"]: one["state"] for one in result["generators"]}
        self.assertEqual(states["w2"], "lost")
        self.assertIn("completed", states.values())
        cluster.all_free(["w1", "w3"])

    def test_all_workers_are_killed_and_the_job_ends_with_what_was_measured(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_for(2, cluster.scenario(seconds=20))
        for name in ("w1", "w2"):
            cluster.running[name].kill()
        code, result = client.finish()
        self.assertNotEqual(code, jobs.PASS)
        self.assert_accounted(result, 20, 60)
        self.assertEqual({one["state"] for one in result["generators"]}, {"lost"})
        self.assertIn(cluster.status(client.job)["state"], ("failed", "partial"))
        cluster.start("w1", "w2")
        cluster.all_free()
        result = self.ended(cluster.run(cluster.scenario(seconds=2)))


class Waiting(jobs.Test):
    def test_jobs_that_wait_outlive_the_leader_and_keep_their_order_at_each_manager(self):
        cluster, leader = self.at_work(3, workers=1)
        ids = [cluster.submit(cluster.scenario(seconds=5), "--id", f"job-{i}") for i in range(3)]
        cluster.in_state(ids[0], "running")
        cluster.running[leader].kill()
        done = [cluster.in_state(job, "completed") for job in ids]
        # One at a time, in order at each manager; jobs that went to two of them take what is free as they come.
        begins = sorted(datetime.fromisoformat(one["started"]) for one in done)
        for one, other in zip(begins, begins[1:]):
            self.assertGreaterEqual((other - one).total_seconds(), 4.9)
        for one, other in zip(done, done[1:]):
            if one["manager"] == other["manager"]:
                self.assertLessEqual(one["started"], other["started"])
        for job in ids:
            result = self.ended(cluster.watch(job, "results"))
            self.assert_whole(result, 300)
        self.assertEqual(cluster.arrived(), 900)

    def test_a_cancellation_reaches_whoever_takes_over(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_for(2, cluster.scenario(seconds=60))
        cluster.running[cluster.owner(client)].kill()
        until("a cancellation", lambda: cluster.job("cancel", client.job, "--why", "enough")[0] == 0)
        result = self.ended(client, jobs.CANCELLED)
        self.assertEqual(cluster.status(client.job)["state"], "cancelled")
        cluster.all_free()
        self.assertEqual(cluster.arrived(), result["totals"]["requests"])


if __name__ == "__main__":
    nodes.main()
