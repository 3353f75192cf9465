"""Clusters whose nodes elect their admin by scored votes."""

import subprocess

from . import nodes


class Test(nodes.Test):
    def voting(self, count, workers=0, **other):
        """A cluster of that many voters; each signs with a key of its own. Nothing runs yet."""
        cluster = self.cluster(count, workers)
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
            settings = {"leadership": "vote", **self.other, **other}
            if name in cluster.voters:
                keys = {"key": str(cluster.folder / f"{name}.key"), "keys": str(cluster.folder / "keys")}
                settings["vote"] = {**keys, **settings.get("vote", {})}
            cluster.start(name, first=first, **settings)
        return cluster
