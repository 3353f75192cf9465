#!/usr/bin/env python3
"""A client whose job has no quorum: two of three managers of a cluster on this machine die in the middle of a run."""

import json
import os
import re
import signal
import xml.etree.ElementTree as xml

from lib import local_nodes, product
from lib.daemon import until

NO, WRONG, LOST = 1, 104, 120
REQUESTS = 20 * 20
# Of the client, whether or not the manager that is left had the time to answer.
NO_CONTACT = "the workers continue until their isolation_limit"


class NoQuorum(local_nodes.Test):
    def setUp(self):
        super().setUp()
        self.sight = self.up("--managers", "3", "--workers", "2", "--cores-per-worker", "1", "--no-tls")
        said = product.Reader(self.start("target", "--listen", "127.0.0.1:0", "--cores", "1").stdout)
        url = re.search(r"https?://\S+", said.wait_for("listening on")).group()
        self.scenario = self.write("load.yaml", f"""\
workflows:
  w:
    executor: constant-arrival-rate
    rate: 20/s
    duration: 20s
    vus: {{preallocated: 20}}
    steps:
      get:
        http: {{get: '{url}/json'}}
thresholds:
  http_req_failed: ['rate<0.5']
""")

    def job(self, *words):
        return self.bellwether("job", *words, "--cluster", self.dir)

    def lose(self, owner_dies, wait="30s"):
        """Runs a job, and kills two managers in it: the job, the addresses of the dead, and the finished run."""
        out = self.folder / "result.json"
        process = self.start("run", self.scenario, "--cluster", self.dir, "--quorum-wait", wait, "--ui", "ci", "--out",
                             f"json={out}", "--out", f"junit={self.folder}/junit.xml", "--out",
                             f"html={self.folder}/report.html")
        lines = product.Reader(process.stderr)
        job = re.search("job ([0-9a-f]{16}),", lines.wait_for("submitted to"))[1]
        lines.wait_for(" req/s ")
        owner = json.loads(self.job("status", job, "--json").out)["manager"]
        managers = ("m1", "m2", "m3")
        stays = next(name for name in managers if (name != owner) == owner_dies)
        dead = [name for name in managers if name != stays]
        for name in dead:
            os.kill(self.pids(self.sight)[name], signal.SIGKILL)
        addresses = [node["address"] for node in self.sight["nodes"] if node["name"] in dead]
        return job, addresses, process, lines, out

    def ended(self, job, addresses, process, lines, out):
        """The result of a client that did not get an answer any more, marked wherever a verdict is."""
        told = lines.wait_for(NO_CONTACT)
        for word in (*addresses, "start these again", "unconfirmed result"):
            self.assertIn(word, told)
        code = process.wait(product.PATIENCE)
        lines.join()
        text = process.stdout.read()
        self.assertEqual(code, LOST, text)
        self.assertIn(f"job results {job} --cluster", "".join(lines.lines))
        self.assertRegex(text, "UNCONFIRMED +the run may have made more load")
        verdict = " ".join(text.split()).partition("INCONCLUSIVE ")[2]
        self.assertTrue(verdict.startswith("unconfirmed: no manager has had the job for "), text)
        for word in (*addresses, f"job results {job}", "(exit code 120)"):
            self.assertIn(word, verdict)
        result = json.loads(out.read_text(encoding="utf-8"))
        product.jsonschema.Draft202012Validator(product.SCHEMA).validate(result)
        run = result["run"]
        self.assertEqual((run["id"], run["verdict"], run["exit_code"], run["confirmed"]),
                         (job, "inconclusive", LOST, False))
        self.assertEqual([one["status"] for one in result["workflows"]], ["unconfirmed"])
        self.assertEqual({one["state"] for one in result["generators"]}, {"unconfirmed"})
        # The workers went on, and the manager that is left has asked them.
        [event] = [one for one in result["events"] if one["kind"] == "unconfirmed"]
        self.assertRegex(event["detail"], "manager 'm[123]' counted what 2 of 2 workers still kept")
        self.assertEqual(result["totals"]["requests"], REQUESTS)
        errors = xml.parse(self.folder / "junit.xml").findall(".//error")
        self.assertEqual([one.get("type") for one in errors], ["verdict", "thresholds"])
        self.assertIn("unconfirmed: ", errors[0].get("message"))
        self.assertIn("inconclusive, unconfirmed</b>", (self.folder / "report.html").read_text(encoding="utf-8"))
        self.assertEqual(self.stored(), (job, "unconfirmed", LOST))
        self.assertIn("unconfirmed: no manager", self.bellwether("results", "show", "last").out)

    def stored(self):
        [run] = json.loads(self.bellwether("results", "list", "--json").out)
        return run["id"], run["verdict"], run["exit_code"]

    def test_the_owner_and_another_manager_die_for_good(self):
        job, addresses, process, lines, out = self.lose(owner_dies=True)
        # Other commands end too, and say who is missing.
        for words in (("status", job), ("cancel", job), ("list",), ("cancel", "no-such-job"), ("results", job)):
            refused = self.job(*words)
            self.assertEqual(refused.code, NO, (words, refused))
            for word in (*addresses, "start these again"):
                self.assertIn(word, refused.err, words)
        self.ended(job, addresses, process, lines, out)
        # The workers have kept their measurements for the managers that come back.
        self.up()

        def whole():
            run = self.job("results", job, "--out", f"json={out}")
            return run if run.code != NO else None
        run = until("the result", whole)
        self.assertEqual(run.code, product.PASS, run)
        result = json.loads(out.read_text(encoding="utf-8"))
        self.assertEqual(result["totals"]["requests"], REQUESTS)
        self.assertNotIn("confirmed", result["run"])
        self.assertEqual(self.stored(), (job, "pass", product.PASS))

    def test_the_owner_is_the_one_that_stays(self):
        self.ended(*self.lose(owner_dies=False))

    def test_managers_that_come_back_in_time_confirm_the_result(self):
        # Longer than a busy machine takes to start them again.
        job, _, process, lines, out = self.lose(owner_dies=True, wait="1h")
        lines.wait_for(NO_CONTACT)
        self.up()
        lines.wait_for("the managers answer again")
        code = process.wait(product.PATIENCE)
        self.assertEqual(code, product.PASS, process.stdout.read())
        result = json.loads(out.read_text(encoding="utf-8"))
        self.assertEqual(result["totals"]["requests"], REQUESTS)
        self.assertEqual(self.stored(), (job, "pass", product.PASS))

    def test_the_wait_is_for_a_cluster_and_bounded(self):
        self.assert_refused(self.bellwether("run", self.scenario, "--quorum-wait", "9s"), "--quorum-wait", "--cluster")
        run = self.bellwether("run", self.scenario, "--cluster", self.dir, "--quorum-wait", "169h")
        self.assert_refused(run, "168h")


if __name__ == "__main__":
    product.main()
