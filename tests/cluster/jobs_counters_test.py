#!/usr/bin/env python3
"""What a running job tells of itself at the moment: counters for screens, which nothing is computed from."""

from lib import jobs, nodes
from lib.world import until


class Counters(jobs.Test):
    def test_the_status_of_a_running_job_says_what_its_shares_do_now(self):
        cluster = self.cluster(3, workers=2)
        cluster.at_work()
        job = cluster.submit(cluster.scenario(seconds=8))
        cluster.in_state(job, "running")

        def requests():
            return cluster.status(job).get("live", {}).get("requests", 0)

        first = until("counters", requests)
        until(f"more than {first} requests", lambda: requests() > first)
        live = cluster.status(job)["live"]
        self.assertLessEqual(live["requests"], 480)
        self.assertEqual((live["failed"], live["dropped"]), (0, 0))
        self.assertGreaterEqual(live["age_s"], 0)
        code, text = cluster.job("status", job, json_too=False)
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"(?m)^now +[\d,]+ requests?, 0 failed, \d+ users? \(\S+ ago\)$")
        self.assertNotIn("live", cluster.in_state(job, "completed"))
        self.assertEqual(cluster.arrived(), 480)


if __name__ == "__main__":
    nodes.main()
