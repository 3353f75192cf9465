#!/usr/bin/env python3
"""Nodes of a cluster in namespaces of their own: they find each other, agree on a leader, and do what operators say."""

import json
import re
import subprocess
from pathlib import Path

from lib import nodes
from lib.world import until


class Joining(nodes.Test):
    def test_three_that_start_at_once_find_each_other_and_agree(self):
        cluster, leader, term = self.led(3, workers=2)
        self.assertIn(leader, cluster.voters)
        quorum = cluster.ask("w1", "quorum")
        self.assertEqual((len(quorum["voters"]), quorum["needed"], quorum["alive"]), (3, 2, 3))
        self.assertEqual({cluster.ask(name, "quorum")["jobs_unable"] for name in cluster.voters}, {""})
        for name in cluster.voters:
            until(f"{name} hands out cores", lambda name=name: cluster.ask(name, "quorum")["state"] == "active")
            self.assertEqual(json.loads(cluster.page(name, "/health")[1])["state"], "active")
        self.assertGreater(cluster.ask(leader, "leader")["valid_for_ms"], 0)
        for name in cluster.names:
            until(f"{name} is ready", lambda name=name: cluster.page(name, "/readyz") == (200, "ok\n"))
            self.assertEqual(cluster.page(name, "/leader")[0], 200 if name == leader else 503)
            until(f"{name} sees all", lambda name=name: cluster.metric(name, 'bellwether_members{state="alive"}') == 5)
            self.assertEqual(cluster.metric(name, "bellwether_node_term"), term)
        self.assertEqual(cluster.page("a", "/nothing")[0], 404)

    def test_a_manager_that_has_just_begun_waits_for_the_workers_that_others_know(self):
        cluster, leader, _ = self.led(3, workers=2)
        fresh = next(name for name in cluster.voters if name != leader)
        cluster.running[fresh].kill()
        cluster.running["w2"].pause()
        cluster.start(fresh)
        states = []

        def is_active():
            code, text = cluster.page(fresh, "/health")
            states.append(json.loads(text).get("state") if code else None)
            return states[-1] == "active"
        until(lambda: f"the state: {states}",
              lambda: is_active() or re.fullmatch(r"syncing: \d of 2 workers have not reported yet", str(states[-1])))
        self.assertNotEqual(states[-1], "active", states)
        cluster.running["w2"].resume()
        until(lambda: f"active: {states}", is_active)

    def test_one_alone_is_a_cluster(self):
        cluster = self.cluster(1).start()
        self.assertEqual(cluster.agreed()[0], "a")
        self.assertEqual(cluster.page("a", "/livez")[0], 200)
        self.assertIn("any holder of the secret can claim any role", cluster.said("a", "warning")[0]["text"])
        code, text = cluster.operator("a", "transfer")
        self.assertEqual(code, 1)
        self.assertIn("no other voter that could take over answers", text)

    def test_strangers_are_refused_without_a_word_and_counted(self):
        cluster = self.cluster(1, workers=3).start("a")
        cluster.agreed(["a"])
        cluster.write_secret("other", "another secret for the tests, 9Z")
        limit = {"join_limit": "15s"}
        cluster.start("w1", secret={"file": str(cluster.folder / "other")}, **limit)
        cluster.start("w2", cluster="herd", **limit)
        cluster.start("w3", environment="staging", **limit)
        for name, reason in (("w1", None), ("w2", "cluster"), ("w3", "environment")):
            self.assertEqual(cluster.running[name].wait(), 1)
            self.assertIn(f"{cluster.world['a'].ipv4}:9000 (seed)", cluster.running[name].tail())
            if reason:
                self.assertGreater(cluster.metric("a", f'bellwether_refused_total{{reason="{reason}"}}'), 0)
        for kind, names in (("cluster_id", ("flock", "herd")), ("environment_id", ("default", "staging"))):
            [(labels, count)] = cluster.samples("a", f"bellwether_discovery_{kind}_rejections_total")
            self.assertEqual((labels["expected"], labels["received"]), names)
            self.assertGreater(count, 0)
        self.assertGreater(cluster.metric("a", 'bellwether_refused_total{reason="unknown_key"}'), 0)
        self.assertEqual(cluster.members("a"), {"a": "alive"})

    def test_a_role_that_may_not_connect_is_refused_and_counted(self):
        cluster = self.cluster(1, workers=2).start("a", "w1")
        cluster.all_alive(["a", "w1"])
        settings = cluster.operator_settings("w1", "client.yaml", seeds=[cluster.world["w1"].ipv4])
        code, text = cluster.world["w1"].run(cluster.binary, "job", "workers", "--cluster", settings)
        self.assertNotEqual(code, 0)
        self.assertIn("a client may not connect to a worker", text)
        [(labels, count)] = cluster.samples("w1", "bellwether_discovery_role_rejections_total")
        self.assertEqual(labels, {"initiator_role": "client", "target_role": "worker"})
        self.assertGreater(count, 0)

    def test_a_name_belongs_to_one_process_and_a_disk_too(self):
        cluster = self.cluster(1, workers=2).start("a", "w1")
        cluster.all_alive(["a", "w1"])
        cluster.start("w2", name="w1", data=str(cluster.folder / "w2.data"))
        self.assertEqual(cluster.running["w2"].wait(), 1)
        self.assertIn("'w1' belongs to the process at", cluster.running["w2"].tail())
        cluster.start("w2", data=str(cluster.folder / "w1.data"))
        self.assertEqual(cluster.running["w2"].wait(), 104)
        self.assertIn("is this node running already?", cluster.running["w2"].tail())
        self.assertEqual(cluster.members("a"), {"a": "alive", "w1": "alive"})

    def test_the_example_can_be_started(self):
        example = Path(__file__).parents[2] / "examples/cluster/m1.yaml"
        shown = subprocess.run([self.binary, "config", "show", "--json", "--config", example], capture_output=True,
                               text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        settings = json.loads(shown.stdout)
        self.assertEqual(settings["voters"]["value"], "m1, m2, m3")
        self.assertEqual(settings["profile"]["origin"], "default")
        cluster = self.cluster(1)
        cluster.running["a"] = cluster.world["a"].start(
            self.binary, "node", "--config", example, "--set", f"data={cluster.folder}/d", "--set",
            f"secret.file={cluster.folder}/secret", "--found", "--first-start", "--json", "-v")
        cluster.says("a", "joined cluster 'demo'")
        cluster.says("a", "too few members answered")

    def test_what_is_wrong_with_settings_follows_their_list(self):
        file = self.cluster(1).folder / "wrong.yaml"
        file.write_text("cluster: demo\nname: a\nvoters: [a]\nrole: wroker\n")
        shown = subprocess.run([self.binary, "config", "show", "--config", file], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
        self.assertEqual(shown.returncode, 104, shown.stdout)
        lines = shown.stdout.splitlines()
        self.assertTrue(lines[0].startswith("SETTING"), lines[0])
        self.assertIn("did you mean 'worker'?", lines[-1])

    def test_settings_that_cannot_be_are_said_with_the_remedy(self):
        cluster = self.cluster(1)
        for other, text in (({"secret": {"file": "none"}}, "none"), ({"listen": "10.99.99.99:9000"}, "10.99.99.99"),
                            ({"data": "/dev/null/x"}, "data"), ({"role": "wroker"}, "did you mean 'worker'?")):
            with self.subTest(other):
                cluster.start("a", **other)
                self.assertEqual(cluster.running["a"].wait(), 104)
                self.assertIn(text, cluster.running["a"].tail())


class Operating(nodes.Test):
    def test_a_leader_that_leaves_hands_over_first(self):
        cluster, leader, term = self.led(3, settled=True)
        rest = [name for name in cluster.names if name != leader]
        code, answer = cluster.operator(leader, "leave", "--node", f"{cluster.world[leader].ipv4}:9000")
        self.assertEqual(code, 0, answer)
        self.assertEqual(cluster.running[leader].wait(), 0)
        self.assertGreater(cluster.agreed(rest, other_than=leader)[1], term)
        until("its leaving", lambda: all(cluster.members(name).get(leader) == "left" for name in rest))
        self.assertEqual([event["reason"] for event in cluster.said(leader, "resigned")], ["resigned"])

    def test_the_leadership_is_moved_to_whom_the_operator_names(self):
        cluster, leader, term = self.led(3, settled=True)
        heir = next(name for name in cluster.names if name != leader)
        other = next(name for name in cluster.names if name not in (leader, heir))
        # Refused until the leader knows that the heir has the state of the group.
        until("a transfer", lambda: cluster.operator(other, "transfer", "--to", heir)[0] == 0)
        found, higher = cluster.agreed(other_than=leader)
        self.assertEqual(found, heir)
        self.assertGreater(higher, term)
        self.assertEqual(cluster.operator(other, "transfer", "--to", "nobody")[0], 1)
        acts = cluster.said(leader, "operator")
        self.assertEqual({(act["by"], act["act"]) for act in acts}, {("test", f"transfer to '{heir}'")})

    def test_an_operator_whose_node_is_down_is_answered_by_another(self):
        cluster = self.cluster(3).start()
        cluster.all_alive()
        self.assertEqual(cluster.running["a"].stop(), 0)
        until("an answer that a has left", lambda: cluster.members("a").get("a") == "left")
        for name in ("b", "c"):
            cluster.running[name].stop()
        code, text = cluster.operator("a", "members")
        self.assertEqual(code, 1)
        for name in cluster.names:
            self.assertIn(f"{cluster.world[name].ipv4}:9000: ", text)

    def test_voters_are_changed_one_at_a_time(self):
        cluster, leader, _ = self.led(3)
        gone = next(name for name in cluster.names if name != leader)

        def change(how, count):
            until(how, lambda: cluster.operator(leader, "voters", how, gone)[0] == 0)

            def changed():
                quorum = cluster.ask(leader, "quorum")
                return not quorum["changing"] and len(quorum["voters"]) == count
            until(f"{count} voters", changed)
        change("remove", 2)
        code, text = cluster.operator(leader, "voters", "remove", gone)
        self.assertEqual(code, 1)
        self.assertIn("does not vote", text)
        code, text = cluster.operator(leader, "voters", "add", "nobody")
        self.assertEqual(code, 1)
        self.assertIn("no node 'nobody' is known", text)
        change("add", 3)
        cluster.running[leader].kill()
        cluster.agreed([name for name in cluster.names if name != leader], other_than=leader)


if __name__ == "__main__":
    nodes.main()
