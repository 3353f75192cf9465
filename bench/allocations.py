#!/usr/bin/env python3
"""Allocations a request makes in the steady state: none, it should be.

Counts every call of the malloc family by thread and second (bench/alloc_count.cc), leaving out the first two seconds,
in which virtual users do their first iterations, and the last two, in which they end. The load threads are what
matters; the control thread merges and prints once a second.
"""

import json
import tempfile
from pathlib import Path

from lib import clients, report, servers

LEFT_OUT_S = 2


def steady(thread, seconds):
    return sum(thread["per_second"][LEFT_OUT_S:seconds - LEFT_OUT_S + 1])


def one_run(client, site, seconds, counter):
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
    measured_s = seconds - 2 * LEFT_OUT_S + 1
    requests = sum(point["requests"] for point in result["series"] if LEFT_OUT_S <= point["t"] <= seconds - LEFT_OUT_S)
    return {"seconds": measured_s, "requests": requests, "load": sum(steady(thread, seconds) for thread in load),
            "other": sum(steady(thread, seconds) for thread in threads if thread not in load),
            "before": sum(sum(thread["per_second"][:LEFT_OUT_S]) for thread in load)}


def compare(options, out):
    seconds = 6 if options.quick else options.seconds
    program = report.built(options.build, "src/cli/bellwether")
    counter = report.built(options.build, "bench/alloc_count.so")
    runs = {}
    with servers.nginx() as (site, tls_site):
        for scenario, where in (("plain", site), ("extract", site), ("arrival", site), ("tls", tls_site)):
            client = clients.Bellwether(program, scenario, scenario)
            runs[scenario] = one_run(client, where, seconds, counter)
    out.table("Allocations in the steady state, nginx",
              ["scenario", "requests", "by load threads", "per request", "by other threads, per second",
               "by load threads before"],
              [[name, f"{run['requests']:,}", run["load"], f"{run['load'] / run['requests']:.6f}",
                f"{run['other'] / run['seconds']:.0f}", run["before"]] for name, run in runs.items()])
    out.goals([(f"{name}: allocations by load threads", runs[name]["load"], "<=", 0, "{:.0f}")
               for name in ("plain", "extract")])
    out.raw = {"runs": runs}


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--seconds", type=int, default=10, help="length of a run, at least 6 (default 10)")
    report.main("allocations", arguments, compare)
