#!/usr/bin/env python3
"""`bellwether doctor` and clusters that vote by scores: each thing that it knows is made to happen."""

import json

from lib import nodes, voting
from lib.world import until


class Doctor(voting.Test):
    def doctor(self, cluster, name, *more):
        """What it finds on this node: (exit code, {what: finding})."""
        code, text = cluster.world[name].run(self.binary, "doctor", "--cluster", cluster.folder / f"{name}.yaml",
                                             "--json", "--timeout", "30s", *more)
        self.assertIn(code, (0, 1, 2), text)
        return code, {one["what"]: one for one in json.loads(text)["findings"]}

    def found(self, cluster, name, what, *more):
        """Waits until it finds that, and gives it."""
        return until(lambda: f"'{what}' in {self.doctor(cluster, name)}",
                     lambda: self.doctor(cluster, name, *more)[1].get(what))

    def test_too_many_elections(self):
        cluster, _, _ = self.led(3)
        until("all is well", lambda: self.doctor(cluster, "a") == (0, {}))
        until("it says so", lambda: cluster.world["a"].run(
            self.binary, "doctor", "--cluster", cluster.folder / "a.yaml") == (0, "healthy (3 nodes looked at)\n"))
        for _ in range(5):
            term = cluster.agreed()[1]
            until("it is called", lambda: cluster.operator("a", "elect", "--force")[0] == 0)
            until("an election was held", lambda: cluster.agreed()[1] > term)
        finding = self.found(cluster, "a", "there are too many elections")
        self.assertRegex(finding["evidence"], r"took part in \d+ elections within the last hour")
        self.assertIn("heartbeat_timeout", finding["command"])

    def test_two_admins(self):
        cluster = self.start(self.voting(2, workers=1, vote={"quorum": "plurality"}), "a", "b", "w1")
        cluster.all_alive()
        cluster.agreed(["a", "b"])
        cluster.world.cut("a", "b")
        until("both lead", lambda: cluster.leads_now("a") and cluster.leads_now("b"))
        finding = self.found(cluster, "w1", "two nodes lead at once")
        self.assertEqual(finding["severity"], "critical")
        self.assertRegex(finding["evidence"], r"a in term \d+; b in term \d+")
        self.assertIn("vote.quorum: majority prevents it", finding["why"])
        cluster.world.heal()
        until("one leads again", lambda: "two nodes lead at once" not in self.doctor(cluster, "w1")[1])

    def test_none_elected_for_there_is_no_majority(self):
        cluster, _, _ = self.led(3)
        for name in ("a", "b"):
            cluster.running.pop(name).kill()
        finding = self.found(cluster, "c", "no node leads", "--for", "3s")
        self.assertEqual(finding["severity"], "critical")
        until("it sees that two are gone", lambda: "c sees 1 voter alive; 2 are needed" in self.found(
            cluster, "c", "no node leads")["evidence"])
        self.assertIn("start the missing voters", self.found(cluster, "c", "no node leads")["command"])
        code, findings = self.doctor(cluster, "c")
        self.assertEqual(code, 2)
        self.assertRegex(findings["voters do not answer"]["evidence"], "a: .*; b: ")

    def test_none_elected_for_nobody_may_stand(self):
        cluster = self.start(self.voting(3), agent={"capabilities": ["semantic_analysis"]})
        cluster.all_alive()
        finding = self.found(cluster, "b", "no node leads")
        self.assertIn("b: it has no capability that permits a candidacy", finding["evidence"])
        self.assertIn("agent.capabilities", finding["command"])

    def test_keys_that_do_not_fit(self):
        cluster = self.voting(3)
        (cluster.folder / "others").mkdir()
        for name, of in (("a", "c"), ("b", "b"), ("c", "c")):  # what a is known by is not what a signs with
            key = (cluster.folder / "keys" / f"{of}.pem").read_bytes()
            (cluster.folder / "others" / f"{name}.pem").write_bytes(key)
        self.start(cluster, "a")
        self.start(cluster, "b", "c", vote={"keys": str(cluster.folder / "others")})
        cluster.all_alive()
        finding = self.found(cluster, "c", "keys of voters do not match")
        self.assertRegex(finding["evidence"], "[bc] refuses the messages of a")

    def test_lost_heartbeats(self):
        cluster = self.start(self.voting(3), security={"election_config": {"heartbeat_timeout": "8s"}})
        leader, _ = cluster.whole()
        far, near = (name for name in cluster.voters if name != leader)
        # Its answers take longer than it is until the next heartbeat, and less than it takes to lose the office.
        cluster.world.set(leader, far, delay="2200ms")
        finding = self.found(cluster, near, "heartbeats are lost")
        self.assertRegex(finding["evidence"], f"{far} has not answered .* of the last .* heartbeats of {leader}")
        self.assertIn("repair the network", finding["command"])


if __name__ == "__main__":
    nodes.main()
