#!/usr/bin/env python3
"""Builds that speak different versions of the protocol, side by side in one cluster."""

from lib import nodes
from lib.world import until

FEATURES = {"1.1": {"cancellation", "batched_stats"},
            "1.2": {"cancellation", "batched_stats", "client_reconnection", "fence_tokens"}}


class Upgrade(nodes.Test):
    def agree_on(self, cluster, name, versions):
        """Waits until the connections of a node are of these versions and no other; then looks at their features."""
        until(lambda: f"{name} speaks {versions}; {cluster.connections(name, 'protocol')}",
              lambda: cluster.connections(name, "protocol") == versions)
        if len(versions) == 1:
            features = {labels["feature"] for labels, count in cluster.samples(name, "bellwether_connection_features")
                        if count > 0}
            self.assertEqual(features, FEATURES[min(versions)], name)

    def test_nodes_are_replaced_by_newer_ones_one_after_the_other(self):
        cluster = self.cluster(3)
        cluster.builds = dict.fromkeys(cluster.names, self.older)
        cluster.start()
        leader, _ = cluster.settled()
        for name in cluster.names:
            self.agree_on(cluster, name, {"1.1"})
        # The leader comes last, as docs/cluster/nodes.md says.
        for name in [*(name for name in cluster.names if name != leader), leader]:
            rest = [one for one in cluster.names if one != name]
            self.assertEqual(cluster.running[name].stop(), 0)
            cluster.agreed(rest)
            del cluster.builds[name]
            cluster.start(name, first=False)
            cluster.whole()
            self.agree_on(cluster, name, {"1.2" if one not in cluster.builds else "1.1" for one in rest})
            self.assertEqual(cluster.page(name, "/readyz")[0], 200)
        for name in cluster.names:
            self.agree_on(cluster, name, {"1.2"})
        # Nobody has lost the leadership: each term but the first began with a hand-over.
        resigned = [event["term"] for name in cluster.names for event in cluster.said(name, "resigned")]
        self.assertEqual([event for name in cluster.names for event in cluster.said(name, "deposed")], [])
        self.assertEqual(len([event for name in cluster.names for event in cluster.said(name, "elected")]),
                         len(resigned) + 1)
        self.assertGreater(cluster.agreed()[1], max(resigned))

    def test_a_node_of_another_major_version_is_refused_and_both_say_why(self):
        cluster = self.cluster(1, workers=1).start("a")
        leader = cluster.agreed(["a"])
        cluster.builds["w1"] = self.foreign
        cluster.start("w1", join_limit="5s")
        self.assertEqual(cluster.running["w1"].wait(), 1)
        why = "this node uses protocol 1.2, not 2.0; upgrade in steps of one major version"
        self.assertIn(f"refused by the other end: {why}", cluster.running["w1"].tail())
        cluster.says("a", why)
        self.assertGreater(cluster.metric("a", 'bellwether_refused_total{reason="version"}'), 0)
        self.assertEqual((cluster.members("a"), cluster.agreed(["a"])), ({"a": "alive"}, leader))


if __name__ == "__main__":
    nodes.main("older", "foreign")
