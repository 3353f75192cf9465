#!/usr/bin/env python3
"""What disturbs a cluster without breaking it: messages in disorder, too little processor, clocks that are set."""

import struct

from lib import nodes
from lib.world import until


class Disturbed(nodes.Test):
    def two_at_once(self, cluster):
        """Two nodes that may act at the same time: one before and after the other."""
        for one in cluster.voters:
            before = cluster.leads_now(one)
            if before is None:
                continue
            others = [name for name in cluster.voters if name != one and cluster.leads_now(name) is not None]
            if others and cluster.leads_now(one) == before:
                return [one, *others]
        return []

    def test_doubled_and_overtaken_messages_change_nothing(self):
        cluster = self.cluster(3, workers=1).start()
        leader = cluster.settled()
        cluster.world.set("*", "*", delay="3ms", jitter="3ms", duplicate="50%", reorder="50%", reorder_by="20ms")
        before = cluster.changes(leader[0])
        received = 'bellwether_datagrams_total{direction="received"}'
        start = cluster.metric("w1", received)
        until("some time of the nodes", lambda: cluster.metric("w1", received) > start + 30)
        until("doubled ones", lambda: (cluster.metric(
            "w1", 'bellwether_refused_total{reason="replayed"}') or 0) > 10)
        cluster.world.clear()
        self.assertEqual((cluster.whole(), cluster.changes(leader[0])), (leader, before))

    def test_a_leader_that_gets_little_of_the_processor_never_leads_beside_another(self):
        cluster, leader, _ = self.led(3, settled=True)
        rest = [name for name in cluster.names if name != leader]
        # It stands still for longer than its lease again and again.
        cluster.running[leader].starve(ratio=0.3, period=8)
        cluster.agreed(rest, other_than=leader)
        for _ in range(30):
            self.assertEqual(self.two_at_once(cluster), [])
        cluster.running[leader].feed()
        cluster.whole()

    def test_a_follower_that_gets_little_of_the_processor_deposes_nobody(self):
        cluster, leader, term = self.led(3, settled=True)
        slow = next(name for name in cluster.names if name != leader)
        cluster.running[slow].starve(ratio=0.2, period=0.3)
        heard = 'bellwether_datagrams_total{direction="received"}'
        start = cluster.metric(leader, heard)
        until("some time of the nodes", lambda: cluster.metric(leader, heard) > start + 30)
        cluster.running[slow].feed()
        self.assertEqual(cluster.whole(), (leader, term))


class Overloaded(nodes.Test):
    def test_a_node_that_stood_still_takes_in_less_until_it_has_recovered(self):
        cluster, leader, _ = self.led(3, settled=True)
        still = next(name for name in cluster.names if name != leader)
        until("it is well", lambda: cluster.metric(still, "bellwether_load_state") == 0)
        before = len(cluster.said(still, "load_changed"))
        cluster.running[still].pause()
        until("its death", lambda: cluster.members(leader).get(still) == "dead")
        cluster.running[still].resume()

        def changes():
            return [(one["state"], one["reason"]) for one in cluster.said(still, "load_changed")[before:]]
        until(lambda: f"a change for the worse; {changes()}", lambda: ("overloaded", "latency") in changes())
        until(lambda: f"one for the better; {changes()}", lambda: changes()[-1] == ("healthy", ""))
        cluster.all_alive()
        until("it is well", lambda: cluster.metric(still, "bellwether_load_state") == 0)
        taken = dict((labels["urgency"], count) for labels, count in
                     cluster.samples(still, "bellwether_messages_admitted_total"))
        self.assertGreater(taken["critical"], 0)
        self.assertEqual(cluster.samples(still, "bellwether_messages_shed_total")[0], ({"urgency": "critical"}, 0))


class Clocks(nodes.Test):
    def step(self, cluster, name, seconds):
        with open(cluster.folder / f"{name}.clock", "r+b") as file:
            file.write(struct.pack("q", seconds))

    def test_wall_clocks_that_are_set_change_nothing(self):
        cluster = self.cluster(3, workers=1)
        self.let_clocks_be_stepped(cluster)
        cluster.start()
        leader, term = cluster.settled()
        follower = next(name for name in cluster.voters if name != leader)
        for seconds in (-7200, 90_000):
            self.step(cluster, leader, seconds)
            self.step(cluster, follower, -seconds)
            sent = 'bellwether_datagrams_total{direction="sent"}'
            start = cluster.metric(leader, sent)
            until("some time of the nodes", lambda start=start: cluster.metric(leader, sent) > start + 10)
            self.assertEqual(cluster.whole(), (leader, term))
        # Who starts again with its clock far behind is let in by those who knew its earlier life, and votes.
        self.step(cluster, leader, -86_400)
        cluster.running[leader].kill()
        second, _ = cluster.agreed([name for name in cluster.names if name != leader], other_than=leader)
        cluster.start(leader, first=False)
        cluster.all_alive()
        gone = next(name for name in cluster.voters if name not in (leader, second))
        cluster.running[gone].kill()
        rest = [name for name in cluster.names if name != gone]
        self.assertEqual(cluster.agreed(rest)[0], second)
        # Refused until the other one is known to have the state of the group again.
        until("a transfer", lambda: cluster.operator(second, "transfer", "--to", leader)[0] == 0)
        self.assertEqual(cluster.agreed(rest, other_than=second)[0], leader)


if __name__ == "__main__":
    nodes.main("clock")
