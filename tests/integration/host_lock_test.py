#!/usr/bin/env python3
"""Lock files of one host: beside programs that follow NIP-LE, and many candidates of which some are killed."""

import itertools
import json
import os
import random
import signal
import sys
import time

from lib import leading, product
from lib.daemon import until
from lib.foreign import Foreign

CANDIDATES = 64
REFRESH_S = 5
KILLING = float(os.environ.get("BW_LOCK_SECONDS", 6))


class BesideNipLe(leading.Test):
    """The product and a foreign program share one key, in both orders."""

    default_ttl = "8s"  # less than the age at which the other program takes a claim away: two refreshes

    @property
    def nip_le(self):
        return self.flock + f"?profile=nip-le&refresh={REFRESH_S}s"

    def join(self, id):
        program = Foreign("nip_le", "--dir", self.folder / "locks", "--key", "key", "--refresh", REFRESH_S, "--id", id)
        self.addCleanup(program.__exit__)
        return program

    def claim(self):
        try:
            return json.loads((self.folder / "locks" / "key.lock").read_text())
        except ValueError:
            return {}

    def test_ours_observes_while_a_foreign_program_leads_and_follows_its_release_and_its_crash(self):
        foreign = self.join("foreign")
        foreign.wait_for("leader")
        ours = self.lead("--id", "ours", via=self.nip_le)
        ours.wait_for("note", text="foreign, epoch")
        self.assertEqual(ours.all("elected"), [])
        self.assertEqual(foreign.end(), 0)
        self.assertEqual(int(ours.elected()["epoch"]), 1)
        until("the claim of ours", lambda: self.claim().get("instance_id") == "ours")
        self.assertEqual(self.claim()["pid"], ours.pid)
        ours.signal(signal.SIGTERM)
        ours.wait()

        second = self.join("second")
        second.wait_for("leader")
        again = self.lead("--id", "again", via=self.nip_le)
        again.wait_for("note", text="second, epoch")
        second.crash()
        self.assertEqual(int(again.elected()["epoch"]), 2)

    def test_a_foreign_program_observes_while_ours_leads_and_follows_its_release_and_its_crash(self):
        ours = self.leads("--id", "ours", via=self.nip_le)
        foreign = self.join("foreign")
        foreign.wait_for("observer")
        renewed = self.claim().get("claimed_at")
        until("a renewal", lambda: self.claim().get("claimed_at", renewed) != renewed)
        self.assertEqual(foreign.said("leader"), [])
        ours.signal(signal.SIGTERM)
        ours.wait()
        foreign.wait_for("leader")
        foreign.crash()
        second = self.leads("--id", "second", via=self.nip_le)
        third = self.join("third")
        third.wait_for("observer")
        second.process.kill()
        third.wait_for("leader")

    def test_a_foreign_program_that_is_paused_for_two_refreshes_is_deposed(self):
        foreign = self.join("foreign")
        foreign.wait_for("leader")
        ours = self.lead("--id", "ours", via=self.nip_le)
        ours.wait_for("note", text="foreign, epoch")
        foreign.pause()
        ours.elected()
        foreign.resume()
        foreign.wait_for("observer")
        self.assertEqual(self.claim()["instance_id"], "ours")


class Many(leading.Test):
    default_ttl = "3s"

    def test_no_two_ever_act_at_once_whoever_is_killed(self):
        """The outside observer is the file to which the commands of all leaders write."""
        chance = random.Random(64)
        command = [*leading.RECORDER, self.folder / "acts"]
        def join():
            return self.lead("--id", f"c{next(numbers)}", command=command, ttl="2s")

        numbers = itertools.count()
        crowd = [join() for _ in range(CANDIDATES)]
        until("a first leader", lambda: leading.acts(self.folder / "acts"))
        def terms():
            return len({epoch for epoch, _ in leading.acts(self.folder / "acts")})

        begun = time.monotonic()
        while time.monotonic() < begun + KILLING:
            leaders = [one for one in crowd if one.all("elected")]
            victim = chance.choice(leaders if leaders and chance.random() < 0.7 else crowd)
            os.kill(victim.pid, signal.SIGKILL)
            crowd.remove(victim)
            crowd.append(join())
            time.sleep(chance.uniform(0.02, 0.3))
        until("an act of a later leader", lambda: terms() > 1)
        history = leading.acts(self.folder / "acts")
        self.assertEqual(leading.overlaps(history), [])
        print(f"{next(numbers)} processes in {time.monotonic() - begun:.0f} s, {terms()} terms, {len(history)} acts",
              file=sys.__stderr__)
        last = len(history)
        until("a leader among those left", lambda: len(leading.acts(self.folder / "acts")) > last)


if __name__ == "__main__":
    product.main()
