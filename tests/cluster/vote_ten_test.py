#!/usr/bin/env python3
"""Ten nodes that elect their admin by scored votes: what more of them change."""

from lib import nodes, voting
from lib.world import until

# A machine that runs ten nodes and a test beside others is late more often than a network is.
PATIENT = {"heartbeat_timeout": "4s", "gather_timeout": "1s", "election_timeout": "10s", "discovery_timeout": "2s"}
SECONDS = 120


class Ten(voting.Test):
    def ten(self):
        cluster = self.start(self.voting(10, security={"election_config": PATIENT}))
        cluster.all_alive(seconds=SECONDS)
        return cluster

    def test_one_admin_after_a_death_and_on_one_side_of_a_partition(self):
        cluster = self.ten()
        first, term = cluster.agreed(seconds=SECONDS)
        quorum = cluster.ask(first, "quorum")
        self.assertEqual((len(quorum["voters"]), quorum["needed"]), (10, 6))
        cluster.running.pop(first).kill()
        second, later = cluster.agreed(other_than=first, seconds=SECONDS)
        self.assertGreater(later, term)
        self.start(cluster, first, first=False)
        cluster.all_alive(seconds=SECONDS)
        self.assertEqual(cluster.agreed(seconds=SECONDS), (second, later), "who comes back takes nothing away")
        # The admin and three others on the one side: six of ten are a majority, and four are none.
        others = [name for name in cluster.voters if name != second]
        four, six = [second, *others[:3]], others[3:]
        cluster.world.cut(four, six)
        third, last = cluster.agreed(six, other_than=second, seconds=SECONDS)
        self.assertGreater(last, later)
        until("nobody acts among the four", lambda: not any(map(cluster.leads_now, four)))
        cluster.world.heal()
        self.assertEqual(cluster.agreed(seconds=SECONDS), (third, last), "one admin when all is whole again")


if __name__ == "__main__":
    nodes.main()
