#!/usr/bin/env python3
"""What breaks a cluster, and what must hold then: one leader at a time, and one again when all is whole."""

from lib import nodes
from lib.world import fill, until


class Failing(nodes.Test):
    def test_the_leader_is_killed_and_comes_back_with_its_disk(self):
        cluster, leader, term = self.led(3)
        rest = [name for name in cluster.names if name != leader]
        cluster.running[leader].kill()
        second, higher = cluster.agreed(rest, other_than=leader)
        self.assertGreater(higher, term)
        until("its death", lambda: all(cluster.members(name).get(leader) == "dead" for name in rest))
        cluster.start(leader, first=False)
        self.assertEqual(cluster.whole(), (second, higher), "who comes back follows")

    def test_a_paused_leader_leads_no_more_when_it_wakes(self):
        cluster, leader, term = self.led(3)
        rest = [name for name in cluster.names if name != leader]
        cluster.running[leader].pause()
        cluster.agreed(rest, other_than=leader)
        cluster.running[leader].resume()
        found, higher = cluster.whole()
        self.assertNotEqual(found, leader)
        self.assertGreater(higher, term)
        self.assertEqual(len(cluster.said(leader, "deposed")), 1)

    def test_the_smaller_part_of_a_split_has_no_leader_and_the_whole_has_one(self):
        cluster, leader, _ = self.led(5)
        others = [name for name in cluster.names if name != leader]
        small, large = [leader, others[0]], others[1:]
        cluster.world.split(small, large)
        cluster.agreed(large, other_than=leader)
        until("the end of the old term", lambda: cluster.said(leader, "deposed"))
        until("no leader", lambda: all(cluster.leader(name) is None for name in small))
        self.assertEqual(cluster.page(leader, "/readyz")[0], 503)
        cluster.world.heal()
        cluster.whole()

    def test_a_leader_that_is_not_heard_is_followed_by_one_that_is(self):
        cluster, leader, _ = self.led(3)
        rest = [name for name in cluster.names if name != leader]
        cluster.world.cut([leader], rest, both=False)
        cluster.agreed(rest, other_than=leader)
        until("the end of its term", lambda: cluster.said(leader, "deposed"))
        cluster.world.heal()
        cluster.whole()

    def test_a_bad_network_changes_nothing(self):
        cluster = self.cluster(3, workers=2).start()
        leader = cluster.whole()
        cluster.world.set("*", "*", loss="2%", delay="10ms", jitter="5ms", duplicate="5%", reorder="10%")
        cluster.running["w1"].starve(ratio=0.1)
        before = cluster.changes(leader[0])
        sent = 'bellwether_datagrams_total{direction="sent"}'
        until("some time of the nodes", lambda: cluster.metric("w2", sent) > 40)
        cluster.running["w1"].feed()
        cluster.world.clear()
        self.assertEqual((cluster.whole(), cluster.changes(leader[0])), (leader, before))

    def test_a_voter_whose_disk_is_full_abstains_and_says_so(self):
        cluster = self.cluster(3)
        disk = cluster.world["a"].disk("2M")
        cluster.settings("a", data=str(disk / "data"))
        cluster.start()
        leader, _ = cluster.whole()
        filled = fill(disk)
        cluster.running[leader].kill()
        rest = [name for name in cluster.names if name != leader]
        if leader != "a":
            cluster.says("a", "full")
            filled.unlink()
        cluster.agreed(rest, other_than=leader)

    def test_a_voter_that_has_lost_its_disk_follows_and_says_what_to_do(self):
        cluster, leader, _ = self.led(3)
        lost = next(name for name in cluster.names if name != leader)
        cluster.running[lost].kill()
        cluster.start(lost, first=False, data=str(cluster.folder / "empty"))
        cluster.says(lost, "--first-start")
        cluster.all_alive()
        self.assertTrue(cluster.ask(lost, "quorum")["follows_only"])
        self.assertEqual(cluster.page(lost, "/readyz")[0], 503)
        self.assertEqual(cluster.agreed()[0], leader)


class Majorities(nodes.Test):
    def test_any_three_of_seven_may_be_gone_and_four_may_not(self):
        cluster, leader, term = self.led(7, settled=True)
        others = [name for name in cluster.names if name != leader]
        gone, rest = [leader, *others[:2]], others[2:]
        for name in gone:
            cluster.running[name].kill()
        second, higher = cluster.agreed(rest, other_than=leader)
        self.assertGreater(higher, term)
        # A fourth one, who is not the leader: the leader itself finds out that it is alone.
        fourth = next(name for name in rest if name != second)
        cluster.running[fourth].kill()
        rest.remove(fourth)
        until("no leader", lambda: all(cluster.leader(name) is None for name in rest))
        for name in rest:
            self.assertEqual(cluster.page(name, "/readyz")[0], 503)
            until(f"{name} knows that there is no quorum",
                  lambda name=name: not cluster.ask(name, "quorum")["has_quorum"])
        cluster.start(fourth, first=False)
        _, third = cluster.agreed([*rest, fourth])
        self.assertGreater(third, higher)
        cluster.start(*gone, first=False)
        self.assertEqual(cluster.whole()[1], third, "who comes back follows")


if __name__ == "__main__":
    nodes.main()
