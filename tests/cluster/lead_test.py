#!/usr/bin/env python3
"""`bellwether lead --via vote:FILE` and `quorum:FILE` on networks that break: never two commands at once.

The command of whoever leads writes its epoch to one file of all nodes again and again, deaf to SIGTERM; the order of
that file shows overlaps whatever any clock says.
"""

import struct
import subprocess
import sys
from pathlib import Path

from lib import nodes
from lib.world import until

ACT = struct.Struct("=qq")
RECORDER = Path(__file__).parents[1] / "integration/lib/recorder.py"


class Leads(nodes.Cluster):
    """Each node of it is a `bellwether lead`."""

    scheme = None

    def start(self, *names, first=True, **other):
        for node in names or self.names:
            self.settings(node, leadership=self.scheme, **self.signing(node), **other)
            self.running[node] = self.world[node].start(
                self.binary, "lead", "--via", f"{self.scheme}:{node}.yaml", "--json", "-v",
                *(["--first-start"] if first else []), "--", sys.executable, "-I", "-S", RECORDER, "acts")
        return self

    def signing(self, node):
        if self.scheme != "vote":
            return {}
        key, keys = self.folder / f"{node}.key", self.folder / "keys"
        if not keys.exists():
            keys.mkdir()
            for name in self.names:
                own = self.folder / f"{name}.key"
                subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", own], check=True)
                own.chmod(0o600)
                subprocess.run(["openssl", "pkey", "-in", own, "-pubout", "-out", keys / f"{name}.pem"], check=True)
        return {"vote": {"key": str(key), "keys": str(keys)}}

    def acts(self):
        """(epoch, boot ns) in the order of the acts."""
        file = self.folder / "acts"
        data = file.read_bytes() if file.exists() else b""
        return [ACT.unpack_from(data, at) for at in range(0, len(data) - ACT.size + 1, ACT.size)]

    def works(self, above=0):
        """Waits for work under an epoch above that one; gives the node and the epoch."""
        def found():
            history = self.acts()
            if not history or history[-1][0] <= above:
                return None
            epoch = history[-1][0]
            return next(((name, epoch) for name in self.names if name in self.running
                         and any(one["epoch"] == epoch for one in self.said(name, "elected"))), None)
        return until(lambda: f"work above epoch {above}\n" + "\n".join(one.tail(30) for one in self.running.values()),
                     found)


class Behaviours:
    def leads(self, count=3):
        cluster = self.cluster(count).start()
        return cluster, *cluster.works()

    def one_leader_a_term(self, cluster):
        highest = 0
        for epoch, at in cluster.acts():
            self.assertGreaterEqual(epoch, highest, f"work of {epoch} at {at} after the first of {highest}")
            highest = epoch
        winners = {}
        for name in cluster.names:
            for event in cluster.said(name, "elected"):
                self.assertEqual(winners.setdefault(event["epoch"], name), name, f"two of epoch {event['epoch']}")

    def ended_in_time(self, cluster, leader, epoch):
        """No act of that term came after the time that its leader had named."""
        promised = [one["lease_ends_boot_ns"] for one in cluster.said(leader) if one["event"] in ("elected", "renewed")]
        self.assertLess(max(at for one, at in cluster.acts() if one == epoch), max(promised))

    def test_a_leader_that_is_cut_off_has_ended_its_command_before_the_next_one_begins(self):
        cluster, leader, epoch = self.leads()
        cluster.world.cut([leader], [name for name in cluster.names if name != leader])
        successor, later = cluster.works(above=epoch)
        self.assertNotEqual(successor, leader)
        until("the end of its term", lambda: cluster.said(leader, "deposed"))
        self.ended_in_time(cluster, leader, epoch)
        cluster.world.heal()
        self.assertEqual(cluster.whole()[0], successor, "who comes back takes nothing away")
        self.assertEqual(cluster.acts()[-1][0], later)

    def test_a_leader_that_hears_nobody_ends_its_command_too(self):
        cluster, leader, epoch = self.leads()
        cluster.world.cut([name for name in cluster.names if name != leader], [leader], both=False)
        until("the end of its term", lambda: cluster.said(leader, "deposed"))
        cluster.world.heal()
        cluster.works(above=epoch)
        self.ended_in_time(cluster, leader, epoch)

    def test_on_a_network_that_loses_doubles_and_disorders_there_is_one_at_a_time(self):
        cluster, leader, epoch = self.leads()
        cluster.world.set("*", "*", delay="3ms", jitter="3ms", loss="5%", duplicate="20%", reorder="20%",
                          reorder_by="10ms")
        for _ in range(2):
            cluster.running[leader].kill()
            leader, epoch = cluster.works(above=epoch)
            down = next(name for name in cluster.names if not cluster.running[name].alive())
            cluster.start(down, first=False)
        cluster.world.clear()
        cluster.all_alive()

    def test_a_leader_that_gets_little_of_the_processor_never_acts_beside_another(self):
        cluster, leader, epoch = self.leads()
        cluster.running[leader].starve(ratio=0.3, period=8)
        cluster.works(above=epoch)
        cluster.running[leader].feed()
        cluster.all_alive()


class ByVote(Behaviours, nodes.Test):
    class kind(Leads):
        scheme = "vote"


class ByQuorum(Behaviours, nodes.Test):
    class kind(Leads):
        scheme = "quorum"


if __name__ == "__main__":
    nodes.main()
