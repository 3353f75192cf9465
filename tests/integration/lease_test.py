#!/usr/bin/env python3
"""`bellwether lease`: who holds which key, and what an operator can do about it."""

import json

from lib import product
from lib.daemon import start_all, until
from lib.redis import Redis


class Lease(product.Test):
    def setUp(self):
        super().setUp()
        self.via = f"flock:{self.folder}/locks"

    def lead(self, key, name, *arguments):
        return self.start("lead", "--via", self.via, "--key", key, "--id", name, "--ttl", "2s", *arguments, "--",
                          "sleep", "60")

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
        self.assertEqual((one["epoch"], one["lease_ms"], one["held"]), (1, 2000, True))
        self.assertLessEqual(one["left_ms"], 2000)
        text = self.lease("show", "orders").out
        for word in ("holder", "a", "epoch", "valid for", "ms more"):
            self.assertIn(word, text)

    def test_lists_all_keys_also_those_with_unprintable_names(self):
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
        run = self.lease("transfer", "k", "--to", "c", "--by", "ops", "--wait", "20s")
        self.assertIn("now held by c", run.out)
        self.assertEqual(self.shown("k")["epoch"], 2)

    def test_a_release_hands_over_to_anybody(self):
        self.lead("k", "a")
        self.until_held_by("k", "a")
        self.lead("k", "b")
        self.lease("release", "k", "--by", "ops", "--wait", "20s")
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
        self.assertIn("nobody holds", self.lease("transfer", "k", "--to", "b", code=1).err)
        self.assertEqual(self.bellwether("lease", "show", "k", "--via", self.via).code, 1)

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
        self.until_held_by("k", "a")
        self.lease("release", "k", "--wait", "20s")
        watch.send_signal(2)
        run = self.finish(watch)
        self.assertEqual(run.code, 0, run)
        events = [json.loads(line) for line in run.err.splitlines()]
        self.assertTrue(any("a, epoch 1" in event["text"] for event in events), events)


class LeaseInRedis(product.Test):
    def test_the_same_in_redis(self):
        redis = Redis(self.folder)
        start_all(redis)
        self.addCleanup(redis.stop)
        arguments = ("--via", redis.url)
        self.start("lead", *arguments, "--key", "k", "--id", "a", "--ttl", "2s", "--trust-empty", "--", "sleep", "60")
        shown = lambda: json.loads(self.bellwether("lease", "show", "k", *arguments, "--json").out or "{}")
        until("a holds k", lambda: shown().get("holder") == "a")
        epoch = shown()["epoch"]
        self.start("lead", *arguments, "--key", "k", "--id", "b", "--ttl", "2s", "--trust-empty", "--", "sleep", "60")
        run = self.bellwether("lease", "transfer", "k", "--to", "b", *arguments, "--wait", "20s")
        self.assertEqual(run.code, 0, run)
        self.assertGreater(shown()["epoch"], epoch)


if __name__ == "__main__":
    product.main()
