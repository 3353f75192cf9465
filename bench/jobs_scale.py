#!/usr/bin/env python3
# builds: bellwether workers job_watcher
"""What hundreds and thousands of workers cost their managers: one job over all of them.

The workers are one process (bench/workers.cc): the product's membership, connections and worker, with assignments
that make load up. Ten steps with some 200 latencies each, told every second, and counters every 50 ms. A watcher asks
for everything that is new, as a screen does. The managers have one processor and the workers the other one, so one of
the two is the limit. Membership goes by the profile `wan`: hundreds of members in one process use one loop, and by that
of `lan` they would take its being late for the death of each other. Above 500, the times of the workers are longer yet.
"""

import contextlib
import json
import resource
import statistics
import subprocess
import time
from pathlib import Path

from lib import needs, report
from lib.cluster import START_S, TAKES_WORK, LocalCluster
from lib.processes import GENERATOR_CPU, SERVER_CPU, Failure, cpu_s, leashed, pinned
from lib.report import percentile
from lib.testing import free_port

STEPS = 10
# Processors of the manager of a job, by workers.
GOALS = {500: 0.35, 2000: 1}


def loopback_bytes():
    for line in Path("/proc/net/dev").read_text(encoding="ascii").splitlines():
        name, _, figures = line.partition(":")
        if name.strip() == "lo":
            return int(figures.split()[0])
    raise Failure("this machine has no loopback interface")


def scenario(folder, workers, seconds):
    steps = "\n".join(f'      step{i}: {{http: {{get: "http://127.0.0.1:1/"}}}}' for i in range(STEPS))
    path = Path(folder, "scale.yaml")
    path.write_text(f"workflows:\n  load:\n    vus: {workers * 10}\n    duration: {seconds}s\n    steps:\n{steps}\n",
                    encoding="ascii")
    return path


def knows_all(cluster, manager, count):
    """Whether this manager has all nodes for members, and all workers for well."""
    command = [cluster.bellwether, "cluster", "members", "--cluster", str(cluster.config(manager)), "--json"]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=START_S, check=False)
    if asked.returncode != 0:
        return False
    alive = sum(one["state"] == "alive" for one in json.loads(asked.stdout)["members"])
    place = f"127.0.0.1:{cluster.ports[manager]}"
    well = sum(one["state"] in TAKES_WORK for one in cluster.ask("workers", "--node", place))
    return alive == count + len(cluster.managers()) and well == count


@contextlib.contextmanager
def crowd(build, cluster, count):
    """So many workers, which have joined."""
    seeds = ",".join(f"127.0.0.1:{cluster.ports[name]}" for name in cluster.managers())
    command = [needs.built(build, "workers"), count, cluster.folder / "secret", free_port(), seeds]
    with open(cluster.folder / "workers.log", "wb") as log, pinned(GENERATOR_CPU):
        workers = subprocess.Popen(leashed(command), stdout=log, stderr=log, start_new_session=True)
    try:
        limit_s = START_S + count / 5
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if workers.poll() is not None:
                raise Failure(f"the workers ended: {(cluster.folder / 'workers.log').read_text()[-500:]}")
            with contextlib.suppress(Failure):
                if all(knows_all(cluster, name, count) for name in cluster.managers()):
                    break
            time.sleep(0.5)
        else:
            raise Failure(f"{count} workers were not known within {limit_s:.0f} s")
        yield workers
    finally:
        workers.terminate()
        try:
            workers.wait(20)
        except subprocess.TimeoutExpired:
            workers.kill()
            workers.wait()


def usage(pids):
    return {name: cpu_s(pid) for name, pid in pids.items()}, loopback_bytes(), time.monotonic()


def memory_mib(pid):
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024


def one_run(options, count, managers):
    """A job over all workers: what the processes used of their processors, and what a watcher saw."""
    bellwether = needs.built(options.build, "bellwether")
    cpus = {f"m{i + 1}": SERVER_CPU for i in range(managers)}
    with LocalCluster(bellwether, managers=managers, workers=0, cpus=cpus, profile="wan") as cluster, \
            crowd(options.build, cluster, count) as workers:
        time.sleep(options.warm_up)
        pids = {name: cluster.children[name].pid for name in cluster.managers()} | {"workers": workers.pid}
        before, _, begun = usage(pids)
        time.sleep(options.warm_up)
        after, _, ended = usage(pids)
        idle = {name: (after[name] - before[name]) / (ended - begun) for name in pids}
        memory = {name: memory_mib(pids[name]) for name in cluster.managers()}
        job = cluster.ask("submit", str(scenario(cluster.folder, count, options.seconds)))["job"]
        places = ",".join(f"127.0.0.1:{cluster.ports[name]}" for name in cluster.managers())
        command = [needs.built(options.build, "job_watcher"), cluster.folder / "secret", places, job]
        watcher = subprocess.Popen(leashed(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            time.sleep(options.warm_up)
            before, bytes_before, begun = usage(pids)
            time.sleep(options.seconds - 2 * options.warm_up)
            after, bytes_after, ended = usage(pids)
            memory_of_job = {name: memory_mib(pids[name]) for name in cluster.managers()}
            out, err = watcher.communicate(timeout=options.seconds + START_S)
        finally:
            watcher.kill()
        if watcher.returncode != 0:
            raise Failure(f"the watcher ended: {err.strip()}")
        owner = cluster.manager_of(job)
        status = cluster.ask("status", job)
        if status["state"] != "completed":
            raise Failure(f"the job is {status['state']}: {status['why']}; {status['events'][:3]}")
        load = [one["text"] for one in cluster.said(owner) if one.get("event") == "load_changed"]
    span = ended - begun
    used = {name: (after[name] - before[name]) / span for name in pids}
    return {"managers": managers, "workers": count, "owner": owner, "used": used, "idle": idle,
            "memory": memory[owner], "memory_of_job": memory_of_job[owner], "load": load,
            "bytes": (bytes_after - bytes_before) / span,
            "answers": [json.loads(line) for line in out.splitlines()]}


def seen(run, options):
    """(ages of the counters, how far the run was ahead of its closed seconds when one of them was closed)."""
    steady = [one for one in run["answers"]
              if one["state"] == "running" and options.warm_up < one["run_s"] < options.seconds]
    behind = [now["run_s"] - now["closed_s"] for last, now in zip(steady, steady[1:])
              if now["closed_s"] > last["closed_s"]]
    if not behind:
        raise Failure("the watcher saw no second of the run closed")
    return [one["age_s"] for one in steady], behind


def compare(options, out):
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
    runs = [one_run(options, count, managers) for count in options.workers for managers in options.managers]
    rows, watched = [], []
    for run in runs:
        ages, behind = seen(run, options)
        run["age_max"], run["behind_p99"] = max(ages), percentile(behind, 99)
        sizes = run["answers"][-1]
        others = [used for name, used in run["used"].items() if name not in (run["owner"], "workers")]
        rows.append([run["managers"], run["workers"], f"{run['used'][run['owner']]:.2f}",
                     f"{max(others):.2f}" if others else "", f"{run['idle'][run['owner']]:.2f}",
                     f"{run['used']['workers']:.2f}", f"{run['bytes'] / 1e6:.1f}", f"{run['memory']:.0f}",
                     f"{run['memory_of_job']:.0f}", f"{sizes['record_bytes'] / 1e3:.0f}",
                     f"{sizes['stored_bytes'] / 1e3:.0f}"])
        watched.append([run["managers"], run["workers"], f"{statistics.median(ages):.3f}",
                        f"{percentile(ages, 99):.3f}", f"{max(ages):.3f}", f"{statistics.median(behind):.3f}",
                        f"{percentile(behind, 99):.3f}", f"{max(behind):.3f}", sum(one > 1.5 for one in behind)])
    out.table(f"One job over all workers, {options.seconds} s: processors used",
              ["managers", "workers", "the job's manager", "another manager", "the job's manager before",
               "all workers", "loopback MB/s", "its memory before, MiB", "with the job", "job record, kB",
               "stored, kB"], rows)
    out.table("What a watcher saw",
              ["managers", "workers", "oldest counters p50 s", "p99", "max", "a second closed after its end p50 s",
               "p99", "max", "after more than 1.5 s"], watched)
    goals = []
    for count in sorted(set(options.workers) & set(GOALS)):
        mine = [run for run in runs if run["workers"] == count]
        goals += [(f"processors of the manager of a job on {count:,} workers",
                   max(run["used"][run["owner"]] for run in mine), "<=", GOALS[count], "{:.2f}",
                   "Control plane of 500 workers"),
                  (f"a second of {count:,} workers is closed after its end, p99, s",
                   max(run["behind_p99"] for run in mine), "<=", 1.5, "{:.3f}")]
    out.goals([*goals, ("oldest counters, s", max(run["age_max"] for run in runs), "<=", 1, "{:.3f}")])
    out.raw = {"runs": runs}


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--workers", type=int, nargs="+", default=[500],
                           help="one run for each, and for each number of managers (default 500)")
    arguments.add_argument("--managers", type=int, nargs="+", default=[1, 3], help="one run for each (default 1 3)")
    arguments.add_argument("--seconds", type=int, default=60, help="length of a run (default 60)")
    arguments.add_argument("--warm-up", type=int, default=5, metavar="SECONDS",
                           help="at either end of a run that are not looked at (default 5)")
    report.main(arguments, compare, workers=[20], managers=[1], seconds=6, warm_up=1)
