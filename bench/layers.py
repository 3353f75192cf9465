#!/usr/bin/env python3
# builds: bellwether
"""What the graph of steps costs: ten steps in three layers, against the same requests of a step alone.

5,000 virtual users on one core do a number of iterations of ten steps, and ten times as many of one step. Up to four
steps run at the same time, each on a connection of its own, so the one has four connections for each user and the
other one. The cost of the engine is user time for each request; what the kernel does is beside it.
"""

from statistics import median

from lib import clients, needs, report, servers
from lib.processes import Failure, allow_descriptors

MOST_BRANCHES = 4
LIMIT_S = 600


def one_run(program, site, scenario, vus, iterations):
    client = clients.Bellwether(program, scenario, scenario, VUS=vus, ITERATIONS=iterations)
    finished, result = client.run(site, LIMIT_S)
    requests = result["totals"]["requests"]
    return {"requests": requests, "counts": sorted({step["count"] for step in result["steps"].values()}),
            "iterations": result["workflows"][0]["iterations"]["completed"],
            "user_us": finished.user_s / requests * 1e6, "sys_us": finished.sys_s / requests * 1e6}


def compare(options, out):
    program = needs.built(options.build, "bellwether")
    allow_descriptors(options.vus * MOST_BRANCHES + 1000)
    runs = []
    with servers.target(program) as site:
        for _ in range(options.rounds):
            runs.append((one_run(program, site, "layers", options.vus, options.iterations),
                         one_run(program, site, "alone", options.vus, options.iterations * 10)))
    expected = options.vus * options.iterations
    for layers, _ in runs:
        if layers["counts"] != [expected]:
            raise Failure(f"steps were counted {layers['counts']} times, not {expected}")
    out.table(f"{options.vus:,} virtual users, {expected * 10:,} requests", ["", "user µs a request", "system µs"],
              [[name, report.spread([pair[k]["user_us"] for pair in runs]),
                report.spread([pair[k]["sys_us"] for pair in runs])]
               for k, name in ((0, "ten steps in three layers"), (1, "a step alone"))])
    out.remark(f"Each of the ten steps was counted {expected:,} times, once in each iteration.")
    # A run that is too short has no time that was counted (--quick).
    ratio = median(layers["user_us"] / max(alone["user_us"], 1e-3) for layers, alone in runs)
    out.goals([("user time of a step in layers × a step alone", ratio, "<=", 1.5, "{:.2f}", "Steps in layers")])
    out.raw = {"runs": runs}


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--vus", type=int, default=5000, help="(default 5000)")
    arguments.add_argument("--iterations", type=int, default=20, help="of ten steps, for each user (default 20)")
    arguments.add_argument("--rounds", type=int, default=5, help="pairs of runs (default 5)")
    report.main(arguments, compare, vus=20, iterations=2, rounds=1)
