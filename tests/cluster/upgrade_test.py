#!/usr/bin/env python3
"""Two versions in one cluster. The older one is really other code: `./dev upgrade` builds the commit that the file
older_build names. BW_OLDER=PROGRAM names another program in its place.
"""

import json
import os
import sys
import time
import unittest
from math import ceil
from pathlib import Path

from lib import enclosure, jobs, nodes
from lib.world import until
from load_fence_test import Cluster

HERE = Path(__file__).parent
OLDER = Path(os.environ.get("BW_OLDER") or
             HERE.parents[1] / "build/older" / (HERE / "older_build").read_text().strip() / "bellwether")
RATE = 60
CUT = 20  # seconds: longer than a permit of the profile

LACKING = "" if OLDER.exists() else f"the older version is not built: run ./dev upgrade, which builds it once ({OLDER})"
needs_older = unittest.skipIf(LACKING, LACKING)


def known(value, other):
    """What is in both of a figure that one of the versions does not know: the keys of objects."""
    if isinstance(value, dict) and isinstance(other, dict):
        return {key: known(value[key], other[key]) for key in value if key in other}
    if isinstance(value, list) and isinstance(other, list) and len(value) == len(other):
        return [known(one, another) for one, another in zip(value, other)]
    return value


def busy(value):
    """Without the seconds of a series in which nothing was sent: versions differ in whether they show the last one."""
    return [one for one in value if one.get("requests", 1)] if isinstance(value, list) else value


class Test(jobs.Test):
    class kind(Cluster):
        profile = "wan"

    def mixed(self, *older):
        """A cluster that is ready for work, of which these nodes are of the older version."""
        cluster = self.cluster(3, workers=3)
        cluster.builds = dict.fromkeys(older, OLDER)
        return cluster, cluster.at_work()[0]

    def run_on_all(self, cluster, seconds):
        return cluster.run_on_all(2, cluster.scenario(rate=RATE, seconds=seconds, path="/"))

    def met(self, cluster, client, seconds, whole=True):
        """The job's result: the target gets no more than planned, and the report names all that is missing."""
        code, result = client.finish()
        received, planned = cluster.counted() - cluster.before, RATE * seconds
        counted, dropped = result["totals"]["requests"], result["totals"]["dropped_iterations"]
        lost = sum(ceil((one["to"] - one["from"]) * one["ratio"] * RATE) + 1 for one in result["lost"])
        print(f"{received} of {planned} at the target, {counted} in the report, which lost {lost}; {dropped} dropped",
              flush=True)
        self.assertLessEqual(received, planned, "the target gets more than planned")
        self.assertLessEqual(counted, received, "the report has more than the target")
        self.assertGreaterEqual(counted + dropped + lost, planned, "the report says less than what is missing")
        self.assertEqual(code, jobs.LOST if result["lost"] else jobs.PASS, client.printed())
        self.assertNotIn("extra_load", jobs.kinds(result))
        if whole:
            self.assertEqual((received, counted, result["lost"]), (planned, planned, []))
        return result

    def replace(self, cluster, name, build):
        """Ends a node in good order and starts it with this program."""
        self.assertEqual(cluster.running[name].stop(), 0, cluster.running[name].tail())
        if build is None:
            cluster.builds.pop(name, None)
        else:
            cluster.builds[name] = build
        cluster.start(name, first=False)
        cluster.whole()
        self.assertEqual(cluster.page(name, "/readyz")[0], 200)

    def replace_all(self, cluster, build, seconds):
        """Managers first and the leader last of them, then workers, while a job runs; then one job more."""
        client = self.run_on_all(cluster, seconds)
        leader = cluster.agreed()[0]
        for name in [*(name for name in cluster.voters if name != leader), leader]:
            self.replace(cluster, name, build)
        for name in cluster.names[len(cluster.voters):]:
            self.replace(cluster, name, build)
            # The next one hands its load over to it.
            until(f"work for {name}", lambda: any(one["worker"] == name and one["state"] in ("healthy", "degraded")
                                                  for one in cluster.job("workers")[1]))
        self.assertEqual(cluster.status(client.job)["state"], "running", "the job ended before the last node")
        result = self.met(cluster, client, seconds)
        self.assertLessEqual({"owner_changed", "worker_left"}, set(jobs.kinds(result)))
        # Nobody has lost the leadership: each term but the first began with a hand-over.
        self.assertEqual([event for name in cluster.voters for event in cluster.said(name, "deposed")], [])
        cluster.all_free()
        self.met(cluster, self.run_on_all(cluster, 6), 6)


@needs_older
class Replaced(Test):
    def versions(self, cluster):
        return {version for name in cluster.voters for version in cluster.connections(name, "protocol")}

    def test_each_node_by_a_newer_one_while_a_job_runs(self):
        cluster, _ = self.mixed("a", "b", "c", "w1", "w2", "w3")
        [older] = self.versions(cluster)
        self.replace_all(cluster, None, 90)
        [newer] = self.versions(cluster)
        self.assertGreaterEqual(newer, older)

    def test_each_node_by_an_older_one_while_a_job_runs(self):
        cluster, _ = self.mixed()
        self.replace_all(cluster, OLDER, 90)

    def test_all_managers_at_once_while_a_job_runs(self):
        for before, after in ((OLDER, None), (None, OLDER)):
            with self.subTest(after=after):
                cluster, _ = self.mixed(*("abc" if before else ""))
                client = self.run_on_all(cluster, 40)
                for name in cluster.voters:
                    cluster.running[name].kill()
                    cluster.builds[name] = after or cluster.binary
                cluster.start(*cluster.voters, first=False)
                result = self.met(cluster, client, 40)
                self.assertIn("owner_changed", jobs.kinds(result))
            self.doCleanups()


@needs_older
class Mixed(Test):
    def lose_a_worker(self, *older):
        cluster, _ = self.mixed(*older)
        client = self.run_on_all(cluster, 24)
        cluster.running["w2"].kill()
        result = self.met(cluster, client, 24, whole=False)
        self.assertIn("worker_lost", jobs.kinds(result))
        self.assertLess(sum((one["to"] - one["from"]) * one["ratio"] for one in result["lost"]), 4, result["lost"])

    def cut_a_worker_off(self, *older):
        cluster, _ = self.mixed(*older)
        client = self.run_on_all(cluster, 45)
        cluster.world.cut("w2", [name for name in cluster.names if name != "w2"])
        time.sleep(CUT)
        cluster.world.heal()
        return self.met(cluster, client, 45, whole=False)

    def test_newer_managers_lose_an_older_worker(self):
        self.lose_a_worker("w1", "w2", "w3")

    def test_older_managers_lose_a_newer_worker(self):
        self.lose_a_worker("a", "b", "c")

    def test_an_older_worker_that_is_cut_off_counts_as_alive(self):
        # The others could deny its permits, but it does not say that it keeps them.
        result = self.cut_a_worker_off("w2")
        self.assertNotIn("worker_lost", jobs.kinds(result))

    def test_a_newer_worker_is_cut_off_from_older_managers(self):
        self.cut_a_worker_off("a", "b", "c", "w3")

    def test_one_version_reads_what_the_other_one_wrote(self):
        for writer, reader in ((OLDER, self.binary), (self.binary, OLDER)):
            with self.subTest(reader=reader):
                cluster, _ = self.mixed(*("abc" if writer == OLDER else ""))
                cluster.binary = writer
                client = self.run_on_all(cluster, 6)
                wrote = self.met(cluster, client, 6)
                for name in cluster.voters:
                    self.assertEqual(cluster.running[name].stop(), 0)
                    cluster.builds[name] = reader
                cluster.binary = reader
                cluster.start(*cluster.voters, first=False)
                cluster.whole()
                self.assertEqual(cluster.status(client.job)["state"], "completed")
                code, text = cluster.client.run(reader, "results", "show", "last", "--json")
                self.assertEqual(code, 0, text)
                for read in (cluster.watch(client.job, "results").finish()[1], json.loads(text)):
                    self.assertEqual(read["run"]["verdict"], wrote["run"]["verdict"])
                    for key in ("totals", "series", "workflows"):
                        one, other = (busy(value[key]) for value in (read, wrote))
                        self.assertEqual(known(one, other), known(other, one), key)
            self.doCleanups()


class Versions(jobs.Test):
    def test_a_node_of_another_major_version_is_refused_and_both_say_why(self):
        cluster = self.cluster(1, workers=1).start("a")
        leader = cluster.agreed(["a"])
        cluster.builds["w1"] = self.foreign
        cluster.start("w1", join_limit="15s")
        self.assertEqual(cluster.running["w1"].wait(), 1)
        why = ("this node uses protocol 1.6, the other one 2.0, and versions with different major numbers cannot work "
               "together: stop all nodes of the cluster, and start them with one version")
        self.assertIn(f"refused by the other end: {why}", cluster.running["w1"].tail())
        cluster.says("a", why)
        self.assertGreater(cluster.metric("a", 'bellwether_refused_total{reason="version"}'), 0)
        self.assertEqual((cluster.members("a"), cluster.agreed(["a"])), ({"a": "alive"}, leader))
        # A command of another version hears the same.
        code, text = cluster.client.run(self.foreign, "job", "list", "--cluster", cluster.folder / "client.yaml")
        self.assertNotEqual(code, 0)
        self.assertIn(why, text)


if __name__ == "__main__":
    if LACKING and sys.argv[-1] in ("Replaced", "Mixed"):
        print(f"skipped: {LACKING}")
        sys.exit(enclosure.SKIPPED)
    nodes.main("foreign")
