#!/usr/bin/env python3
"""Ten nodes that elect their admin by scored votes: what more of them change."""

from lib import nodes, voting
from lib.world import until

# A machine that runs ten nodes and a test beside others is late more often than a network is.
PATIENT = {"heartbeat_timeout": "10s", "gather_timeout": "1s", "election_timeout": "10s", "discovery_timeout": "2s"}


class Ten(voting.Test):
    def messages_of(self, cluster, term):
        """How many messages the election of this term has taken; what is said to all counts once."""
        count = 0
        for name in cluster.voters:
            told = [one["message"] for one in cluster.ask(name, "votes", "--messages")["messages"]
                    if one["sent"] and one["message"]["term"] == term]
            count += sum(one["type"] in ("election_started", "candidacy", "vote", "winner") for one in told)
            # The answers to the winner's word, and not those to the heartbeats that follow.
            count += sum(one["type"] == "heartbeat_answer" and one["round"] == 1 for one in told)
        return count

    def test_an_election_takes_few_messages(self):
        cluster = self.ten()
        cluster.agreed()
        # What a busy machine makes late is said again, and counts: the best of some elections is looked at.
        least = None
        for _ in range(5):
            leader, term = cluster.agreed()
            cluster.operator(leader, "elect", "--force")
            until("another term", lambda: cluster.agreed()[1] > term)
            counts = self.messages_of(cluster, cluster.agreed()[1])
            least = min(least or counts, counts)
            if least <= 3 * 10 + 2:
                break
        self.assertLessEqual(least, 3 * 10 + 2)
        self.assertGreaterEqual(least, 3 * 6, "all that a majority says")

    def ten(self):
        cluster = self.start(self.voting(10, security={"election_config": PATIENT}))
        cluster.all_alive()
        return cluster

    def test_one_admin_after_a_death_and_on_one_side_of_a_partition(self):
        cluster = self.ten()
        first, term = cluster.agreed()
        quorum = cluster.ask(first, "quorum")
        self.assertEqual((len(quorum["voters"]), quorum["needed"]), (10, 6))
        cluster.running.pop(first).kill()
        second, later = cluster.agreed(other_than=first)
        self.assertGreater(later, term)
        self.start(cluster, first, first=False)
        cluster.all_alive()
        self.assertEqual(cluster.agreed(), (second, later), "who comes back takes nothing away")
        # The admin and three others on the one side: six of ten are a majority, and four are none.
        others = [name for name in cluster.voters if name != second]
        four, six = [second, *others[:3]], others[3:]
        cluster.world.cut(four, six)
        third, last = cluster.agreed(six, other_than=second)
        self.assertGreater(last, later)
        until("nobody acts among the four", lambda: not any(map(cluster.leads_now, four)))
        cluster.world.heal()
        self.assertEqual(cluster.agreed(), (third, last), "one admin when all is whole again")


if __name__ == "__main__":
    nodes.main()
