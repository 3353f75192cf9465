#!/usr/bin/env python3
"""The store of jobs on etcd against real servers: the behaviours that it shares with the quorum of peers."""

import subprocess

from lib import product
from lib.conformance import conformance
from lib.daemon import start_all
from lib.etcd import Etcd, EtcdCluster
from lib.stores import Test


class ServedJobs:
    """Three members of etcd, to which is done what the behaviours ask for."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.url = cluster.url

    def obey(self, command):
        getattr(self, command.replace("-", "_"))()
        return True

    def minority_down(self):
        self.cluster.members[0].stop()

    def majority_down(self):
        for member in self.cluster.members[:2]:
            member.stop()

    def all_up(self):
        start_all(*[member for member in self.cluster.members if not member.runs()])

    def forget_owners(self):
        self.cluster.etcdctl("del", "--prefix", "bellwether/jobs/flock/test/owner/")

    def forget_states(self):
        self.cluster.etcdctl("del", "--prefix", "bellwether/jobs/flock/test/state/")

    def lose_all(self):
        self.cluster.stop()
        for member in self.cluster.members:
            member.forget()
        start_all(*self.cluster.members)

    def restart_in_turn(self):
        for member in self.cluster.members:
            member.restart()

    def restart_all(self):
        self.cluster.stop()
        start_all(*self.cluster.members)


class EtcdJobs(Test):
    def test_it_behaves_as_the_quorum_of_peers(self):
        cluster = EtcdCluster(self.folder / "c").start()
        self.addCleanup(cluster.stop)
        passed, left_out = conformance(self, ServedJobs(cluster), "JobConformance.*")
        self.assertGreater(passed, 15)
        self.assertEqual(left_out, [])

    def test_a_node_sees_all_registers_without_asking_for_them(self):
        cluster = EtcdCluster(self.folder / "c").start()
        self.addCleanup(cluster.stop)
        passed, left_out = conformance(self, ServedJobs(cluster), "EtcdJobViewTest.*")
        self.assertGreater(passed, 4)
        self.assertEqual(left_out, [])

    def test_passwords(self):
        etcd = self.up(Etcd(self.folder / "a"))
        etcd.enable_auth("first", {"bob": "second"})
        good = self.write("good", "second")
        url = f"etcd://bob@127.0.0.1:{etcd.port}?password_file={good}"
        done = subprocess.run([product.binary, "--url", url, "--gtest_filter=*taken_written_read*"], text=True,
                              capture_output=True, timeout=product.PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        names = etcd.etcdctl("get", "--prefix", "bellwether/jobs/", "--keys-only").split()
        self.assertEqual([name.split("/")[4] for name in names], ["state"], "the owner's key went with its lease")


if __name__ == "__main__":
    product.main()
