#!/usr/bin/env python3
"""Who dies during a load test, and what must hold: the load goes on, and each request is counted once."""

import re
import resource
import signal
from pathlib import Path

from lib import jobs, nodes
from lib.world import until


class Managers(jobs.Test):
    def test_the_leader_that_has_the_job_is_killed(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_on_all(2, cluster.scenario(seconds=24))
        leader = cluster.owner(client)
        cluster.running[leader].kill()
        result = self.ended(client)
        self.assert_whole(result, 1440, 24)
        self.assertEqual(set(jobs.kinds(result)), {"owner_changed"})
        second = cluster.agreed([name for name in cluster.voters if name != leader], other_than=leader)[0]
        self.assertIn(cluster.status(client.job)["manager"], [name for name in cluster.voters if name != leader])
        # Who comes back knows the job and its result too.
        cluster.start(leader, first=False)
        self.assertEqual(cluster.whole()[0], second)
        until("the result, from who came back", lambda: cluster.job(
            "results", client.job, "--node", cluster.world[leader].ipv4, json_too=False)[0] == jobs.PASS)
        self.assertEqual(cluster.arrived(), 1440)

    def test_an_owner_that_gets_no_more_memory_loses_nothing(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_for(2, cluster.scenario(seconds=12))
        # It dies of that, or has all that it needs.
        pid = cluster.running[cluster.owner(client)].pid
        has = 1024 * int(re.search(r"VmSize:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1])
        resource.prlimit(pid, resource.RLIMIT_AS, (has, has))
        result = self.ended(client)
        self.assert_whole(result, 720, 12)
        # So much more for a bundle that it can hardly have it all.
        more = cluster.scenario(seconds=2, more={"env": {"LONG": "x" * 900_000}})
        result = self.ended(cluster.run(more))
        self.assert_whole(result, 120)

    def test_all_managers_are_away_until_the_load_is_over(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_for(2, cluster.scenario(seconds=20))
        for name in cluster.voters:
            cluster.running[name].kill()
        until("the end of the load", lambda: not any(cluster.children(name) for name in ("w1", "w2", "w3")))
        client.says("no manager answers")
        cluster.start(*cluster.voters, first=False)
        result = self.ended(client)
        self.assert_whole(result, 1200, 20)
        cluster.all_free()
        self.assertEqual(cluster.arrived(), 1200)


class Owners(jobs.Test):
    def test_the_owner_of_the_job_is_killed_while_another_one_leads(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_on_all(1, cluster.scenario(seconds=40))
        owner = cluster.owner(client)
        heir = next(name for name in cluster.voters if name != owner)
        until("a transfer", lambda: cluster.operator(heir, "transfer", "--to", heir)[0] == 0)
        cluster.agreed(cluster.voters, other_than=owner)
        self.assertEqual(cluster.status(client.job)["manager"], owner, "who has a job keeps it")
        cluster.running[owner].kill()
        result = self.ended(client)
        self.assert_whole(result, 2400, 40)
        self.assertEqual(set(jobs.kinds(result)), {"owner_changed"})
        self.assertEqual(cluster.arrived(), 2400)

    def test_what_had_ended_when_the_owner_was_killed_is_counted(self):
        cluster, _ = self.at_work(3, workers=2)
        short, long = (cluster.scenario(seconds=seconds)["workflows"]["w"] for seconds in (3, 40))
        client = cluster.run_for(2, {"workflows": {"short": short, "long": long}})
        until("the end of a workflow",
              lambda: [one["state"] for one in cluster.status(client.job)["workflows"]] == ["completed", "running"])
        cluster.running[cluster.owner(client)].kill()
        result = self.ended(client)
        self.assertEqual([one["iterations"]["completed"] for one in result["workflows"]], [180, 2400])
        self.assert_whole(result, 2580)
        self.assertEqual(cluster.arrived(), 2580)


class Workers(jobs.Test):
    SECONDS = 36

    def assert_redistributed(self, result):
        """The load of a dead worker goes on elsewhere, before the end of the run: each loss has an end."""
        for lost in result["lost"]:
            self.assertLess(lost["to"], self.SECONDS - 1, result["lost"])

    def lose_one(self, cluster, scenario):
        """A run of which a worker was killed: (exit code, result, who it was)."""
        client = cluster.run_on_all(2, scenario)
        cluster.running["w2"].kill()
        code, result = client.finish()
        return code, result, client.job

    def test_what_a_worker_ran_goes_on_elsewhere_and_what_was_lost_is_told(self):
        cluster, _ = self.at_work(3, workers=4)
        code, result, job = self.lose_one(cluster, cluster.scenario(rate=80, seconds=self.SECONDS))
        self.assertEqual(code, jobs.LOST)
        self.assertEqual(result["run"]["verdict"], "inconclusive")
        # A quarter of the load is missing in the time that is written down, and all else is there.
        [lost] = result["lost"]
        self.assertEqual(lost["ratio"], 0.25)
        self.assertIn("'w2'", lost["cause"])
        self.assert_redistributed(result)
        missing = 80 * self.SECONDS - result["totals"]["requests"]
        self.assertGreaterEqual(missing, 0)
        self.assertLessEqual(missing, (lost["to"] - lost["from"]) * 20 + 20)
        self.assert_steady(result, self.SECONDS)
        self.assertEqual({one["name"]: one["state"] for one in result["generators"]},
                         {"w1": "completed", "w2": "lost", "w3": "completed", "w4": "completed"})
        self.assertEqual(jobs.kinds_of_load(result), ["worker_lost", "assignment_moved"])
        assignments = cluster.status(job)["assignments"]
        self.assertEqual([one["state"] for one in assignments], ["ended" if one["worker"] != "w2" else "gone"
                                                           for one in assignments])
        cluster.all_free(["w1", "w3", "w4"])
        # Who comes back gets work.
        cluster.start("w2")
        cluster.all_free()
        # What only the dead worker knew was sent, and is in the loss: nothing is counted that was not sent.
        self.assertGreaterEqual(cluster.arrived(), result["totals"]["requests"])

    def test_a_loss_may_pass_when_the_scenario_says_so(self):
        cluster, _ = self.at_work(3, workers=4)
        code, result, _ = self.lose_one(cluster, cluster.scenario(rate=80, seconds=20, more={"on_loss": "pass"}))
        self.assertEqual(code, jobs.PASS)
        self.assertEqual(result["run"]["verdict"], "pass")
        self.assertEqual(len(result["lost"]), 1)

    def test_a_worker_that_is_started_again_at_once_is_another_one(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_on_all(2, cluster.scenario(seconds=self.SECONDS))
        cluster.running["w2"].kill()
        cluster.start("w2")
        result = self.ended(client, jobs.LOST)
        self.assertEqual({one["ratio"] for one in result["lost"]}, {0.5})
        self.assert_redistributed(result)
        self.assert_steady(result, self.SECONDS)
        cluster.all_free()

    def test_the_process_of_an_assignment_crashes(self):
        cluster, _ = self.at_work(3, workers=3)
        client = cluster.run_on_all(2, cluster.scenario(seconds=60))
        cluster.kill_assignment("w2", signal.SIGSEGV)
        code, result = client.finish()
        self.assertNotEqual(code, jobs.PASS)
        status = cluster.in_state(client.job, "failed")
        self.assertEqual([one["state"] for one in status["workflows"]], ["failed"])
        self.assertIn("'w2'", status["workflows"][0]["why"])
        self.assertIn("assignment_failed", jobs.kinds(result))
        # The worker lives, and so do the others: they get the next one.
        cluster.all_free()
        result = self.ended(cluster.run(cluster.scenario(seconds=2)))
        self.assert_whole(result, 120)


class Clients(jobs.Test):
    def test_the_client_is_killed_and_the_job_goes_on(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_for(2, cluster.scenario())
        client.process.kill()
        cluster.in_state(client.job, "completed")
        result = self.ended(cluster.watch(client.job, "results"))
        self.assert_whole(result, 360)
        self.assertEqual(cluster.watch(client.job).finish(), (jobs.PASS, result))
        self.assertEqual(cluster.arrived(), 360)


if __name__ == "__main__":
    nodes.main()
