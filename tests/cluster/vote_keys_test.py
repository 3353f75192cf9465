#!/usr/bin/env python3
"""A key that only the elected admin has: put together of key shares that the nodes keep, in namespaces of their own."""

import hashlib
from pathlib import Path

from lib import nodes, voting
from lib.world import until

KEY = b"the key that only an admin has: 3f9c1d"


class VoteKeys(voting.Test):
    def split(self, cluster, folder="shares", *arguments):
        """Splits the key; gives the folder."""
        at = cluster.folder / folder
        at.mkdir()
        key = cluster.folder / f"{folder}.key"
        key.touch(mode=0o600)
        key.write_bytes(KEY)
        self.keys("split", "--names", ",".join(cluster.voters), "--key", key, "--out", at, *arguments)
        key.unlink()
        return at

    def begin(self, cluster, name, shares, first=True, **other):
        """A node whose command writes down a digest of the key that it is given, and what it leads."""
        told = cluster.folder / f"{name}.told"
        command = ["sh", "-c", f'echo "$BELLWETHER_EPOCH $(sha256sum < /dev/fd/$BELLWETHER_KEY_FD) $$" >> {told}; '
                               "exec sleep 1000"]
        vote = {"key_share": str(shares / f"{name}.share"), "key_commitment": str(shares / "key.commitment"),
                "key_command": command}
        self.start(cluster, name, first=first, vote=vote, **other)

    def told(self, cluster, name):
        """[(term, digest)] of all keys that a node's command was given."""
        path = cluster.folder / f"{name}.told"
        return [tuple(line.split()[:2]) for line in path.read_text().splitlines()] if path.exists() else []

    def has_key(self, cluster, name, term):
        digest = hashlib.sha256(KEY).hexdigest()
        until(lambda: f"{name} has the key of term {term}: {self.told(cluster, name)}\n{cluster.running[name].tail()}",
              lambda: (str(term), digest) in self.told(cluster, name))

    def in_office(self, cluster, names=None, other_than=None):
        """Waits for an admin that may act; gives (name, term)."""
        def one():
            name, term = cluster.agreed(names, other_than=other_than)
            return (name, term) if cluster.leads_now(name) == term else None
        return until("an admin in office", one)

    def test_the_admin_has_the_key_and_so_has_the_next_one_and_no_file_does(self):
        cluster = self.voting(3)
        shares = self.split(cluster)
        for name in cluster.voters:
            self.begin(cluster, name, shares)
        cluster.all_alive()
        admin, term = self.in_office(cluster)
        self.has_key(cluster, admin, term)
        others = [name for name in cluster.voters if name != admin]
        for name in cluster.voters:
            until(f"{name} knows who has the key",
                  lambda name=name: (self.key(cluster, name) or {}).get("stage") == "ready")
            key = self.key(cluster, name)
            self.assertEqual((key["admin"], key["held"], key["needed"]), (admin, 2, 2))
        self.assertEqual([self.told(cluster, name) for name in others], [[], []], "nobody else is given it")
        cluster.running.pop(admin).kill()
        second, later = self.in_office(cluster, other_than=admin)
        self.assertEqual(self.commands(cluster, admin), 0, "what worked with the key of the last one is gone")
        self.has_key(cluster, second, later)
        # When the office moves, the command ends with it.
        third = next(name for name in others if name != second)
        until("the office has moved", lambda: cluster.operator(second, "transfer", "--to", third)[0] == 0)
        until(f"{third} is in office", lambda: cluster.leads_now(third))
        self.has_key(cluster, third, cluster.leads_now(third))
        self.assertEqual([self.commands(cluster, name) for name in (second, third)], [0, 1])
        for path in cluster.folder.rglob("*"):
            if path.is_file():
                self.assertNotIn(KEY, path.read_bytes(), path)

    def commands(self, cluster, name):
        """How many commands of a node run that were given a key."""
        path = cluster.folder / f"{name}.told"
        pids = [line.split()[-1] for line in path.read_text().splitlines()] if path.exists() else []
        return sum(Path("/proc", pid).exists() for pid in pids)

    def test_a_wrong_key_share_is_refused_by_name_and_the_others_are_enough(self):
        cluster = self.voting(3)
        shares = self.split(cluster)
        other = self.split(cluster, "others")
        # The node follows, so that it is asked.
        self.begin(cluster, "c", other, agent={"capabilities": ["key_reconstruction"]})
        self.begin(cluster, "a", shares)
        cluster.all_alive(["a", "c"])
        # Of two, the one that may stand has its own key share, and a wrong one.
        until("the wrong one is refused by name", lambda: "c" in self.refused_by(cluster, "a"))
        cluster.says("a", "the key share of 'c' is refused: ")
        until("who sent it is told", lambda: "c" in self.refused_by(cluster, "c"))
        self.begin(cluster, "b", shares)
        admin, term = self.in_office(cluster)
        self.assertIn(admin, ("a", "b"))
        self.has_key(cluster, admin, term)

    def key(self, cluster, name):
        return (cluster.ask(name, "votes") or {}).get("key")

    def refused_by(self, cluster, name):
        return [one["from"] for one in (self.key(cluster, name) or {"refused": []})["refused"]]

    def test_with_too_few_key_shares_nobody_is_in_office_and_all_can_see_why(self):
        cluster = self.voting(3)
        shares = self.split(cluster, "shares", "--threshold", "3")
        self.begin(cluster, "a", shares)
        self.begin(cluster, "b", shares)
        for name in ("a", "b"):
            until(f"{name} knows that the key cannot be had",
                  lambda name=name: (self.key(cluster, name) or {}).get("stage") == "failed")
        until("the reason is in the log", lambda: any(
            "2 of 3 key shares after" in one["text"] and "none came from 'c'" in one["text"]
            for name in ("a", "b") for one in cluster.said(name)))
        until("an operator sees the state",
              lambda: any((cluster.ask(name, "votes") or {}).get("state") == "reconstructing_keys"
                          for name in ("a", "b")))
        until("an operator sees how far it has come",
              lambda: "2 of 3 key shares" in cluster.operator("a", "votes", json_too=False)[1])
        self.assertEqual([cluster.said(name, "elected") for name in ("a", "b")], [[], []])
        self.begin(cluster, "c", shares)
        admin, term = self.in_office(cluster)
        self.has_key(cluster, admin, term)

    def test_what_does_not_fit_is_said_at_the_start_with_the_remedy(self):
        cluster = self.voting(3)
        shares = self.split(cluster)
        other = self.split(cluster, "others")

        def refused(*words, share=shares / "a.share", commitment=shares / "key.commitment", **more):
            self.start(cluster, "a", vote={"key_share": str(share), "key_commitment": str(commitment), **more})
            self.assertEqual(cluster.running["a"].wait(), 104)
            for word in words:
                self.assertIn(word, cluster.running["a"].tail())
        refused("does not match the commitment", "Copy this node's key share", commitment=other / "key.commitment")
        refused("needs both key_share and key_commitment", share="")
        refused("a majority elected", quorum="plurality")
        refused("no key share", share="", commitment="", key_command=["true"])
        damaged = cluster.folder / "damaged"
        damaged.touch(mode=0o600)
        share = (shares / "a.share").read_bytes()
        damaged.write_bytes(share[:-1] + bytes([share[-1] ^ 1]))
        refused("does not match the commitment", share=damaged)
        (shares / "a.share").chmod(0o644)
        refused("chmod 600")


if __name__ == "__main__":
    nodes.main()
