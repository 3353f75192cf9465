#!/usr/bin/env python3
"""A whole cluster on one machine, by `bellwether cluster up`, `status` and `down`: real processes of the loopback."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

from lib import local_nodes, product
from lib.daemon import free_port, until
from lib.local_nodes import processes_of, runs
from lib.patience import ANSWERED, PATIENCE

NO, WRONG, INTERRUPTED = 1, 104, 105


class LocalCluster(local_nodes.Test):
    def term(self, sight):
        """The leader's own word: others may not have heard of it yet."""
        address = next(node["address"] for node in sight["nodes"] if node["leads"])
        run = self.bellwether("cluster", "leader", "--cluster", self.dir, "--node", address, "--json",
                              *ANSWERED)
        return json.loads(run.out)["term"]

    def test_it_goes_up_is_seen_and_goes_down_with_nothing_left(self):
        sight = self.up("--managers", "3", "--workers", "2", "--datacenters", "2")
        self.assertTrue(sight["well"])
        self.assertTrue(sight["tls"])
        self.assertIn(sight["leader"], ("m1", "m2", "m3"))
        self.assertEqual([node["name"] for node in sight["nodes"]], ["m1", "m2", "m3", "w1", "w2"])
        self.assertTrue(all(node["runs"] and node["member"] == "alive" for node in sight["nodes"]))
        self.assertEqual([node["datacenter"] for node in sight["nodes"]], ["dc1", "dc2", "dc1", "dc1", "dc2"])
        self.assertEqual(self.pids(self.status()), self.pids(sight))
        for name in ("secret", "m1-key.pem", "client-key.pem", "m1.yaml"):
            self.assertEqual(stat.S_IMODE((self.dir / name).stat().st_mode), 0o600, name)
        self.assertEqual(stat.S_IMODE(self.dir.stat().st_mode), 0o700)

        # What it leaves for operators works, and the roles are proven.
        members = self.bellwether("cluster", "members", "--cluster", self.dir / "client.yaml", "--json", *ANSWERED)
        self.assertEqual(len(json.loads(members.out)["members"]), 5, members)
        self.assertNotIn("without certificates", (self.dir / "m1.log").read_text())

        again = self.up(code=NO)
        self.assertIn("all 5 nodes of the cluster", again.err)
        self.assertEqual(self.pids(self.status()), self.pids(sight))

        down = json.loads(self.cluster("down", "--json", "--purge", "--timeout", "4m").out)
        self.assertEqual(sorted(down["stopped"]), ["m1", "m2", "m3", "w1", "w2"])
        self.assertEqual((down["killed"], down["purged"]), ([], True))
        self.assertFalse(self.dir.exists())
        self.assertEqual(processes_of(self.dir), [])

    def test_what_was_killed_is_seen_and_only_that_is_started_again(self):
        first = self.pids(self.up("--workers", "1", "--no-tls"))
        os.kill(first["m2"], signal.SIGKILL)
        sight = self.status(code=NO)
        self.assertFalse(sight["well"])
        self.assertEqual([node["name"] for node in sight["nodes"] if not node["runs"]], ["m2"])
        self.assertIn("does not run", self.cluster("status", code=NO).out)
        second = self.pids(self.up())
        self.assertNotEqual(second.pop("m2"), first.pop("m2"))
        self.assertEqual(second, first)

        # Everything is ended, and begins again with its data: nobody is at its first start any more.
        before = self.term(self.status())
        self.cluster("down")
        self.assertEqual(processes_of(self.dir), [])
        self.assertFalse(self.status(code=NO)["well"])
        self.assertGreater(self.term(self.up()), before)
        for pid in self.pids(self.status()).values():
            self.assertNotIn(b"--first-start", Path(f"/proc/{pid}/cmdline").read_bytes())

    def test_that_others_still_take_a_killed_node_for_alive_is_not_enough(self):
        pids = self.pids(self.up("--managers", "1", "--workers", "1", "--no-tls"))
        settings = (self.dir / "w1.yaml").read_bytes()
        (self.dir / "w1.yaml").unlink()
        os.mkfifo(self.dir / "w1.yaml")  # the next one waits for its settings, for ever
        os.kill(pids["w1"], signal.SIGKILL)
        run = self.up("--timeout", "10s", code=NO)
        self.assertRegex(run.err, "'w1' does not answer yet|1 of 2 nodes")
        self.assertEqual(processes_of(self.dir), [pids["m1"]])
        (self.dir / "w1.yaml").unlink()
        (self.dir / "w1.yaml").write_bytes(settings)
        self.up()
        self.assertTrue(self.status()["well"])

    def test_a_node_that_does_not_end_is_killed(self):
        pids = self.pids(self.up("--managers", "1", "--workers", "1", "--no-tls"))
        os.kill(pids["w1"], signal.SIGSTOP)
        down = json.loads(self.cluster("down", "--json", "--timeout", "3s").out)
        self.assertIn("w1", down["killed"])
        self.assertEqual(sorted(down["stopped"] + down["killed"]), ["m1", "w1"])
        self.assertEqual(processes_of(self.dir), [])

    def test_a_process_that_got_the_id_of_a_node_is_left_alone(self):
        self.up("--managers", "1", "--workers", "0", "--no-tls")
        self.cluster("down")
        with subprocess.Popen(["sleep", "60"]) as other:
            self.addCleanup(other.kill)
            record = json.loads((self.dir / "cluster.json").read_text())
            record["nodes"][0]["pid"] = other.pid
            (self.dir / "cluster.json").write_text(json.dumps(record))
            self.assertIn("none of its nodes was running", self.cluster("down").out)
            self.assertTrue(runs(other.pid))
            other.kill()

    def test_an_interrupt_while_it_waits_takes_everything_down_again(self):
        process = self.start("cluster", "up", "--cluster", self.dir, "--managers", "3")
        deadline = time.monotonic() + PATIENCE
        while not processes_of(self.dir):
            self.assertLess(time.monotonic(), deadline, "no node was started")
            self.assertIsNone(process.poll(), "it ended before it could be interrupted")
        process.send_signal(signal.SIGINT)
        run = self.finish(process)
        self.assertEqual(run.code, INTERRUPTED, run)
        self.assertEqual(processes_of(self.dir), [])
        # Nothing of that is in the way of the next one.
        self.assertTrue(self.up()["well"])

    def test_an_interrupt_of_the_wait_for_workers_leaves_the_nodes(self):
        for _ in range(5):
            process = self.start("cluster", "up", "--cluster", self.dir, "--managers", "1", "--workers", "2",
                                 "--no-tls")
            record = self.dir / "cluster.json"
            while process.poll() is None and not (record.exists() and '"formed": true' in record.read_text()):
                pass
            process.send_signal(signal.SIGINT)
            run = self.finish(process)
            if run.code == INTERRUPTED and "the nodes run and stay" in run.err:
                self.assertTrue(self.status()["well"])
                return
            self.cluster("down", "--purge")  # it was faster, or slower
        self.skipTest("the machine is too busy to meet this moment")

    def test_a_node_that_finds_no_cluster_says_whom_it_asked_why_that_failed_and_what_to_do(self):
        address = self.up("--managers", "1", "--workers", "0", "--no-tls")["nodes"][0]["address"]
        secret = self.folder / "another"
        secret.write_text("Zk3-another-secret-7Q2m9vXwB\n")
        secret.chmod(0o600)
        node = ("node", "--set", "cluster=local", "--set", "name=w9", "--set", "role=worker", "--set",
                f"listen=127.0.0.1:{free_port()}", "--set", f"secret.file={secret}")
        run = self.bellwether(*node, "--set", f"seeds={address}", "--set", "join_limit=15s")
        self.assertEqual(run.code, NO, run)
        for word in ("within join_limit", f"{address} (seed): refused", "its secret differs", "secret.file", "--found"):
            self.assertIn(word, run.err)
        process = self.start(*node, "--set", f"seeds=127.0.0.1:1,no-such-host.invalid:7", "-v")
        lines = product.Reader(process.stderr)
        lines.wait_for("no member of the cluster is found yet; this node keeps trying. Tried:")
        lines.wait_for("127.0.0.1:1 (seed): Connection refused")
        lines.wait_for("no-such-host.invalid:7 (dns): the name is not resolved")
        lines.wait_for("Start one of these nodes, or correct seeds or dns.")
        process.terminate()
        lines.join()

    def test_a_forgotten_first_start_has_one_remedy_that_works(self):
        (self.dir / "data").mkdir(parents=True)
        secret = self.dir / "secret"
        secret.write_text("Zk3-a-secret-of-a-test-7Q2m9vXwB\n")
        secret.chmod(0o600)
        node = ("node", "-v", "--found", "--set", "cluster=one", "--set", "name=m1", "--set", "role=manager", "--set",
                f"listen=127.0.0.1:{free_port()}", "--set", "voters=m1", "--set", f"data={self.dir}/data", "--set",
                f"secret.file={secret}")
        for first in ([], ["--first-start"]):
            process = self.start(*node, *first)
            lines = product.Reader(process.stderr)
            said = lines.wait_for("the record of this member is lost")
            self.assertRegex(said, r"^\d{4}-\d\d-\d\dT[\d:.]+Z bellwether node: ")
            self.assertIn("delete its data folder, and start it once with --first-start", said)
            process.terminate()
            lines.join()
        shutil.rmtree(self.dir / "data")
        process = self.start(*node, "--first-start")
        lines = product.Reader(process.stderr)
        lines.wait_for("leads")
        process.terminate()
        lines.join()

    def test_what_is_wrong_is_said_before_anything_is_started(self):
        (self.dir).mkdir()
        (self.dir / "thesis.txt").write_text("years of work")
        self.assertIn("contains other files", self.up(code=WRONG).err)
        self.assertEqual([path.name for path in self.dir.iterdir()], ["thesis.txt"])
        (self.dir / "thesis.txt").unlink()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            run = self.up("--base-port", str(port), code=NO)
            self.assertIn(f"another process uses port {port} (TCP) of 127.0.0.1, which 'm1' needs", run.err)
        self.assertIn("--managers is 0", self.up("--managers", "0", code=WRONG).err)
        self.assertIn("the last port is 65535", self.up("--base-port", "65535", code=WRONG).err)
        self.assertIn("there is no local cluster", self.cluster("status", code=NO).err)
        self.assertIn("there is no local cluster", self.cluster("down", code=NO).err)
        run = self.cluster("up", code=WRONG, environment={"BELLWETHER_NAME": "me"})
        self.assertIn("the variable BELLWETHER_NAME is set", run.err)
        self.assertEqual(processes_of(self.dir), [])

    def test_a_cluster_keeps_its_shape(self):
        self.up("--managers", "1", "--workers", "1", "--no-tls")
        self.cluster("down")
        run = self.up("--managers", "3", code=WRONG)
        self.assertIn("has 1 manager and 1 worker in 1 datacenter", run.err)
        self.assertTrue(self.up("--managers", "1")["well"])

    def test_a_node_that_ends_is_told_with_its_last_words_and_nothing_is_left(self):
        self.up("--managers", "1", "--workers", "1", "--no-tls")
        self.cluster("down")
        (self.dir / "w1.yaml").write_text("cluster: [this is no name]\n")
        run = self.up(code=NO)
        self.assertIn("'w1' has ended; the last lines of", run.err)
        self.assertIn("w1.yaml:1", run.err)
        self.assertEqual(processes_of(self.dir), [])

    def environment(self, **more):
        return {"XDG_STATE_HOME": str(self.folder / "state"), **more}

    def ask(self, *words, code=0, **more):
        """A command that means the standard cluster, or what the variable says."""
        run = self.bellwether(*words, environment=self.environment(**more))
        self.assertEqual(run.code, code, run)
        return run

    def printed(self, up, of_what):
        """A command that `up` has printed, as it stands there, in a shell."""
        line = re.search(rf"(?m)^ +{of_what}: +bellwether (.*)$", up.out)[1]
        return self.ask(*shlex.split(line))

    def test_the_standard_cluster_by_the_commands_that_up_prints(self):
        self.dir = self.folder / "state/bellwether/cluster"  # for what ends all its processes
        for verb in (("job", "list"), ("cluster", "members"), ("context", "status"),
                     ("run", "http://127.0.0.1:1/", "--cluster", "local")):
            self.assertIn(f"there is no local cluster in '{self.dir}': start one with `bellwether cluster up`\n",
                          self.ask(*verb, code=NO).err)
        self.assertIn("there is no local cluster", self.ask("doctor", code=WRONG).err)
        up = self.ask("cluster", "up", "--managers", "1", "--workers", "2")
        self.assertEqual(len(json.loads(self.ask("job", "workers", "--json").out)), 2, "all have reported")
        self.assertIn("0.00%", self.printed(up, "run load on it").out)
        self.assertRegex(self.printed(up, "show its state").out, "(?m)^w1 .*alive")
        [job] = json.loads(self.ask("job", "list", "--json").out)
        self.assertEqual(job["state"], "completed")
        self.assertIn("m1", self.ask("cluster", "leader").out)
        # A doctor of a busy machine finds that it is busy.
        until("health", lambda: "healthy (1 node" in self.bellwether("doctor", environment=self.environment()).out)
        self.assertIn("ended: ", self.printed(up, "stop it").out)

        down = "the local cluster is down: start it with `bellwether cluster up`\n"
        for verb in (("job", "list"), ("job", "watch", "x"), ("cluster", "leader"), ("worker", "drain", "w1"),
                     ("context", "status"), ("run", "http://127.0.0.1:1/", "--cluster", "current")):
            self.assertIn(down, self.ask(*verb, code=NO).err)
        self.assertIn(down, self.ask("doctor", "--cluster", "local", code=2).err)
        self.assertEqual(processes_of(self.dir), [])

    def test_another_cluster_has_the_name_of_its_folder_until_it_is_purged(self):
        self.dir = self.folder / "flock"
        up = self.ask("cluster", "up", "--managers", "1", "--workers", "1", "--cluster", self.dir)
        self.assertIn("cluster status --cluster flock\n", up.out)
        self.assertIn("--duration 10s --cluster flock\n", up.out)
        self.assertIn("there is no local cluster", self.ask("job", "list", code=NO).err)
        self.assertEqual(self.ask("job", "list", "--json", "--cluster", "flock").out, "[]\n")
        self.assertIn("did you mean 'flock'? Known: local, flock",
                      self.ask("job", "list", "--cluster", "flok", code=WRONG).err)

        self.assertRegex(self.ask("cluster", "use", "flock").out, r"(?m)^\* +flock +\S+/flock +cluster use$")
        self.assertEqual(self.ask("job", "list", "--json").out, "[]\n")
        known = json.loads(self.ask("cluster", "use", "--json", BELLWETHER_CLUSTER="local").out)
        self.assertEqual([(one["name"], one["source"]) for one in known],
                         [("local", "BELLWETHER_CLUSTER"), ("flock", None)])
        self.assertIn("there is no local cluster", self.ask("job", "list", code=NO, BELLWETHER_CLUSTER="local").err)

        # A run goes to a cluster by the option or the variable; the choice alone leaves it on this machine.
        page = next(one["http"] for one in self.status_of("flock")["nodes"]) + "livez"
        load = ("run", page, "--vus", "1", "--duration", "1s", "--ui", "ci")
        for words, more, on_cluster in (((), {}, False), (("--cluster", "current"), {}, True),
                                        ((), {"BELLWETHER_CLUSTER": "flock"}, True)):
            with self.subTest(words=words, **more):
                run = self.ask(*load, *words, **more)
                self.assertEqual("submitted to" in run.err, on_cluster, run)
        self.assertIn("--cores", self.ask(*load, "--cores", "1", code=WRONG, BELLWETHER_CLUSTER="flock").err)

        self.ask("cluster", "down")
        self.assertIn("the local cluster 'flock' is down: start it with `bellwether cluster up`\n",
                      self.ask("job", "list", code=NO).err)
        self.ask("cluster", "use", "--unset")
        self.assertIn("start it with `bellwether cluster up --cluster flock`\n",
                      self.ask("job", "list", "--cluster", self.dir, code=NO).err)
        self.ask("cluster", "down", "--purge", "--cluster", "flock")
        self.assertNotIn("flock", self.ask("cluster", "use").out)

    def status_of(self, name):
        return json.loads(self.ask("cluster", "status", "--json", "--cluster", name).out)

    def test_clusters_are_remembered_by_their_settings(self):
        client = self.write("client.yaml", "cluster: perf\nseeds: [127.0.0.1:1]\nsecret: {file: secret}\n")
        self.write("other.yaml", "cluster: perf\nseeds: [127.0.0.1:2]\nsecret: {file: secret}\n")
        self.assertRegex(self.ask("cluster", "use", "client.yaml").out, rf"(?m)^\* +perf +{client} +cluster use$")
        self.assertIn("'perf' is already the name", self.ask("cluster", "use", "other.yaml", code=WRONG).err)
        self.ask("cluster", "use", "other.yaml", "--as", "staging")
        self.assertRegex(self.ask("cluster", "use", "local").out, r"(?m)^\* +local .*default$")
        for verb in ("up", "down", "status"):
            self.assertIn("say --cluster local", self.ask("cluster", verb, "--cluster", "staging", code=WRONG).err)
        self.ask("cluster", "use", "--forget", "staging")
        self.assertIn("no such name", self.ask("cluster", "use", "--forget", "staging", code=WRONG).err)
        self.assertIn("unknown.yaml", self.ask("job", "list", "--cluster", "./unknown.yaml", code=WRONG).err)
        self.write("wrong.yaml", "cluster: perf\nseed: x\n")
        self.assertIn("wrong.yaml:2:1", self.ask("cluster", "use", "wrong.yaml", code=WRONG).err)
        run = self.ask("cluster", "use", code=WRONG, BELLWETHER_CLUSTER="pref")
        self.assertIn("BELLWETHER_CLUSTER 'pref': no cluster has this name; did you mean 'perf'?", run.err)
        self.assertIn(client, run.out)


if __name__ == "__main__":
    product.main()
