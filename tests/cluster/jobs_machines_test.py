#!/usr/bin/env python3
"""Full disks and clocks that are set, of the managers of a load test."""

import struct

from lib import jobs, nodes
from lib.world import fill, until


class Disks(jobs.Test):
    def with_disks(self, *names):
        """A cluster of which these managers have small disks of their own: (cluster, {name: folder})."""
        cluster = self.cluster(3, workers=2)
        disks = {name: cluster.world[name].disk("8M") for name in names}
        for name, disk in disks.items():
            cluster.settings(name, data=str(disk / "data"))
        cluster.at_work()
        return cluster, disks

    def test_one_manager_whose_disk_is_full_is_not_needed(self):
        cluster, disks = self.with_disks("a")
        client = cluster.run_for(2, cluster.scenario(seconds=8))
        fill(disks["a"])
        result = self.ended(client)
        self.assert_whole(result, 480)
        result = self.ended(cluster.run(cluster.scenario(seconds=2)))
        self.assert_whole(result, 120)
        cluster.says("a", "full")
        self.assertEqual(cluster.arrived(), 600)

    def test_with_two_full_disks_what_runs_goes_on_and_ends_when_there_is_room_again(self):
        cluster, disks = self.with_disks("a", "b")
        client = cluster.run_for(1, cluster.scenario(seconds=20))
        filled = [fill(disks[name]) for name in ("a", "b")]
        until("the end of the load", lambda: not cluster.children("w1") + cluster.children("w2"))
        self.assertNotIn((cluster.status(client.job) or {}).get("state"), ("completed", "partial", "failed"))
        code, text = cluster.job("submit", cluster.write("other.yaml", cluster.scenario(seconds=2)))
        self.assertEqual(code, 1, text)
        for file in filled:
            file.unlink()
        result = self.ended(client)
        self.assert_whole(result, 1200, 20)
        result = self.ended(cluster.run(cluster.scenario(seconds=2)))
        # One voter had room: what was not confirmed may have been taken, and is told so. Then it ran whole.
        arrived = cluster.arrived()
        self.assertIn(arrived, (1320, 1440))
        if arrived == 1440:
            self.assertIn("may have accepted it", text)


class Clocks(jobs.Test):
    def test_wall_clocks_that_are_set_change_nothing(self):
        cluster = self.cluster(3, workers=2)
        self.let_clocks_be_stepped(cluster)
        cluster.at_work()

        def step(name, seconds):
            with open(cluster.folder / f"{name}.clock", "r+b") as file:
                file.write(struct.pack("q", seconds))
        client = cluster.run_for(2, cluster.scenario(seconds=24))
        owner = cluster.owner(client)
        step(owner, -7200)
        step("w1", 90_000)
        for name in cluster.voters:
            if name != owner:
                step(name, 7200)
        cluster.under_load(client, 4)
        # Another one goes on, by whose clock the run began hours ago.
        cluster.running[owner].kill()
        result = self.ended(client)
        self.assert_whole(result, 1440, 24)
        self.assertLess(len(result["series"]), 3600, "the end of the load may come late, and not by hours")
        self.assertLess(result["run"]["elapsed_s"], 3600, "the clocks are hours apart")
        self.assertEqual(cluster.arrived(), 1440)


if __name__ == "__main__":
    nodes.main("clock")
