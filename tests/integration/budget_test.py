#!/usr/bin/env python3
"""How long a cluster is without a leader, and how long until it knows of a death: sums that come out, from settings."""

import json
import re

from lib import product

EXAMPLE = product.ROOT / "examples/cluster/m1.yaml"


def sums(found):
    """All sums of a document, wherever they are."""
    if isinstance(found, dict):
        if "arithmetic" in found:
            yield found
        else:
            for value in found.values():
                yield from sums(value)


class ClusterBudget(product.Test):
    def budget(self, *arguments):
        run = self.bellwether("budget", "--of-cluster", *arguments, "--json")
        self.assertEqual(run.code, 0, run)
        found = json.loads(run.out)
        self.assertEqual(found["format"], "bellwether.budget/1")
        return found

    def test_every_total_is_what_its_parts_add_up_to(self):
        for profile in ("lan", "wan", "local"):
            found = list(sums(self.budget("--profile", profile, "--nodes", "300", "--voters", "7")))
            self.assertEqual(len(found), 7)
            for one in found:
                parts, _, total = one["arithmetic"].partition(" = ")
                signs = re.findall(r"(^|[+-] )([0-9.]+)s", parts)
                added = sum(-float(number) if sign == "- " else float(number) for sign, number in signs)
                self.assertAlmostEqual(added, one["seconds"], delta=0.01, msg=one)
                self.assertAlmostEqual(float(total.rstrip("s")), one["seconds"], delta=0.002)
                self.assertEqual(len(signs), 1 + len(re.findall(r" [+-] (?![^(]*\))", one["formula"])), one)

    def test_what_the_profiles_promise_holds(self):
        lan = self.budget("--profile", "lan")
        self.assertLessEqual(lan["membership"]["all"]["worst"]["seconds"], 4, "the death of a worker, confirmed")
        self.assertLessEqual(lan["election"]["crash"]["worst"]["seconds"], 1.5)
        wan = self.budget("--profile", "wan")
        self.assertLessEqual(wan["membership"]["all"]["worst"]["seconds"], 30)
        for one, other in zip(sums(lan), sums(wan)):
            self.assertLess(one["seconds"], other["seconds"])

    def test_the_settings_of_a_node_say_who_votes_and_by_which_profile(self):
        self.assertEqual(self.budget("--config", EXAMPLE)["voters"], 3)
        text = EXAMPLE.read_text()
        path = self.write("wan.yaml", text + "profile: wan\n")
        found = self.budget("--config", path, "--nodes", "100")
        self.assertEqual((found["profile"], found["nodes"], found["voters"]), ("wan", 100, 3))
        self.assertEqual(found["election"], self.budget("--profile", "wan", "--voters", "3")["election"])
        self.assertEqual(self.budget("--config", path, "--profile", "lan")["profile"], "lan")
        store = re.sub(r"(?m)^voters:.*$", "leadership: etcd://10.0.0.5", text)
        found = self.budget("--config", self.write("etcd.yaml", store))
        self.assertEqual((found["voters"], found["decided_by"]), (None, "etcd://10.0.0.5"))
        self.assertEqual(found, self.budget("--via", "etcd://10.0.0.5"))
        self.assertIn("TTL", found["election"]["crash"]["worst"]["formula"])

    def test_votes_by_scores_have_the_times_of_their_settings(self):
        node = EXAMPLE.read_text() + "leadership: vote\nvote: {key: m1.key, keys: keys}\n"
        found = self.budget("--config", self.write("vote.yaml", node))
        self.assertEqual((found["decided_by"], found["voters"]), ("vote", 3))
        self.assertEqual(found["election"], self.budget("--via", "vote")["election"])
        worst = found["election"]["crash"]["worst"]
        self.assertEqual(worst["formula"], "heartbeat_timeout x (1 + drift) + 2 gather + 2 rtt + 2 sync")
        self.assertAlmostEqual(worst["seconds"], 1.01 + 0.2 + 0.004 + 0.02, places=6)
        own = node + "security: {election_config: {heartbeat_timeout: 3s, gather_timeout: 250ms}}\n"
        found = self.budget("--config", self.write("own.yaml", own), "--rtt", "10ms", "--sync", "20ms")
        self.assertAlmostEqual(found["election"]["crash"]["worst"]["seconds"], 3.03 + 0.5 + 0.02 + 0.04, places=6)
        self.assertAlmostEqual(found["election"]["cut_off_stops"]["seconds"], 2.97, places=6)
        self.assertAlmostEqual(found["election"]["transfer"]["seconds"], 0.06, places=6)
        wan = self.budget("--config", self.write("vote.yaml", node), "--profile", "wan", "--rtt", "2ms")
        self.assertAlmostEqual(wan["election"]["crash"]["worst"]["seconds"], 15.15 + 2 + 0.004 + 0.02, places=6)
        toml = self.budget("--config", product.ROOT / "examples/cluster/m1.toml")
        self.assertEqual((toml["decided_by"], toml["voters"]), ("vote", 3))
        self.assertEqual(self.budget("--via", "vote", "--voters", "100", "--nodes", "100")["voters"], 100)
        run = self.bellwether("budget", "--via", f"vote:{self.write('vote.yaml', node)}")
        self.assertIn("Profile lan, 3 nodes", run.out, "a group has no other nodes")
        run = self.bellwether("budget", "--of-cluster", "--config", self.write("vote.yaml", node))
        self.assertIn("Profile lan, 5 nodes", run.out)
        self.assertIn("3 voters by scores, round trip 2.00ms, disk 10.0ms", run.out)
        self.assertRegex(run.out, r"crash, worst +1\.3s +heartbeat_timeout x \(1 \+ drift\)")

    def test_slower_disks_and_networks_cost_what_they_cost(self):
        usual = self.budget()["election"]
        slow = self.budget("--rtt", "12ms", "--sync", "110ms")["election"]
        self.assertAlmostEqual(slow["crash"]["worst"]["seconds"] - usual["crash"]["worst"]["seconds"], 0.23, places=6)
        self.assertAlmostEqual(slow["transfer"]["seconds"] - usual["transfer"]["seconds"], 0.225, places=6)
        self.assertEqual(slow["cut_off_stops"], usual["cut_off_stops"])

    def test_the_table_shows_formulas_and_totals(self):
        run = self.bellwether("budget", "--of-cluster", "--nodes", "100")
        self.assertEqual(run.code, 0, run)
        self.assertIn("Profile lan, 100 nodes", run.out)
        self.assertRegex(run.out, r"to all, worst +[0-9.]+s +2 x interval \+ verdict \+ suspicion \+ spread")
        self.assertRegex(run.out, r"crash, worst +[0-9.]+s +lease x \(1 \+ drift\)")

    def test_what_cannot_be_is_refused_with_the_reason(self):
        for arguments, reason in ((["--profile", "slow"], "lan, wan and local"), (["--voters", "10"], "1 to 9"),
                                  (["--via", "vote", "--voters", "101"], "1 to 100"),
                                  (["--nodes", "1"], "--nodes is from"), (["--ttl", "3s"], "that of the profile"),
                                  (["--via", "etcd://h", "--voters", "3"], "nobody votes"),
                                  (["--via", "etcd://h", "--ttl", "9000h"], "longer than a year"),
                                  (["--config", "none.yaml"], "none.yaml"), (["--rtt", "x"], "no duration")):
            run = self.bellwether("budget", "--of-cluster", *arguments)
            self.assertEqual(run.code, 104, run)
            self.assertIn(reason, run.err)
        run = self.bellwether("budget", "--nodes", "3")
        self.assertEqual(run.code, 104, run)
        self.assertIn("--of-cluster", run.err)


if __name__ == "__main__":
    product.main()
