"""Clusters whose nodes elect their admin by scored votes."""

import subprocess

from . import nodes


class Test(nodes.Test):
    def voting(self, count, **other):
        """A cluster of that many voters; each signs with a key of its own. Nothing runs yet."""
        cluster = self.cluster(count)
        keys = cluster.folder / "keys"
        keys.mkdir()
        for name in cluster.voters:
            key = cluster.folder / f"{name}.key"
            subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
            key.chmod(0o600)
            subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", keys / f"{name}.pem"], check=True)
        self.other = other
        return cluster

    def start(self, cluster, *names, first=True, **other):
        for name in names or cluster.voters:
            vote = {"key": str(cluster.folder / f"{name}.key"), "keys": str(cluster.folder / "keys")}
            settings = {"leadership": "vote", "vote": vote, **self.other, **other}
            cluster.start(name, first=first, **settings)
        return cluster
