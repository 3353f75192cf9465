#!/usr/bin/env python3
# builds: bellwether
# installs: nginx-light openssl
"""How late an open model starts what is due, and what that costs.

20,000 requests a second are due at fixed times, 200 virtual users do them, nginx has a processor of its own. The start
lag is the generator's own lateness: from when an iteration was due to when it began.
"""

import statistics

from lib import clients, needs, report, servers

COLUMNS = ["start lag p50 µs", "p99", "p99.9", "max", "response p50 µs", "p99", "CPU µs/request", "generator busy",
           "late", "dropped"]


def one_run(client, site, seconds, rate):
    finished, result = client.run(site, seconds, allowed_codes=(0, clients.SCHEDULE_NOT_KEPT))
    workflow, step = result["workflows"][0], result["steps"]["load.get"]
    iterations = workflow["iterations"]
    if iterations["scheduled"] != rate * seconds:
        raise report.Failure(f"{iterations['scheduled']} iterations were scheduled, not {rate * seconds}")
    cpu_s = finished.user_s + finished.sys_s
    lag, response = workflow["start_lag_ms"], step["response_ms"]
    return {"lag_p50_us": lag["p50"] * 1e3, "lag_p99_us": lag["p99"] * 1e3, "lag_p99_9_us": lag["p99_9"] * 1e3,
            "lag_max_us": lag["max"] * 1e3, "response_p50_us": response["p50"] * 1e3,
            "response_p99_us": response["p99"] * 1e3, "cpu_us": cpu_s / step["count"] * 1e6,
            "generator_busy": cpu_s / finished.wall_s, "late": iterations["late"], "dropped": iterations["dropped"]}


def row(name, run):
    *times, busy, late, dropped = run.values()
    return [name, *(f"{time:.0f}" for time in times), f"{busy:.0%}", f"{late:.0f}", f"{dropped:.0f}"]


def compare(options, out):
    client = clients.Bellwether(needs.built(options.build, "bellwether"), "arrival", "bellwether", RATE=options.rate,
                                VUS=options.vus)
    with servers.nginx() as (site, _):
        runs = [one_run(client, site, options.seconds, options.rate) for _ in range(options.rounds)]
    median = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    out.table(f"{options.rate:,} requests a second, {options.vus} virtual users, {options.seconds} s, nginx",
              ["run", *COLUMNS],
              [row(str(i + 1), run) for i, run in enumerate(runs)] + [row("median", median)])
    if options.quick or (options.rate, options.vus) == (20000, 200):
        lag = f"start lag at {options.rate:,} arrivals a second"
        out.goals([(f"{lag}, p50, µs", median["lag_p50_us"], "<=", 80, "{:.0f}"),
                   (f"{lag}, p99, µs", median["lag_p99_us"], "<=", 1000, "{:.0f}", "Arrivals on time")])
    out.raw = {"rate": options.rate, "vus": options.vus, "seconds": options.seconds, "runs": runs}


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=int, default=10, help="length of a run (default 10)")
    arguments.add_argument("--rate", type=int, default=20000, help="requests a second (default 20000)")
    arguments.add_argument("--vus", type=int, default=200, help="virtual users (default 200)")
    report.main(arguments, compare, rounds=1, seconds=1, rate=500)
