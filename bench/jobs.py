#!/usr/bin/env python3
"""A cluster's jobs while things die: what the target sees, what is lost, and how long it takes.

Managers and workers are processes on the loopback interface of this machine. The target of the load tells when requests
came, so that what is measured is what a system under test would have seen.
"""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from lib import report, servers
from lib.cluster import LocalCluster
from lib.processes import Failure, free_port, run

RATE = 300


class Witness:
    """An HTTP server that notes when each request came. One thread, enough for some hundred requests a second."""

    def __init__(self):
        self.port = free_port()
        self.times = []
        self.status = 200
        self.failing_since = None

    def __enter__(self):
        import asyncio  # noqa: PLC0415
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


def p99(values):
    ranked = sorted(values)
    return ranked[max(0, round(0.99 * len(ranked)) - 1)]


def running_job(cluster):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for one in cluster.ask("list"):
            if one["state"] == "running":
                return one["job"]
        time.sleep(0.1)
    raise Failure("no job began within 30 s")


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
            for share in cluster.shares(worker):
                os.kill(share, signal.SIGSTOP)
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
    figures = read(result)
    figures["exit_code"] = client.returncode
    figures["worst_gap"] = worst_gap(witness, began + 1, began + seconds - 2)
    return figures


def leader_dies(cluster, witness, seconds=20):
    moment = {}

    def disturb(job):
        moment["name"] = cluster.manager_of(job)
        cluster.kill(moment["name"])

    figures = disturbed(cluster, witness, seconds, disturb)
    cluster.start(moment["name"])
    cluster.wait_for_workers()
    return figures


def managers_away(cluster, witness, away=30):
    def disturb(_):
        for name in cluster.managers():
            cluster.kill(name)
        time.sleep(away)
        for name in cluster.managers():
            cluster.start(name)

    figures = disturbed(cluster, witness, away * 2, disturb)
    cluster.wait_for_workers()
    return figures


def worker_dies(cluster, witness, seconds=20):
    figures = disturbed(cluster, witness, seconds, lambda _: cluster.kill("w1"))
    cluster.start("w1")
    time.sleep(1)
    cluster.wait_for_workers()
    return figures


def engine(bellwether, seconds):
    """Requests a second of 64 virtual users on one processor: on a worker, and in a local run, in turn."""
    pairs = []
    with servers.nginx() as (plain, _):
        with LocalCluster(bellwether, managers=1, workers=1, cpus={"m1": "0", "w1": "1"}) as cluster:
            path = Path(cluster.folder, "engine.yaml")
            path.write_text(f'workflows: {{load: {{vus: 64, duration: {seconds}s, steps: {{get: {{http: {{get: '
                            f'"{plain.url}"}}}}}}}}}}\n', encoding="ascii")
            for _ in range(3):
                result = cluster.folder / "engine.json"
                cluster.run(path, result).wait()
                there = read(result)["totals"]["rate_per_s"]
                run([bellwether, "run", str(path), "--cores", "1", "--pin", "1", "--ui", "none", "--out",
                     f"json={result}"], seconds + 60)
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
    bellwether = report.built(options.build, "src/cli/bellwether")
    rounds = 5 if options.quick else options.rounds
    with Witness() as witness, LocalCluster(bellwether, managers=3, workers=3) as cluster:
        begun = starts(cluster, witness, rounds)
        stopped = cancels(cluster, witness, max(3, rounds // 4))
        deaf = deaf_cancels(cluster, witness, max(2, rounds // 10))
        by_threshold = judged(cluster, witness, max(3, rounds // 10))
        quiet = disturbed(cluster, witness, 20, lambda _: None)
        dies = [leader_dies(cluster, witness) for _ in range(1 if options.quick else 3)]
        away = managers_away(cluster, witness, 10 if options.quick else 30)
    with Witness() as witness, LocalCluster(bellwether, managers=3, workers=4) as cluster:
        lost = [worker_dies(cluster, witness) for _ in range(1 if options.quick else 3)]
    pairs = engine(str(bellwether), 3 if options.quick else 8)

    rows = []
    for what, all_of in (("nothing", [quiet]), ("kill -9 of the job's manager", dies), ("all managers away", [away]),
                         ("kill -9 of one of 4 workers", lost)):
        for one in all_of:
            seconds = round(one["run"]["elapsed_s"])
            rows.append([what, one["totals"]["requests"], seconds * RATE, uneven(one, seconds),
                         f"{one['worst_gap'] * 1000:.0f} ms",
                         "; ".join(f"{x['share']:.2f} for {x['to'] - x['from']:.2f} s"
                                   for x in one["lost"]) or "nothing",
                         one["exit_code"]])
    out.table(f"{RATE} arrivals a second; what the run counted",
              ["what", "counted", "planned", "uneven seconds", "longest gap", "lost", "exit code"], rows)
    out.table("Times", ["what", "p50 s", "p99 s", "worst s", "rounds"],
              [[what, f"{statistics.median(took):.3f}", f"{p99(took):.3f}", f"{max(took):.3f}", len(took)]
               for what, took in (("client's start → first request", begun), ("job cancel → last request", stopped),
                                  ("job cancel → end, of what ignores it", deaf),
                                  ("first failed answer → last request, by a threshold", by_threshold))])
    ratio = statistics.median(there / here for there, here in pairs)
    out.table("64 virtual users on one processor, nginx on the other",
              ["on a worker, req/s", "local run, req/s", "ratio"],
              [[f"{there:.0f}", f"{here:.0f}", f"{there / here:.3f}"] for there, here in pairs])
    moved = max(x["to"] - x["from"] for one in lost for x in one["lost"])
    out.goals([("submit to first request, p99, s", p99(begun), "<=", 0.25, "{:.3f}"),
               ("cancel to last request, p99, s", p99(stopped), "<=", 0.5, "{:.3f}"),
               ("cancel of what ignores it (grace 5 s), worst, s", max(deaf), "<=", 6, "{:.3f}"),
               ("behind the load, thresholds, worst, s", max(by_threshold) - 1, "<=", 2, "{:.3f}"),
               ("requests lost when the manager dies",
                sum(RATE * round(one["run"]["elapsed_s"]) - one["totals"]["requests"] for one in dies), "<=", 0,
                "{:.0f}"),
               ("requests lost when all managers are away",
                RATE * round(away["run"]["elapsed_s"]) - away["totals"]["requests"], "<=", 0, "{:.0f}"),
               ("a dead worker's share elsewhere, s", moved, "<=", 5, "{:.2f}"),
               ("engine on a worker / local", ratio, ">=", 0.97, "{:.3f}")])
    out.raw = {"starts": begun, "cancels": stopped, "deaf": deaf, "thresholds": by_threshold, "engine": pairs}


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=100,
                           help="of starts; a quarter as many of cancels (default 100)")
    report.main("jobs", arguments, compare)
