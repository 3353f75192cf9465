#!/usr/bin/env python3
"""`bellwether lead` on one host: what its command sees, how it ends, and what everybody else is told meanwhile."""

import json
import os
import shutil
import signal
import subprocess

from lib import leading, product
from lib.cut import Cut
from lib.daemon import lives, until
from lib.redis import Redis


def numbers(text):
    return [int(word) for word in text.split()]


class Ends(leading.Test):
    """Exit codes."""

    def test_the_exit_code_is_the_commands_own(self):
        self.assertEqual(self.run_lead().code, 0)
        self.assertEqual(self.run_lead(command=["sh", "-c", "exit 7"]).code, 7)
        self.assertEqual(self.run_lead(command=["sh", "-c", "kill -KILL $$"]).code, 128 + 9)
        self.assertEqual(self.run_lead("-c", "exit 8", command=None).code, 8)

    def test_a_command_that_cannot_run(self):
        self.write("data", "no program")
        for command, code, word in (("./none-such", 127, "No such file"), ("none-such", 127, "No such file"),
                                    ("./data", 126, "Permission denied"), ("/", 126, "Permission denied")):
            with self.subTest(command):
                run = self.run_lead(command=[command])
                self.assertEqual(run.code, code, run)
                self.assertIn(word, run.err)
                self.assertIn(command, run.err)

    def test_not_elected_with_n_or_w(self):
        first = self.leads()
        self.assertEqual(self.run_lead("-n").code, 1)
        self.assertEqual(self.run_lead("--nonblock", "-E", "9").code, 9)
        run = self.run_lead("-n", "-E", "0")
        self.assertEqual(run.code, 0)
        self.assertIn(f"held by vm:{first.pid}".split(":")[1], run.err)
        run = self.run_lead("-w", "100ms", "-E", "17")
        self.assertEqual(run.code, 17, run)
        self.assertIn("100ms", run.err)
        self.assertEqual(self.run_lead("-n", key="another").code, 0)
        self.assertRegex(run.err, r"(?m)^\d{4}-\d\d-\d\dT[\d:.]+Z bellwether lead: ")

    def test_it_says_for_whom_it_waits(self):
        first = self.leads()
        second = self.lead(command=("sleep", "1000"))
        said = second.wait_for("waiting")
        self.assertIn("waiting to lead 'key': held by ", said["text"])
        self.assertIn(str(first.pid), said["text"])
        self.assertEqual(said["key"], "key")
        self.assertEqual([one["event"] for one in first.events if one["event"] == "waiting"], [])

    def test_a_store_that_has_lost_data_is_reported_once(self):
        self.assertEqual(self.run_lead().code, 0)
        shutil.rmtree(self.folder / "locks")
        run = self.run_lead("-n")
        self.assertEqual(run.code, 1, run)
        self.assertIn("not leading 'key': another process may hold the key", run.err)
        self.assertEqual(run.err.count("lost data"), 1, run)

    def test_a_wait_that_is_long_enough(self):
        self.leads(command=["sleep", "0.2"])
        self.assertEqual(self.run_lead("-w", "20s", command=["sh", "-c", "exit 3"]).code, 3)

    def test_wrong_command_lines_say_what_to_do(self):
        for arguments, *words in (
                (["lead", "--via", "flock:", "--key", "k"], "-- COMMAND"),
                (["lead", "--via", "nosuch:x", "--key", "k", "--", "true"], "nosuch", "flock", "redis", "etcd",
                 "quorum:FILE", "vote:FILE"),
                (["lead", "--via", "flock:/proc/none", "--key", "k", "--", "true"], "/proc/none",
                 "name another folder"),
                (["lead", "--key", "k", "--", "true"], "--via"),
                (["lead", "--via", self.flock, "--", "true"], "--key"),
                (["lead", "--via", self.flock, "--key", "k", "--observe", "--", "true"], "--observe"),
                (["lead", "--via", self.flock, "--key", "k", "-c", "true", "--", "true"], "--command"),
                (["lead", "--via", self.flock, "--key", "k", "--ttl", "10ms", "--", "true"], "Lengthen the lease"),
                (["lead", "--via", self.flock, "--key", "k", "--ttl", "10s", "--renew-deadline", "9s", "--grace", "2s",
                  "--", "true"], "9s", "2s", "Lengthen the lease"),
                (["lead", "--via", self.flock, "--key", "k", "--ttl", "9s", "--ttl-max", "5s", "--", "true"],
                 "9s", "5s"),
                (["lead", "--via", self.flock, "--key", "k", "--ttl-max", "20s", "--renew", "2s", "--", "true"],
                 "--renew"),
                (["lead", "--via", self.flock, "--key", "k", "--audit", "/none/such/file", "--", "true"], "--audit"),
                (["lead", "--via", "redis://:secret@h", "--key", "k", "--", "true"], "password_file")):
            with self.subTest(arguments):
                run = self.bellwether(*arguments, environment=self.environment())
                self.assert_refused(run, *words)
                self.assertNotIn("secret", run.err)

    def test_once(self):
        """A term that was lost ends it, and the command with it."""
        candidate = self.leads("--once", "--health-cmd", "test ! -e sick", "--health-every", "1s")
        self.write("sick", "")
        self.assertEqual(candidate.wait(), 75)
        self.assertEqual(self.run_lead("--once", command=["sh", "-c", "exit 4"]).code, 4)


class Names(leading.Test):
    """Under which name a process stands, and whether it does."""

    def test_without_one_a_process_starts_only_if_it_may_make_one_up(self):
        run = self.run_lead("--no-minted-id")
        self.assertEqual(run.code, 104, run)
        self.assertIn("BELLWETHER_INSTANCE_ID", run.err)
        given = {"BELLWETHER_INSTANCE_ID": "given"}
        run = self.run_lead("--no-minted-id", environment=given, command=["sh", "-c", "echo $BELLWETHER_HOLDER"])
        self.assertEqual((run.code, run.out), (0, "given\n"))

    def test_by_the_rules_of_nip_le(self):
        """Also without --ttl: what others of the profile wait for is known."""
        key = ["lead", "--via", self.flock + "?profile=nip-le", "--key", "key"]
        show = ["--", "sh", "-c", "echo $BELLWETHER_HOLDER"]
        run = self.bellwether(*key, *show, environment=self.environment())
        self.assertEqual(run.code, 0, run)
        self.assertRegex(run.out, r"^\d+-\d{19}\n$")
        others = self.leads("--no-minted-id", via=self.flock + "?profile=nip-le", ttl="10s")
        others.wait_for("warning", text="without an election")
        run = self.bellwether(*key, "--no-minted-id", *show, environment=self.environment())
        self.assertEqual(run.code, 0, "each process leads that has no name to stand under")
        self.assertEqual(list((self.folder / "locks").glob("*.lock")) and (
            self.folder / "locks/key.lock").read_text(), "", "nobody has claimed anything")


class Sees(leading.Test):
    """What the command and its neighbours get to know."""

    def test_variables(self):
        show = ["sh", "-c", 'echo "$BELLWETHER_KEY|$BELLWETHER_HOLDER|$BELLWETHER_EPOCH"']
        self.assertEqual(self.run_lead("--id", "me here", command=show).out, "key|me here|1\n")
        run = self.run_lead(command=show)
        self.assertRegex(run.out, r"^key\|[^|]+:\d+\|2\n$")

    def test_keys_with_any_bytes(self):
        show = ["sh", "-c", 'printf %s "$BELLWETHER_KEY" >seen']
        for key in (b"a/b c", b"../../etc/passwd", b"\xff\xfe\x01\n", "ключ".encode(), b"x" * 600):
            with self.subTest(key=key):
                run = self.run_lead("-n", key=os.fsdecode(key), command=show)
                self.assertEqual(run.code, 0, run)
                self.assertEqual((self.folder / "seen").read_bytes(), key)
                self.assertTrue(all(c >= " " or c == "\n" for c in run.err), repr(run.err))
        run = self.bellwether("lead", "--via", self.flock, "--key=-k", "--", *show, environment=self.environment())
        self.assertEqual((run.code, (self.folder / "seen").read_bytes()), (0, b"-k"), run)
        self.assertFalse((self.folder / "etc").exists())

    def test_the_next_one_begins_when_the_first_has_ended(self):
        first = self.leads(command=["sh", "-c", "sleep 0.3; echo first"])
        second = self.lead(command=["sh", "-c", "echo second"])
        self.assertEqual((first.wait(), second.wait()), (0, 0))
        self.assertEqual((first.out, second.out), ("first\n", "second\n"))
        self.assertEqual([c.elected()["epoch"] for c in (first, second)], [1, 2])

    def test_observers_see_each_change_and_do_not_stand(self):
        observer = self.lead("--observe", command=None)
        observer.wait_for("leader", text="nobody")
        first = self.leads("--id", "first", command=["cat"], stdin=subprocess.PIPE)
        observer.wait_for("leader", text="first, epoch 1")
        first.process.stdin.close()
        self.assertEqual(first.wait(), 0)
        observer.wait_for("leader", text="nobody", after=observer.wait_for("leader", text="first")["at"])
        self.assertEqual(self.run_lead(command=["true"]).code, 0)
        observer.signal(signal.SIGTERM)
        self.assertEqual(observer.wait(), 128 + 15)
        self.assertEqual(observer.broken, [])

    def test_messages_and_the_audit_log_are_json_with_the_times_of_the_lease(self):
        key = "q\"\\\udcff"
        candidate = self.leads("--audit", "audit", "--on-elected", "exit 1", key=key, ttl="9s",
                               command=["sleep", "6"])
        self.assertEqual(candidate.wait(), 0)
        self.assertEqual(candidate.broken, [])
        elected = candidate.elected()
        self.assertEqual(elected["epoch"], 1)
        self.assertLess(elected["term_ends_boot_ns"], elected["lease_ends_boot_ns"])
        self.assertLess(elected["lease_ends_boot_ns"] - elected["at"], 9 * 10**9)
        ends = [one["lease_ends_boot_ns"] for one in candidate.all("renewed")]
        self.assertEqual(ends, sorted(ends))
        self.assertGreater(len(ends), 0)
        audit = [json.loads(line) for line in (self.folder / "audit").read_text().splitlines()]
        self.assertEqual([line["event"] for line in audit], ["elected", "resigned"])
        self.assertTrue(all(line["time"].endswith("Z") for line in audit))
        self.run_lead("--audit", "audit", key=key)
        self.assertEqual(len((self.folder / "audit").read_text().splitlines()), 4)

    def test_quiet_is_silent_and_plain_text_is_for_people(self):
        self.assertEqual(self.run_lead("-q").err, "")
        run = self.run_lead(ttl="5s")
        self.assertIn("leading 'key', epoch 2", run.err)
        self.assertNotIn("{", run.err)


class Hooks(leading.Test):
    def test_they_run_in_the_order_of_what_happened_and_never_at_once(self):
        hook = ('echo "begin {0} $BELLWETHER_EPOCH $BELLWETHER_LEADER$BELLWETHER_REASON" >>hooks; sleep 0.05; '
                'echo end >>hooks')
        run = self.run_lead("--id", "me", "--on-elected", hook.format("elected"), "--on-deposed",
                            hook.format("deposed"), "--on-leader-changed", hook.format("changed"))
        self.assertEqual(run.code, 0, run)
        lines = (self.folder / "hooks").read_text().splitlines()
        self.assertEqual(lines[1::2], ["end"] * (len(lines) // 2))
        self.assertEqual(lines[::2], ["begin changed 0 ", "begin changed 1 me", "begin elected 1 ",
                                      "begin deposed 1 resigned", "begin changed 1 "])

    def test_slow_and_failing_ones_delay_no_renewal(self):
        candidate = self.leads("--on-elected", "exit 3", "--on-leader-changed", "sleep 1000", ttl="8s")
        begun = candidate.elected()["lease_ends_boot_ns"]
        candidate.wait_until(lambda: any(one["lease_ends_boot_ns"] > begun + 8_500_000_000
                                         for one in candidate.all("renewed")), "renewals for more than a lease")
        self.assertEqual(candidate.all("deposed"), [])

    def test_a_failing_one_is_told(self):
        run = self.run_lead("--on-elected", "exit 3")
        self.assertIn("hook 'exit 3' failed: exit code 3", run.err)


class Signals(leading.Test):
    TELL = ["sh", "-c", "trap 'echo got; exit 5' {0}; echo ready; while :; do sleep 0.01; done"]

    def test_they_reach_the_command_whose_exit_code_counts(self):
        for number, name in ((signal.SIGINT, "INT"), (signal.SIGTERM, "TERM"), (signal.SIGHUP, "HUP"),
                             (signal.SIGQUIT, "QUIT"), (signal.SIGUSR1, "USR1"), (signal.SIGUSR2, "USR2")):
            with self.subTest(name):
                candidate = self.lead(command=[*self.TELL[:2], self.TELL[2].format(name)], key=name)
                candidate.says("ready")
                candidate.signal(number)
                self.assertEqual(candidate.wait(), 5)
                self.assertIn("got", candidate.out)

    def test_one_in_the_first_moment_of_a_command_reaches_it(self):
        # Sent by the command itself as its first act, while the leader does not know yet that it runs.
        command = ["sh", "-c", "trap 'exit 5' USR1; read a b c leader rest </proc/$PPID/stat; kill -USR1 $leader; "
                   "while :; do sleep 0.01; done"]
        for number in range(8):
            self.assertEqual(self.lead(command=command, key=f"k{number}").wait(), 5)

    def test_one_that_is_not_handled_ends_it_as_a_shell_would_say(self):
        candidate = self.leads("--audit", "audit")
        candidate.signal(signal.SIGTERM)
        self.assertEqual(candidate.wait(), 128 + 15)
        waiting = [self.leads(), self.lead()]
        waiting[1].wait_for("note", text="leader of")
        waiting[1].signal(signal.SIGINT)
        self.assertEqual(waiting[1].wait(), 128 + 2)
        self.assertTrue(waiting[0].runs())

    def test_the_key_is_kept_and_renewed_while_a_command_winds_up(self):
        slow = "trap 'sleep 10; echo done | tee order; exit 6' TERM; echo ready; while :; do sleep 0.01; done"
        first = self.lead(command=["sh", "-c", slow], ttl="9s")
        first.says("ready")
        second = self.lead(command=["sh", "-c", "echo next >>order"], ttl="9s")
        first.signal(signal.SIGTERM)
        self.assertEqual((first.wait(), first.out), (6, "ready\ndone\n"))
        self.assertEqual(second.wait(), 0)
        first.wait_for("resigned")
        self.assertEqual((self.folder / "order").read_text(), "done\nnext\n")

    def test_the_second_one_kills(self):
        deaf = "trap '' INT TERM; echo ready; while :; do sleep 0.01; done"
        candidate = self.lead(command=["sh", "-c", deaf])
        candidate.says("ready")
        candidate.signal(signal.SIGINT)
        candidate.wait_for("note", text="signal 2")
        candidate.signal(signal.SIGINT)
        self.assertEqual(candidate.wait(), 128 + 9)

    def test_drain_kills_what_takes_too_long(self):
        deaf = "trap '' TERM; echo ready; while :; do sleep 0.01; done"
        candidate = self.lead("--drain", "100ms", command=["sh", "-c", deaf])
        candidate.says("ready")
        candidate.signal(signal.SIGTERM)
        self.assertEqual(candidate.wait(), 128 + 9)

    def test_another_stop_signal(self):
        tell = "trap 'echo usr1; exit 0' USR1; echo ready; while :; do sleep 0.01; done"
        candidate = self.lead("--stop-signal", "10", "--once", "--health-cmd", "test ! -e sick", "--health-every",
                              "1s", command=["sh", "-c", tell])
        candidate.says("ready")
        self.write("sick", "")
        self.assertEqual(candidate.wait(), 75)
        self.assertIn("usr1", candidate.out)


class LeftBehind(leading.Test):
    """What a command starts in the background ends with it."""

    def children(self, candidate, count):
        candidate.wait_until(lambda: len(candidate.out.split()) == count, "process ids")
        pids = numbers(candidate.out)
        self.assertTrue(all(lives(pid) for pid in pids))
        return pids

    def test_when_the_command_ends(self):
        run = self.run_lead(command=["sh", "-c", "sleep 1000 & echo $!; exit 3"])
        self.assertEqual(run.code, 3)
        self.assertEqual([pid for pid in numbers(run.out) if lives(pid)], [])

    def test_also_in_a_session_of_its_own(self):
        script = "setsid sleep 1000 & setsid sh -c 'setsid sleep 1000 & echo $$; exec sleep 1000' & echo $!; sleep 1000"
        candidate = self.lead(command=["sh", "-c", script])
        pids = self.children(candidate, 2)
        candidate.signal(signal.SIGTERM)
        self.assertEqual(candidate.wait(), 128 + 15)
        self.assertEqual([pid for pid in pids if lives(pid)], [])

    def test_one_that_is_deaf_is_killed_before_anybody_else_leads(self):
        deaf = "trap '' TERM HUP; echo $$; while :; do sleep 0.01; done"
        candidate = self.lead(command=["sh", "-c", f"setsid sh -c \"{deaf}\" & sleep 1000"])
        [pid] = self.children(candidate, 1)
        candidate.signal(signal.SIGTERM)
        follower = self.lead(command=["sh", "-c", f"! kill -0 {pid}"])
        candidate.wait()
        self.assertFalse(lives(pid))
        self.assertEqual(follower.wait(), 0)

    def test_when_the_guardian_is_killed(self):
        candidate = self.lead(command=["sh", "-c", "setsid sleep 1000 & echo $!; sleep 1000 & echo $!; sleep 1000"])
        pids = [*self.children(candidate, 2), candidate.command]
        os.kill(candidate.guardian, signal.SIGKILL)
        until("the end of the command", lambda: not any(lives(pid) for pid in pids))

    def test_when_the_guardian_is_killed_before_it_can_say_that_it_has_started_anything(self):
        for _ in range(5):
            candidate = self.lead(command=["sh", "-c", "kill -9 $PPID; setsid sleep 1000 & echo $!; exec sleep 1000"])
            candidate.wait()
            self.assertEqual([pid for pid in numbers(candidate.out) if lives(pid)], [])

    def test_when_the_leader_is_killed(self):
        candidate = self.lead(command=["sh", "-c", "setsid sleep 1000 & echo $!; sleep 1000 & echo $!; sleep 1000"])
        pids = [*self.children(candidate, 2), candidate.command]
        candidate.signal(signal.SIGKILL)
        until("the end of the command", lambda: not any(lives(pid) for pid in pids))


class Starts(leading.Test):
    def slow_start(self):
        """A leader whose guardian was stopped before it had started the command; None: it had."""
        candidate = self.lead("--once", ttl="2s", command=["sh", "-c", "echo done"])
        guardian = None
        while guardian is None and candidate.runs():
            guardian = candidate.find_guardian()
        if guardian is None:  # it has ended before it was seen
            candidate.wait()
            return None
        os.kill(guardian, signal.SIGSTOP)
        if not leading.children(guardian) and "done" not in candidate.out:
            return candidate, guardian
        os.kill(guardian, signal.SIGCONT)
        candidate.wait()
        return None

    def test_a_start_that_takes_longer_than_a_lease_is_none_that_is_killed(self):
        candidate, guardian = until("a guardian that has not begun", self.slow_start)
        first = candidate.elected()["lease_ends_boot_ns"]
        until("the end of the first lease", lambda: leading.boot_ns() > first)
        os.kill(guardian, signal.SIGCONT)
        self.assertEqual(candidate.wait(), 0, candidate)
        self.assertIn("done", candidate.out)


class Health(leading.Test):
    """A leader that lives but does not work gives the key up, and another one takes it."""

    def given_up(self, first, *words):
        second = self.lead(command=["sh", "-c", "echo mine; sleep 1000"])
        said = first.wait_for("deposed")
        for word in ("unhealthy", *words):
            self.assertIn(word, said["text"])
        second.says("mine")
        return second

    def test_a_health_command_that_fails(self):
        first = self.leads("--health-cmd", "test ! -e sick", "--health-every", "1s")
        self.write("sick", "")
        self.given_up(first, "exit code 1")

    def test_a_health_command_that_hangs(self):
        first = self.leads("--health-cmd", "test ! -e sick || sleep 1000", "--health-every", "1s")
        self.write("sick", "")
        self.given_up(first)

    def test_a_sick_candidate_does_not_stand(self):
        self.write("sick", "")
        run = self.run_lead("--health-cmd", "test ! -e sick", "--health-every", "1s", "-w", "4s")
        self.assertEqual(run.code, 1, run)
        self.assertEqual(self.run_lead().code, 0)

    def test_work_that_stops_to_report(self):
        script = ('i=0; while [ $i -lt 20 ]; do i=$((i + 1)); eval "echo x >&$BELLWETHER_PROGRESS_FD"; sleep 0.05; '
                  'done; echo silent; sleep 1000')
        first = self.lead("--progress-within", "8s", command=["bash", "-c", script])
        first.says("silent")
        self.assertEqual(first.all("deposed"), [])
        self.given_up(first, "work")

    def test_a_disk_that_is_gone(self):
        disk = self.folder / "disk"
        disk.mkdir()
        first = self.leads("--disk-probe", disk)
        until("no probe is left behind", lambda: not list(disk.iterdir()))
        disk.rename(self.folder / "elsewhere")
        self.given_up(first, "disk")


class Follows(leading.Test):
    def test_the_lease_grows_while_the_store_is_slow(self):
        server = self.enterContext(Redis(self.folder / "redis"))
        # A machine that stands still for longer than the lease loses it, whatever the store does.
        for turn in range(5):
            with Cut(server) as way:
                leader = self.leads("--ttl-min", "1s", "--ttl-max", "8s", "--trust-empty",
                                    via=f"redis://127.0.0.1:{way.port}", ttl="2s")
                way.black()
                leader.wait_for("note", text="the lease adapts to the store: 4s")
                way.open()
                leader.wait_for("renewed", after=leading.boot_ns())
            if not leader.all("deposed"):
                break
            leading.end(leader)
        self.assertEqual(leader.all("deposed"), [], turn)
        run = self.bellwether("lease", "show", "--via", f"redis://127.0.0.1:{server.port}", "--key", "key", "--json")
        self.assertEqual(json.loads(run.out)["lease_ms"], 4000)


if __name__ == "__main__":
    product.main()
