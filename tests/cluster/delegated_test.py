#!/usr/bin/env python3
"""Clusters that leave it to a store who leads: nobody votes, and everything else is as in those that elect."""

import json
import subprocess

from lib import nodes
from lib.stores import Etcd, Redis
from lib.world import until


class Delegated(nodes.Test):
    def led_by(self, server, managers=3, workers=0, first=None, more=None):
        """A cluster whose settings name this kind of store, on a node of its own; and the store, which runs.

        `first` begins the cluster when it starts alone. `more` has what some nodes are told beside: {name: settings}.
        """
        cluster = self.cluster(managers, workers)
        store = server(cluster.world.add("s")).start()
        for name in cluster.names:
            told = {"voters": [], "leadership": store.url, "leadership_lease": "8s", **(more or {}).get(name, {})}
            if name == first:
                told["seeds"] = [cluster.world[name].ipv4]
            cluster.settings(name, **told)
        return cluster, store

    def crash_of_the_leader(self, server):
        cluster, _ = self.led_by(server, workers=1)
        cluster.start()
        leader, term = cluster.whole()
        self.assertGreater(cluster.ask(leader, "leader")["valid_for_ms"], 0)
        for name in cluster.names:
            until("readiness", lambda name=name: cluster.page(name, "/readyz") == (200, "ok\n"))
            self.assertEqual(cluster.page(name, "/leader")[0], 200 if name == leader else 503)
            self.assertEqual(cluster.metric(name, "bellwether_node_term"), term)
        cluster.running[leader].kill()
        rest = [name for name in cluster.names if name != leader]
        second, higher = cluster.agreed(rest, other_than=leader)
        self.assertGreater(higher, term)
        cluster.start(leader)
        self.assertEqual(cluster.whole(), (second, higher), "who comes back follows")
        return cluster, second


class ByEtcd(Delegated):
    def test_the_leader_is_killed_and_another_one_leads_under_a_higher_epoch(self):
        cluster, leader = self.crash_of_the_leader(Etcd)
        code, text = cluster.operator("w1", "quorum", json_too=False)
        self.assertEqual(code, 0, text)
        self.assertIn("decides who leads: nobody votes", text)
        code, text = cluster.operator(leader, "voters", "add", "w1")
        self.assertEqual(code, 1)
        self.assertIn("elects the leader of this cluster, so there are no voters", text)

    def test_nobody_leads_while_etcd_is_away_and_one_does_when_it_is_back(self):
        cluster, etcd = self.led_by(Etcd, workers=1)
        cluster.start()
        leader, term = cluster.whole()
        etcd.kill()
        until("the end of the term", lambda: cluster.said(leader, "deposed"))
        until("no leader", lambda: all(cluster.leader(name) is None for name in cluster.names))
        for name in cluster.voters:
            until("the reason", lambda name=name: "has not answered" in cluster.page(name, "/readyz")[1])
            self.assertIn("has not answered", cluster.operator(name, "quorum", json_too=False)[1])
        self.assertEqual(set(cluster.members("w1").values()), {"alive"}, "membership asks nobody")
        etcd.start()
        self.assertGreater(cluster.agreed()[1], term)
        until("readiness", lambda: all(cluster.page(name, "/readyz")[0] == 200 for name in cluster.names))

    def test_the_leadership_is_moved_and_a_leader_that_leaves_hands_over_first(self):
        cluster, _ = self.led_by(Etcd)
        cluster.start()
        leader, term = cluster.whole()
        heir, other = (name for name in cluster.names if name != leader)

        self.assertEqual(cluster.operator(other, "transfer", "--to", "nobody")[0], 1)
        self.assertIn("is the leader already", cluster.operator(other, "transfer", "--to", leader)[1])
        until("the transfer", lambda: cluster.operator(other, "transfer", "--to", heir)[0] == 0)
        found, higher = cluster.agreed(other_than=leader)
        self.assertEqual(found, heir)
        self.assertGreater(higher, term)
        code, answer = cluster.operator(heir, "leave", "--node", f"{cluster.world[heir].ipv4}:9000")
        self.assertEqual(code, 0, answer)
        self.assertEqual(cluster.running[heir].wait(), 0)
        rest = [name for name in cluster.names if name != heir]
        self.assertGreater(cluster.agreed(rest, other_than=heir)[1], higher)
        until("its leaving", lambda: all(cluster.members(name).get(heir) == "left" for name in rest))
        self.assertEqual([event["reason"] for event in cluster.said(heir, "resigned")], ["resigned"])

    def test_whoever_has_a_lower_priority_lets_others_go_first(self):
        cluster, _ = self.led_by(Etcd, first="a", more={"b": {"priority": "5"}, "c": {"priority": "7"}})
        cluster.start("a")
        self.assertEqual(cluster.agreed(["a"])[0], "a")
        cluster.start("b", "c")
        cluster.all_alive()
        for name in ("b", "c"):
            until("its standing back",
                  lambda name=name: cluster.ask(name, "quorum")["stands_back"] == "'a' has a higher priority")
        cluster.running["a"].kill()
        self.assertEqual(cluster.agreed(["b", "c"])[0], "c")

    def test_nobody_stands_beside_a_node_that_votes(self):
        cluster, _ = self.led_by(Etcd, managers=2, first="b", more={"b": {"voters": ["b"], "leadership": "quorum",
                                                                          "leadership_lease": "0s"}})
        cluster.start("b")
        self.assertEqual(cluster.agreed(["b"])[0], "b")
        cluster.start("a")
        cluster.all_alive()
        cluster.says("b", "'leadership' must be the same on all nodes")
        until("its standing back", lambda: "'b' lets quorum" in cluster.ask("a", "quorum")["stands_back"])
        self.assertIsNone(cluster.leader("a"))
        cluster.running["b"].stop()
        self.assertEqual(cluster.agreed(["a"])[0], "a")


    def test_the_store_can_be_named_on_the_command_line(self):
        shown = subprocess.run([self.binary, "config", "show", "--json", "--set", "cluster=c", "--leadership",
                                "etcd://10.0.0.5"], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertEqual(json.loads(shown.stdout)["leadership"]["value"], "etcd://10.0.0.5")
        cluster = self.cluster(1)
        for url, reason in (("file:/srv/lease", "all nodes"), ("etcds://10.0.0.5?ca=none.pem", "none.pem")):
            cluster.start("a", voters=[], leadership=url)
            self.assertEqual(cluster.running["a"].wait(), 104)
            self.assertIn(reason, cluster.running["a"].tail())
        cluster.start("a", voters=[], leadership="etcd://10.0.0.5", leadership_lease="1s")
        self.assertEqual(cluster.running["a"].wait(), 104)
        self.assertIn("needs at least 2", cluster.running["a"].tail())


class ByRedis(Delegated):
    def test_the_leader_is_killed_and_another_one_leads_under_a_higher_epoch(self):
        self.crash_of_the_leader(Redis)


if __name__ == "__main__":
    nodes.main()
