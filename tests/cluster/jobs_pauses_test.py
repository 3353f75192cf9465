#!/usr/bin/env python3
"""Who stands still for a while during a load test and then goes on, or does not."""

import os
import signal

from lib import jobs, nodes
from lib.world import until


class Pauses(jobs.Test):
    def test_a_manager_that_stood_still_has_lost_the_job_and_counts_nothing_of_it(self):
        cluster = self.cluster(3, workers=3)
        leader, _ = cluster.at_work()
        client = cluster.run(cluster.scenario(seconds=20))
        cluster.under_load(client, 2)
        cluster.running[leader].pause()
        rest = [name for name in cluster.voters if name != leader]
        until("another owner", lambda: cluster.said(rest[0], "job_taken_over") + cluster.said(rest[1],
                                                                                             "job_taken_over"))
        cluster.agreed(rest, other_than=leader)
        cluster.running[leader].resume()
        code, result = client.finish()
        self.assertEqual(code, jobs.PASS)
        self.assert_whole(result, 1200)
        self.assert_steady(result, 20)
        self.assertEqual(set(jobs.kinds(result)), {"owner_changed"})
        self.assertNotEqual(cluster.agreed()[0], leader)
        self.assertEqual(len(cluster.said(leader, "job_lost")), 1)
        cluster.all_free()
        self.assertEqual(cluster.arrived(), 1200)

    def test_a_worker_that_is_only_suspected_loses_nothing(self):
        cluster = self.cluster(3, workers=3)
        cluster.at_work()
        client = cluster.run(cluster.scenario(seconds=16))
        cluster.under_load(client, 2)

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
        self.assertEqual(jobs.kinds(result), [])
        self.assertEqual(cluster.arrived(), 960)

    def test_a_worker_that_was_held_dead_has_made_extra_load_that_nobody_counts(self):
        cluster = self.cluster(3, workers=3)
        cluster.at_work()
        client = cluster.run(cluster.scenario(seconds=40))
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
        self.assertEqual(jobs.kinds(status), ["worker_lost", "share_moved"])
        [lost] = result["lost"]
        self.assertEqual(round(lost["share"], 3), 0.333)
        missing = 2400 - result["totals"]["requests"]
        self.assertGreater(missing, 0)
        self.assertLessEqual(missing, (lost["to"] - lost["from"]) * 20 + 20)
        cluster.all_free()
        self.assertGreater(cluster.arrived(), result["totals"]["requests"])

    def test_a_worker_whose_share_stands_still_is_stuck_until_it_goes_on(self):
        cluster = self.cluster(3, workers=2)
        cluster.at_work()
        client = cluster.run(cluster.scenario(seconds=30))
        cluster.under_load(client, 2)

        def progress():
            code, workers = cluster.job("workers")
            return {one["worker"]: one["progress"] for one in workers} if code == 0 else None
        until("two that move", lambda: progress() == {"w1": "normal", "w2": "normal"})
        [share] = cluster.children("w2")
        os.kill(share, signal.SIGSTOP)
        until("one that does not", lambda: progress() == {"w1": "normal", "w2": "stuck"})
        os.kill(share, signal.SIGCONT)
        until("two that move again", lambda: progress() == {"w1": "normal", "w2": "normal"})
        code, result = client.finish()
        self.assertEqual(code, jobs.PASS)
        self.assert_whole(result, 1800)
        self.assertEqual(jobs.kinds(result), [])
        self.assertEqual(cluster.arrived(), 1800)


if __name__ == "__main__":
    nodes.main()
