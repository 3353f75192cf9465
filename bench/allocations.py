#!/usr/bin/env python3
# builds: bellwether alloc_count
# installs: nginx-light openssl
"""Allocations a request makes in the steady state: none, it should be.

Counts every call of the malloc family by thread and second (bench/alloc_count.cc), leaving out the first seconds, in
which virtual users do their first iterations, and the last ones, in which they end. The load threads are what matters;
the control thread merges and prints once a second.
"""

import json
import tempfile
from pathlib import Path

from lib import clients, needs, report, servers


def steady(thread, seconds, left_out):
    return sum(thread["per_second"][left_out:seconds - left_out + 1])


def one_run(client, site, counter, seconds, left_out):
    with tempfile.TemporaryDirectory(prefix="bellwether-bench-") as folder:
        file = Path(folder, "allocations.json")
        _, result = client.run(site, seconds, env={"LD_PRELOAD": counter, "BW_ALLOC_OUT": str(file)},
                               allowed_codes=(0, clients.SCHEDULE_NOT_KEPT))
        if not file.exists():
            raise report.Failure("nothing was counted: is the binary statically linked?")
        threads = json.loads(file.read_text(encoding="utf-8"))["threads"]
    load = [thread for thread in threads if thread["name"].startswith("load-")]
    if not load or not any(sum(thread["per_second"]) for thread in load):
        raise report.Failure(f"no load thread was seen among {[thread['name'] for thread in threads]}")
    requests = sum(point["requests"] for point in result["series"] if left_out <= point["t"] <= seconds - left_out)
    return {"seconds": seconds - 2 * left_out + 1, "requests": requests,
            "load": sum(steady(thread, seconds, left_out) for thread in load),
            "other": sum(steady(thread, seconds, left_out) for thread in threads if thread not in load),
            "before": sum(sum(thread["per_second"][:left_out]) for thread in load)}


def compare(options, out):
    program = needs.built(options.build, "bellwether")
    counter = needs.built(options.build, "alloc_count")
    runs = {}
    with servers.nginx() as (site, tls_site):
        for scenario, where in (("plain", site), ("extract", site), ("arrival", site), ("tls", tls_site)):
            client = clients.Bellwether(program, scenario, scenario)
            runs[scenario] = one_run(client, where, counter, options.seconds, options.left_out)
    out.table("Allocations in the steady state, nginx",
              ["scenario", "requests", "by load threads", "per request", "by other threads, per second",
               "by load threads before"],
              [[name, f"{run['requests']:,}", run["load"], f"{run['load'] / run['requests']:.6f}",
                f"{run['other'] / run['seconds']:.0f}", run["before"]] for name, run in runs.items()])
    out.goals([(f"allocations by load threads, {name}", runs[name]["load"], "<=", 0, "{:.0f}", "Allocations")
               for name in ("plain", "extract")])
    out.raw = {"runs": runs}


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--seconds", type=int, default=10, help="length of a run (default 10)")
    arguments.add_argument("--left-out", type=int, default=2, help="seconds at either end (default 2)")
    report.main(arguments, compare, seconds=1, left_out=0)
