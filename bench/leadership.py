#!/usr/bin/env python3
# builds: bellwether leases
# installs: redis-server redis-tools etcd-server etcd-client
"""One leader at a time: beside flock(1) and `etcdctl lock`, and what it costs.

Real processes, one lease for all. Each round has a holder and one that waits behind it; then the holder's process is
killed (SIGKILL), or its store is cut off (nothing passes any more). The takeover is the time until the work of the next
one begins; the overlap is for how long the work of the old one still runs after that. A negative one is the gap that
kept them apart. The work writes down the time every 2 ms for as long as it lives.
"""

import concurrent.futures
import dataclasses
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib import needs, report
from lib.processes import Failure, leashed, run
from lib.testing import modules

redis, etcd, cut, daemon = modules("integration", "redis", "etcd", "cut", "daemon")

WORK = ["python3", "-I", "-S", "-c", """
import os, sys, time
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
while True:
    os.write(out, b"%d %d\\n" % (os.getpid(), time.clock_gettime_ns(time.CLOCK_BOOTTIME)))
    time.sleep(0.002)
"""]
PATIENCE = 300  # s


@dataclasses.dataclass
class Way:
    """One way to run a command while holding a key. `command(side, key)`: without the work; side 0 or 1 of a round."""
    name: str
    command: object
    cuts: list = dataclasses.field(default_factory=list)  # before its store, one for each side
    whole_group: bool = False  # the kill is for all that the holder has started, too
    takeovers: list = dataclasses.field(default_factory=list)
    overlaps: list = dataclasses.field(default_factory=list)  # s; None: the old work ran on until it was ended


def lines(file):
    """(pid, ns) in the order in which they were written."""
    text = file.read_text() if file.exists() else ""
    return [tuple(map(int, line.split())) for line in text.splitlines() if line.count(" ") == 1]


class Round:
    def __init__(self, way, folder):
        self.way = way
        handle, path = tempfile.mkstemp(prefix="work-", dir=folder)
        os.close(handle)
        self.file = Path(path)
        self.processes = []

    def start(self, side):
        # A key of each round's own: claims that are left behind are in nobody's way.
        command = [*self.way.command(side, self.file.name.replace("work", "key")), *WORK, self.file]
        process = subprocess.Popen(leashed(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True,
                                   env={**os.environ, "XDG_STATE_HOME": str(self.file.parent / "state")})
        self.processes.append(process)
        return process

    def measure(self, lose, waits, patience):
        """(takeover, overlap) in seconds. The holder is lost so long after the second began to wait."""
        holder = self.start(0)
        old = daemon.until(f"{self.way.name}: the first holder", lambda: lines(self.file), PATIENCE)[0][0]
        self.start(1)
        time.sleep(waits)
        begun = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        lose(holder)
        first = daemon.until(f"{self.way.name}: the second holder",
                             lambda: next((line for line in lines(self.file) if line[0] != old), None), PATIENCE)
        # The old work may end soon, or run on: that is what is to be seen.
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and daemon.lives(old):
            time.sleep(0.01)
        ran_on = daemon.lives(old)
        last = max(at for pid, at in lines(self.file) if pid == old)
        return (first[1] - begun) / 1e9, None if ran_on else (last - first[1]) / 1e9

    def end(self):
        for pid in {pid for pid, _ in lines(self.file)}:
            quietly_kill(pid)
        for process in self.processes:
            quietly_kill(process.pid)
            process.wait()
        for pid in {pid for pid, _ in lines(self.file)}:
            quietly_kill(pid)


def quietly_kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def ways(options, redis, etcd, folder):
    """The ways after a kill, and those after a cut."""
    ours = needs.built(options.build, "bellwether")
    needs.find("flock")

    def lead(url):
        return lambda side, key: [ours, "lead", "--via", url(side), "--key", key, "--ttl", f"{options.ttl}s", "-q",
                                  "--trust-empty", "--"]

    def etcdctl(port):
        return lambda side, key: ["etcdctl", "--dial-timeout", "30s", "--endpoints", f"http://127.0.0.1:{port(side)}",
                                  "lock", "--ttl", options.ttl, f"lock-{key}", "--"]

    def flock(*flags):
        return lambda _, key: ["flock", *flags, folder / key]

    def host_lock(_):
        return f"flock:{folder / 'locks'}"

    def cut_off(name, make, store):
        cuts = [cut.Cut(store), cut.Cut(store)]
        return Way(name, make(lambda side: cuts[side].port), cuts)

    return ([Way("flock(1), killed with its command", flock(), whole_group=True),
             Way("flock(1) --close", flock("--close")),
             Way("etcdctl lock", etcdctl(lambda _: etcd.port)),
             Way("bellwether, flock:, killed with its command", lead(host_lock), whole_group=True),
             Way("bellwether, flock:", lead(host_lock)),
             Way("bellwether, redis:", lead(lambda _: redis.url)),
             Way("bellwether, etcd:", lead(lambda _: etcd.url))],
            [cut_off("etcdctl lock", etcdctl, etcd),
             cut_off("bellwether, redis:", lambda port: lead(lambda side: redis.url_at(port(side))), redis),
             cut_off("bellwether, etcd:", lambda port: lead(lambda side: etcd.url_at(port(side))), etcd)])


def contest(options, folder, all_ways):
    """Each way in turn; all at the same time where no figure means anything."""
    def once(way, waits):
        one = Round(way, folder)

        def lose(holder):
            if way.cuts:
                way.cuts[0].black()
            elif way.whole_group:
                for pid in [holder.pid, *daemon.descendants(holder.pid)]:
                    quietly_kill(pid)
            else:
                holder.kill()
        try:
            takeover, overlap = one.measure(lose, waits, 2 * options.ttl)
        finally:
            one.end()
            for each in way.cuts:
                each.open()
        way.takeovers.append(takeover)
        way.overlaps.append(overlap)

    with concurrent.futures.ThreadPoolExecutor(len(all_ways) if options.quick else 1) as pool:
        for turn in range(options.rounds):
            # At every part of the interval between two renewals: who has renewed just now is succeeded later.
            waits = 0.5 + options.ttl / 3 * turn / options.rounds
            list(pool.map(once, all_ways, [waits] * len(all_ways)))
            print(f"  round {turn + 1} of {options.rounds} done", file=sys.stderr)


def rows(group, floor):
    for way in group:
        known = [overlap for overlap in way.overlaps if overlap is not None]
        ran_on = len(way.overlaps) - len(known)
        overlap = f"runs on ({ran_on} of {len(way.overlaps)})" if ran_on else report.spread(known, "{:+.3f}")
        yield [way.name, report.spread(way.takeovers, "{:.3f}"),
               f"{statistics.median(way.takeovers) / statistics.median(floor.takeovers):.2f}", overlap]


def tool(options, *words, limit_s=300):
    finished = run([needs.built(options.build, "leases"), *map(str, words)], limit_s)
    if finished.code != 0:
        raise Failure(f"leases {words[0]} ended with {finished.code}: {finished.stderr.strip()}")
    return json.loads(finished.stdout)


def takeover_goals(killed, cut_off):
    """Beside the peers: what is measured in one run, and whether the old work was over before the next began."""
    def times(group, name):
        return next(statistics.median(way.takeovers) for way in group if way.name == name)

    def latest(group):
        return max(overlap if overlap is not None else float("inf")
                   for way in group if way.name.startswith("bellwether") for overlap in way.overlaps)
    return [("takeover after kill -9, etcd: × etcdctl lock",
             times(killed, "bellwether, etcd:") / times(killed, "etcdctl lock"), "<=", 1, "{:.2f}",
             "Leader takeover"),
            ("takeover after kill -9, flock: − flock(1), s",
             times(killed, "bellwether, flock:, killed with its command") -
             times(killed, "flock(1), killed with its command"), "<=", 0, "{:+.3f}", "Leader takeover"),
            ("last act of the old work after the first of the next, killed, s", latest(killed), "<=", 0, "{:+.3f}"),
            ("last act of the old work after the first of the next, store cut off, s", latest(cut_off), "<=", 0,
             "{:+.3f}", "Leader takeover")]


def costs(options, out, redis):
    lease_s = 5 * options.ttl
    renewed = tool(options, "renew", redis.url, options.keys, lease_s, options.seconds)
    if renewed["elected"] == 0:
        raise Failure(f"of {options.keys} keys none was led")
    heap = tool(options, "watch", options.watched)
    check = tool(options, "check")
    out.table("Cost of one process", ["what", "figure"], [
        [f"{renewed['elected']:,} keys led over one Redis, lease {lease_s} s: processors used",
         f"{renewed['cpu_per_s']:.3f}"],
        ["... renewals per second", f"{renewed['renewals'] / renewed['seconds']:,.0f}"],
        ["... renewals more than 250 ms late", renewed["late"]],
        ["... terms lost", renewed["lost"]],
        [f"heap for each of {heap['keys']:,} keys watched, bytes", f"{heap['bytes_per_key']:.0f}"],
        ["valid_for(now), ns", f"{check['valid_for_ns']:.2f}"],
        ["... with a reading of the boot clock, ns", f"{check['with_clock_ns']:.2f}"]])
    out.goals([("keys led", renewed["elected"], ">=", options.keys, "{:,}"),
               ("late renewals", renewed["late"], "<=", 0, "{}"),
               ("processors for renewals", renewed["cpu_per_s"], "<=", 0.5, "{:.3f}"),
               ("bytes for each watched key", heap["bytes_per_key"], "<=", 1024, "{:.0f}"),
               ("valid_for(now), ns", check["valid_for_ns"], "<=", 20, "{:.2f}")])
    return {"renew": renewed, "watch": heap, "check": check}


def compare(options, out):
    for program in ("redis-server", "redis-cli", "etcd", "etcdctl"):
        needs.find(program)
    with tempfile.TemporaryDirectory(prefix="bellwether-bench-") as name:
        folder = Path(name)
        servers = redis.Redis(folder / "redis"), etcd.Etcd(folder / "etcd")
        try:
            daemon.start_all(*servers)
            killed, cut_off = ways(options, *servers, folder)
            contest(options, folder, killed + cut_off)
            header = ["holder", "takeover s", "× the first", "overlap of the old work s"]
            out.table(f"After kill -9 of the holder, lease {options.ttl} s", header, rows(killed, killed[0]))
            out.table(f"After the holder's store was cut off, lease {options.ttl} s", header, rows(cut_off, cut_off[0]))
            out.remark(f"Medians of {options.rounds} rounds [lowest–highest]. \"Runs on\": the old work was still "
                       "alive two leases after the next one had begun. flock(1) whose process is killed alone leaves "
                       "the lock to its command (the next one waits for that), or with --close to nobody.")
            out.goals(takeover_goals(killed, cut_off))
            raw = costs(options, out, servers[0])
        finally:
            for server in servers:
                server.stop()
    out.raw = {"ttl_s": options.ttl, **raw, **{
        f"{kind}: {way.name}": {"takeovers_s": way.takeovers, "overlaps_s": way.overlaps}
        for kind, group in (("killed", killed), ("cut off", cut_off)) for way in group}}


if __name__ == "__main__":
    arguments = report.parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=5, help="losses of each holder (default 5)")
    arguments.add_argument("--ttl", type=int, default=3, help="the lease in seconds (default 3)")
    arguments.add_argument("--keys", type=int, default=10_000, help="led by one process (default 10000)")
    arguments.add_argument("--watched", type=int, default=1_000_000, help="keys of a listing (default 1000000)")
    arguments.add_argument("--seconds", type=int, default=30, help="in which renewals are counted (default 30)")
    report.main(arguments, compare, rounds=1, ttl=4, keys=50, watched=1000, seconds=2)
