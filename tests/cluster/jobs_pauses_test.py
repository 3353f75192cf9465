#!/usr/bin/env python3
"""Who stands still for a while during a load test and then goes on, or does not."""

import os
import signal

from lib import jobs, nodes
from lib.world import until


class Nodes(jobs.Test):
    def test_a_manager_that_stood_still_has_lost_the_job_and_counts_nothing_of_it(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_on_all(2, cluster.scenario(seconds=20))
        leader = cluster.owner(client)
        cluster.running[leader].pause()
        rest = [name for name in cluster.voters if name != leader]
        until("another owner", lambda: cluster.said(rest[0], "job_taken_over") + cluster.said(rest[1],
                                                                                             "job_taken_over"))
        cluster.agreed(rest, other_than=leader)
        cluster.running[leader].resume()
        result = self.ended(client)
        self.assert_whole(result, 1200, 20)
        self.assertEqual(set(jobs.kinds(result)), {"owner_changed"})
        self.assertNotEqual(cluster.agreed()[0], leader)
        self.assertEqual(len(cluster.said(leader, "job_lost")), 1)
        cluster.all_free()
        self.assertEqual(cluster.arrived(), 1200)

    def test_a_worker_that_is_only_suspected_loses_nothing(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_on_all(2, cluster.scenario(seconds=16))

        def told(what):
            return [one["member"] for name in cluster.voters for one in cluster.said(name, f"member_{what}")]
        cluster.running["w2"].pause()
        # What the managers write down is there at once, and seconds before the suspicion becomes a death.
        until("a suspicion", lambda: "w2" in told("suspected"))
        cluster.running["w2"].resume()
        code, result = client.finish()
        self.assertEqual(told("died"), [])
        self.assertEqual(code, jobs.PASS)
        self.assert_whole(result, 960)
        self.assertEqual(jobs.kinds_of_load(result), [])
        self.assertEqual(cluster.arrived(), 960)

    def test_a_worker_that_was_held_dead_has_made_no_extra_load(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_on_all(2, cluster.scenario(seconds=40))
        # Its assignment is a process of its own, and does not stand still: it ends with its permit.
        cluster.running["w2"].pause()
        until("its assignment's moving", lambda: cluster.events(client.job, "assignment_moved"))
        status = cluster.status(client.job)
        cluster.running["w2"].resume()
        result = self.ended(client, jobs.LOST)
        self.assertEqual(jobs.kinds_of_load(status), ["worker_lost", "assignment_moved"])
        [lost] = result["lost"]
        self.assertEqual(round(lost["ratio"], 3), 0.333)
        missing = 2400 - result["totals"]["requests"]
        self.assertGreater(missing, 0)
        self.assertLessEqual(missing, (lost["to"] - lost["from"]) * 20 + 20)
        cluster.all_free()
        self.assertTrue(result["totals"]["requests"] <= cluster.arrived() <= 2400)


class Assignments(jobs.Test):
    def test_a_worker_whose_assignment_stands_still_is_stuck_until_it_goes_on(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_on_all(2, cluster.scenario(seconds=45))

        def progress():
            code, workers = cluster.job("workers")
            return {one["worker"]: one["progress"] for one in workers} if code == 0 else None
        until("two that move", lambda: progress() == {"w1": "normal", "w2": "normal"})
        [assignment] = cluster.children("w2")
        os.kill(assignment, signal.SIGSTOP)
        until("one that does not", lambda: progress() == {"w1": "normal", "w2": "stuck"})
        os.kill(assignment, signal.SIGCONT)
        until("two that move again", lambda: progress() == {"w1": "normal", "w2": "normal"})
        result = self.ended(client)
        self.assert_whole(result, 2700)
        self.assertEqual(jobs.kinds_of_load(result), [])
        self.assertEqual(cluster.arrived(), 2700)


if __name__ == "__main__":
    nodes.main()
