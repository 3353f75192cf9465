#!/usr/bin/env python3
"""What `bellwether lead` promises whatever decides who leads: one list of behaviours, run for each scheme of URL.

`FILE BELLWETHER SCHEME [TEST …]`. Most of the behaviours need several processes, which `memory:` does not have.
"""

import signal
import sys

from lib import leading, mechanisms, product
from lib.daemon import lives, until
from lib.mechanisms import NAMES
from lib.product import PATIENCE


class Conformance(leading.Test):
    scheme = None

    def setUp(self):
        super().setUp()
        self.mechanism = mechanisms.ALL[self.scheme](self)
        self.acts = self.folder / "acts"

    # --- candidates ---

    def command_line(self, name, *options, command=(*leading.RECORDER, "acts")):
        words = ["lead", *self.mechanism.options(name), *options]
        return [*words, "--", *command] if command else words

    def candidate(self, name, *options, **more):
        words = [product.binary, *self.command_line(name, "--json", "-v", *options, **more)]
        one = self.launch(words)
        one.name = name
        return one

    def group(self, *options, **more):
        """All candidates. Work of theirs writes its epoch and the time to `acts` again and again."""
        return [self.candidate(name, *options, **more) for name in NAMES]

    def all_there_may_be(self, *options, **more):
        names = NAMES if self.mechanism.wide else NAMES[:1]
        return [self.candidate(name, *options, **more) for name in names]

    def leader(self, candidates, above=0):
        """The candidate whose work acts just now, under an epoch above that one; and its epoch."""
        begun = leading.boot_ns()

        def found():
            history = leading.acts(self.acts)
            if not history or history[-1][1] <= begun or history[-1][0] <= above:
                return None
            epoch = history[-1][0]
            for one in candidates:
                if one.runs() and any(said["epoch"] == epoch for said in one.all("elected")):
                    return one, epoch
            return None
        try:
            return until(f"work under an epoch above {above}", found, PATIENCE)
        except AssertionError as error:
            said = "\n".join(f"== {one.name}: {one}"[-3000:] for one in candidates)
            raise AssertionError(f"{error}\n{said}") from None

    def one_at_a_time(self):
        self.assertEqual(leading.overlaps(leading.acts(self.acts)), [])

    def several(self):
        if not self.mechanism.wide:
            self.skipTest(f"{self.scheme}: is of one process")

    # --- what every mechanism shows ---

    def test_the_command_knows_key_holder_and_epoch(self):
        show = ["sh", "-c", 'echo "$BELLWETHER_KEY|$BELLWETHER_HOLDER|$BELLWETHER_EPOCH"; exec sleep 1000']
        whole = self.all_there_may_be(command=show)
        one = until("a leader", lambda: next((each for each in whole if each.all("elected")), None), PATIENCE)
        elected = one.elected()
        one.says("\n")
        self.assertEqual(one.out, f"{self.mechanism.key}|{one.name}|{elected['epoch']}\n")
        self.assertGreater(elected["epoch"], 0)

    def test_the_work_is_killed_before_another_may_lead(self):
        whole = self.all_there_may_be()
        one = until("a renewal", lambda: next((each for each in whole if each.all("renewed")), None), PATIENCE)
        for said in (*one.all("elected"), *one.all("renewed")):
            self.assertLess(said["term_ends_boot_ns"], said["kill_at_boot_ns"])
            self.assertLess(said["kill_at_boot_ns"], said["lease_ends_boot_ns"])

    def test_a_killed_leader_takes_its_work_along_and_another_one_leads_under_a_higher_epoch(self):
        self.several()
        candidates = self.group()
        epoch = 0
        for _ in range(2):
            leader, later = self.leader(candidates, epoch)
            self.assertGreater(later, epoch)
            epoch, command = later, leader.command
            leader.signal(signal.SIGKILL)
            leader.wait()
            until("the end of its work", lambda: not lives(command))
            candidates = [self.candidate(one.name) if one is leader else one for one in candidates]
        self.leader(candidates, epoch)
        self.one_at_a_time()

    def test_a_paused_leader_does_not_act_beside_its_successor(self):
        self.several()
        candidates = self.group()
        leader, epoch = self.leader(candidates)
        leader.signal(signal.SIGSTOP)
        _, later = self.leader([one for one in candidates if one is not leader], epoch)
        leader.signal(signal.SIGCONT)
        leader.wait_for("deposed", seconds=PATIENCE)
        self.leader(candidates, later - 1)
        self.one_at_a_time()

    def test_a_clean_end_hands_the_key_on(self):
        self.several()
        candidates = self.group()
        leader, epoch = self.leader(candidates)
        leader.signal(signal.SIGINT)
        self.assertEqual(leader.wait(PATIENCE), 128 + signal.SIGINT)
        leader.wait_for("resigned")
        self.leader(candidates, epoch)
        self.one_at_a_time()

    def test_epochs_go_on_when_everything_is_started_again(self):
        self.several()
        candidates = self.group()
        _, epoch = self.leader(candidates)
        for one in candidates:
            leading.end(one)
        self.mechanism.restart()
        again = self.group()
        _, later = self.leader(again, epoch)
        self.assertGreater(later, epoch)
        self.one_at_a_time()

    def test_the_key_is_handed_to_the_one_who_is_named(self):
        self.several()
        candidates = self.group("--drain", "200ms")
        leader, epoch = self.leader(candidates)
        heir = next(one for one in candidates if one is not leader)
        self.mechanism.hand_over(heir.name)
        self.assertGreater(heir.elected(seconds=PATIENCE)["epoch"], epoch)
        leader.wait_for("resigned")
        self.one_at_a_time()

    def test_observers_see_every_leader_in_order(self):
        self.several()
        looker = self.candidate("looker", "--observe", command=None)
        candidates = self.group()
        seen, epoch = [], 0
        for _ in range(2):
            leader, epoch = self.leader(candidates, epoch)
            looker.wait_for("leader", text=f"{leader.name}, epoch {epoch}", seconds=PATIENCE)
            seen.append((leader.name, epoch))
            leader.signal(signal.SIGKILL)
            leader.wait()
            candidates = [self.candidate(one.name) if one is leader else one for one in candidates]
        epochs = [said["epoch"] for said in looker.all("leader")]
        self.assertEqual(epochs, sorted(epochs))
        self.assertEqual(looker.all("elected"), [])
        looker.signal(signal.SIGTERM)
        self.assertEqual(looker.wait(PATIENCE), 128 + signal.SIGTERM)

    def test_a_leader_whose_work_is_not_sound_gives_the_key_up(self):
        self.several()
        candidates = [self.candidate(name, "--health-cmd", f"test ! -e sick-{name}", "--health-every", "1s")
                      for name in NAMES]
        leader, epoch = self.leader(candidates)
        self.write(f"sick-{leader.name}", "")
        leader.wait_for("deposed", text="unhealthy", seconds=PATIENCE)
        self.leader([one for one in candidates if one is not leader], epoch)
        self.one_at_a_time()

    def test_a_lost_term_ends_the_process_that_wants_only_one(self):
        one = self.leader(self.all_there_may_be("--once", "--health-cmd", "test ! -e sick", "--health-every",
                                                "1s"))[0]
        self.write("sick", "")
        self.assertEqual(one.wait(PATIENCE), 75)

    def test_the_exit_code_is_the_commands_own_and_the_key_is_free_then(self):
        self.several()
        candidates = self.group(command=["sh", "-c", "exit 7"])
        # Two of three: the last one finds no majority where they elect each other.
        until("two ends", lambda: sum(not one.runs() for one in candidates) >= 2, PATIENCE)
        self.assertEqual({one.wait() for one in candidates if not one.runs()}, {7})
        epochs = [said["epoch"] for one in candidates for said in one.all("elected")]
        self.assertEqual(len(set(epochs)), len(epochs))

    def test_who_does_not_want_to_wait_says_who_leads(self):
        self.several()
        candidates = self.group()
        leader, _ = self.leader(candidates)
        other = next(one for one in candidates if one is not leader)
        leading.end(other)
        run = self.bellwether(*self.command_line(other.name, "-n", "-E", "9", command=["true"]),
                              environment=self.environment())
        self.assertEqual(run.code, 9, run)
        self.assertIn(leader.name, run.err)
        run = self.bellwether(*self.command_line(other.name, "-w", "300ms", command=["true"]),
                              environment=self.environment())
        self.assertEqual(run.code, 1, run)
        self.assertIn("not elected within 300ms", run.err)

    def test_hooks_are_called_in_the_order_of_what_happened(self):
        hook = 'echo "{0} $BELLWETHER_EPOCH $BELLWETHER_REASON" >>hooks'
        one = self.leader(self.all_there_may_be("--on-elected", hook.format("elected"), "--on-deposed",
                                                hook.format("deposed")))[0]
        epoch = one.elected()["epoch"]
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(PATIENCE), 128 + signal.SIGINT)
        # The next leader's hook may come before this one's last.
        lines = [line for line in (self.folder / "hooks").read_text().splitlines() if f" {epoch} " in line]
        self.assertEqual(lines, [f"elected {epoch} ", f"deposed {epoch} resigned"])


def main():
    scheme = sys.argv.pop(2) if len(sys.argv) > 2 else ""
    if scheme not in mechanisms.ALL:
        sys.exit(f"usage: {sys.argv[0]} PATH-OF-BELLWETHER {'|'.join(mechanisms.ALL)} [unittest's arguments]")
    Conformance.scheme = scheme
    product.main()


if __name__ == "__main__":
    main()
