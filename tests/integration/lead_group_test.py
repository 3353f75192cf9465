#!/usr/bin/env python3
"""`bellwether lead --via vote:FILE` and `quorum:FILE`: what is special where candidates elect one of them.

What they have in common with stores is in lead_conformance_test.py, what happens to them on broken networks in
tests/cluster/lead_test.py.
"""

import json
import signal
import urllib.error
import urllib.request

from lib import leading, product
from lib.daemon import free_port, lives, until
from lib.groups import CLUSTER, Group
from lib.product import PATIENCE

LAN = {"profile": "lan", "security": {"election_config": {"discovery_timeout": "0s"}}}  # with the times of the profile


def page(port, path):
    """(status, body) of a page of metrics."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, ""


def sample(port, metric):
    """The value of a metric of the group; 0 while there is none."""
    name = f'{metric}{{key="{CLUSTER}"}} '
    values = [line.removeprefix(name) for line in page(port, "/metrics")[1].splitlines() if line.startswith(name)]
    return float(values[0]) if values else 0


class InGroup(leading.Test):
    scheme = None

    def group(self, *names, **settings):
        self.here = Group(self.folder / "group", self.scheme, names or ("a", "b", "c"), **settings)
        return self.here

    def member(self, name, *options, command=(*leading.RECORDER, "acts")):
        words = [product.binary, "lead", "--via", self.here.url(name), *self.here.first_start(name), "--json", "-v",
                 *options, *(["--", *command] if command else [])]
        one = self.launch(words)
        one.name = name
        return one

    def members(self, *options, **more):
        return [self.member(name, *options, **more) for name in self.here.voters]

    def leader(self, members, above=0):
        """Who has been elected last, once its command runs; and its epoch."""
        def found():
            won = [(one.all("elected")[-1]["epoch"], one) for one in members if one.runs() and one.all("elected")]
            epoch, one = max(won, key=lambda each: each[0], default=(0, None))
            return (one, epoch) if epoch > above else None
        try:
            one, epoch = until(f"a leader under an epoch above {above}", found, PATIENCE)
        except AssertionError as error:
            said = "\n".join(f"== {one.name}: {one}"[-3000:] for one in members)
            raise AssertionError(f"{error}\n{said}") from None
        until("its command", lambda: one.command)
        return one, epoch

    def refused(self, arguments, *words):
        self.assert_refused(self.bellwether(*arguments, environment=self.environment()), *words)


class Behaviours:
    def test_wrong_files_and_command_lines_say_what_to_do(self):
        group = self.group()
        good = group.url("a")
        true = ["--", "true"]

        def lead(*options, via=good):
            return ["lead", "--via", via, *options, *true]
        other = "quorum" if self.scheme == "vote" else "vote"
        self.refused(lead(via=f"{self.scheme}:"), "names no file", "the settings of a node")
        self.refused(lead(via=f"{self.scheme}:{self.folder}/none.yaml"), "none.yaml", "cannot be read")
        self.refused(lead(via=f"{other}:{group.file('a')}"), f"'leadership' is '{self.scheme}'", f"{other} there",
                     f"--via {self.scheme}:")
        self.refused(lead("--key", "another"), "'another'", f"--key {CLUSTER}", "second group")
        self.refused(lead("--id", "me"), "'me'", "leave --id out")
        for option in (["--ttl", "3s"], ["--renew", "1s"], ["--retry", "1s"], ["--region", "x"], ["--trust-empty"],
                       ["--ttl-max", "9s"], ["--no-minted-id"], ["--close"]):
            self.refused(lead(*option), option[0], "is for stores", "'profile'")
        self.refused(["lead", "--via", good], "-- COMMAND")
        self.refused(["lead", "--via", self.flock, "--key", "k", "--first-start", *true], "--first-start", "quorum:")
        group.write("a", without=["voters"])
        self.refused(lead(), "'voters' is missing", "name all nodes that vote")
        group.write("a", voters=["b", "c"])
        self.refused(lead(), "does not name 'a'", "--observe")
        group.write("a", role="worker", voters=["b", "c"])
        self.refused(lead(), "the role is 'worker'")
        group.write("a", secret={"file": str(self.folder / "none")})
        run = self.bellwether(*lead(), environment=self.environment())
        self.assertEqual(run.code, 104, run)
        self.assertIn("none", run.err)

    def test_commands_that_look_into_stores_say_whom_to_ask(self):
        url = self.group().url("a")
        for verb in (["list"], ["show", "k"], ["transfer", "k", "--to", "b"], ["steal", "k", "--yes"], ["watch"]):
            self.refused(["lease", *verb, "--via", url], "elects its leader itself",
                         f"cluster leader|votes|transfer --cluster {self.here.file('a')}")

    def test_how_long_nobody_leads_is_known_beforehand(self):
        group = self.group(**LAN)
        run = self.bellwether("budget", "--via", group.url("a"), "--json", environment=self.environment())
        self.assertEqual(run.code, 0, run)
        found = json.loads(run.out)
        self.assertEqual((found["decided_by"], found["voters"]), (self.scheme, 3))
        self.assertAlmostEqual(found["election"]["crash"]["worst"]["seconds"],
                               {"vote": 1.234, "quorum": 0.591}[self.scheme], places=3)
        group.write("a", profile="wan")
        slow = json.loads(self.bellwether("budget", "--of-cluster", "--config", group.file("a"), "--json").out)
        self.assertGreater(slow["election"]["crash"]["worst"]["seconds"], 3)
        other = "quorum" if self.scheme == "vote" else "vote"
        self.refused(["budget", "--via", f"{other}:{group.file('a')}"], f"'leadership' is '{self.scheme}' there")
        self.refused(["budget", "--via", group.url("a"), "--ttl", "5s"], "--ttl is of stores")
        self.refused(["budget", "sheet.yaml", "--via", group.url("a")], "leave out the sheet")

    def test_who_has_no_record_and_is_not_new_follows_only(self):
        self.group()
        members = [self.member(name) for name in ("a", "b")]
        leader, epoch = self.leader(members)
        (self.here.folder / "c.data").mkdir()
        late = self.member("c")
        late.wait_for("warning", text="--first-start", seconds=PATIENCE)
        late.wait_for("note", text=f"{leader.name}, epoch {epoch}", seconds=PATIENCE)

    def test_without_a_majority_nobody_leads_and_who_does_not_wait_says_so(self):
        self.group(**LAN)
        alone = self.member("a", "-n", "-E", "7")
        self.assertEqual(alone.wait(PATIENCE), 7)
        self.assertIn("no leader was elected within", str(alone))
        self.assertEqual(alone.all("elected"), [])

    def test_a_leader_that_loses_its_majority_has_stopped_before_another_could_lead(self):
        self.group()
        members = self.members()
        leader, epoch = self.leader(members)
        command = leader.command
        until("its work", lambda: leading.acts(self.folder / "acts"))
        for one in members:
            if one is not leader:
                one.signal(signal.SIGKILL)
        leader.wait_for("deposed", text="expired", seconds=PATIENCE)
        until("the end of its work", lambda: not lives(command))
        promised = [said["lease_ends_boot_ns"] for said in (*leader.all("elected"), *leader.all("renewed"))]
        history = leading.acts(self.folder / "acts")
        self.assertEqual({one for one, _ in history}, {epoch})
        self.assertLess(max(at for _, at in history), max(promised))
        self.assertTrue(leader.runs(), "it waits for others to come back")

    def test_the_term_goes_on_while_the_command_winds_up(self):
        self.group()
        slow = ("trap 'sleep 2; echo done $BELLWETHER_EPOCH >>ends; exit 0' TERM; "
                "echo begin $BELLWETHER_EPOCH >>ends; while :; do sleep 0.02; done")
        members = self.members(command=["sh", "-c", slow])
        leader, epoch = self.leader(members)
        until("its command is ready", (self.folder / "ends").exists)
        heir = next(one for one in members if one is not leader)
        until("it hands over", lambda: self.here.operator(leader.name, "transfer", "--to", heir.name)[0] == 0)
        successor, later = self.leader(members, epoch)
        self.assertIs(successor, heir)
        until("its command began", lambda: (self.folder / "ends").read_text().count("begin") == 2)
        self.assertEqual((self.folder / "ends").read_text().splitlines(),
                         [f"begin {epoch}", f"done {epoch}", f"begin {later}"])
        self.assertIn("resigned", [said["event"] for said in leader.events])

    def test_an_operator_lets_one_leave(self):
        self.group()
        members = self.members("--drain", "100ms")
        leader, epoch = self.leader(members)
        code, _ = self.here.operator(leader.name, "leave", "--node", f"127.0.0.1:{self.here.ports[leader.name]}")
        self.assertEqual(code, 0)
        self.assertEqual(leader.wait(PATIENCE), 0)
        self.leader([one for one in members if one is not leader], epoch)
        self.assertEqual(leading.overlaps(leading.acts(self.folder / "acts")), [])

    def test_work_that_shows_no_progress_goes_to_another_process(self):
        self.group()
        # Moves for a moment and then hangs, deaf, the first time anywhere; later it moves for ever.
        work = ("trap '' TERM; if mkdir first 2>/dev/null; then n=3; else n=1000000; fi; "
                "while [ $n -gt 0 ]; do n=$((n-1)); echo . >&$BELLWETHER_PROGRESS_FD; sleep 0.1; done; sleep 1000")
        members = self.members("--progress-within", "8s", command=["sh", "-c", work])
        leader, epoch = self.leader(members)
        leader.wait_for("deposed", text="no sign of life", seconds=PATIENCE)
        successor, _ = self.leader(members, epoch)
        self.assertIsNot(successor, leader, "who gave up lets others go first")

    def test_a_process_that_gave_up_stands_again(self):
        self.group("a")
        work = ("if mkdir first 2>/dev/null; then sleep 1000; fi; "
                "while :; do echo . >&$BELLWETHER_PROGRESS_FD; sleep 0.1; done")
        alone = self.member("a", "--progress-within", "8s", command=["sh", "-c", work])
        _, epoch = self.leader([alone])
        alone.wait_for("deposed", seconds=PATIENCE)
        self.leader([alone], epoch)

    def test_a_leader_that_leaves_waits_for_its_work(self):
        self.group()
        slow = "trap 'sleep 8; echo done; exit 5' TERM; echo ready; while :; do sleep 0.02; done"
        members = self.members(command=["sh", "-c", slow])
        leader, epoch = self.leader(members)
        leader.says("ready")
        leader.signal(signal.SIGTERM)
        self.assertEqual(leader.wait(PATIENCE), 5)
        self.assertIn("done", leader.out)
        _, later = self.leader(members, epoch)
        self.assertGreater(later, epoch)
        self.assertIn("resigned", [said["event"] for said in leader.events])

    def test_it_takes_no_jobs(self):
        self.group("a")
        alone = self.member("a")
        self.leader([alone])
        scenario = self.write("scenario.yaml", "workflows: {w: {vus: 1, duration: 1s, steps: {s: {http: "
                                               "{get: 'http://127.0.0.1:1/'}}}}}\n")
        run = self.bellwether("job", "submit", scenario, "--cluster", self.here.file("a"),
                              environment=self.environment())
        self.assertNotEqual(run.code, 0, run)
        self.assertNotIn("replicas", str(alone))

    def test_a_voter_that_only_looks_on_gives_others_its_vote(self):
        self.group()
        port = free_port()
        witness = self.member("a", "--observe", "--metrics", f"127.0.0.1:{port}", command=None)
        leader, epoch = self.leader([self.member("b"), witness])
        self.assertEqual(leader.name, "b")
        witness.wait_for("leader", text=f"b, epoch {epoch}", seconds=PATIENCE)
        leader.signal(signal.SIGKILL)
        leader.wait()
        witness.wait_for("leader", text="nobody", after=witness.wait_for("leader", text="b, epoch")["at"],
                         seconds=PATIENCE)
        self.assertEqual(self.leader([self.member("c"), witness], epoch)[0].name, "c")
        self.assertEqual(witness.all("elected"), [])
        until("it has seen how long nobody led", lambda: sample(port, "bellwether_failover_seconds") > 0)

    def test_figures_are_served(self):
        self.group("a")
        port = free_port()
        self.leader([self.member("a", "--metrics", f"127.0.0.1:{port}")])
        self.assertEqual(page(port, "/leader")[0], 200)
        until("renewals are counted", lambda: sample(port, "bellwether_lease_renewals_total") > 2)
        self.assertEqual(sample(port, "bellwether_leader"), 1)

    def test_a_group_of_one_leads_by_itself_and_its_epochs_outlive_it(self):
        self.group("a")
        show = ["sh", "-c", "echo $BELLWETHER_HOLDER $BELLWETHER_EPOCH"]
        epochs = []
        for _ in range(3):
            one = self.member("a", command=show)
            self.assertEqual(one.wait(PATIENCE), 0, one)
            holder, epoch = one.out.split()
            self.assertEqual(holder, "a")
            epochs.append(int(epoch))
        self.assertEqual(epochs, sorted(set(epochs)))


class Vote(InGroup, Behaviours):
    scheme = "vote"

    def test_settings_of_other_work_of_a_leader_are_refused(self):
        group = self.group()
        group.write("a", context={"serve": True})
        self.refused(["lead", "--via", group.url("a"), "--", "true"], "'context.serve'", "leads its own command")

    def test_a_rule_by_which_two_could_lead_is_refused(self):
        group = self.group()
        keys = {"key": str(group.folder / "a.key"), "keys": str(group.folder / "keys")}
        group.write("a", vote={**keys, "quorum": "plurality"})
        self.refused(["lead", "--via", group.url("a"), "--", "true"], "'plurality'", "two may lead at once")

    def test_the_examples_are_good(self):
        for scheme in ("vote", "quorum"):
            file = product.ROOT / f"examples/leadership/{scheme}.yaml"
            run = self.bellwether("config", "show", "--config", file, "--json")
            self.assertEqual(run.code, 0, run)
            self.assertIn(f"--via {scheme}:", file.read_text())

    def test_keys_that_do_not_fit_are_said_with_the_remedy(self):
        group = self.group()
        group.write("a", vote={"key": str(group.folder / "b.key"), "keys": str(group.folder / "keys")})
        one = self.member("a")
        self.assertEqual(one.wait(PATIENCE), 104)
        self.assertIn("no voter would believe this node", str(one))

    def test_the_score_decides_who_leads(self):
        group = self.group()
        for name in group.voters:
            more = ["project_manager", "semantic_analysis"] if name == "b" else []
            group.write(name, agent={"capabilities": ["admin_election", *more]})
        members = self.members()

        def best():
            """The first election may have been held before the best was there."""
            leader, epoch = self.leader(members)
            if leader.name != "b" and group.operator(leader.name, "elect", "--force")[0] == 0:
                self.leader(members, epoch)
            return self.leader(members)[0].name == "b"
        until("the best leads", best)
        code, votes = group.operator("a", "votes")
        self.assertEqual((code, votes["winner"]), (0, "b"))


class Quorum(InGroup, Behaviours):
    scheme = "quorum"


if __name__ == "__main__":
    product.main()
