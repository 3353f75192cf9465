#!/usr/bin/env python3
"""What a running job tells of itself at the moment: counters for screens, which nothing is computed from."""

import json

from lib import jobs, nodes
from lib.world import until


class Counters(jobs.Test):
    def test_the_status_of_a_running_job_says_what_its_assignments_do_now(self):
        cluster, _ = self.at_work(3, workers=2)
        job = cluster.submit(cluster.scenario(seconds=3600))  # it runs until it was looked at
        cluster.in_state(job, "running")

        def requests():
            return (cluster.status(job) or {}).get("live", {}).get("requests", 0)

        first = until("counters", requests)
        until(f"more than {first} requests", lambda: requests() > first)
        live = cluster.status(job)["live"]
        self.assertEqual((live["failed"], live["dropped"]), (0, 0))
        self.assertGreaterEqual(live["age_s"], 0)
        code, text = cluster.job("status", job, json_too=False)
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"(?m)^now +[\d,]+ requests?, 0 failed, \d+ users? \(\S+ ago\)$")
        self.assertEqual(cluster.job("cancel", job, "--graceful")[0], 0)
        self.assertNotIn("live", cluster.in_state(job, "cancelled"))
        result = self.ended(cluster.watch(job, "results"), jobs.CANCELLED)
        self.assertLessEqual(live["requests"], result["totals"]["requests"])
        self.assertEqual(cluster.arrived(), result["totals"]["requests"])

    def watch_windows(self, cluster, job, *words):
        file = cluster.folder / "windows"
        process, out = cluster.follow("job", "watch", job, "--windows", file, *words)
        return jobs.Client(process, out, job), file

    def contiguous(self, lines):
        """The newest of each window: {number: window}; none is missing, and none comes before an earlier one."""
        windows = {}
        for one in lines:
            number = round(one["t"] * 10)
            if number in windows:
                self.assertGreater(one["revision"], windows[number]["revision"])
            elif windows:
                self.assertEqual(number, max(windows) + 1)
            windows[number] = one
        return windows

    def test_windows_of_workers_and_managers_whose_clocks_are_hours_apart(self):
        cluster = self.cluster(3, workers=2)
        # Workers are behind the managers: by their own clocks, all that they tell is far too old.
        for hours, name in enumerate(reversed(cluster.names)):
            program = cluster.write(f"{name}.sh", "#!/bin/sh\nexec unshare --time --monotonic "
                                    f"{hours * 3600} --boottime {hours * 3600} '{cluster.binary}' \"$@\"\n")
            program.chmod(0o755)
            cluster.builds[name] = program
        cluster.at_work()
        # No longer than the windows that a manager keeps, so that who watches has all of them, however late it comes.
        client, file = self.watch_windows(cluster, cluster.submit(cluster.scenario(seconds=6)))
        result = self.ended(client)
        self.assert_whole(result, 360)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        self.assertFalse([one for one in lines if "anew" in one or "skipped" in one])
        windows = self.contiguous([one for one in lines if "t" in one])
        total = lines[-1]["total"]
        for name in ("requests", "failed", "iterations", "dropped"):
            self.assertEqual(sum(one[name] for one in windows.values()), total[name], name)
        # What is told last may be lost, and nothing is told that was not done.
        self.assertLessEqual(total["requests"], 360)
        self.assertGreaterEqual(total["requests"], 300)
        self.assertGreaterEqual(len(windows), 55)
        self.assertEqual(max(one["assignments"] for one in windows.values()), 2)
        # Of a job that has ended, each manager has them of the last owner, which answers once it is all that there is.
        for manager in cluster.voters:
            def told():
                # Nobody has to have them: the result is there first, and does not wait for them for long.
                again, file = self.watch_windows(cluster, client.job, "--node", cluster.world[manager].ipv4)
                self.assertEqual(again.finish()[0], jobs.PASS)
                return [json.loads(line) for line in file.read_text().splitlines()]
            lines = until(f"the windows, from {manager}", told)
            self.assertEqual([one["total"] for one in lines[-1:]], [{**total, "vus": 0}], manager)
            self.assertEqual(max(windows), max(self.contiguous([one for one in lines if "t" in one])), manager)

        # One that was started again since has none, and does not look for them at itself.
        owner = cluster.status(client.job)["manager"]
        cluster.running[owner].kill()
        cluster.start(owner, first=False)
        cluster.all_alive()
        client, file = self.watch_windows(cluster, client.job, "--node", cluster.world[owner].ipv4)
        self.assertEqual(client.finish()[0], jobs.PASS)
        self.assertEqual(file.read_text(), "")
        self.assertEqual([one for one in cluster.said(owner) if "is called" in one["text"]], [])

    def test_windows_begin_anew_with_the_manager_that_goes_on(self):
        cluster, _ = self.at_work(3, workers=2)
        job = cluster.submit(cluster.scenario(seconds=40))
        client, file = self.watch_windows(cluster, job)
        status = cluster.under_load(client, 3)
        cluster.running[status["manager"]].kill()
        result = self.ended(client)
        self.assert_whole(result, 2400)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        [anew] = [i for i, one in enumerate(lines) if "anew" in one]
        before = self.contiguous([one for one in lines[:anew] if "t" in one])
        after = self.contiguous([one for one in lines[anew:] if "t" in one])
        self.assertLess(max(before), min(after), "seconds of the run are the same for both")
        told = sum(one["requests"] for one in after.values())
        self.assertGreater(told, 0)
        self.assertLess(told, lines[-1]["total"]["requests"], "what was done before is in no window of theirs")
        self.assertLessEqual(lines[-1]["total"]["requests"], 2400)


if __name__ == "__main__":
    nodes.main()
