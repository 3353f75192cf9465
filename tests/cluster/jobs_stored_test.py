#!/usr/bin/env python3
"""Runs on a cluster in the store of the client: as they go, whoever dies, and with the same reports as local ones."""

import json

from lib import jobs, nodes
from lib.world import until


class Stored(jobs.Test):
    def results(self, cluster, *words, code=0):
        done, text = cluster.client.run(self.binary, "results", *words)
        self.assertEqual(done, code, text)
        return text

    def listed(self, cluster):
        return json.loads(self.results(cluster, "list", "--json"))

    def shown(self, cluster):
        return json.loads(self.results(cluster, "show", "last", "--json"))

    def test_a_client_that_is_killed_leaves_a_run_that_the_next_one_completes(self):
        cluster, _ = self.at_work(1, workers=2)
        client = cluster.run_for(2, cluster.scenario(seconds=40))
        until("a stored second", lambda: self.listed(cluster)[0]["requests"] > 0)
        [run] = self.listed(cluster)
        self.assertEqual((run["id"], run["state"]), (client.job, "running"))
        self.assertEqual(run["cluster"], {"name": "flock", "workers": ["w1", "w2"]})
        client.process.kill()
        [run] = self.listed(cluster)
        self.assertEqual(run["state"], "aborted")
        # At least what it had told on its screen was written.
        self.assertGreaterEqual(run["elapsed_s"], 2)
        shown = self.shown(cluster)
        self.assertEqual(shown["run"]["verdict"], "aborted")
        self.assertEqual(shown["totals"]["requests"], run["requests"])
        self.assertIn("job watch", shown["run"]["reason"])

        result = self.ended(cluster.watch(client.job))
        self.assert_whole(result, 2400)
        [run] = self.listed(cluster)
        self.assertEqual((run["id"], run["state"], run["verdict"], run["requests"]),
                         (client.job, "ended", "pass", 2400))
        self.assertEqual(self.shown(cluster), result)
        # Who watches once more changes nothing, and makes no other.
        self.assertEqual(cluster.watch(client.job, "results").finish()[1]["run"], result["run"])
        self.assertEqual(self.listed(cluster), [run])

    def test_the_result_of_a_job_completes_a_run_whose_client_was_killed(self):
        cluster, _ = self.at_work(1, workers=1)
        client = cluster.run_for(1, cluster.scenario(seconds=4))
        client.process.kill()
        cluster.in_state(client.job, "completed")
        result = self.ended(cluster.watch(client.job, "results"))
        [run] = self.listed(cluster)
        self.assertEqual((run["state"], run["requests"]), ("ended", 240))
        self.assertEqual(self.shown(cluster), result)
        # A job that nobody ran from here is no run of this store.
        job = cluster.submit(cluster.scenario(seconds=1))
        self.assertEqual(cluster.watch(job).finish()[0], jobs.PASS)
        self.assertEqual(self.listed(cluster), [run])

    def test_the_manager_that_has_the_job_is_killed_and_the_run_is_stored_whole(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run(cluster.scenario(seconds=40, step={"metric": {"sent": 1}}, more={
            "metrics": {"sent": "counter"}}))
        cluster.under_load(client, 2)
        cluster.running[cluster.owner(client)].kill()
        client.says("continues the job")
        cluster.running["w3"].kill()
        result = self.ended(client, jobs.LOST)
        [run] = self.listed(cluster)
        self.assertEqual((run["state"], run["verdict"], run["requests"]),
                         ("ended", "inconclusive", result["totals"]["requests"]))
        self.assertEqual(self.shown(cluster), result)
        events = jobs.kinds(result)
        self.assertIn("owner_changed", events)
        self.assertIn("worker_lost", events)
        sent = result["metrics"]["sent"]
        self.assertEqual(sum(point["count"] for point in sent["series"]), sent["count"], "whoever owned the job")
        self.assertGreater(len(sent["series"]), 2)
        reports = {name: cluster.folder / f"again.{name}" for name in ("json", "csv", "junit", "html")}
        words = [word for name, path in reports.items() for word in ("--to", f"{name}={path}")]
        code, text = cluster.client.run(self.binary, "report", "last", *words)
        self.assertEqual(code, 0, text)
        self.assertEqual(json.loads(reports["json"].read_text()), result)
        page = reports["html"].read_text()
        for word in ("owner_changed", "worker_lost", "w1", "w2", "w3", 'class="event"', 'class="lost"'):
            self.assertIn(word, page)
        self.assertIn("w.s", reports["csv"].read_text())
        self.assertIn("<testsuite", reports["junit"].read_text())


if __name__ == "__main__":
    nodes.main()
