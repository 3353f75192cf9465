#!/usr/bin/env python3
# builds: bellwether
"""Does a stall of the server show in full, however few virtual users there are?

1,000 requests a second are due for 100 s. The server answers in 1 ms and freezes for 1 s every 10 s, so a tenth of what
is due waits, from 1 s down to nothing: the 95th, 99th and 99.9th percentile of the response time are 502, 902 and
992 ms. A generator that lets the stall slow its schedule down reports a millisecond instead. The runs with few and with
many virtual users go on at the same time, each against a server of its own.
"""

import concurrent.futures

from lib import clients, needs, report, servers
from lib.processes import Failure

EXPECTED_MS = {"p95": 502, "p99": 902, "p99_9": 992}  # with a freeze of 1 s
RATE = 1000


def one_run(program, vus, seconds, frozen):
    client = clients.Bellwether(program, "stall", "bellwether", RATE=RATE, VUS=vus)
    with servers.target(program, "--stall-every", f"{10 * frozen}s", "--stall-for", f"{frozen}s", "--latency", "1ms",
                        cpu=None) as site:
        # With few users a part of the schedule must be dropped.
        _, result = client.run(site, seconds, cpu=None, allowed_codes=(0, clients.SCHEDULE_NOT_KEPT))
    step, workflow = result["steps"]["load.get"], result["workflows"][0]
    iterations = workflow["iterations"]
    if iterations["scheduled"] != RATE * seconds:
        raise Failure(f"{vus} virtual users: {iterations['scheduled']} iterations were scheduled, not {RATE * seconds}")
    if iterations["on_time"] + iterations["late"] + iterations["dropped"] != iterations["scheduled"]:
        raise Failure(f"{vus} virtual users: on time + late + dropped is not what was scheduled: {iterations}")
    return {"vus": vus, **{name: step["response_ms"][name] for name in EXPECTED_MS},
            "service_p99": step["service_ms"]["p99"], "requests": step["count"],
            **{name: iterations[name] for name in ("scheduled", "on_time", "late", "dropped")}}


def compare(options, out):
    seconds = options.seconds
    frozen = min(10, seconds) / 10
    expected = {name: value * frozen for name, value in EXPECTED_MS.items()}
    program = needs.built(options.build, "bellwether")
    with concurrent.futures.ThreadPoolExecutor(len(options.vus)) as pool:
        runs = list(pool.map(lambda vus: one_run(program, vus, seconds, frozen), options.vus))
    out.table(f"{RATE:,} requests a second for {seconds} s; the server freezes {frozen:g} s every {10 * frozen:g} s",
              ["virtual users", "response p95 ms", "p99", "p99.9", "service p99 ms", "scheduled", "on time", "late",
               "dropped", "requests"],
              [["expected", *(f"{value:.0f}" for value in expected.values()), "", RATE * seconds, "", "", "", ""]] +
              [[run["vus"], *(f"{run[name]:.0f}" for name in (*EXPECTED_MS, "service_p99")),
                *(run[name] for name in ("scheduled", "on_time", "late", "dropped", "requests"))] for run in runs])
    off = max(abs(run[name] / value - 1) for run in runs for name, value in expected.items())
    out.goals([("a server that freezes: largest error of response p95, p99, p99.9, %", 100 * off, "<=", 2, "{:.1f}",
                "A server that freezes")])
    out.raw = {"seconds": seconds, "runs": runs}


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--seconds", type=int, default=100, help="length of a run, a multiple of 10 (default 100)")
    arguments.add_argument("--vus", type=int, nargs="+", default=[50, 2000], help="one run for each (default 50 2000)")
    report.main(arguments, compare, seconds=1, vus=[5, 50])
