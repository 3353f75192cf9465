#!/usr/bin/env python3
# builds: bellwether
# installs: nginx-light openssl
"""A cluster's jobs while things die: what the target sees, what is lost, and how long it takes.

Managers and workers are processes on the loopback interface of this machine. The target of the load tells when requests
came, so that what is measured is what a system under test would have seen.
"""

import asyncio
import concurrent.futures
import contextlib
import json
import os
import signal
import statistics
import threading
import time
from pathlib import Path

from lib import needs, report, servers
from lib.cluster import START_S, LocalCluster
from lib.processes import GENERATOR_CPU, SERVER_CPU, Failure, run
from lib.report import percentile
from lib.testing import free_port

RATE = 300


class Witness:
    """An HTTP server that notes when each request came. One thread, enough for some hundred requests a second."""

    def __init__(self):
        self.port = free_port()
        self.times = []
        self.status = 200
        self.failing_since = None

    def __enter__(self):
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()

        async def serve(reader, writer):
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    await reader.readuntil(b"\r\n\r\n")
                    self.times.append(time.monotonic())
                    writer.write(b"HTTP/1.1 %d X\r\nContent-Length: 2\r\n\r\nok" % self.status)
                    await writer.drain()

        async def main():
            self.server = await asyncio.start_server(serve, "127.0.0.1", self.port, backlog=1024)
            ready.set()

        def work():
            asyncio.set_event_loop(self.loop)
            self.loop.run_until_complete(main())
            self.loop.run_forever()

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()
        ready.wait(10)
        return self

    def __exit__(self, *ignored):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)

    def first_after(self, moment):
        return next((at for at in list(self.times) if at >= moment), None)


def scenario(folder, port, seconds, rate=RATE, extra=""):
    path = Path(folder, "scenario.yaml")
    path.write_text(f"""workflows:
  load:
    executor: constant-arrival-rate
    rate: {rate}/s
    duration: {seconds}s
    vus: {{preallocated: 40, max: 120}}
    steps:
      get: {{http: {{get: "http://127.0.0.1:{port}/"}}}}
{extra}""", encoding="ascii")
    return path


def read(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def running_job(cluster):
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        for one in cluster.ask("list"):
            if one["state"] == "running":
                return one["job"]
        time.sleep(0.1)
    raise Failure(f"no job began within {START_S} s")


def worst_gap(witness, begin, end):
    """The longest time without a request, between two moments."""
    times = [at for at in witness.times if begin <= at <= end]
    return max((b - a for a, b in zip(times, times[1:])), default=end - begin)


def seconds_of(result):
    return {point.get("second", point.get("t")): point["requests"] for point in result["series"]}


# --- what is measured -------------------------------------------------------------------------------------------------

def starts(cluster, witness, rounds):
    """From the start of the client's process to the first request."""
    took = []
    path = scenario(cluster.folder, witness.port, 1, 50)
    for _ in range(rounds):
        begin = time.monotonic()
        client = cluster.run(path, None)
        client.wait()
        first = witness.first_after(begin)
        if first is None:
            raise Failure("a run sent no request")
        took.append(first - begin)
    return took


def cancelled(cluster, witness, before=lambda: None):
    """Runs a job and cancels it; gives when that was asked for, and when the job had ended."""
    client = cluster.run(scenario(cluster.folder, witness.port, 60), None)
    job = running_job(cluster)
    time.sleep(0.7)
    before()
    begin = time.monotonic()
    cluster.ask("cancel", job)
    client.wait()
    return begin, time.monotonic()


def cancels(cluster, witness, rounds):
    """From the start of `job cancel` to the last request."""
    took = []
    for _ in range(rounds):
        begin, _ = cancelled(cluster, witness)
        time.sleep(0.3)
        took.append(witness.times[-1] - begin)
    return took


def deaf_cancels(cluster, witness, rounds):
    """From the start of `job cancel` to the end of a job whose processes react to nothing: they are stopped."""
    def deafen():
        for worker in cluster.workers():
            for assignment in cluster.assignments(worker):
                os.kill(assignment, signal.SIGSTOP)
    return [end - begin for begin, end in (cancelled(cluster, witness, deafen) for _ in range(rounds))]


def judged(cluster, witness, rounds):
    """From the first failed answer to the stop by a threshold, as the target sees it."""
    took = []
    extra = 'thresholds: {http_req_failed: [{threshold: "rate<0.001", abortOnFail: true}]}\n'
    path = scenario(cluster.folder, witness.port, 60, extra=extra)
    for _ in range(rounds):
        witness.status = 200
        client = cluster.run(path, None)
        running_job(cluster)
        time.sleep(1.5)
        witness.status, begin = 503, time.monotonic()
        client.wait()
        took.append(witness.times[-1] - begin)
        witness.status = 200
    return took


def disturbed(cluster, witness, seconds, disturb):
    """One run of `seconds`, in which disturb(job) is called after a third of it."""
    path, result = scenario(cluster.folder, witness.port, seconds), cluster.folder / "result.json"
    client = cluster.run(path, result)
    job = running_job(cluster)
    began = time.monotonic()
    time.sleep(seconds / 3)
    disturb(job)
    client.wait()
    if not result.exists():
        raise Failure(f"a run ended with {client.returncode} and without a result")
    figures = read(result)
    if figures["totals"]["requests"] == 0:
        raise Failure(f"a run ended with {client.returncode} and without a request")
    result.unlink()
    figures["exit_code"] = client.returncode
    figures["worst_gap"] = worst_gap(witness, began + 1, began + seconds - 2)
    return figures


def leader_dies(cluster, witness, seconds):
    moment = {}

    def disturb(job):
        moment["name"] = cluster.manager_of(job)
        cluster.kill(moment["name"])

    figures = disturbed(cluster, witness, seconds, disturb)
    cluster.start(moment["name"])
    cluster.wait_for_workers()
    return figures


def managers_away(cluster, witness, away):
    def disturb(_):
        for name in cluster.managers():
            cluster.kill(name)
        time.sleep(away)
        for name in cluster.managers():
            cluster.start(name)

    figures = disturbed(cluster, witness, away * 2, disturb)
    cluster.wait_for_workers()
    return figures


def worker_dies(cluster, witness, seconds):
    figures = disturbed(cluster, witness, seconds, lambda _: cluster.kill("w1"))
    cluster.start("w1")
    time.sleep(1)
    cluster.wait_for_workers()
    return figures


# --- what needs a cluster of its own ----------------------------------------------------------------------------------

def orders(options, bellwether):
    """How soon what is asked for is done."""
    rounds = options.rounds
    with Witness() as witness, LocalCluster(bellwether, managers=3, workers=3) as cluster:
        return {"starts": starts(cluster, witness, rounds),
                "cancels": cancels(cluster, witness, max(1, rounds // 4)),
                "deaf": deaf_cancels(cluster, witness, max(1, rounds // 10)),
                "thresholds": judged(cluster, witness, max(1, rounds // 10))}


def disturbances(options, bellwether):
    """Runs in which nothing dies, their manager does, and all managers do."""
    with Witness() as witness, LocalCluster(bellwether, managers=3, workers=3) as cluster:
        return (disturbed(cluster, witness, options.seconds, lambda _: None),
                [leader_dies(cluster, witness, options.seconds) for _ in range(options.repeats)],
                managers_away(cluster, witness, options.away))


def losses(options, bellwether):
    """Runs one of whose workers dies."""
    with Witness() as witness, LocalCluster(bellwether, managers=3, workers=4) as cluster:
        return [worker_dies(cluster, witness, options.seconds) for _ in range(options.repeats)]


def engine(options, bellwether):
    """Requests a second of 64 virtual users on one processor: on a worker, and in a local run, in turn."""
    pairs, seconds = [], max(1, 2 * options.seconds // 5)
    with servers.nginx() as (plain, _):
        with LocalCluster(bellwether, managers=1, workers=1,
                          cpus={"m1": SERVER_CPU, "w1": GENERATOR_CPU}) as cluster:
            path = Path(cluster.folder, "engine.yaml")
            path.write_text(f'workflows: {{load: {{vus: 64, duration: {seconds}s, steps: {{get: {{http: {{get: '
                            f'"{plain.url}"}}}}}}}}}}\n', encoding="ascii")
            for _ in range(options.repeats):
                result = cluster.folder / "engine.json"
                cluster.run(path, result).wait()
                there = read(result)["totals"]["rate_per_s"]
                run([bellwether, "run", str(path), "--cores", "1", "--ui", "none", "--no-store", "--out",
                     f"json={result}"], seconds + 60, GENERATOR_CPU)
                here = read(result)["totals"]["rate_per_s"]
                pairs.append((there, here))
    return pairs


def uneven(figures, seconds):
    """How many seconds have not exactly the requests of the schedule, and by how many the worst two differ.

    An answer that comes after the end of its second counts there: noise, of which the run that nothing disturbs has
    as much as its machine makes.
    """
    counts = seconds_of(figures)
    off = [counts.get(second, 0) - RATE for second in range(seconds)]
    return f"{sum(one != 0 for one in off)} (by {min(off):+d} to {max(off):+d})"


def compare(options, out):
    bellwether = needs.built(options.build, "bellwether")
    parts = (orders, disturbances, losses, engine)
    # One after the other; at the same time where no figure means anything.
    with concurrent.futures.ThreadPoolExecutor(len(parts) if options.quick else 1) as pool:
        done = [pool.submit(part, options, bellwether) for part in parts]
    took, (quiet, dies, away), lost, pairs = (one.result() for one in done)

    rows = []
    for what, all_of in (("nothing", [quiet]), ("kill -9 of the job's manager", dies), ("all managers away", [away]),
                         ("kill -9 of one of 4 workers", lost)):
        for one in all_of:
            seconds = round(one["run"]["elapsed_s"])
            rows.append([what, one["totals"]["requests"], seconds * RATE, uneven(one, seconds),
                         f"{one['worst_gap'] * 1000:.0f} ms",
                         "; ".join(f"{x['ratio']:.2f} for {x['to'] - x['from']:.2f} s"
                                   for x in one["lost"]) or "nothing",
                         one["exit_code"]])
    out.table(f"{RATE} arrivals a second; what the run counted",
              ["what", "counted", "planned", "uneven seconds", "longest gap", "lost", "exit code"], rows)
    out.table("Times", ["what", "p50 s", "p99 s", "worst s", "rounds"],
              [[what, *(f"{value:.3f}" for value in (statistics.median(times), percentile(times, 99), max(times))),
                len(times)]
               for what, times in zip(("client's start → first request", "job cancel → last request",
                                       "job cancel → end, of what ignores it",
                                       "first failed answer → last request, by a threshold"), took.values())])
    ratio = statistics.median(there / here for there, here in pairs)
    out.table("64 virtual users on one processor, nginx on the other",
              ["on a worker, req/s", "local run, req/s", "ratio"],
              [[f"{there:.0f}", f"{here:.0f}", f"{there / here:.3f}"] for there, here in pairs])
    moved = max((x["to"] - x["from"] for one in lost for x in one["lost"]), default=0)
    out.goals([("start of the client to the first request on a cluster, p99, s", percentile(took["starts"], 99), "<=",
                0.25, "{:.3f}", "Jobs during failures"),
               ("cancel to last request, p99, s", percentile(took["cancels"], 99), "<=", 0.5, "{:.3f}"),
               ("cancel of what ignores it (grace 5 s), worst, s", max(took["deaf"]), "<=", 6, "{:.3f}"),
               ("behind the load, thresholds, worst, s", max(took["thresholds"]) - 1, "<=", 2, "{:.3f}"),
               ("requests lost after kill -9 of the job's manager",
                sum(RATE * round(one["run"]["elapsed_s"]) - one["totals"]["requests"] for one in dies), "<=", 0,
                "{:.0f}", "Jobs during failures"),
               ("requests lost when all managers are away",
                RATE * round(away["run"]["elapsed_s"]) - away["totals"]["requests"], "<=", 0, "{:.0f}"),
               ("a dead worker's assignment elsewhere, s", moved, "<=", 5, "{:.2f}"),
               ("engine on a worker / local", ratio, ">=", 0.97, "{:.3f}")])
    out.raw = {**took, "engine": pairs}


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=100,
                           help="of starts; a quarter as many of cancels (default 100)")
    arguments.add_argument("--repeats", type=int, default=3, help="of deaths, and of pairs of runs (default 3)")
    arguments.add_argument("--seconds", type=int, default=20, help="of a run in which something dies (default 20)")
    arguments.add_argument("--away", type=int, default=30, metavar="SECONDS",
                           help="for which all managers are away (default 30)")
    report.main(arguments, compare, rounds=1, repeats=1, seconds=9, away=4)
