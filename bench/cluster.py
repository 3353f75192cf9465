#!/usr/bin/env python3
# builds: bellwether cluster_router
# installs: iproute2 openssl
"""How long a cluster is without a leader: after `kill -9` of the leader, and when it hands over.

Nodes in network namespaces, profile `lan`, half a millisecond a way; a quorum of writes or scored votes decide who
leads. A takeover lasts from the kill until the next leader says that it leads; a hand-over from when the old one says
that it has resigned. Both by what the nodes say, to the millisecond.
"""

import statistics
import string
import sys
import time
from datetime import datetime

from lib import needs, report
from lib.processes import Failure
from lib.testing import modules

enclosure, nodes, voting = modules("cluster", "enclosure", "nodes", "voting")


PATIENCE = 300  # seconds, until a leader is elected
# The times of the profile. A quick run keeps those that tests have, with which a busy machine deposes nobody.
LAN = {"profile": "lan", "security": {"election_config": {"discovery_timeout": "0s"}}}


def at(event):
    return datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()


def elections(cluster):
    return {name: len(cluster.said(name, "elected")) for name in cluster.voters}


def next_election(cluster, leader, known):
    """When the next leader, another one, said that it leads."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for name in cluster.voters:
            new = cluster.said(name, "elected")[known[name]:]
            if new and name != leader:
                return at(new[0])
        time.sleep(0.01)
    raise Failure(f"nobody was elected within {PATIENCE} s")


def handover(cluster, turn):
    leader, known = settled(cluster, turn)
    # Refused until the leader knows of a voter that has the state of the group.
    nodes.until("a transfer", lambda: cluster.operator(leader, "transfer")[0] == 0)
    elected = next_election(cluster, leader, known)
    return elected - at(cluster.said(leader, "resigned")[-1])


def takeover(cluster, turn):
    leader, known = settled(cluster, turn)
    killed = time.time()
    cluster.running[leader].kill()
    took = next_election(cluster, leader, known) - killed
    cluster.start(leader, first=False)
    return took


def settled(cluster, turn):
    """The leader, and how often each node was elected, at another part of the interval of heartbeats each time."""
    cluster.all_alive()
    leader, _ = cluster.agreed()
    time.sleep(0.5 + turn % 10 / 20)
    return leader, elections(cluster)


def start(cluster, leadership, quick):
    cluster.world.set("*", "*", delay="500us")
    keys = cluster.folder / "keys"
    keys.mkdir()
    settings = {name: {} if quick else dict(LAN) for name in cluster.voters}
    for name in cluster.voters if leadership == "vote" else []:
        key = voting.signing_key(cluster.folder / f"{name}.key")
        voting.public_half(key, keys / f"{name}.pem")
        settings[name] |= {"leadership": "vote", "vote": {"key": str(key), "keys": str(keys)}}
    for name in cluster.voters:
        cluster.start(name, **settings[name])


def measured(options, leadership):
    """(seconds of each hand-over, of each takeover)."""
    with nodes.Cluster(needs.built(options.build, "bellwether"), needs.built(options.build, "cluster_router"),
                       string.ascii_lowercase[:options.nodes]) as cluster:
        start(cluster, leadership, options.quick)
        return [[once(cluster, turn) for turn in range(options.rounds)] for once in (handover, takeover)]


def compare(options, out):
    took = {leadership: measured(options, leadership) for leadership in options.leadership}
    out.table(f"{options.nodes} nodes, profile lan, {options.rounds} rounds each",
              ["decided by", "without a leader", "p50 s", "p99 s", "worst s"],
              [[leadership, what, f"{statistics.median(times):.3f}", f"{report.percentile(times, 99):.3f}",
                f"{max(times):.3f}"]
               for leadership, both in took.items()
               for what, times in zip(("hand-over", "kill -9 of the leader"), both)])
    if "quorum" in took:
        handovers, takeovers = took["quorum"]
        out.goals([("kill -9 of a cluster's leader to the next leader, p50, s", statistics.median(takeovers), "<=", 0.6,
                    "{:.3f}", "Between nodes"),
                   ("quorum: takeover after kill -9, p99, s", report.percentile(takeovers, 99), "<=", 1.5, "{:.3f}"),
                   ("quorum: hand-over, p99, s", report.percentile(handovers, 99), "<=", 0.05, "{:.3f}")])
    out.raw = {leadership: {"handovers": both[0], "takeovers": both[1]} for leadership, both in took.items()}


if __name__ == "__main__":
    if not {"-h", "--help"} & set(sys.argv):
        enclosure.enter()
    arguments = report.parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=100, help="of each kind (default 100)")
    arguments.add_argument("--nodes", type=int, default=5, help="(default 5)")
    arguments.add_argument("--leadership", nargs="+", choices=["quorum", "vote"], default=["quorum", "vote"],
                           help="how the leader is decided (default: one after the other)")
    report.main(arguments, compare, rounds=1, nodes=3)
