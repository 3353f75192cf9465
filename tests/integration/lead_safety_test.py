#!/usr/bin/env python3
"""`bellwether lead` under injected losses: the work of two terms never overlaps, and each ends within its lease.

Two candidates stand for each key. The work of whoever leads is deaf to SIGTERM and writes to a file every 2 ms; the
order of that file shows overlaps whatever any clock says. BW_LEAD_LOSSES=N injects N losses instead of a few, and
BW_LEAD_DRILLS=N measures so many takeovers against the printed budget. Out of scope: leader and guardian both stopped
at once, for then nobody is left who could end the work, and only the fencing token helps.
"""

import collections
import json
import os
import random
import signal
import statistics
import threading
import time
from pathlib import Path

from lib import leading, product
from lib.cut import TO_CLIENT, TO_SERVER, Cut
from lib.daemon import until
from lib.etcd import Etcd
from lib.kubeconfig import kubeconfig
from lib.kubernetes import Kubernetes
from lib.postgres import Postgres
from lib.product import PATIENCE
from lib.redis import Redis
from lib.stalls import Stalls

LOSSES = int(os.environ.get("BW_LEAD_LOSSES", "0"))
DRILLS = int(os.environ.get("BW_LEAD_DRILLS", "0"))


class Lane(threading.Thread):
    """One key, two candidates, and losses one after the other. `losses`: names of methods that begin with `lose_`."""

    ttl = 1.0  # s

    def __init__(self, test, name, losses):
        super().__init__(daemon=True)
        self.test = test
        self.file = test.folder / f"acts-{name}"
        self.name = name
        self.losses = losses
        self.takeovers = collections.defaultdict(list)  # seconds by loss
        self.everyone = []
        self.trouble = None

    # --- what differs between stores ---

    def url(self, side):
        return f"flock:{self.test.folder / self.name}"

    def close(self):
        pass

    # --- candidates ---

    def fill(self):
        """There are always two candidates."""
        for side in (0, 1):
            if not any(one.runs() for one in self.everyone if one.side == side):
                one = self.test.lead(via=self.url(side), key=self.name, ttl=f"{self.ttl}s",
                                     command=[*leading.RECORDER, self.file])
                one.side = side
                self.everyone.append(one)

    def last_act(self):
        with open(self.file, "ab+") as file:
            size = file.seek(0, os.SEEK_END) // leading.ACT.size
            if size == 0:
                return 0, 0
            file.seek((size - 1) * leading.ACT.size)
            return leading.ACT.unpack(file.read(leading.ACT.size))

    def wait_for_act(self, later_than, epoch=0):
        """The first seen act of at least this epoch after a time."""
        def seen():
            self.fill()
            act = self.last_act()
            return act if act[1] > later_than and act[0] >= epoch else None
        try:
            return until(f"work of {self.name} after {later_than}, epoch {epoch} or later", seen, PATIENCE)
        except AssertionError as error:
            said = "\n=====\n".join(str(one)[-3000:] for one in self.everyone[-3:])
            raise AssertionError(f"{error}\n{said}") from None

    def leader(self):
        """The candidate whose work acts just now, and its epoch."""
        while True:
            epoch, _ = self.wait_for_act(leading.boot_ns())
            for one in self.everyone:
                if one.runs() and (won := one.all("elected")) and won[-1]["epoch"] == epoch:
                    return one, epoch
            time.sleep(0.01)

    # --- losses: each returns when the work of another term, or of the same one after it, goes on ---

    def successor(self, epoch):
        self.wait_for_act(0, epoch + 1)

    def kill(self, *pids):
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def lose_killed_leader(self, leader, epoch):
        self.kill(leader.pid)
        leader.wait()
        self.successor(epoch)

    def lose_killed_guardian(self, leader, epoch):
        self.kill(leader.guardian)
        self.successor(epoch)

    def lose_killed_both(self, leader, epoch):
        both = [leader.pid, leader.guardian]
        random.shuffle(both)
        self.kill(*both)
        leader.wait()
        self.successor(epoch)

    def stop_between_writes(self, pid):
        """Who is stopped in the middle of one keeps the lock of its file from everybody for as long as that lasts."""
        while True:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.01)
            locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
            if not any(lock[1] == "FLOCK" and lock[4] == str(pid) for lock in locks):
                return
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.01)

    def pause(self, pid, leases):
        self.stop_between_writes(pid)
        time.sleep(leases * self.ttl)
        if leases > 2:
            self.wait_for_act(leading.boot_ns())  # of a successor, while it is stopped
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass  # it was killed while it was stopped
        self.wait_for_act(leading.boot_ns())

    def lose_paused_half(self, leader, epoch):
        self.pause(leader.pid, 0.5)

    def lose_paused_one(self, leader, epoch):
        self.pause(leader.pid, 1)

    def lose_paused_three(self, leader, epoch):
        self.pause(leader.pid, 3)
        self.successor(epoch)

    def lose_paused_guardian(self, leader, epoch):
        self.pause(leader.guardian, 1)

    def lose_paused_command(self, leader, epoch):
        self.pause(leader.command, 1)

    # --- the run ---

    def run(self):
        try:
            self.fill()
            for loss in self.losses:
                leader, epoch = self.leader()
                begun = leading.boot_ns()
                getattr(self, f"lose_{loss}")(leader, epoch)
                self.takeovers[loss].append((begun, epoch))
        except BaseException as error:  # told by the test's own thread
            self.trouble = error
        finally:
            for one in self.everyone:
                leading.end(one)
            self.close()

    def promised(self):
        """By epoch: until when its lease ran at the longest, as its holder had said before that became true."""
        ends = {}
        for one in self.everyone:
            epoch = None
            for event in list(one.events):
                if event["event"] == "elected":
                    epoch = event["epoch"]
                if event["event"] in ("elected", "renewed"):
                    ends[epoch] = max(ends.get(epoch, 0), event["lease_ends_boot_ns"])
        return ends


class FileLane(Lane):
    """Over a file of this host."""

    def url(self, side):
        return f"file:{self.test.folder / self.name}/"


class ServerLane(Lane):
    """Over a server of its own, to which each candidate comes by a way of its own."""

    Server = None

    def __init__(self, test, name, losses):
        super().__init__(test, name, losses)
        self.server = self.Server(test.folder / f"server-{name}")
        self.server.start()
        test.addCleanup(self.server.stop)
        self.cuts = [Cut(self.server), Cut(self.server)]

    def url(self, side):
        return self.server.url_at(self.cuts[side].port)

    def close(self):
        for cut in self.cuts:
            cut.close()

    def cut_off(self, leader, epoch, *directions, drop=False):
        self.cuts[leader.side].black(*directions, drop=drop)
        self.successor(epoch)
        self.cuts[leader.side].open()

    def lose_cut_off(self, leader, epoch):
        self.cut_off(leader, epoch)

    def lose_cut_off_and_dropped(self, leader, epoch):
        self.cut_off(leader, epoch, drop=True)

    def lose_cut_off_to_the_store(self, leader, epoch):
        self.cut_off(leader, epoch, TO_SERVER)

    def lose_cut_off_from_the_store(self, leader, epoch):
        """Renewals reach the store, and nobody learns of them: the key is not free for as long as they are sent."""
        self.cuts[leader.side].black(TO_CLIENT)

        def ended():
            act = self.last_act()
            return act[0] > epoch or act[1] < leading.boot_ns() - 200_000_000

        until("the end of the work", ended, PATIENCE)
        self.cuts[leader.side].open()
        self.wait_for_act(leading.boot_ns())

    def lose_cut_off_with_the_guardian_stopped(self, leader, epoch):
        guardian = leader.guardian
        os.kill(guardian, signal.SIGSTOP)
        self.cut_off(leader, epoch)

    def lose_cut_off_with_the_command_stopped(self, leader, epoch):
        os.kill(leader.command, signal.SIGSTOP)
        self.cut_off(leader, epoch)

    def lose_cut_off_with_the_leader_stopped(self, leader, epoch):
        self.cuts[leader.side].black()
        os.kill(leader.pid, signal.SIGSTOP)
        self.successor(epoch)
        os.kill(leader.pid, signal.SIGCONT)
        self.cuts[leader.side].open()

    def lose_paused_store(self, leader, epoch):
        self.server.pause()
        time.sleep(1.5 * self.ttl)
        self.server.resume()
        self.wait_for_act(leading.boot_ns())

    def lose_killed_store(self, leader, epoch):
        self.server.stop()
        time.sleep(1.2 * self.ttl)
        self.server.start()
        self.wait_for_act(leading.boot_ns())


class RedisLane(ServerLane):
    Server = Redis


class PostgresLane(ServerLane):
    Server = Postgres


class EtcdLane(ServerLane):
    Server = Etcd
    ttl = 2.0  # what etcd gives at least


class FolderOfKubernetes(Kubernetes):
    """The stand-in for an API server, with the face of a daemon."""

    def __init__(self, folder):
        super().__init__()
        self.stop()
        self.folder = folder
        folder.mkdir()

    def url_at(self, port):
        return f"k8s:default?kubeconfig={kubeconfig(self.folder / str(port), f'http://127.0.0.1:{port}')}"


class KubernetesLane(ServerLane):
    Server = FolderOfKubernetes


def losses_of(lane):
    return [name.removeprefix("lose_") for name in dir(lane) if name.startswith("lose_")]


def dealt(names, lanes, count):
    """`count` losses for some lanes, each about as often."""
    order = []
    while len(order) < count:
        order += random.sample(names, len(names))
    return [order[:count][lane::lanes] for lane in range(lanes)]


class Losses(leading.Test):
    def lanes(self, kind, lanes, count):
        hands = dealt(losses_of(kind), lanes, count)
        return [kind(self, f"{kind.__name__.lower()}-{number}", hand) for number, hand in enumerate(hands)]

    def examine(self, lane, figures):
        if lane.trouble:
            raise AssertionError(f"{lane.name}: {lane.trouble}") from lane.trouble
        history = leading.acts(lane.file)
        wrong = leading.overlaps(history)
        self.assertEqual(len(wrong), 0, f"{lane.name}: terms overlap: {wrong[:1]}, {wrong[-1:]} of (epoch, newer one, "
                         f"boot ns); losses of (boot ns, epoch): {dict(lane.takeovers)}")
        last, first = {}, {}
        for epoch, at in history:
            last[epoch] = at
            first.setdefault(epoch, at)
        ends = lane.promised()
        for epoch, at in last.items():
            if at >= ends[epoch] and self.stalls.around(at):
                continue
            self.assertLess(at, ends[epoch], f"{lane.name}: the work of epoch {epoch} acted after its lease's end")
        for loss, cases in lane.takeovers.items():
            for begun, epoch in cases:
                later = [one for one in first if one > epoch]
                if later:
                    figures[loss].append(((ends[epoch] - last[epoch]) / 1e6, (first[min(later)] - begun) / 1e6))

    def test_the_work_of_two_terms_never_overlaps(self):
        lanes = (self.lanes(RedisLane, 6, LOSSES * 7 // 10) + self.lanes(Lane, 2, LOSSES - LOSSES * 7 // 10)
                 if LOSSES else self.lanes(RedisLane, 7, 28) + self.lanes(Lane, 3, 16))
        self.run_lanes("redis, flock", lanes)

    def test_the_work_of_two_terms_never_overlaps_whatever_keeps_the_lease(self):
        each = LOSSES // 4 if LOSSES else 5
        self.run_lanes("file, etcd, postgres, kubernetes", [
            lane for kind in (FileLane, EtcdLane, PostgresLane, KubernetesLane) for lane in self.lanes(kind, 1, each)])

    def run_lanes(self, title, lanes):
        self.stalls = Stalls()
        self.addCleanup(self.stalls.end)
        for lane in lanes:
            lane.start()
        figures = collections.defaultdict(list)
        for lane in lanes:
            lane.join()
        self.stalls.end()
        for lane in lanes:
            self.examine(lane, figures)
        if LOSSES:
            report(title, figures, sum(len(lane.losses) for lane in lanes))


def report(title, figures, count):
    print(f"\n{title}: {count} injected losses: no overlap, no act after its lease's end.")
    print(f"{'loss':42} {'changes':>7} {'least margin':>13} {'median takeover':>16}")
    for loss, cases in sorted(figures.items()):
        print(f"{loss:42} {len(cases):7} {min(margin for margin, _ in cases):10.0f} ms "
              f"{statistics.median(takeover for _, takeover in cases):13.0f} ms")
    every = [case for cases in figures.values() for case in cases]
    print(f"{'all':42} {len(every):7} {min(margin for margin, _ in every):10.0f} ms "
          f"{statistics.median(takeover for _, takeover in every):13.0f} ms")


class Takeover(leading.Test):
    """How soon somebody else leads. The lease is so long that waiting for its end would fail a test that must not."""

    def drill(self, via, rounds, ttl, end_it):
        """Seconds from the end of a leader until the next one is elected, of each round."""
        spans = []
        leader = self.leads(via=via, ttl=ttl)
        for _ in range(rounds):
            follower = self.lead(via=via, ttl=ttl)
            follower.wait_for("note", text="leader of 'key':")
            begun = leading.boot_ns()
            end_it(leader)
            spans.append((follower.elected()["at"] - begun) / 1e9)
            until("its command", lambda: follower.command)
            leading.end(leader)
            leader = follower
        return spans

    def kill(self, leader):
        leader.signal(signal.SIGKILL)

    def release(self, leader):
        leader.signal(signal.SIGTERM)

    def budget(self, via, ttl, kind):
        run = self.bellwether("budget", "--via", via, "--ttl", ttl, "--json", environment=self.environment())
        return json.loads(run.out)[kind]["worst"]["seconds"]

    def hold(self, name, spans, budget):
        """Prints a drill's figures and holds them to the printed budget; a few rounds prove nothing."""
        if not DRILLS:
            return
        print(f"\n{name}: {len(spans)} rounds, median {statistics.median(spans):.3f} s, worst {max(spans):.3f} s, "
              f"budget {budget:.3f} s")
        self.assertLessEqual(max(spans), budget)

    def test_on_one_host_a_death_is_seen_and_not_waited_for(self):
        spans = self.drill(self.flock, DRILLS or 2, "60s" if not DRILLS else "3s", self.kill)
        self.hold("flock, kill -9", spans, self.budget(self.flock, "3s", "crash"))

    def test_a_clean_end_frees_the_key_at_once(self):
        redis = Redis(self.folder / "redis").start()
        self.addCleanup(redis.stop)
        for name, url, ttl in (("flock", self.flock, "60s"), ("redis", redis.url, "6s")):
            with self.subTest(name):
                spans = self.drill(url, DRILLS or 2, ttl if not DRILLS else "3s", self.release)
                self.hold(f"{name}, clean end", spans, self.budget(url, "3s", "release"))

    def test_over_redis_within_the_budget(self):
        redis = Redis(self.folder / "redis").start()
        self.addCleanup(redis.stop)
        spans = self.drill(redis.url, DRILLS or 2, "1s" if not DRILLS else "3s", self.kill)
        self.hold("redis, kill -9", spans, self.budget(redis.url, "3s", "crash"))


if __name__ == "__main__":
    product.main()
