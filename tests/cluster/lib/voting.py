"""Clusters whose nodes elect their admin by scored votes: the keys of their nodes, and of the admin."""

import subprocess

from integration.lib.patience import PATIENCE, PATIENT_VOTE

from . import nodes
from .world import until

TIMES = PATIENT_VOTE["security"]["election_config"]


def signing_key(path):
    """Makes a private key that nobody else can read."""
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path], check=True)
    path.chmod(0o600)
    return path


def public_half(key, path):
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", path], check=True)
    return path


class Test(nodes.Test):
    def voting(self, count, workers=0, **other):
        """A cluster of that many voters; each signs with a key of its own. Nothing runs yet."""
        cluster = self.cluster(count, workers)
        keys = cluster.folder / "keys"
        keys.mkdir()
        for name in cluster.voters:
            public_half(signing_key(cluster.folder / f"{name}.key"), keys / f"{name}.pem")
        self.other = other
        return cluster

    def keys(self, *arguments):
        """`bellwether keys`, which does what it is told."""
        done = subprocess.run([self.binary, "keys", *map(str, arguments)], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def best_leads(self, cluster, name):
        """Calls elections until this one leads: the first one may have been held before it was there."""
        def leads():
            leader, term = cluster.agreed()
            if leader != name and cluster.operator(leader, "elect", "--force")[0] == 0:
                until("another election", lambda: cluster.agreed()[1] > term)
            return cluster.agreed()[0] == name
        until(f"{name}, the best, leads", leads)

    def led(self, voters):
        cluster = self.start(self.voting(voters))
        return cluster, *cluster.whole()

    def start(self, cluster, *names, first=True, **other):
        for name in names or cluster.voters:
            settings = {"leadership": "vote", **self.other, **other}
            times = {**TIMES, **settings.get("security", {}).get("election_config", {})}
            settings["security"] = {"election_config": times}
            if name in cluster.voters:
                keys = {"key": str(cluster.folder / f"{name}.key"), "keys": str(cluster.folder / "keys")}
                settings["vote"] = {**keys, **settings.get("vote", {})}
            cluster.start(name, first=first, **settings)
        return cluster
