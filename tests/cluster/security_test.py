#!/usr/bin/env python3
"""Who may talk to a cluster: certificates, and secrets that change while the cluster works."""

import threading

from lib import nodes
from lib.certified import Authority, Certified
from lib.world import until


class Certificates(Certified, nodes.Test):
    def test_nodes_prove_their_roles_and_a_leader_that_is_killed_is_replaced(self):
        cluster = self.secured(3, workers=1).start()
        leader, _ = cluster.settled()
        for name in cluster.names:
            until(f"proven roles at {name}", lambda name=name: cluster.connections(name, "roles") == {"proven"})
            self.assertEqual([note for note in cluster.said(name) if "without certificates" in note["text"]], [])
        cluster.running[leader].kill()
        cluster.agreed([name for name in cluster.voters if name != leader], other_than=leader)

    def test_certificates_that_do_not_fit_are_refused_and_both_ends_say_why(self):
        cluster = self.secured(1, workers=5).start("a")
        leader = cluster.agreed(["a"])
        other = Authority(cluster.folder, "stranger")
        unfit = {"w1": (self.certified(cluster, "w1", "of-a-stranger", authority=other),
                        "unable to get local issuer certificate", "tlsv1 alert unknown ca"),
                 "w2": (self.certified(cluster, "w2", "of-a-manager", claim=self.claim("manager", "w2")),
                        "the certificate does not permit its node to be a worker of flock/default/default",
                        "the certificate does not permit its node to be a worker of flock/default/default"),
                 "w3": (self.certified(cluster, "w3", "of-yesterday", days=-1),
                        "certificate has expired", "certificate expired"),
                 "w4": (self.certified(cluster, "w4", "of-a-herd", claim=self.claim("worker", "w4", "herd")),
                        "the certificate does not permit its node to be a worker of flock/default/default",
                        "the certificate does not permit its node to be a worker of flock/default/default"),
                 "w5": ({}, "", "a missing certificate (tls.certificate)")}
        # One after the other: a node tells of one refusal in a second, whoever it refused.
        for number, (name, (tls, here, there)) in enumerate(unfit.items(), 1):
            with self.subTest(name):
                cluster.start(name, tls=tls, join_limit="15s")
                self.assertEqual(cluster.running[name].wait(), 1)
                self.assertIn(there, cluster.running[name].tail())
                self.assertGreaterEqual(cluster.metric("a", 'bellwether_refused_total{reason="certificate"}'), number)
                if tls:
                    cluster.says("a", here)
        self.assertEqual((cluster.members("a"), cluster.agreed(["a"])), ({"a": "alive"}, leader))

    def test_a_node_with_the_certificate_of_another_one_is_refused_under_either_name(self):
        cluster = self.secured(3, workers=1).start("a", "b", "w1")
        leader = cluster.agreed(["a", "b"])
        stolen = self.certified(cluster, "c", "of-b", claim=self.claim("manager", "b"))
        reason = "the certificate belongs to 'b', but the node's name is 'c'"
        cluster.start("c", tls=stolen)
        cluster.says("a", reason)
        cluster.says("b", reason)
        for name in ("a", "b"):
            until(f"counted at {name}", lambda name=name: (cluster.metric(
                name, 'bellwether_refused_total{reason="name"}') or 0) > 0)
        self.assertEqual(cluster.members("a"), {"a": "alive", "b": "alive", "w1": "alive"})
        self.assertEqual(cluster.agreed(["a", "b"]), leader)
        cluster.running["c"].kill()
        cluster.start("c", tls=self.certified(cluster, "c"))
        self.assertEqual(cluster.agreed(), leader)

    def test_operators_need_a_certificate_of_their_own_role(self):
        cluster = self.secured(1).start()
        cluster.agreed()
        fitting = cluster.operators
        for tls, reason in ((None, "the certificate does not permit its node to be an operator"),
                            ({}, "tls.certificate")):
            with self.subTest(tls):
                cluster.operators = tls
                code, text = cluster.operator("a", "members")
                self.assertEqual(code, 1, text)
                self.assertIn(reason, text)
        cluster.operators = fitting
        self.assertEqual(cluster.operator("a", "members")[0], 0)


class Load:
    """Operators who ask one node after the other, with the old secret, and where that opens nothing any more with the
    new one. One of the two must do at any moment."""

    def __init__(self, cluster, secrets, askers=2):
        self.cluster = cluster
        self.settings = {name: [cluster.operator_settings(name, f"{one.name}-at-{name}.yaml", secret={"file": str(one)})
                                for one in secrets] for name in cluster.names}
        self.failures = []
        self.answers = 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=[i], daemon=True) for i in range(askers)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        until("answers before the change", lambda: self.answers >= 10)
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def run(self, turn):
        names = self.cluster.names
        while not self.over.is_set():
            turn += 1
            name = names[turn % len(names)]
            told = []
            for settings in self.settings[name]:
                code, text = self.cluster.operator(name, "members", "--node", f"{self.cluster.world[name].ipv4}:9000",
                                                   settings=settings)
                told.append(text)
                if code == 0:
                    self.answers += 1
                    break
            else:
                self.failures.append(told)


class Secrets(nodes.Test):
    def test_a_secret_is_replaced_while_the_cluster_works(self):
        cluster = self.cluster(3, workers=2).start()
        leader = cluster.settled()
        self.assertEqual(cluster.running["w2"].stop(), 0)
        old = cluster.folder / "secret"
        new = cluster.write_secret("new", "the next secret of the tests, 4Kp")
        running = [name for name in cluster.names if name != "w2"]
        cluster.names.remove("w2")
        [old_id] = cluster.ask("a", "keys", "list")["keys"]
        changes = {name: cluster.changes(name) for name in running}
        with Load(cluster, [old, new]) as load:
            # A node of a busy machine may answer too late; what stopped half way is gone on with.
            until("the change of the secret", lambda: cluster.operator(
                "a", "keys", "rotate", "--secret-file", new, json_too=False)[0] == 0)
            rotated = load.answers
            until("answers after the change", lambda: load.answers >= rotated + 10)
        self.assertEqual(load.failures, [])
        self.assertEqual(cluster.operator("a", "members")[0], 1, "the old secret opens nothing any more")
        for name in running:
            cluster.settings(name, secret={"file": str(new)})
        cluster.all_alive(running)
        for name in running:
            [new_id] = cluster.ask(name, "keys", "list")["keys"]
            self.assertNotEqual(new_id, old_id)
            until(f"new connections of {name}", lambda: cluster.connections(name, "secret") == {new_id})
            self.assertIsNone(cluster.metric(name, 'bellwether_member_changes_total{change="died"}'))
            self.assertEqual(cluster.changes(name), changes[name], "nobody has noticed")
            self.assertEqual(cluster.metric(name, 'bellwether_refused_total{reason="forged"}'), 0)
        self.assertEqual(cluster.agreed(running), leader)

        # One that was away meanwhile has the old secret still. It is told what may be wrong, and is let in afterwards.
        cluster.start("w2", join_limit="15s")
        self.assertEqual(cluster.running["w2"].wait(), 1)
        self.assertIn("probable causes: its secret differs from this node's", cluster.running["w2"].tail())
        cluster.start("w2", secret={"file": str(new)})
        cluster.all_alive([*running, "w2"])
        # And so is one that is started again with the new one in its file.
        cluster.running["w1"].kill()
        cluster.start("w1")
        cluster.all_alive([*running, "w2"])

    def test_a_change_that_stops_half_way_can_be_finished(self):
        cluster = self.cluster(3).start()
        leader = cluster.settled()
        new = cluster.write_secret("new", "the next secret of the tests, 4Kp")
        away = next(name for name in cluster.names if name != leader[0])
        asker = next(name for name in cluster.names if name not in (leader[0], away))
        cluster.running[away].pause()
        code, text = cluster.operator(asker, "keys", "rotate", "--secret-file", new, "--timeout", "15s",
                                      json_too=False)
        self.assertEqual(code, 1, text)
        self.assertIn(f"'{away}'", text)
        cluster.running[away].resume()
        cluster.all_alive()
        until("a change of the secret", lambda: cluster.operator(asker, "keys", "rotate", "--secret-file", new,
                                                                 json_too=False)[0] == 0)
        for name in cluster.names:
            cluster.settings(name, secret={"file": str(new)})
        cluster.all_alive()
        self.assertEqual({name: len(cluster.ask(name, "keys", "list")["keys"]) for name in cluster.names},
                         dict.fromkeys(cluster.names, 1))
        # Whoever says it once more, and has the old secret still, changes nothing.
        cluster.settings(asker)
        code, text = cluster.operator(asker, "keys", "rotate", "--secret-file", new, json_too=False)
        self.assertEqual(code, 0, text)
        cluster.settings(asker, secret={"file": str(new)})
        self.assertEqual({name: len(cluster.ask(name, "keys", "list")["keys"]) for name in cluster.names},
                         dict.fromkeys(cluster.names, 1))


if __name__ == "__main__":
    nodes.main()
