#!/usr/bin/env python3
"""`bellwether lease`: who holds which key, and what an operator can do about it."""

import json

from lib import product
from lib.daemon import free_port, start_all, until
from lib.redis import Redis


class Lease(product.Test):
    def setUp(self):
        super().setUp()
        self.via = f"flock:{self.folder}/locks"

    def lead(self, key, name, *arguments):
        return self.start("lead", "--via", self.via, "--key", key, "--id", name, "--ttl", "9s", *arguments, "--",
                          "sleep", "1000")

    def lease(self, *arguments, code=0):
        run = self.bellwether("lease", *arguments, "--via", self.via)
        self.assertEqual(run.code, code, run)
        return run

    def shown(self, key):
        run = self.bellwether("lease", "show", key, "--via", self.via, "--json")
        return json.loads(run.out) if run.out else {}

    def until_held_by(self, key, name):
        until(f"{name} holds {key}", lambda: self.shown(key).get("holder") == name)

    def test_shows_who_holds_a_key_and_for_how_long(self):
        self.lead("orders", "a")
        self.until_held_by("orders", "a")
        one = self.shown("orders")
        self.assertEqual((one["epoch"], one["lease_ms"], one["held"]), (1, 9000, True))
        self.assertLessEqual(one["left_ms"], 9000)
        self.assertRegex(self.lease("list").out, r"orders +a +1 .*? [\d.]+m?s ")
        text = self.lease("show", "orders").out
        for word in ("holder", "a", "epoch", "valid for", "of a lease of"):
            self.assertIn(word, text)

    def test_lists_all_keys_also_those_with_unprintable_names(self):
        self.assertIn(f"(no keys in {self.via})", self.lease("list").out)
        self.assertIn(f"(no keys with the prefix 'none' in {self.via})", self.lease("list", "--prefix", "none").out)
        for key in ("b", "a", "x\ty"):
            self.lead(key, "holder")
            self.until_held_by(key, "holder")
        run = self.lease("list")
        lines = run.out.splitlines()
        self.assertEqual(lines[0].split()[:3], ["KEY", "HOLDER", "EPOCH"])
        self.assertEqual([line.split()[0] for line in lines[1:]], ["a", "b", "x?y"])
        listed = json.loads(self.lease("list", "--prefix", "x", "--json").out)
        self.assertEqual([one["key"] for one in listed], ["x\ty"])

    def test_a_transfer_names_the_successor(self):
        self.lead("k", "a")
        self.until_held_by("k", "a")
        for name in ("b", "c"):
            self.lead("k", name)
        run = self.lease("transfer", "k", "--to", "c", "--by", "ops", "--wait", "100s")
        self.assertIn("now held by c", run.out)
        self.assertEqual(self.shown("k")["epoch"], 2)
        self.assertIn("'k' is held by c already, epoch 2", self.lease("transfer", "k", "--to", "c", code=1).err)

    def test_a_transfer_to_nobody_says_so(self):
        self.lead("k", "a")
        self.until_held_by("k", "a")
        run = self.lease("transfer", "k", "--to", "typo", "--wait", "100s", code=1)
        self.assertIn("a has stopped leading; the key has no leader and waits for 'typo' for at most 9s", run.out)
        self.assertIn("no candidate named 'typo' took the key: check the name", run.err)
        self.assertIn("now held by a, epoch 2", run.out, "after its lease, any candidate may take it")

    def test_a_release_hands_over_to_anybody(self):
        self.lead("k", "a")
        self.until_held_by("k", "a")
        self.lead("k", "b")
        self.lease("release", "k", "--by", "ops", "--wait", "100s")
        self.until_held_by("k", "b")

    def test_a_steal_is_said_twice_and_bumps_the_epoch(self):
        holder = self.lead("k", "a", "--once")
        self.until_held_by("k", "a")
        run = self.lease("steal", "k", code=product.WRONG)
        self.assertIn("--yes", run.err)
        self.assertEqual(self.shown("k")["holder"], "a")
        self.lease("steal", "k", "--yes", "--by", "ops")
        one = self.shown("k")
        self.assertEqual((one["held"], one["epoch"]), (False, 2))
        self.assertIn("ops", one["cause"])
        run = self.finish(holder)
        self.assertEqual(run.code, 75, "the holder has noticed")
        self.assertIn("ops", run.err)

    def test_nobody_to_ask_is_said(self):
        self.assertIn("has no holder", self.lease("transfer", "k", "--to", "b", code=1).err)
        self.assertEqual(self.bellwether("lease", "show", "k", "--via", self.via).code, 1)

    def test_a_store_that_cannot_be_asked_is_named_with_the_remedy(self):
        for act in (["list"], ["show", "k"]):
            run = self.bellwether("lease", *act, "--via", "redis://127.0.0.1:1")
            self.assertEqual(run.code, 1, run)
            self.assertRegex(run.err, r"the store redis://127\.0\.0\.1:1\S* cannot be asked: .*refused.* Check --via")

    def test_unknown_stores_are_explained(self):
        run = self.bellwether("lease", "list", "--via", "ftp://x")
        self.assertEqual(run.code, product.WRONG)
        for scheme in ("flock:", "redis://", "etcd://", "k8s:", "postgres://"):
            self.assertIn(scheme, run.err)
        run = self.bellwether("lease", "list", "--via", "redis://user:secret@127.0.0.1")
        self.assertEqual(run.code, product.WRONG)
        self.assertIn("password_file", run.err)
        self.assertNotIn("secret", run.err.replace("'redis://user:secret@127.0.0.1'", ""))

    def test_a_watch_tells_each_change(self):
        watch = self.start("lease", "watch", "k", "--via", self.via, "--json")
        self.lead("k", "a")
        texts = (json.loads(line)["text"] for line in watch.stderr)
        # A busy watch may look only after the next change, so that comes when this one is told.
        self.assertTrue(any("a, epoch 1" in text for text in texts), "it ended before")
        self.lease("release", "k", "--wait", "100s")
        self.assertTrue(any("nobody" in text for text in texts), "it ended before")
        watch.send_signal(2)
        self.assertEqual(self.finish(watch).code, 0)


class LeaseInRedis(product.Test):
    def test_the_same_in_redis(self):
        redis = Redis(self.folder)
        start_all(redis)
        self.addCleanup(redis.stop)
        arguments = ("--via", redis.url)
        self.start("lead", *arguments, "--key", "k", "--id", "a", "--ttl", "9s", "--trust-empty", "--", "sleep", "1000")
        shown = lambda: json.loads(self.bellwether("lease", "show", "k", *arguments, "--json").out or "{}")
        until("a holds k", lambda: shown().get("holder") == "a")
        epoch = shown()["epoch"]
        self.start("lead", *arguments, "--key", "k", "--id", "b", "--ttl", "9s", "--trust-empty", "--", "sleep", "1000")
        run = self.bellwether("lease", "transfer", "k", "--to", "b", *arguments, "--wait", "100s")
        self.assertEqual(run.code, 0, run)
        self.assertGreater(shown()["epoch"], epoch)


class LeasesOfAPolicy(product.Test):
    """The first look of the runbook: who holds the loops of a sheet, and how hard their locks are fought for."""

    def setUp(self):
        super().setUp()
        self.redis = Redis(self.folder)
        start_all(self.redis)
        self.addCleanup(self.redis.stop)
        self.policy = self.write("p.yaml", f"""
store: {self.redis.url}
leader_election:
  r: {{poll_interval: 300ms, lock_key: "test:r", lock_ttl: 60s, renew_every: 0s, release_mode: ttl_hold,
      guards: [data, nothing], command: "echo stale_jobs 3 >&$BELLWETHER_REPORT_FD"}}
  s: {{poll_interval: 300ms, lock_key: "test:s", lock_ttl: 3s, release_mode: ttl_hold, command: "true"}}
""")

    def listed(self, *arguments, code=0):
        run = self.bellwether("lease", "list", "--policy", self.policy, "--json", *arguments)
        self.assertEqual(run.code, code, run)
        return {one["loop"]: one for one in json.loads(run.out)["loops"]}

    def test_holders_idle_data_and_lock_pressure(self):
        self.redis.cli("SET", "data", "1")
        ports = [free_port(), free_port()]
        for name, port in zip("ab", ports):
            self.start("loops", "run", self.policy, "--loop", "r", "--id", name, "--metrics", f"127.0.0.1:{port}",
                       "--trust-empty")
        pages = [argument for port in ports for argument in ("--metrics", f"127.0.0.1:{port}")]
        answers = lambda: self.bellwether("lease", "list", "--policy", self.policy, *pages).code == 0
        until("both pages", answers)
        until("a tick", lambda: (self.listed(*pages)["r"]["pressure"] or {}).get("stale_jobs") == 3)
        loops = self.listed(*pages)
        one = loops["r"]
        self.assertIn(one["holder"], ("a", "b"))
        self.assertGreater(one["epoch"], 0)
        self.assertEqual([guard["data"] for guard in one["guards"]], ["data", "nothing"])
        self.assertIn("idle_ms", one["guards"][0])
        self.assertEqual([one["pressure"][name] for name in ("processes", "holders", "waiting")], [2, 1, 1])
        self.assertGreater(one["pressure"]["waits"], 1)
        self.assertFalse(loops["s"]["held"])
        self.assertIsNone(loops["s"]["pressure"], "nobody tells of it")
        table = self.bellwether("lease", "list", "--policy", self.policy, *pages).out
        self.assertRegex(table, r"(?m)^r .* 1 of 2 wait, wait p99 .*, stale jobs 3$")
        self.assertRegex(table, r"(?m)^s .* not known$")

    def test_what_is_not_known_is_said(self):
        table = self.bellwether("lease", "list", "--policy", self.policy)
        self.assertEqual(table.code, 0, table)
        self.assertIn("--metrics", table.out)
        self.assertIsNone(self.listed()["r"]["pressure"])
        run = self.bellwether("lease", "list", "--policy", self.policy, "--metrics", f"127.0.0.1:{free_port()}")
        self.assertEqual(run.code, 1, run)
        self.assertIn("metrics of 127.0.0.1", run.err)
        run = self.bellwether("lease", "list", "--policy", self.policy, "--metrics", "9464")
        self.assertIn("'9464' is not an address with a port; write HOST:PORT", run.err)
        self.assert_refused(self.bellwether("lease", "list"), "--policy")

    def test_what_would_not_be_heeded_is_refused(self):
        run = self.bellwether("lease", "list", "--via", self.redis.url, "--metrics", "127.0.0.1:1")
        self.assert_refused(run, "--policy")
        for option in (("--prefix", "x"), ("--most", "1")):
            self.assert_refused(self.bellwether("lease", "list", "--policy", self.policy, *option), option[0])


class Repair(product.Test):
    """A key whose epochs were lost goes on above what its operator knows, and never below."""

    def setUp(self):
        super().setUp()
        self.state = {"XDG_STATE_HOME": str(self.folder / "state")}
        self.audit = self.folder / "audit"

    def once(self, via, *arguments):
        """One term; its epoch."""
        run = self.bellwether("lead", "--via", via, "--key", "k", "--once", "--ttl", "20s", *arguments, "--",
                              "sh", "-c", "echo epoch=$BELLWETHER_EPOCH", environment=self.state)
        self.assertEqual(run.code, 0, run)
        return int(run.out.split("epoch=")[1])

    def repair(self, via, *arguments, code=0):
        run = self.bellwether("lease", "repair", "k", "--via", via, "--by", "ops", "--audit", self.audit, *arguments,
                              environment=self.state)
        self.assertEqual(run.code, code, run)
        return run

    def stuck(self, via):
        """What a look at the key complains about."""
        run = self.bellwether("lease", "show", "k", "--via", via, environment=self.state)
        self.assertEqual(run.code, 1, run)
        return run.err

    def check_files(self, via, ledger, claim, held):
        first = self.once(via)
        ledger.write_text("garbage")
        claim.write_text(held)
        self.assertIn("bellwether lease repair", self.stuck(via))
        self.assertIn("--yes", self.repair(via, "--epoch-floor", "41", code=product.WRONG).err)
        self.assertIn("bellwether lease repair", self.stuck(via), "nothing has happened yet")
        self.assertIn("above 42", self.repair(via, "--epoch-floor", "41", "--yes").out)
        entry = json.loads(self.audit.read_text().splitlines()[-1])
        self.assertEqual((entry["event"], entry["key"], entry["by"], entry["epoch"]), ("repaired", "k", "ops", 42))
        self.assertGreater(self.once(via), max(first, 42))
        self.repair(via, "--epoch-floor", "1", "--yes")
        self.assertGreater(self.once(via), 44, "a floor never lowers anything")

    def test_a_lock_file_whose_epochs_are_damaged(self):
        locks = self.folder / "locks"
        self.check_files(f"flock:{locks}", locks / "k.epoch", locks / "k.lock", "")

    def test_a_lease_file_whose_epochs_are_damaged(self):
        leases = self.folder / "leases"
        self.check_files(f"file:{leases}/", leases / "k.json.epoch", leases / "k.json", "{}")

    def test_what_this_machine_remembers_counts(self):
        via = f"flock:{self.folder}/locks"
        for _ in range(3):
            last = self.once(via)
        (self.folder / "locks/k.epoch").write_text("garbage")
        self.repair(via, "--yes")
        self.assertGreater(self.once(via), last + 1)

    def test_a_key_that_is_held_is_left_alone(self):
        via = f"flock:{self.folder}/locks"
        self.start("lead", "--via", via, "--key", "k", "--id", "a", "--ttl", "9s", "--", "sleep", "1000",
                   environment=self.state)
        shown = lambda: self.bellwether("lease", "show", "k", "--via", via).code == 0
        until("a holder", shown)
        self.assertIn("is held by a", self.repair(via, "--yes", code=1).err)
        self.assertTrue(shown())

    def test_a_redis_that_came_back_empty(self):
        redis = Redis(self.folder / "redis", persistence="none")
        redis.start()
        self.addCleanup(redis.stop)
        last = self.once(redis.url, "--trust-empty")
        redis.restart(lose_data=True)
        seen = lambda: json.loads(self.bellwether("lease", "show", "k", "--via", redis.url, "--json").out)
        self.assertTrue(seen()["may_have_lost_data"])
        self.repair(redis.url, "--yes")
        self.assertFalse(seen()["may_have_lost_data"], "nobody has to wait for a lease")
        self.assertGreater(self.once(redis.url), last + 1)

    def test_a_holder_that_cannot_be_seen_is_watched_for_its_lease(self):
        redis = Redis(self.folder / "redis", persistence="none")
        redis.start()
        self.addCleanup(redis.stop)
        self.start("loops", "run", self.write("p.yaml", f"""
store: {redis.url}
leader_election:
  r: {{poll_interval: 300ms, lock_key: k, lock_ttl: 9s, renew_every: 500ms, release_mode: ttl_hold, command: "true"}}
"""), "--id", "a", "--trust-empty", environment=self.state)
        until("a holder", lambda: redis.cli("GET", "k").strip() != "")
        self.assertIn("is held by a", self.repair(redis.url, "--yes", code=1).err)

    def test_what_this_machine_remembers_can_be_forgotten(self):
        via = f"flock:{self.folder}/locks"
        self.once(via)
        (kept,) = [path for path in (self.folder / "state/bellwether/epochs").iterdir() if path.suffix != ".lock"]
        kept.write_text("garbage")
        self.assertIn("--forget", self.repair(via, "--yes", code=1).err)
        self.assertIn("forgotten", self.repair(via, "--forget", "--yes").out)
        self.assertIn("epochs-forgotten", self.audit.read_text())
        self.assertGreater(self.once(via), 2)

    def test_what_is_remembered_nowhere_is_not_said_to_be_forgotten(self):
        self.state = {"XDG_STATE_HOME": "", "HOME": ""}
        run = self.repair(f"flock:{self.folder}/locks", "--forget", "--yes", code=product.WRONG)
        self.assertIn("XDG_STATE_HOME", run.err)
        self.assertEqual(self.audit.read_text(), "")


if __name__ == "__main__":
    product.main()
