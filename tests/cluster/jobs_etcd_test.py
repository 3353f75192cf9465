#!/usr/bin/env python3
"""Jobs whose registers are in an etcd that the site runs anyway: the same promises, without voters."""

from lib import jobs, nodes
from lib.stores import Etcd
from lib.world import until


class InEtcd(jobs.Test):
    def cluster_in_etcd(self, managers=3, workers=2):
        """A cluster whose leader etcd chooses, and whose jobs are there; and that etcd, on a node of its own."""
        cluster = self.cluster(managers, workers)
        etcd = Etcd(cluster.world.add("s")).start()
        for name in cluster.names:
            manager = {"replicas": cluster.voters, "jobs": etcd.url} if name in cluster.voters else {}
            cluster.settings(name, voters=[], leadership=etcd.url, leadership_lease="4s", **manager)
        return cluster, etcd

    def test_a_job_outlives_its_manager_and_all_of_them(self):
        cluster, _ = self.cluster_in_etcd()
        cluster.at_work()
        client = cluster.run_for(2, cluster.scenario(rate=50, seconds=24))
        owner = cluster.owner(client)
        cluster.running[owner].kill()
        rest = [name for name in cluster.voters if name != owner]
        until("another owner", lambda: any(cluster.said(name, "job_taken_over") for name in rest))
        for name in rest:
            cluster.running[name].kill()
        for name in cluster.voters:
            cluster.start(name)
        result = self.ended(client)
        self.assertEqual(result["totals"]["requests"], 1200)
        until("the end, as every manager sees it", lambda: all(
            [(one["job"], one["state"]) for one in cluster.job("list", "--node", cluster.world[name].ipv4)[1]]
            == [(client.job, "completed")] for name in cluster.voters))

    def test_load_does_not_need_etcd_and_new_jobs_do(self):
        cluster, etcd = self.cluster_in_etcd()
        cluster.at_work()
        client = cluster.run_for(2, cluster.scenario(rate=50, seconds=12))
        etcd.kill()
        for name in cluster.voters:
            until("the reason", lambda name=name: cluster.page(name, "/readyz")[0] == 503)
        etcd.start()
        result = self.ended(client)
        self.assertEqual(result["totals"]["requests"], 600)
        until("readiness", lambda: all(cluster.page(name, "/readyz")[0] == 200 for name in cluster.voters))
        code, result = cluster.run(cluster.scenario(rate=20, seconds=2)).finish()
        self.assertEqual((code, result["totals"]["requests"]), (jobs.PASS, 40), "it takes jobs again")

    def test_a_file_beside_the_bundle_outlives_the_owner(self):
        cluster, _ = self.cluster_in_etcd()
        cluster.at_work()
        file = cluster.folder / "users.csv"
        file.write_text("id,pad\n" + "".join(f"{row},{row:01024d}\n" for row in range(20 * 1024)))
        scenario = cluster.scenario(rate=50, seconds=10, path="/json?user=${users.id}")
        client = cluster.run_for(2, scenario | {"data": {"users": {"csv": "users.csv"}}})
        cluster.running[cluster.owner(client)].kill()
        self.assert_whole(self.ended(client), 500)
        for name in ["w1", "w2"]:
            self.assertEqual(cluster.metric(name, "bellwether_files_received_bytes_total"), file.stat().st_size)


if __name__ == "__main__":
    nodes.main()
