#!/usr/bin/env python3
"""Workflows that depend on others, on a cluster: values reach every worker, also when managers die in between."""

import signal

from lib import jobs, nodes
from lib.world import until


class Layers(jobs.Test):
    def scenario(self, cluster, token="token-${login.json.$.token}", first=4):
        """Who logs in leaves a token; the other two layers send it back to the target, which echoes it."""
        def echo(value):
            return {"http": {"post": cluster.url + "/echo", "body": value}, "check": {"body": {"contains": "token-"}}}
        rate = {"executor": "constant-arrival-rate", "rate": "30/s", "duration": "3s",
                "vus": {"preallocated": 30, "max": 90}}
        return {"workflows": {
            "auth": {**rate, "duration": f"{first}s",
                     "steps": {"login": {"http": {"post": cluster.url + "/login", "json": {"user": "u", "pass": "p"}}}},
                     "provide": {"browse": {"token": token}, "pay": {"token": token}}},
            "browse": {**rate, "depends": ["auth"], "use": {"auth": ["token"]}, "steps": {"e": echo("${token}")},
                       "provide": {"pay": {"seen": "${token} by browse"}}},
            "pay": {**rate, "depends": "browse", "use": {"auth": ["token"], "browse": ["seen"]},
                    "steps": {"e": echo("${token} ${seen}")}}}}

    def assert_all_checked(self, result, requests):
        self.assert_whole(result, requests)
        self.assertEqual([one["status"] for one in result["workflows"]], ["completed"] * 3)
        self.assertEqual({one["fails"] for one in result["checks"]}, {0})
        self.assertEqual(sum(one["passes"] for one in result["checks"]), 180)

    def test_every_worker_begins_with_the_same_values(self):
        cluster, _ = self.at_work(3, workers=3)
        result = self.ended(cluster.run(self.scenario(cluster)))
        self.assert_all_checked(result, 300)
        self.assertEqual(jobs.kinds_of_load(result), [])
        # What is handed on is not for everybody's eyes.
        self.assertNotIn("token-", str(cluster.status(result["run"]["id"])))
        self.assertNotIn("token-", str(result["events"]))
        cluster.all_free()

    def test_the_owner_dies_while_the_first_layer_runs(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_for(2, self.scenario(cluster, first=8))
        cluster.running[cluster.status(client.job)["manager"]].kill()
        result = self.ended(client)
        self.assert_all_checked(result, 420)

    def test_all_managers_are_away_when_a_layer_ends(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_for(2, self.scenario(cluster, first=6))
        for name in cluster.voters:
            cluster.running[name].kill()
        until("the first layer has ended", lambda: not cluster.children("w1") and not cluster.children("w2"))
        cluster.start(*cluster.voters)
        result = self.ended(client)
        self.assert_all_checked(result, 360)

    def listing(self, cluster, users=60, first=4):
        """Each user leaves its token; those that come after it ask the target to echo what they got."""
        echo = {"http": {"post": cluster.url + "/echo", "body": "${tokens[vu]}"}}
        return {"workflows": {
            "auth": {"vus": users, "duration": f"{first}s", "pacing": "500ms",
                     "steps": {"s": {"http": {"get": cluster.url + "/"}}},
                     "provide": {"browse": {"tokens": {"value": "user ${vu}", "collect": "all"}},
                                 "one": {"tokens": {"value": "user ${vu}", "collect": "all"}}}},
            "browse": {"vus": 2 * users, "duration": "2s", "pacing": "500ms", "depends": "auth",
                       "use": {"auth": ["tokens"]},
                       "steps": {"e": {**echo, "check": {"body": {"matches": "^user [0-9]+$"}}}}},
            "one": {"vus": 1, "duration": "1s", "pacing": "500ms", "depends": "auth", "use": {"auth": ["tokens"]},
                    "steps": {"e": {"http": {"post": cluster.url + "/echo", "body": "${tokens}"},
                                    "check": {"json": {f"$[{i}]": f"user {i + 1}" for i in range(users)},
                                              "body": {"contains": f'"user {users}"]'}}}}}}}

    def assert_listed(self, result):
        self.assertEqual([one["status"] for one in result["workflows"]], ["completed"] * 3)
        self.assertEqual({one["fails"] for one in result["checks"]}, {0})
        self.assertTrue(all(one["passes"] > 0 for one in result["checks"]))
        self.assertEqual([one["kind"] for one in result["events"] if one["kind"] in ("list_cut", "value_missing")], [])

    def test_a_list_has_the_values_of_the_users_of_all_workers(self):
        cluster, _ = self.at_work(1, workers=3)
        result = self.ended(cluster.run(self.listing(cluster)))
        self.assert_listed(result)

    def test_a_list_is_whole_although_a_worker_and_the_owner_die(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_for(2, self.listing(cluster, first=20))
        # One that a starved manager has not heard of for seconds has no assignment.
        cluster.running[next(name for name in ("w2", "w1") if cluster.children(name))].kill()
        until("its assignment's moving", lambda: cluster.events(client.job, "assignment_moved"))
        cluster.under_load(client, 5)
        cluster.running[cluster.status(client.job)["manager"]].kill()
        _, result = client.finish()
        self.assert_listed(result)

    def test_a_value_that_is_too_long_is_told(self):
        cluster, _ = self.at_work(1, workers=1)
        text = self.scenario(cluster, token="${random_hex(1024)}" * 40, first=2)
        result = self.ended(cluster.run(text), code=jobs.ABORT)
        self.assertEqual({one["kind"] for one in result["events"]} & {"value_too_large", "value_missing"},
                         {"value_too_large", "value_missing"})
        self.assertEqual(sum(one["passes"] for one in result["checks"]), 0)

    def test_what_depends_on_what_failed_is_skipped(self):
        cluster, _ = self.at_work(1, workers=1)
        client = cluster.run_for(1, self.scenario(cluster, first=60))
        cluster.kill_assignment("w1", signal.SIGSEGV)
        code, result = client.finish()
        self.assertNotEqual(code, jobs.PASS)
        self.assertEqual([one["status"] for one in result["workflows"]], ["failed", "skipped", "skipped"])
        self.assertIn("'auth' is failed", result["workflows"][1]["skipped_because"])


if __name__ == "__main__":
    nodes.main()
