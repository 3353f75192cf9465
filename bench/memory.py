#!/usr/bin/env python3
# builds: bellwether
# installs: nginx-light openssl
"""What a waiting virtual user costs, and whether a long run grows.

Memory is the resident set of the process; kernel memory of sockets is not in it. What a virtual user costs is the
growth over a run with one, divided by their number. A long run does 20,000 requests a second on 200 virtual users.
Statistics are kept for each step: what 1,000 of them cost is seen in a run with so many steps. It grows as values come
that are in no bucket yet, which are ever fewer: about as many in each doubling of their number. So what a day of
100,000 requests a second would take is extrapolated with the growth of the last doubling, or of the one before where
that was more.
"""

import math
import signal
import tempfile
import time
from pathlib import Path

from lib import clients, needs, report, servers
from lib.processes import Background, Failure, allow_descriptors

SETTLE_LIMIT_S = 300
RATE = 20000
DESCRIPTORS_SPARE = 1000  # beside one for each connection


def rss_kib(process):
    return process.memory_kib("VmRSS")[0]


def settled_rss_kib(process, settled_s):
    deadline = time.monotonic() + SETTLE_LIMIT_S
    last, since = rss_kib(process), time.monotonic()
    while time.monotonic() < since + settled_s:
        if time.monotonic() > deadline:
            raise Failure(f"after {SETTLE_LIMIT_S} s memory still grows")
        time.sleep(0.1)
        now = rss_kib(process)
        if now > last + 4:
            last, since = now, time.monotonic()
    return last


def waiting_kib(program, scenario, site, vus, settled_s):
    client = clients.Bellwether(program, scenario, "bellwether", VUS=vus)
    # Those without a connection need no descriptors, which the product cannot know beforehand.
    command = client.command(site, None) + (["--ignore-limits"] if scenario == "idle" else [])
    with Background(command, cpu=clients.GENERATOR_CPU) as process:
        deadline = time.monotonic() + SETTLE_LIMIT_S
        while scenario != "idle" and site.connections() < vus:
            if time.monotonic() > deadline:
                raise Failure(f"of {vus} virtual users only {site.connections()} are connected")
            time.sleep(0.05)
        time.sleep(settled_s / 2)
        kib = settled_rss_kib(process, settled_s)
        process.end(signal.SIGKILL)  # it would wait out an hour of thinking
    return kib


def after_a_day(points, rate):
    """KiB after a day of 100,000 requests a second, of [minute, KiB] in rising order with so many a second."""
    (a, of_a), (b, of_b), (c, of_c) = points[-3:]
    for_a_doubling = max((of_b - of_a) / math.log2(b / a), (of_c - of_b) / math.log2(c / b), 0)
    return of_c + for_a_doubling * math.log2(24 * 60 * 100_000 / (c * rate))


def many_steps(folder, series, rate):
    """A scenario of so many steps, one after the other: each has statistics of its own."""
    steps = "".join(f"      s{i}: {{{f'after: s{i - 1}, ' if i else ''}http: {{get: \"${{BASE}}/json\"}}}}\n"
                    for i in range(series))
    path = Path(folder, "steps.yaml")
    path.write_text("env: {BASE: \"\", SECONDS: 10}\nworkflows:\n  w:\n    executor: constant-arrival-rate\n"
                    f"    rate: {rate // series}/s\n    duration: \"${{SECONDS}}s\"\n"
                    f"    vus: {{preallocated: 200, max: 200}}\n    steps:\n{steps}", encoding="utf-8")
    return str(path)


def long_run(program, site, minutes, scenario="arrival"):
    """[minute, KiB] after 10 s at most, and then after each of the minutes."""
    client = clients.Bellwether(program, scenario, "bellwether")
    samples = []
    with Background(client.command(site, int(max(minutes) * 60) + 30), cpu=clients.GENERATOR_CPU) as process:
        began = time.monotonic()
        for minute in sorted({min(1 / 6, *minutes), *minutes}):
            time.sleep(max(0.0, began + minute * 60 - time.monotonic()))
            samples.append([minute, rss_kib(process)])
        process.end(signal.SIGINT)
    return samples


def compare(options, out):
    program = needs.built(options.build, "bellwether")
    minutes = options.minutes
    allow_descriptors(max([*options.connected, 0]) + DESCRIPTORS_SPARE)
    rows, figures = [], []
    with servers.nginx() as (site, _):
        for scenario, what, sizes in (("idle", "waiting, no connection", options.vus),
                                      ("connected", "waiting, connection open", options.connected),
                                      ("waiting.lua", "waiting in a Lua function, connection open", options.connected)):
            one = waiting_kib(program, scenario, site, 1, options.settled)
            for vus in sizes:
                kib = waiting_kib(program, scenario, site, vus, options.settled)
                figures.append({"what": scenario, "vus": vus, "rss_kib": kib, "kib_per_vu": (kib - one) / (vus - 1)})
                rows.append([what, f"{vus:,}", f"{kib / 1024:.1f}", f"{figures[-1]['kib_per_vu']:.2f}"])
        out.table("Virtual users that wait", ["what", "virtual users", "process MiB", "KiB each"], rows)
        samples = long_run(program, site, minutes) if minutes else []
        with tempfile.TemporaryDirectory(prefix="bellwether-bench-") as folder:
            series = [(count, long_run(program, site, options.series_minutes,
                                       many_steps(folder, count, options.series_rate))) for count in options.series]
    if samples:
        out.table("A long run, 20,000 requests a second", ["after", "process MiB"],
                  [[f"{minute * 60:.0f} s", f"{kib / 1024:.1f}"] for minute, kib in samples])
    if series:
        rows = [[f"{count:,}", f"{minute * 60:.0f} s", f"{kib / 1024:.1f}"]
                for count, points in series for minute, kib in points]
        rows += [[f"{count:,}", "24 h of 100,000/s, extrapolated",
                  f"{after_a_day(points, options.series_rate) / 1024:.1f}"] for count, points in series]
        out.table(f"Statistics of many steps, {options.series_rate:,} requests a second",
                  ["steps", "after", "process MiB"], rows)
    largest = [figure for figure in figures if figure["what"] == "idle"][-1]
    goals = [(f"KiB for each of {largest['vus']:,} waiting virtual users", largest["kib_per_vu"], "<=", 4, "{:.2f}",
              "Memory")]
    in_lua = [figure for figure in figures if figure["what"] == "waiting.lua"]
    if in_lua:
        goals.append((f"KiB for each of {in_lua[-1]['vus']:,} in Lua", in_lua[-1]["kib_per_vu"], "<=", 8, "{:.2f}"))
    if series:
        day = after_a_day(series[-1][1], options.series_rate) / 1024
        goals.append((f"MiB after a day of 100,000 requests/s with {series[-1][0]:,} steps, extrapolated", day, "<=",
                      200, "{:.0f}", "Statistics of many steps"))
    out.goals(goals)
    out.raw = {"waiting": figures, "long_run": samples, "series": series}


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--vus", type=int, nargs="+", default=[10000, 50000], help="idle (default 10000 50000)")
    arguments.add_argument("--connected", type=int, nargs="*", default=[10000], help="connected (default 10000)")
    arguments.add_argument("--minutes", type=float, nargs="*", default=[1, 10],
                           help="when to look at a long run (default 1 10; none: no long run)")
    arguments.add_argument("--series", type=int, nargs="*", default=[1, 100, 1000],
                           help="steps of a run with many of them (default 1 100 1000; none: no such run)")
    arguments.add_argument("--series-minutes", type=float, nargs="+", default=[2, 4, 8],
                           help="when to look at them (default 2 4 8)")
    arguments.add_argument("--series-rate", type=int, default=RATE, help=f"requests a second in them (default {RATE})")
    arguments.add_argument("--settled", type=float, default=2, metavar="SECONDS",
                           help="in which memory must not grow before it counts (default 2)")
    report.main(arguments, compare, vus=[50], connected=[50], minutes=[0.01], series=[3], series_rate=300, settled=0.3,
                series_minutes=[0.005, 0.01, 0.02])
