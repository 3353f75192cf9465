#!/usr/bin/env python3
"""Load tests that a cluster runs: what comes out of them is what one machine would have measured."""

import json
import shutil

from lib import jobs, nodes
from lib.certified import Certified
from lib.world import until


class Running(jobs.Test):
    def shape(self, result):
        """What two results of the same scenario have in common, wherever they were made."""
        return {"keys": set(result), "steps": {name: step["count"] for name, step in result["steps"].items()},
                "checks": [(one["name"], one["passes"], one["fails"]) for one in result["checks"]],
                "thresholds": [(one["metric"], one["expression"], one["ok"]) for one in result["thresholds"]],
                "metrics": {name: set(one) for name, one in result["metrics"].items()},
                "workflows": [(one["name"], one["iterations"]["scheduled"], one["iterations"]["completed"])
                              for one in result["workflows"]],
                "verdict": (result["run"]["verdict"], result["run"]["exit_code"])}

    def test_it_is_what_a_run_on_one_machine_is(self):
        cluster, _ = self.at_work(3, workers=3)
        # Each worker makes a third of it: only the sum is what the thresholds say.
        scenario = cluster.scenario(
            step={"check": {"status": 200}, "metric": {"sent": "0.5", "answer": "${s.status}"}}, more={
                "metrics": {"sent": "counter", "answer": "trend"},
                "thresholds": {"http_reqs": ["count==360"], "checks": ["rate==1"], "http_req_failed": ["rate==0"],
                               "sent": ["count==180"], "answer": ["min==200", "max==200"]}})
        result = self.ended(cluster.run(scenario))
        self.assert_whole(result, 360, 6)
        sent, answer = (result["metrics"][name]["series"] for name in ("sent", "answer"))
        self.assertEqual(sum(point["count"] for point in sent), 180)
        self.assertEqual({round(point[figure]) for point in answer for figure in ("med", "p(95)")}, {200})
        self.assertLessEqual({point["t"] for point in sent}, {point["t"] for point in result["series"]})
        self.assertEqual([(one["name"], one["cores"], one["state"]) for one in result["generators"]],
                         [("w1", 1, "completed"), ("w2", 1, "completed"), ("w3", 1, "completed")])
        cluster.all_free()
        self.assertEqual({name: cluster.children(name) for name in ("w1", "w2", "w3")}, {"w1": [], "w2": [], "w3": []})
        status = cluster.status(result["run"]["id"])
        self.assertEqual(status["state"], "completed")

        local = cluster.folder / "local.json"
        code, text = cluster.client.run(self.binary, "run", cluster.write("local.yaml", scenario), "--ui", "none",
                                        "--out", f"json={local}")
        self.assertEqual(code, jobs.PASS, text)
        self.assertEqual(self.shape(result), self.shape(json.loads(local.read_text())))
        self.assertEqual(cluster.arrived(), 720)

    def test_a_threshold_that_fails_ends_the_run_on_all_workers(self):
        cluster, _ = self.at_work(3, workers=3)
        code, result = cluster.run(cluster.scenario(seconds=60, more={
            "thresholds": {"http_reqs": [{"threshold": "count<150", "abortOnFail": True}]}})).finish()
        self.assertEqual(code, jobs.THRESHOLDS)
        self.assertLess(result["totals"]["requests"], 3000)
        [threshold] = result["thresholds"]
        self.assertFalse(threshold["ok"])
        self.assertEqual(result["lost"], [])
        self.assertEqual({one["state"] for one in cluster.status(result["run"]["id"])["assignments"]}, {"ended"})
        cluster.all_free()
        self.assertEqual(cluster.arrived(), result["totals"]["requests"])

    def test_workers_need_nothing_that_only_the_client_has(self):
        cluster = self.cluster(3, workers=2)
        cluster.start(*cluster.voters)
        cluster.settled()
        files = cluster.folder / "files"
        files.mkdir()
        (files / "body.txt").write_text("${GREETING} from the file")
        scenario = files / "scenario.yaml"
        step = {"http": {"post": "${BASE}/echo", "body": {"file": "body.txt", "template": True}},
                "check": {"status": 200, "body": {"contains": "hello from the file"}}}
        scenario.write_text(json.dumps({"env": {"BASE": "", "GREETING": ""}, "workflows": {
            "w": {"vus": 2, "duration": "1s", "pacing": "50ms", "steps": {"s": step}}}}))
        code, answer = cluster.job("submit", scenario, "--set", f"BASE={cluster.url}", "--set", "GREETING=hello")
        self.assertEqual(code, 0, answer)
        shutil.rmtree(files)
        status = cluster.in_state(answer["job"], "queued")
        self.assertEqual(status["queue_position"], 1)
        until("why it waits", lambda: cluster.status(answer["job"])["why"] == "no worker is registered")
        # Whoever joins gets what waits.
        cluster.start("w1", "w2")
        result = self.ended(cluster.watch(answer["job"]))
        [check] = [one for one in result["checks"] if one["name"].startswith("body")]
        self.assertEqual((check["fails"], check["passes"]), (0, result["totals"]["requests"]))
        self.assertGreater(check["passes"], 0)

    def test_workflows_share_the_cores(self):
        cluster, _ = self.at_work(1, workers=3)
        workflow = cluster.scenario(seconds=3)["workflows"]["w"]
        both = {"first": workflow, "second": {**workflow, "start_time": "1s"}}
        result = self.ended(cluster.run({"workflows": both}))
        self.assert_whole(result, 360)
        self.assertEqual([one["iterations"]["completed"] for one in result["workflows"]], [180, 180])
        self.assertEqual([one["name"] for one in result["generators"]], ["w1", "w2", "w3"])

    def test_what_is_wrong_is_said_before_any_load(self):
        cluster, _ = self.at_work(1, workers=1)
        wrong = cluster.write("wrong.yaml", {"workflows": {"w": {"vus": 1, "duration": "1s", "steps": {
            "s": {"http": {"git": cluster.url}}}}}})
        for words, text in ((("run", wrong), "did you mean 'get'?"), (("job", "submit", wrong), "did you mean 'get'?"),
                            (("run", cluster.write("s.yaml", cluster.scenario()), "--cores", "1"), "--cores"),
                            (("run", cluster.folder / "none.yaml"), "none.yaml")):
            with self.subTest(words):
                code, said = cluster.client.run(self.binary, *words, "--cluster",
                                                f"{cluster.folder}/client.yaml")
                self.assertEqual(code, jobs.WRONG, said)
                self.assertIn(text, said)
        for words in (("status", "none"), ("watch", "none"), ("results", "none"), ("cancel", "none")):
            code, said = cluster.job(*words, json_too=False)
            self.assertEqual(code, 1)
            self.assertIn("there is no job 'none'", said)
        self.assertEqual(cluster.job("list"), (0, []))
        self.assertEqual(cluster.arrived(), 0)

    def test_a_client_who_may_not_ask_is_told_why(self):
        cluster = self.cluster(1).start()
        cluster.agreed()
        cluster.write_secret("other", "another secret for the tests, 9Z")
        client = json.loads((cluster.folder / "client.yaml").read_text())
        scenario = cluster.write("s.yaml", cluster.scenario())
        refused = []
        wrong = (({"secret": {"file": str(cluster.folder / "other")}}, "secret"), ({"cluster": "herd"}, "cluster"),
                 ({"seeds": ["10.77.99.99"]}, "10.77.99.99"))
        for i, (other, text) in enumerate(wrong):
            config = cluster.write(f"other-{i}.yaml", {**client, **other})
            refused.append((text, cluster.client.start(self.binary, "run", scenario, "--cluster", config,
                                                       log=cluster.folder / f"refused-{i}.log")))
        for text, process in refused:
            self.assertEqual(process.wait(), 1)
            self.assertIn(text, process.tail())
        until("an empty list", lambda: cluster.job("list") == (0, []))


class Secured(Certified, jobs.Test):
    def test_certificates_say_who_may_run_load_tests(self):
        cluster = self.secured(3, workers=2)
        client = json.loads((cluster.folder / "client.yaml").read_text())
        for role in ("client", "worker"):
            self.issue(f"as-{role}", f"URI:{self.claim(role, '*' if role == 'client' else 'w1')}")
            cluster.write(f"{role}.yaml", {**client, "tls": {
                "certificate": f"{cluster.folder}/as-{role}.pem", "key": f"{cluster.folder}/as-{role}.key",
                "ca": str(self.authority.file)}})
        (cluster.folder / "worker.yaml").rename(cluster.folder / "client.yaml")
        cluster.start()
        cluster.settled()
        code, text = cluster.job("list", json_too=False)
        self.assertEqual(code, 1)
        self.assertIn("the certificate does not permit its node to be a client", text)
        cluster.write("client.yaml", (cluster.folder / "client.yaml").read_text().replace("as-worker", "as-client"))
        cluster.all_free()
        result = self.ended(cluster.run(cluster.scenario(seconds=3)))
        self.assert_whole(result, 180)


if __name__ == "__main__":
    nodes.main()
