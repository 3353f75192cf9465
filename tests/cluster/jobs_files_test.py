#!/usr/bin/env python3
"""Data files that do not fit into a bundle: each manager and each worker gets them once, whoever dies meanwhile."""

from lib import jobs, nodes
from lib.world import until

MIB = 1 << 20
RECEIVED = "bellwether_files_received_bytes_total"
SENT = "bellwether_files_sent_bytes_total"


class Files(jobs.Test):
    def rows(self, cluster, mib, name="users.csv"):
        """A file of so many MiB, of rows that differ; gives its size."""
        path = cluster.folder / name
        with path.open("wb") as file:
            file.write(b"id,pad\n")
            file.writelines(b"%08d,%s\n" % (row, b"x" * 1014) for row in range(mib * 1024))
        return path.stat().st_size

    def scenario(self, cluster, seconds=4):
        """Two workflows, so that a worker has several processes, whose requests carry what the rows hold."""
        one = cluster.scenario(rate=20, seconds=seconds, path="/json?user=${users.id}")["workflows"]["w"]
        return {"data": {"users": {"csv": "users.csv"}}, "workflows": {"a": one, "b": one}}

    def received(self, cluster, names):
        return {name: int(cluster.metric(name, RECEIVED) or 0) for name in names}

    def partly(self, cluster, name, size):
        """Waits until a node has begun to receive a file on a link that holds it back; it must not have it all then."""
        until(f"bytes at {name}", lambda: (cluster.metric(name, RECEIVED) or 0) > MIB)
        self.assertLess(cluster.metric(name, RECEIVED), size)

    def test_a_file_of_48_mib_comes_once_to_each_node(self):
        cluster, _ = self.at_work(3, workers=2)
        size = self.rows(cluster, 48)
        result = self.ended(cluster.run(self.scenario(cluster)))
        self.assert_whole(result, 160)
        workers = ["w1", "w2"]
        until("a copy at each manager",
              lambda: self.received(cluster, cluster.voters) == dict.fromkeys(cluster.voters, size))
        self.assertEqual(self.received(cluster, workers), dict.fromkeys(workers, size), "once, for all processes")
        self.assertEqual(sum(cluster.metric(name, SENT) for name in cluster.voters), 4 * size)
        self.assertEqual([one.stat().st_size for one in cluster.folder.glob("w1.data/files/*")], [size])
        cluster.all_free()
        # Nothing of it travels again for another job.
        result = self.ended(cluster.run(self.scenario(cluster)))
        self.assert_whole(result, 160)
        self.assertEqual(self.received(cluster, [*workers, *cluster.voters]),
                         dict.fromkeys([*workers, *cluster.voters], size))
        self.assertEqual(cluster.arrived(), 320)

    def test_the_leader_is_killed_during_the_upload(self):
        cluster, leader = self.at_work(3, workers=2)
        size = self.rows(cluster, 64)
        file = cluster.write("upload.yaml", self.scenario(cluster))
        cluster.world.set("client", cluster.voters, both=False, rate="5MB")
        process, out = cluster.follow("run", file)
        client = jobs.Client(process, out, None)
        self.partly(cluster, leader, size)
        cluster.running[leader].kill()
        cluster.world.clear()
        result = self.ended(client)
        self.assert_whole(result, 160)
        self.assertEqual(self.received(cluster, ["w1", "w2"]), {"w1": size, "w2": size})
        self.assertEqual(cluster.arrived(), 160)

    def test_the_owner_is_killed_while_workers_fetch(self):
        cluster, _ = self.at_work(3, workers=2)
        size = self.rows(cluster, 64)
        cluster.world.set(cluster.voters, ["w1", "w2"], both=False, rate="5MB")
        client = cluster.run(self.scenario(cluster))
        self.partly(cluster, "w1", size)
        cluster.running[cluster.owner(client)].kill()
        cluster.world.clear()
        result = self.ended(client)
        self.assert_whole(result, 160)
        self.assertEqual(self.received(cluster, ["w1", "w2"]), {"w1": size, "w2": size}, "they go on")
        self.assertEqual(cluster.arrived(), 160)


if __name__ == "__main__":
    nodes.main()
