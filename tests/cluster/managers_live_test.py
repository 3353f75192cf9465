#!/usr/bin/env python3
"""Managers come and go while jobs run: who votes and who keeps jobs changes, and no job loses anything."""

import shutil

from lib import jobs, nodes
from lib.world import until

RATE = 60


class Cluster(jobs.Cluster):
    """Managers a, b and c begin; d, e and f are spare ones."""

    first = ("a", "b", "c")

    def settings(self, node, **other):
        own = {}
        if node in self.voters:
            own = {"voters": [*self.first, *([] if node in self.first else [node])]}
        return super().settings(node, **{**own, **other})

    def begin(self):
        workers = [name for name in self.names if name not in self.voters]
        self.at_work(*self.first, *workers)
        return self

    def alive(self):
        return [name for name in self.voters if name in self.running and self.running[name].alive()]

    def managers(self, at=None):
        """{name: row} as a manager sees them, and the whole answer of this manager."""
        at = at or self.alive()[0]
        answer = self.ask(at, "managers", "--node", self.world[at].ipv4)
        return ({one["name"]: one for one in answer["managers"]}, answer) if answer else ({}, None)

    def change(self, how, name):
        """Until it is done."""
        code, answer = self.operator(self.alive()[0], "managers", how, name, "--timeout", "2m", json_too=False)
        assert code == 0, answer

    def keepers(self, at=None):
        rows, answer = self.managers(at)
        return sorted(name for name, one in rows.items() if one["keeps"]) if answer else None

    def kept_by(self, *names, at=None):
        """Waits until these vote and keep jobs, and no change is under way."""
        def so():
            rows, answer = self.managers(at)
            return answer and not answer["changing"] and all(
                {name for name, one in rows.items() if one[what]} == set(names) for what in ("keeps", "votes"))
        until(lambda: f"{names} keep jobs: {self.managers(at)}", so)

    def replace(self, old, new):
        """4, then 3 again; the old one is gone for good."""
        self.start(new)
        self.all_alive([*self.alive()])
        self.change("add", new)
        self.change("remove", old)
        self.running[old].kill()


class Test(jobs.Test):
    kind = Cluster

    def begun(self, workers=2):
        return self.cluster(6, workers).begin()

    def finished(self, cluster):
        """A job that has ended, and its result."""
        client = cluster.run(cluster.scenario(seconds=2))
        return client.job, self.ended(client)

    def assert_kept(self, cluster, job, result):
        self.assertEqual(self.ended(cluster.watch(job, "results"))["totals"], result["totals"])


class Running(Test):
    def test_all_managers_are_replaced_while_a_job_runs(self):
        cluster = self.begun()
        before = self.finished(cluster)
        client = cluster.run_for(1, cluster.scenario(rate=RATE, seconds=3600))
        for old, new in zip("abc", "def"):
            cluster.replace(old, new)
        cluster.kept_by("d", "e", "f")
        # It runs until all are replaced, however long that takes.
        code, text = cluster.job("cancel", client.job, "--graceful")
        self.assertEqual(code, 0, text)
        result = self.ended(client, jobs.CANCELLED)
        last = max(point["t"] for point in result["series"] if point["requests"])
        requests = result["totals"]["requests"]
        self.assert_whole(result, requests, last)
        self.assertGreaterEqual(requests, RATE * (last - 1), "no part of the load was missing")
        self.assert_kept(cluster, *before)
        self.assertEqual(cluster.arrived(), 2 * 60 + requests)

    def test_a_change_is_completed_by_others_when_its_maker_dies(self):
        cluster = self.begun()
        before = self.finished(cluster)
        cluster.start("d")
        cluster.all_alive()
        leader = cluster.agreed(cluster.first)[0]  # a spare one asks no voter before it is one
        client = cluster.run_for(1, cluster.scenario(rate=RATE, seconds=40))
        command = cluster.world["client"].start(cluster.binary, "cluster", "managers", "add", "d", "--cluster",
                                                "client.yaml", log=cluster.folder / "add.log")
        until("the begin of the change", lambda: cluster.said(leader, "operator"))
        rest = [name for name in cluster.first if name != leader]
        until("the first step at another", lambda: cluster.managers(rest[0])[0].get("d", {}).get("keeps"))
        cluster.running[leader].kill()
        rest.append("d")
        cluster.kept_by(*cluster.first, "d", at=rest[0])
        command.wait()
        cluster.change("remove", leader)
        cluster.kept_by(*rest)
        self.assert_whole(self.ended(client), RATE * 40, 40)
        self.assert_kept(cluster, *before)


class Replaced(Test):
    def test_a_lost_disk_is_replaced_under_a_new_name_and_refused_under_the_old_one(self):
        cluster = self.begun(workers=1)
        cluster.start("d")
        cluster.all_alive()
        cluster.change("add", "d")
        before = self.finished(cluster)
        cluster.running["d"].kill()
        shutil.rmtree(cluster.folder / "d.data")
        cluster.start("d", first=False)
        until(lambda: f"d stores nothing: {cluster.ask('d', 'quorum')}",
              lambda: (cluster.ask("d", "quorum") or {}).get("jobs_unable"))
        cluster.running["d"].kill()
        cluster.start("e")
        cluster.all_alive([*cluster.alive()])
        cluster.change("remove", "d")
        cluster.change("add", "e")
        cluster.kept_by(*cluster.first, "e")
        until("e has read", lambda: cluster.managers()[0].get("e", {}).get("read"))
        self.assert_kept(cluster, *before)

    def test_a_manager_that_was_away_comes_back_with_its_old_settings(self):
        cluster = self.begun(workers=1)
        before = self.finished(cluster)
        cluster.running["c"].kill()
        cluster.agreed(cluster.alive())
        for name in "de":
            cluster.start(name)
            cluster.all_alive([*cluster.alive()])
            cluster.change("add", name)
        cluster.change("remove", "b")
        cluster.running["b"].kill()
        cluster.start("c", first=False)
        until(lambda: f"c knows: {cluster.managers('c')}", lambda: cluster.keepers("c") == ["a", "c", "d", "e"])
        until(lambda: f"c has read: {cluster.managers('c')}", lambda: cluster.managers("c")[0].get("c", {}).get("read"))
        cluster.says("c", "settings name other managers")
        cluster.start("b", first=False)
        until(lambda: f"b knows: {cluster.managers('b')}", lambda: cluster.keepers("b") == ["a", "c", "d", "e"])
        # The one that was removed takes no jobs, and its answer says who does.
        code, text = cluster.job("list", "--node", cluster.world["b"].ipv4)
        self.assertNotEqual(code, 0)
        self.assertIn("keeps no jobs", text)
        for name in "cd":
            cluster.running[name].kill()  # of four: those that are left are no majority
        cluster.start("d", first=False)
        cluster.agreed(["a", "d", "e"])
        self.assert_kept(cluster, *before)

    def test_what_cannot_be_changed_is_refused_with_the_reason(self):
        cluster = self.begun(workers=1)
        cluster.start("d")
        cluster.all_alive()
        for how, name, why in (("add", "x", "no node 'x' is known"), ("add", "w1", "'w1' is not a manager"),
                               ("add", "a", "one of the managers already"), ("remove", "d", "neither votes nor keeps"),
                               ("remove", "x", "neither votes nor keeps")):
            with self.subTest(f"{how} {name}"):
                code, text = cluster.operator("a", "managers", how, name)
                self.assertEqual(code, 1, text)
                self.assertIn(why, text)
        self.assertEqual(cluster.keepers(), ["a", "b", "c"])
        cluster.change("remove", "c")
        cluster.change("remove", "b")
        code, text = cluster.operator("a", "managers", "remove", "a")
        self.assertEqual(code, 1)
        self.assertIn("the last", text)


if __name__ == "__main__":
    nodes.main()
