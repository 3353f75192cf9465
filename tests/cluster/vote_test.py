#!/usr/bin/env python3
"""A cluster whose nodes elect their admin by scored votes, in namespaces of their own."""

import subprocess

from lib import nodes, voting
from lib.world import until


class Vote(voting.Test):
    def test_they_elect_one_and_another_one_when_it_is_killed(self):
        cluster, leader, term = self.led(3)
        quorum = cluster.ask(leader, "quorum")
        self.assertEqual((quorum["decided_by"], len(quorum["voters"]), quorum["needed"]), ("vote", 3, 2))
        self.assertGreater(cluster.ask(leader, "leader")["valid_for_ms"], 0)
        votes = cluster.ask(leader, "votes")
        self.assertEqual((votes["term"], votes["winner"], votes["over"]), (term, leader, True))
        self.assertGreaterEqual(sum(one["voted_for"] == leader for one in votes["nodes"]), 2)
        [winner] = [one for one in votes["nodes"] if one["name"] == leader]
        self.assertAlmostEqual(winner["score"], sum(votes["weights"][part] * value
                                                    for part, value in winner["parts"].items() if value is not None))
        code, text = cluster.operator(leader, "votes", json_too=False)
        self.assertEqual(code, 0)
        self.assertIn(f"{leader} has won", text)
        self.assertIn("votes, and needed 2; its score was", text)
        cluster.running.pop(leader).kill()
        second, later = cluster.agreed(other_than=leader)
        self.assertGreater(later, term)
        self.start(cluster, leader, first=False)
        self.assertEqual(cluster.whole(), (second, later), "who comes back takes nothing away")

    def test_heartbeats_promises_and_messages_are_shown(self):
        cluster, leader, term = self.led(3)
        follower = next(name for name in cluster.voters if name != leader)
        until("two heartbeats were answered",
              lambda: all(one["answered"] > 1 for one in cluster.ask(leader, "votes")["followers"]))
        admin, other = cluster.ask(leader, "votes", "--messages"), cluster.ask(follower, "votes")
        self.assertEqual((admin["heartbeat"]["sent"], admin["heartbeat"]["term"]), (True, term))
        self.assertEqual((other["heartbeat"]["sent"], other["heartbeat"]["term"]), (False, term))
        self.assertGreater(admin["heartbeat"]["sequence"], admin["heartbeat"]["round"])
        self.assertGreaterEqual(other["heartbeat"]["age_ms"], 0)
        self.assertEqual({one["to"] for one in admin["promises"]}, {leader})
        self.assertEqual([(one["by"], one["to"]) for one in other["promises"]], [(follower, leader)])
        self.assertLessEqual(other["promises"][0]["ends_in_ms"], 3030)
        self.assertEqual(other["messages"], [], "only who asks for them gets them")
        told = admin["messages"]
        self.assertLessEqual(len(told), 200)
        said = {one["message"]["type"]: one for one in told if one["sent"]}
        self.assertEqual((said["heartbeat"]["peer"], said["heartbeat"]["message"]["from"]), ("", leader))
        heard = [one for one in told if not one["sent"]]
        self.assertTrue(all((one["refused"], one["peer"]) == ("", one["message"]["from"]) for one in heard))
        self.assertIn("heartbeat_answer", {one["message"]["type"] for one in heard})
        code, text = cluster.operator(follower, "votes", "--messages", json_too=False)
        self.assertEqual(code, 0)
        self.assertRegex(text, f"{follower} has heard the last heartbeat .* ago: number .* of term {term}, sequence")
        self.assertIn(f"{follower} has promised {leader} to answer nobody else for", text)
        self.assertRegex(text, f"from +{leader} +heartbeat +{term} +[0-9]+ +accepted")
        [complete] = [one for one in cluster.said(leader, "election_complete") if one["term"] == term]
        self.assertEqual(complete["winner"], leader)

    def test_elections_and_heartbeats_have_their_metrics(self):
        cluster, leader, _ = self.led(3)
        others = [name for name in cluster.voters if name != leader]

        def counted(name, metric, **labels):
            return sum(value for own, value in cluster.samples(name, metric) if labels.items() <= own.items())
        elected = counted(leader, "bellwether_vote_elections_total", result="elected")
        self.assertGreaterEqual(elected, 1)
        self.assertEqual(cluster.metric(leader, "bellwether_vote_election_seconds_count"),
                         counted(leader, "bellwether_vote_elections_total"))
        self.assertGreaterEqual(cluster.metric(leader, "bellwether_vote_participation"), 0.6)
        self.assertEqual(len(cluster.samples(leader, "bellwether_vote_score")), 3)
        self.assertGreaterEqual(counted(leader, "bellwether_vote_votes", node=leader), 2)
        until("heartbeats are heard", lambda: cluster.metric(others[0], "bellwether_vote_heartbeats_heard_total") > 2)
        self.assertGreater(cluster.metric(leader, "bellwether_vote_heartbeats_sent_total"), 2)
        self.assertGreaterEqual(cluster.metric(others[0], "bellwether_vote_heartbeat_age_seconds"), 0)
        beats = counted(leader, "bellwether_vote_messages_total", direction="sent", kind="heartbeat")
        self.assertGreaterEqual(beats, 2)
        # A node that is gone answers nothing.
        missed = counted(leader, "bellwether_vote_heartbeats_missed_total", node=others[0])
        cluster.running.pop(others[0]).kill()
        until("its answers are missed",
              lambda: counted(leader, "bellwether_vote_heartbeats_missed_total", node=others[0]) > missed + 2)
        cluster.operator(leader, "elect", "--force")
        until("the called election is counted", lambda: counted(
            leader, "bellwether_vote_elections_total", trigger="manual_trigger", result="elected") >= 1)

    def test_an_operator_moves_the_office_to_a_node_of_its_choice(self):
        cluster, leader, term = self.led(3)
        heir = next(name for name in cluster.voters if name != leader)
        until("the office has moved",
              lambda: cluster.operator(leader, "transfer", "--to", heir)[0] == 0 or cluster.agreed()[0] == heir)
        until(f"{heir} leads", lambda: cluster.agreed()[0] == heir)
        self.assertGreater(cluster.agreed()[1], term)
        # To nobody in particular: to anybody but who has it.
        until("it has moved again", lambda: cluster.operator(heir, "transfer")[0] == 0)
        cluster.agreed(other_than=heir)

    def test_an_operator_calls_an_election_and_not_too_soon_after_the_last_one(self):
        cluster = self.start(self.voting(3), security={"election_config": {"leader_min_term": "1h"}})
        _, term = cluster.whole()
        code, text = cluster.operator("a", "elect")
        self.assertEqual(code, 1)
        self.assertIn("the last election was too recent", text)
        self.assertEqual(cluster.operator("a", "elect", "--force")[0], 0)
        until("an election was held", lambda: cluster.agreed()[1] > term)

    def test_settings_may_be_toml(self):
        cluster = self.voting(3)
        self.start(cluster, "a", "b")
        world = cluster.world
        path = cluster.folder / "c.toml"
        path.write_text(f"""
cluster = "flock"
name = "c"
listen = "{world["c"].ipv4}:9000"
seeds = ["{world["a"].ipv4}", "{world["b"].ipv4}"]
voters = ["a", "b", "c"]
data = "{cluster.folder}/c.data"
leadership = "vote"
profile = "wan"

[security.election_config]
{chr(10).join(f'{name} = "{value}"' for name, value in voting.TIMES.items())}

[secret]
file = "{cluster.folder}/secret"

[vote]
key = "{cluster.folder}/c.key"
keys = "{cluster.folder}/keys"

[agent]
capabilities = ["admin_election", "project_manager"]  # more than the others have
""")
        cluster.running["c"] = world["c"].start(self.binary, "node", "--config", path, "--json", "-v", "--first-start")
        cluster.whole()
        self.best_leads(cluster, "c")
        code, text = world["c"].run(self.binary, "cluster", "votes", "--cluster", path)
        self.assertEqual(code, 0, text)
        self.assertIn("c has won", text)
        path.write_text(path.read_text().replace('name = "c"', "name = c"))
        code, text = world["c"].run(self.binary, "cluster", "votes", "--cluster", path)
        self.assertEqual(code, 104)
        self.assertIn("c.toml:3:8: this is not TOML", text)

    def test_the_score_decides(self):
        cluster = self.voting(3)
        for name in cluster.voters:
            capabilities = ["admin_election", *(["project_manager", "semantic_analysis"] if name == "b" else [])]
            self.start(cluster, name, agent={"capabilities": capabilities})
        cluster.all_alive()
        self.best_leads(cluster, "b")

    def test_who_reckons_with_other_weights_is_not_voted_for_and_told(self):
        cluster = self.voting(3)
        self.start(cluster, "a", "b")
        # By these it would be the best of all: the others are worth little, as all have just begun.
        weights = {"uptime": 0, "capability": 0, "resources": 0, "network": 1, "experience": 0}
        self.start(cluster, "c", vote={"weights": weights})
        cluster.all_alive()
        # The first admin may have been elected before it came.
        cluster.agreed()
        until("an election is called", lambda: cluster.operator("a", "elect", "--force")[0] == 0)
        cluster.says("a", "the weights of the score must be the same on all nodes")
        self.assertIn(cluster.agreed()[0], ("a", "b"))

    def test_without_a_majority_nobody_is_the_admin(self):
        cluster, leader, term = self.led(5)
        few = [leader, next(name for name in cluster.voters if name != leader)]
        many = [name for name in cluster.voters if name not in few]
        cluster.world.cut(few, many)
        second, later = cluster.agreed(many, other_than=leader)
        self.assertGreater(later, term)
        until("who is cut off has given up the office", lambda: not (cluster.ask(leader, "leader") or {}).get("self"))
        cluster.world.heal()
        self.assertEqual(cluster.agreed(), (second, later))

    def test_who_signs_with_another_key_is_not_listened_to(self):
        cluster = self.voting(3)
        # As if somebody had taken the place of a: the others have another public key of it.
        theirs = cluster.folder / "its own"
        subprocess.run(["cp", "-r", cluster.folder / "keys", theirs], check=True)
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", cluster.folder / "a.key"], check=True)
        subprocess.run(["openssl", "pkey", "-in", cluster.folder / "a.key", "-pubout", "-out", theirs / "a.pem"],
                       check=True)
        self.start(cluster, "b", "c")
        self.start(cluster, "a", vote={"key": str(cluster.folder / "a.key"), "keys": str(theirs)})
        cluster.all_alive()
        self.assertIn(cluster.agreed(["b", "c"])[0], ("b", "c"))
        cluster.says("b", "names 'a' as its sender is not signed with that node's key")
        self.assertGreater(dict((labels["reason"], value) for labels, value in
                                cluster.samples("b", "bellwether_vote_refused_total"))["not_signed"], 0)
        told = cluster.ask("b", "votes", "--messages")["messages"]
        self.assertIn(("a", None, "not_signed"), {(one["peer"], one["message"], one["refused"])
                                                  for one in told if one["message"] is None})

    def test_keys_that_do_not_fit_are_said_with_the_remedy(self):
        cluster = self.voting(2)
        self.start(cluster, "a", vote={"key": str(cluster.folder / "b.key"), "keys": str(cluster.folder / "keys")})
        self.assertEqual(cluster.running["a"].wait(), 104)
        self.assertIn("no voter would believe this node", cluster.running["a"].tail())
        (cluster.folder / "keys" / "a.pem").unlink()
        self.start(cluster, "b")
        self.assertEqual(cluster.running["b"].wait(), 104)
        self.assertIn("the public key of voter 'a': openssl pkey", cluster.running["b"].tail())
        cluster.start("b", leadership="vote")
        self.assertEqual(cluster.running["b"].wait(), 104)
        self.assertIn("messages of a scored vote are signed", cluster.running["b"].tail())


if __name__ == "__main__":
    nodes.main()
