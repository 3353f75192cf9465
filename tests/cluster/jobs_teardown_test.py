#!/usr/bin/env python3
"""What tidies up after a load test on a cluster: it follows also one that was stopped, once, whoever dies meanwhile."""

from lib import jobs, nodes
from lib.world import until


class Teardown(jobs.Test):
    def scenario(self, cluster, tidy="/json", **more):
        """The setup leaves a word, which the teardown sends back to the target after it has asked for `tidy`."""
        scenario = cluster.scenario(rate=20, seconds=60, **more)
        login = {"post": cluster.url + "/login", "json": {"user": "u", "pass": "p"}}
        scenario["setup"] = {"steps": {"s": {"http": login}},
                             "provide": {"teardown": {"word": "token-${s.json.$.token}"}}}
        scenario["teardown"] = {"use": {"setup": ["word"]}, "steps": {
            "tidy": {"http": {"get": cluster.url + tidy}},
            "echo": {"after": "tidy", "http": {"post": cluster.url + "/echo", "body": "${word}"},
                     "check": {"body": {"contains": "token-"}}}}}
        return scenario

    def state(self, cluster, client):
        """Of the teardown, which is the last workflow."""
        return cluster.status(client.job)["workflows"][-1]["state"]

    def assert_tidied_up(self, cluster, client, result, load):
        """Once, and what the setup had left was there."""
        self.assertEqual({one["name"]: one["status"] for one in result["workflows"]},
                         {"setup": "completed", "w": load, "teardown": "completed"})
        self.assertEqual([(one["passes"], one["fails"]) for one in result["checks"]], [(1, 0)])
        self.assertEqual(len(cluster.events(client.job, "teardown_follows")), 1)
        self.assertGreater(result["totals"]["requests"], 0)
        cluster.all_free()

    def cancel(self, cluster, client, *words):
        code, text = cluster.job("cancel", client.job, "--by", "tester", *words)
        self.assertEqual(code, 0, text)

    def tearing_down(self, cluster, client):
        self.cancel(cluster, client, "--why", "enough of it")
        until("a teardown that runs", lambda: self.state(cluster, client) == "running")
        self.assertEqual(cluster.status(client.job)["state"], "cancelling")

    def test_it_follows_what_was_cancelled_or_aborted_and_a_second_cancellation_ends_it(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_for(2, self.scenario(cluster))
        self.cancel(cluster, client, "--why", "enough of it")
        result = self.ended(client, jobs.CANCELLED)
        self.assert_tidied_up(cluster, client, result, "cancelled")
        status = cluster.status(client.job)
        self.assertEqual((status["state"], status["why"]), ("cancelled", "enough of it"))

        limit = [{"threshold": "rate<0.5", "abortOnFail": True}]
        thresholds = {"thresholds": {"http_req_failed": limit}}
        client = cluster.run(self.scenario(cluster, path="/status/500", more=thresholds))
        result = self.ended(client, jobs.THRESHOLDS)
        self.assert_tidied_up(cluster, client, result, "stopped")

        client = cluster.run_for(2, self.scenario(cluster, tidy="/delay/50s"))
        self.tearing_down(cluster, client)
        self.cancel(cluster, client, "--why", "no time for that")
        result = self.ended(client, jobs.CANCELLED)
        self.assertEqual(result["checks"][0]["passes"], 0)
        status = cluster.status(client.job)
        self.assertEqual((status["state"], status["why"]), ("cancelled", "enough of it"))
        self.assertEqual(self.state(cluster, client), "cancelled")
        [event] = cluster.events(client.job, "teardown_stopped")
        self.assertIn("no time for that, by 'tester'", event["detail"])
        cluster.all_free()

    def test_it_outlives_its_manager(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_for(2, self.scenario(cluster, tidy="/delay/10s"))
        self.tearing_down(cluster, client)
        cluster.running[cluster.status(client.job)["manager"]].kill()
        result = self.ended(client, jobs.CANCELLED)
        self.assert_tidied_up(cluster, client, result, "cancelled")
        self.assertEqual(cluster.events(client.job, "assignment_lost"), [])

    def test_it_goes_on_elsewhere_when_its_worker_dies(self):
        cluster, _ = self.at_work(1, workers=2)
        client = cluster.run_for(2, self.scenario(cluster, tidy="/delay/20s"))
        self.tearing_down(cluster, client)
        [name] = until("an assignment of it", lambda: [one for one in ("w1", "w2") if cluster.children(one)])
        cluster.running.pop(name).kill()
        result = self.ended(client, jobs.CANCELLED)
        self.assert_tidied_up(cluster, client, result, "cancelled")


if __name__ == "__main__":
    nodes.main()
