"""Clusters whose nodes have certificates of their roles."""

from integration.lib.certificates import Authority


class Certified:
    """For tests of nodes (lib/nodes.py)."""

    def secured(self, voters, workers=0):
        """A cluster whose nodes have certificates of their roles, and whose operators have one too."""
        cluster = self.cluster(voters, workers)
        self.authority = Authority(cluster.folder)
        for name in cluster.names:
            cluster.settings(name, tls=self.certified(cluster, name))
        self.issue("operator", f"URI:{self.claim('operator', '*')}")
        cluster.operators = {"certificate": f"{cluster.folder}/operator.pem", "key": f"{cluster.folder}/operator.key",
                             "ca": str(self.authority.file)}
        return cluster

    def claim(self, role, name, cluster="flock"):
        return f"bellwether://{cluster}/default/*/role/{role}/node/{name}"

    def issue(self, name, alternative, authority=None, days=1):
        (authority or self.authority).issue(name, alternative, days)

    def certified(self, cluster, name, file=None, claim=None, **how):
        """Settings of a node with a certificate that was made so."""
        file = file or name
        role = "manager" if name in cluster.voters else "worker"
        self.issue(file, f"DNS:{name},IP:{cluster.world[name].ipv4},URI:{claim or self.claim(role, name)}", **how)
        return {"certificate": f"{cluster.folder}/{file}.pem", "key": f"{cluster.folder}/{file}.key",
                "ca": str(self.authority.file)}
