#!/usr/bin/env python3
"""How long a cluster is without a leader: after `kill -9` of the leader, and when it hands over.

Five nodes in network namespaces, profile `lan`, half a millisecond a way. A takeover lasts from the kill until the next
leader says that it leads; a hand-over from "resigned" to "elected". Both by what the nodes say, to the millisecond.
"""

import importlib.util
import statistics
import sys
import time
from datetime import datetime

from lib import report
from lib.processes import Failure

VOTERS = "abcde"
TESTS = report.ROOT / "tests/cluster/lib"


def cluster_tests():
    """The package of the cluster tests, whose name is that of ours."""
    spec = importlib.util.spec_from_file_location("cluster_lib", TESTS / "__init__.py",
                                                  submodule_search_locations=[str(TESTS)])
    sys.modules["cluster_lib"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["cluster_lib"])
    from cluster_lib import enclosure, nodes  # noqa: PLC0415
    return enclosure, nodes


enclosure, nodes = cluster_tests()


def at(event):
    return datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()


def elections(cluster):
    return {name: len(cluster.said(name, "elected")) for name in VOTERS}


def next_election(cluster, leader, known):
    """When the next leader, another one, said that it leads."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for name in VOTERS:
            new = cluster.said(name, "elected")[known[name]:]
            if new and name != leader:
                return at(new[0])
        time.sleep(0.01)
    raise Failure("nobody was elected within 30 s")


def handover(cluster):
    leader, _ = cluster.agreed(VOTERS)
    known = elections(cluster)
    cluster.operator(leader, "transfer")
    elected = next_election(cluster, leader, known)
    return elected - at(cluster.said(leader, "resigned")[-1])


def takeover(cluster):
    leader, _ = cluster.agreed(VOTERS)
    known = elections(cluster)
    killed = time.time()
    cluster.running[leader].kill()
    took = next_election(cluster, leader, known) - killed
    cluster.start(leader, first=False)
    cluster.all_alive(VOTERS, seconds=60)
    return took


def p99(values):
    ranked = sorted(values)
    return ranked[max(0, round(0.99 * len(ranked)) - 1)]


def compare(options, out):
    rounds = 3 if options.quick else options.rounds
    cluster = nodes.Cluster(report.built(options.build, "src/cli/bellwether"),
                            report.built(options.build, "tests/cluster/router/cluster_router"), VOTERS)
    try:
        cluster.world.set("*", "*", delay="500us")
        cluster.start()
        cluster.all_alive(VOTERS)
        cluster.agreed(VOTERS)
        handovers = [handover(cluster) for _ in range(rounds)]
        takeovers = [takeover(cluster) for _ in range(rounds)]
    finally:
        cluster.__exit__()
    out.table(f"Five nodes, profile lan, {rounds} rounds each", ["without a leader", "p50 s", "p99 s", "worst s"],
              [[what, f"{statistics.median(took):.3f}", f"{p99(took):.3f}", f"{max(took):.3f}"]
               for what, took in (("hand-over", handovers), ("kill -9 of the leader", takeovers))])
    out.goals([("takeover after kill -9, p50, s", statistics.median(takeovers), "<=", 0.6, "{:.3f}"),
               ("takeover after kill -9, p99, s", p99(takeovers), "<=", 1.5, "{:.3f}"),
               ("hand-over, p99, s", p99(handovers), "<=", 0.05, "{:.3f}")])
    out.raw = {"takeovers": takeovers, "handovers": handovers}


if __name__ == "__main__":
    if not {"-h", "--help"} & set(sys.argv):
        enclosure.enter()
    arguments = report.parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=100, help="of each kind (default 100)")
    report.main("cluster", arguments, compare)
