#!/usr/bin/env python3
"""Executors that count their iterations, or are told their users, on a cluster: what is left when a worker is lost."""

import re
import signal

from lib import jobs, nodes
from lib.world import until


class Iterations(jobs.Test):
    """Some 100 iterations a second, of ten users on two workers."""

    PLANNED = 2000  # so that something is left when a worker is lost or leaves

    def counted(self, cluster, executor="shared-iterations", iterations=PLANNED):
        step = {"http": {"get": cluster.url + "/json"}, "think": "100ms"}
        return {"workflows": {"w": {"executor": executor, "vus": 10, "iterations": iterations,
                                    "max_duration": "2m", "steps": {"s": step}}}}

    def assert_done(self, result, requests):
        [one] = result["workflows"]
        self.assertEqual((one["status"], one["iterations"]["completed"], one["iterations"]["dropped"]),
                         ("completed", requests, 0))
        self.assertEqual(result["lost"], [])

    def test_all_of_them_are_done_once(self):
        cluster, _ = self.at_work(3, workers=2)
        result = self.ended(cluster.run_on_all(1, self.counted(cluster, iterations=300)))
        self.assert_done(result, 300)
        self.assertEqual({one["name"] for one in result["generators"]}, {"w1", "w2"})
        result = self.ended(cluster.run(self.counted(cluster, "per-vu-iterations", iterations=20)))
        self.assert_done(result, 200)
        self.assertEqual(cluster.arrived(), 500)

    def test_what_a_dead_worker_has_left_others_do_and_nothing_is_begun_twice(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_on_all(2, self.counted(cluster))
        cluster.running["w1"].kill()
        result = self.ended(client, jobs.LOST)
        lost = [int(re.search(r"with ([\d,]+) iterations? that it may have started", one["cause"])[1].replace(",", ""))
                for one in result["lost"]]
        self.assertTrue(lost)
        arrived = cluster.arrived()
        self.assertLessEqual(arrived, self.PLANNED)
        self.assertGreaterEqual(arrived + sum(lost), self.PLANNED)
        self.assertIn("assignment_moved", jobs.kinds(result))

    def test_what_a_worker_that_leaves_has_left_others_do_to_the_last(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_on_all(2, self.counted(cluster))
        cluster.running["w1"].signal(signal.SIGTERM)
        result = self.ended(client)
        self.assert_done(result, self.PLANNED)
        self.assertIn("worker_left", jobs.kinds(result))
        self.assertEqual(cluster.arrived(), self.PLANNED)

    def test_another_owner_knows_what_is_left(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_on_all(2, self.counted(cluster))
        cluster.running[cluster.owner(client)].kill()
        until("another owner", lambda: "owner_changed" in [one["kind"] for one in cluster.events(client.job)])
        cluster.running["w1"].signal(signal.SIGTERM)
        result = self.ended(client)
        self.assert_done(result, self.PLANNED)
        self.assertEqual(cluster.arrived(), self.PLANNED)


class Controlled(jobs.Test):
    def told(self, cluster, **more):
        step = {"http": {"get": cluster.url + "/json"}, "think": "50ms"}
        return {"workflows": {"w": {"executor": "externally-controlled", "vus": 2, "max_vus": 20,
                                    "steps": {"s": step}, **more}}}

    def users(self, cluster, job, number):
        def reached():
            live = (cluster.status(job) or {}).get("live")
            return live and live["vus"] == number
        until(lambda: f"{number} users: {cluster.status(job)}", reached)

    def test_its_users_are_as_many_as_was_said_last_whoever_dies_or_leaves(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_on_all(1, self.told(cluster))
        self.users(cluster, client.job, 2)
        self.assertEqual(cluster.job("vus", client.job, "9", "--by", "ann")[0], 0)
        self.users(cluster, client.job, 9)
        cluster.running[cluster.owner(client)].kill()
        until("another owner", lambda: "owner_changed" in [one["kind"] for one in cluster.events(client.job)])
        self.users(cluster, client.job, 9)
        cluster.running["w1"].signal(signal.SIGTERM)
        until("the other worker has all",
              lambda: "assignment_moved" in [one["kind"] for one in cluster.events(client.job)])
        self.users(cluster, client.job, 9)
        self.assertEqual(cluster.job("vus", client.job, "4", "--workflow", "w", "--by", "ann")[0], 0)
        self.users(cluster, client.job, 4)
        # It runs until it is stopped: that is its end as planned.
        self.assertEqual(cluster.job("cancel", client.job, "--graceful")[0], 0)
        result = self.ended(client)
        self.assertEqual([one["status"] for one in result["workflows"]], ["completed"])
        self.assertEqual([one["detail"] for one in result["events"] if one["kind"] == "scaled"],
                         ["workflow 'w': 2 to 9 virtual users, by 'ann'",
                          "workflow 'w': 9 to 4 virtual users, by 'ann'"])

    def test_what_cannot_be_is_refused_and_says_why(self):
        cluster, _ = self.at_work(1, workers=1)
        client = cluster.run_for(1, self.told(cluster, duration="1h"))
        for words, why in (((client.job, "21"), "may have at most 20 virtual users"),
                           ((client.job, "1", "--workflow", "x"), "no workflow 'x' is controlled from outside"),
                           (("none", "1"), "no job 'none'")):
            code, text = cluster.job("vus", *words)
            self.assertNotEqual(code, 0)
            self.assertIn(why, text)
        self.assertEqual(cluster.job("cancel", client.job)[0], 0)
        client.finish()


if __name__ == "__main__":
    nodes.main()
