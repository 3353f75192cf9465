#!/usr/bin/env python3
"""Whom the voters of a scored vote believe, and who notices a part of the network that is cut off."""

from lib import nodes, voting
from lib.world import until


class VoteTrust(voting.Test):
    def operator_key(self, cluster):
        key = voting.signing_key(cluster.folder / "operator.key")
        return key, str(voting.public_half(key, cluster.folder / "operator.pem"))

    def attest(self, cluster, key, node, *more, name="flock"):
        out = cluster.folder / f"{node}.{name}.attestation"
        self.keys("attest", "--key", key, "--cluster-name", name, "--node", node, "--capabilities",
                  ",".join(("admin_election", *more)), "--out", out)
        return str(out)

    def test_only_what_the_operator_has_attested_counts(self):
        cluster = self.voting(4)
        key, public = self.operator_key(cluster)
        # All say the same of themselves; the operator has said it of c and, less, of b. To a nobody has told that.
        capabilities = ["admin_election", "project_manager", "context_curation"]
        self.start(cluster, "a", agent={"capabilities": capabilities})
        self.start(cluster, "d", vote={"operator_key": public}, agent={"capabilities": capabilities})
        for name, more in (("b", ()), ("c", ("project_manager",))):
            agent = {"capabilities": capabilities, "attestation": self.attest(cluster, key, name, *more)}
            self.start(cluster, name, vote={"operator_key": public}, agent=agent)
        cluster.all_alive()
        self.best_leads(cluster, "c")
        until("d knows that it may not stand", lambda: "the operator has attested no capability of it" in cluster.ask(
            "d", "quorum")["stands_back"])

        def seen():
            """What b has heard in an election in which all took part."""
            cluster.operator(cluster.agreed()[0], "elect", "--force")
            of_b = {one["name"]: one for one in (cluster.ask("b", "votes") or {"nodes": []})["nodes"]}
            return of_b if of_b and all(one["took_part"] for one in of_b.values()) else None
        stood = until("all have taken part", seen)
        self.assertIn("and the operator has attested no capability of it", stood["a"]["doubt"])
        self.assertEqual(stood["b"]["capabilities"], ["admin_election"])
        self.assertEqual(stood["c"]["doubt"], "")
        self.assertFalse(stood["d"]["stood"])

    def test_an_attestation_of_another_node_cluster_or_operator_is_refused_at_the_start(self):
        cluster = self.voting(2)
        key, public = self.operator_key(cluster)
        other = voting.signing_key(cluster.folder / "other.key")
        for attestation, reason in ((self.attest(cluster, key, "b"), "for the node b"),
                                    (self.attest(cluster, key, "a", name="herd"), "for the cluster herd/default"),
                                    (self.attest(cluster, other, "a"), "not signed with the operator's key")):
            self.start(cluster, "a", vote={"operator_key": public}, agent={"attestation": attestation})
            self.assertEqual(cluster.running["a"].wait(), 104)
            self.assertIn(reason, cluster.running["a"].tail())
        self.start(cluster, "a", agent={"attestation": attestation})
        self.assertEqual(cluster.running["a"].wait(), 104)
        self.assertIn("needs 'vote.operator_key', which is missing", cluster.running["a"].tail())

    def test_a_bad_reputation_costs_votes_also_after_a_restart_of_who_remembers(self):
        cluster = self.voting(3)
        first = {"vote": {"reputation_weight": 100}, "agent": {"capabilities": ["admin_election", "project_manager"]}}
        others = {"vote": {"reputation_weight": 100}}
        self.start(cluster, "a", **first)
        self.start(cluster, "b", "c", **others)
        cluster.all_alive()
        self.best_leads(cluster, "a")
        cluster.running.pop("a").kill()
        admin, _ = cluster.agreed(other_than="a")
        follower = "c" if admin == "b" else "b"
        for name in (admin, follower):
            cluster.says(name, "the reputation of 'a' is now 50 %")
        cluster.running.pop(follower).stop()
        self.start(cluster, follower, first=False, **others)
        self.start(cluster, "a", first=False, **first)
        cluster.all_alive()

        def chosen():
            """What the follower has heard in an election in which it could choose between a and the admin."""
            cluster.operator(cluster.agreed()[0], "elect", "--force")
            seen = {one["name"]: one for one in (cluster.ask(follower, "votes") or {"nodes": []})["nodes"]}
            could = seen and all(seen[name]["stood"] and not seen[name]["doubt"] for name in ("a", admin))
            return seen if could and seen[follower]["voted_for"] else None
        seen = until("it could choose", chosen)
        # After split votes chance decides who stands: a may have served a term meanwhile, to its credit.
        self.assertIn(seen["a"]["penalty"], (0.5, 0.25))
        self.assertGreater(seen["a"]["score"], seen[admin]["score"])
        self.assertNotEqual(seen[follower]["voted_for"], "a")

    def test_who_is_cut_off_knows_it_and_blames_nobody_and_the_others_know_whom_they_do_not_hear(self):
        cluster = self.start(self.voting(3), vote={"reputation_weight": 100})
        admin, _ = cluster.whole()
        far, near = (name for name in cluster.voters if name != admin)
        cluster.world.cut([far], [admin, near])
        until("it hears no majority", lambda: (cluster.ask(far, "votes") or {}).get("in_minority"))
        self.assertEqual([one["name"] for one in cluster.ask(far, "votes")["unheard"]], sorted([admin, near]))
        until("it is not heard", lambda: [one["name"] for one in cluster.ask(near, "votes")["unheard"]] == [far])
        self.assertFalse(cluster.ask(near, "votes")["in_minority"])
        self.assertIn("HEARS NO MAJORITY", cluster.operator(far, "votes", json_too=False)[1])
        self.assertEqual(cluster.metric(far, "bellwether_vote_in_minority"), 1)
        self.assertEqual(cluster.metric(near, "bellwether_vote_unheard"), 1)
        cluster.says(far, "including itself, it hears 1 of 3 voters, a minority")
        cluster.world.heal()
        until("all are heard again", lambda: not any((cluster.ask(name, "votes") or {"unheard": [1]})["unheard"]
                                                     for name in cluster.voters))
        cluster.says(far, f"hears '{near}' again")

        def stands():
            """How the one that was cut off sees the admin, who stands again."""
            cluster.operator(cluster.agreed()[0], "elect", "--force")
            seen = {one["name"]: one for one in (cluster.ask(far, "votes") or {"nodes": []})["nodes"]}
            return seen.get(admin) if seen.get(admin, {}).get("stood") else None
        self.assertEqual(until("the admin has stood", stands)["penalty"], 0)


if __name__ == "__main__":
    nodes.main()
