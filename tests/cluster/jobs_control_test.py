#!/usr/bin/env python3
"""What people do with load tests on a cluster: queue them, watch them, stop them, and ask for the same twice."""

import re
import signal

from lib import jobs, nodes
from lib.world import until


class Queue(jobs.Test):
    def test_jobs_wait_for_cores_in_the_order_in_which_they_came(self):
        cluster, _ = self.at_work(3, workers=2)
        # The first one runs until all the others were looked at while they wait.
        ids = [cluster.submit(cluster.scenario(seconds=2 if i else 3600), "--id", f"job-{i}") for i in range(4)]
        self.assertEqual(ids, ["job-0", "job-1", "job-2", "job-3"])
        until("places in the queue", lambda: [cluster.status(job)["queue_position"] for job in ids] == [0, 1, 2, 3])
        until("the reason", lambda: cluster.status(ids[3])["why"] == "too few of 2 cores are free")
        code, text = cluster.job("cancel", ids[1], "--why", "second thoughts")
        self.assertEqual(code, 0, text)
        cancelled = cluster.in_state(ids[1], "cancelled")
        self.assertEqual((cancelled["started"], cancelled["why"]), ("-", "second thoughts"))
        until("places in the queue", lambda: [cluster.status(job)["queue_position"] for job in ids] == [0, 0, 1, 2])
        self.ended(cluster.watch(ids[1]), jobs.CANCELLED)
        cluster.in_state(ids[0], "running")
        code, text = cluster.job("cancel", ids[0], "--graceful")
        self.assertEqual(code, 0, text)
        first = cluster.in_state(ids[0], "cancelled")
        second, third = (cluster.in_state(job, "completed") for job in ids[2:])
        self.assertLessEqual(first["ended"], second["started"])
        self.assertLessEqual(second["ended"], third["started"])
        self.assertEqual([one["job"] for one in cluster.job("list")[1]], ids[::-1])
        result = self.ended(cluster.watch(ids[0], "results"), jobs.CANCELLED)
        self.assertEqual(cluster.arrived(), result["totals"]["requests"] + 4 * 60)

    def test_the_same_id_twice_is_one_job(self):
        cluster, _ = self.at_work(3, workers=1)
        scenario = cluster.scenario(seconds=2)
        seeds = ["--seed", "7"]
        self.assertEqual(cluster.submit(scenario, "--id", "once", *seeds), "once")
        self.assertEqual(cluster.submit(scenario, "--id", "once", *seeds), "once")
        code, text = cluster.job("submit", cluster.write("other.yaml", cluster.scenario(seconds=3)), "--id", "once")
        self.assertEqual(code, 1)
        self.assertIn("'once'", text)
        result = self.ended(cluster.watch("once"))
        self.assert_whole(result, 120)
        # And so it is when it is over.
        self.assertEqual(cluster.submit(scenario, "--id", "once", *seeds), "once")
        code, text = cluster.job("submit", cluster.write("other.yaml", cluster.scenario(seconds=3)), "--id", "once")
        self.assertEqual(code, 1, text)
        self.assertEqual(len(cluster.job("list")[1]), 1)
        self.assertEqual(cluster.arrived(), 120)


class Stopping(jobs.Test):
    def slow(self, cluster, delay="1500ms"):
        """Iterations that take so long that there are some under way at any time."""
        return cluster.scenario(rate=20, seconds=60, path=f"/delay/{delay}")

    def iterations(self, result):
        [workflow] = result["workflows"]
        return workflow["iterations"]["completed"], workflow["iterations"]["interrupted"]

    def test_a_graceful_cancellation_lets_iterations_finish_and_another_one_does_not(self):
        cluster, _ = self.at_work(3, workers=2)
        for graceful in (True, False):
            with self.subTest(graceful=graceful):
                client = cluster.run_on_all(2, self.slow(cluster))
                code, text = cluster.job("cancel", client.job, "--why", "enough of it", "--by", "tester",
                                         *(["--graceful"] if graceful else []))
                self.assertEqual(code, 0, text)
                result = self.ended(client, jobs.CANCELLED)
                completed, interrupted = self.iterations(result)
                self.assertGreater(completed, 0)
                self.assertEqual(interrupted == 0, graceful, (completed, interrupted))
                self.assertEqual(result["lost"], [])
                [stopping] = cluster.events(client.job, "stopping")
                self.assertEqual(stopping["detail"], "enough of it, by 'tester'; 2 assignments on 2 workers")
                self.assertEqual(cluster.status(client.job)["state"], "cancelled")
                code, text = cluster.job("cancel", client.job)
                self.assertEqual(code, 1)
                self.assertIn("its state is cancelled", text)
                cluster.all_free()

    def test_a_run_that_takes_longer_than_its_timeout_is_ended(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run(cluster.scenario(rate=20, seconds=60), "--timeout", "8s")
        result = self.ended(client, 108)
        self.assertIn("its timeout of 8s is over", result["run"]["reason"])
        self.assertGreater(result["totals"]["requests"], 0)
        status = cluster.status(client.job)
        self.assertEqual((status["state"], status["why"]), ("timed_out", "its timeout of 8s is over"))
        self.assertEqual([one["state"] for one in status["workflows"]], ["timed_out"])
        cluster.all_free()

    def test_a_workflow_that_takes_longer_than_its_timeout_is_ended_and_the_rest_goes_on(self):
        cluster, _ = self.at_work(3, workers=2)
        scenario = cluster.scenario(rate=20, seconds=60, path="/delay/1500ms", timeout="8s", graceful_stop="1m")
        scenario["workflows"]["later"] = {**scenario["workflows"]["w"], "depends": "w"}
        client = cluster.run(scenario)
        result = self.ended(client, 108)
        self.assertIn("its timeout of 8s is over", result["run"]["reason"])
        states = {one["name"]: one["status"] for one in result["workflows"]}
        self.assertEqual(states, {"w": "timed_out", "later": "skipped"})
        self.assertEqual(result["lost"], [])
        self.assertGreater(result["totals"]["requests"], 0)
        [event] = cluster.events(client.job, "workflow_timed_out")
        self.assertEqual(event["detail"], "workflow 'w': its timeout of 8s is over")
        cluster.all_free()

    def test_without_a_quorum_a_new_job_is_refused_by_name(self):
        cluster, leader = self.at_work(3, workers=1)
        for name in cluster.voters:
            if name != leader:
                cluster.running[name].kill()
        until("the loss of the quorum", lambda: not cluster.ask(leader, "quorum")["has_quorum"])
        file = cluster.write("lonely.yaml", cluster.scenario(seconds=2))
        said = []

        def refused():
            code, text = cluster.job("submit", file)
            self.assertEqual(code, 1, text)
            said.append(text)
            return re.search("Quorum(Unavailable|Timeout|CircuitOpen)", text)
        # The manager that is left may answer too late on a busy machine.
        until(lambda: f"a refusal by name: {said}", refused)

    def test_ctrl_c_ends_it_gracefully_and_twice_at_once(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run_for(2, self.slow(cluster))
        client.process.signal(signal.SIGINT)
        result = self.ended(client, jobs.CANCELLED)
        self.assertEqual(self.iterations(result)[1], 0)
        self.assertIn("SIGINT", result["run"]["reason"] + cluster.status(client.job)["why"])

        # Of these none has ended when the second signal comes.
        client = cluster.run_for(2, self.slow(cluster, delay="20s"))
        client.process.signal(signal.SIGINT)
        client.says("Stop again to end at once")
        client.process.signal(signal.SIGINT)
        result = self.ended(client, jobs.CANCELLED)
        self.assertGreater(self.iterations(result)[1], 0)
        cluster.all_free()

    def test_one_workflow_can_be_stopped_while_the_other_goes_on(self):
        cluster, _ = self.at_work(3, workers=2)
        kept, left = (cluster.scenario(seconds=seconds)["workflows"]["w"] for seconds in (15, 3600))
        client = cluster.run_for(2, {"workflows": {"kept": kept, "left": left}})
        code, text = cluster.job("cancel", client.job, "nothing")
        self.assertEqual(code, 1)
        self.assertIn("no workflow 'nothing'", text)
        code, text = cluster.job("cancel", client.job, "left")
        self.assertEqual(code, 0, text)
        _, result = client.finish()
        status = cluster.in_state(client.job, "partial")
        self.assertEqual([one["state"] for one in status["workflows"]], ["completed", "cancelled"])
        kept, left = (one["iterations"]["completed"] for one in result["workflows"])
        self.assertEqual(kept, 900)
        self.assertLess(left, 3600 * 60)

    def test_who_watches_may_go_and_the_job_goes_on(self):
        cluster, _ = self.at_work(3, workers=2)
        client = cluster.run(cluster.scenario(seconds=30))
        watcher = cluster.watch(client.job)
        cluster.under_load(client, 2)
        watcher.process.signal(signal.SIGINT)
        self.assertEqual(watcher.finish(), (1, None))
        self.assertIn(f"the job continues: bellwether job watch {client.job}", watcher.printed())
        code, text = cluster.job("results", client.job, json_too=False)
        self.assertEqual(code, 1)
        self.assertIn("it has no result yet", text)
        client.process.kill()
        late = cluster.watch(client.job)
        result = self.ended(late)
        self.assert_whole(result, 1800)
        # What is kept of it is what was seen.
        code, kept = cluster.watch(client.job, "results").finish()
        self.assertEqual((code, kept), (jobs.PASS, result))
        self.assertEqual(cluster.arrived(), 1800)


if __name__ == "__main__":
    nodes.main()
