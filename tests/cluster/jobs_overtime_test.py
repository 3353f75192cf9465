#!/usr/bin/env python3
"""An assignment that makes nothing of more and more time: this takes more than a minute by itself."""

import os
import signal

from lib import jobs, nodes


class Overtime(jobs.Test):
    def test_an_assignment_that_hangs_gets_more_time_and_loses_its_parts_when_it_makes_nothing_of_it(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_for(1, cluster.scenario(seconds=4, graceful_stop="0s"))
        [assignment] = cluster.children("w2")
        os.kill(assignment, signal.SIGSTOP)
        # Nearly a minute beyond its end it asks for more; after a minute without progress nobody waits for it.
        code, result = client.finish(seconds=600)
        self.assertEqual(code, jobs.LOST)
        [given] = [one["detail"] for one in result["events"] if one["kind"] == "assignment_extended"]
        self.assertIn("'w2'", given)
        self.assertIn("15s more", given)
        [evicted] = [one["detail"] for one in result["events"] if one["kind"] == "assignment_evicted"]
        self.assertIn("'w2'", evicted)
        self.assertIn("stuck for 1m", evicted)
        [lost] = result["lost"]
        self.assertEqual((lost["to"], lost["ratio"]), (4.0, 0.5), "half of what was left")
        cluster.all_free()


if __name__ == "__main__":
    nodes.main()
