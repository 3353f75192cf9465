#!/usr/bin/env python3
"""How long a cluster that votes by scores is without an admin: its admin is killed (SIGKILL), again and again.

Nodes are processes on the loopback interface of this machine, with the times of the profile `lan`. From the kill to the
moment at which the next admin says in its log that it is elected.
"""

import argparse
import datetime
import json
import statistics
import subprocess
import sys
import time

from lib import report
from lib.cluster import LocalCluster
from lib.processes import Failure

PATIENCE = 60  # s


class VotingCluster(LocalCluster):
    def __init__(self, bellwether, nodes):
        super().__init__(bellwether, managers=nodes, workers=0)
        self.lives = dict.fromkeys(self.names, 0)

    def write(self, name):
        super().write(name)
        key, keys = self.folder / f"{name}.key", self.folder / "keys"
        keys.mkdir(exist_ok=True)
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
        key.chmod(0o600)
        if name != "client":
            subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", keys / f"{name}.pem"], check=True)
        with open(self.config(name), "a", encoding="ascii") as file:
            file.write(f"leadership: vote\nvote: {{key: {key}, keys: {keys}}}\n")

    def wait_for_workers(self):
        """There are none."""

    def said(self, name, event):
        if not self.log(name).exists():
            return []
        lines = self.log(name).read_text(errors="replace").rpartition("\n")[0].splitlines()
        return [one for one in map(json.loads, (line for line in lines if line.startswith("{")))
                if one["event"] == event]

    def elected(self, after=0):
        """(term, name, when) of the newest admin of a term beyond `after`."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = [(one["term"], name, datetime.datetime.fromisoformat(one["time"]).timestamp())
                     for name in self.names for one in self.said(name, "elected") if one["term"] > after]
            if found:
                return max(found)
            time.sleep(0.02)
        raise Failure(f"nobody was elected within {PATIENCE} s")

    def all_follow(self, term):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            seen = [self.said(name, "leader") for name in self.names]
            if all(one and one[-1]["term"] >= term and one[-1]["leader"] for one in seen):
                return
            time.sleep(0.05)
        raise Failure("the node that was started again follows nobody")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=100)
    given = parser.parse_args()
    took = []
    with VotingCluster(report.ROOT / given.build / "src/cli/bellwether", given.nodes) as cluster:
        term, leader, _ = cluster.elected()
        for number in range(given.rounds):
            cluster.all_follow(term)
            # At any part of the interval of heartbeats.
            time.sleep(0.5 + number % 10 / 20)
            killed = time.time()
            cluster.kill(leader)
            dead = leader
            term, leader, when = cluster.elected(after=term)
            took.append(when - killed)
            cluster.start(dead)
            print(f"{number + 1}: {took[-1]:.3f} s", file=sys.stderr)
    took.sort()
    print(f"{given.nodes} nodes, {len(took)} kills on {report.machine()}: median {statistics.median(took):.2f} s, "
          f"p99 {took[-(-len(took) * 99 // 100) - 1]:.2f} s, longest {took[-1]:.2f} s")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(str(failure))
