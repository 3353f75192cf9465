"""Nodes of `bellwether node` in a world, as tests run them: their settings, what they say, and what operators see."""

import json
import re
import string
import sys
import unittest

from integration.lib.patience import ANSWERED, patient

from . import enclosure
from .world import PATIENCE, World, until

SECRET = "a shared secret for the tests, 7Qx"


class Cluster:
    """Nodes of one cluster, named as the nodes of their world. `voters` vote; the others are workers.

    `builds` names the program of a node that is not the usual one, `environments` has variables for single nodes, and
    `operators` has the `tls` settings of operators; None: those of the node where one asks.
    """

    def __init__(self, binary, router, voters, workers=(), seed=1):
        self.binary = binary
        self.builds = {}
        self.environments = {}
        self.operators = None
        self.voters = list(voters)
        self.names = [*voters, *workers]
        self.world = World(router, self.names, seed)
        self.folder = self.world.folder
        self.running = {}
        self.write_secret("secret", SECRET)
        for name in self.names:
            self.settings(name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.world.__exit__()

    def write_secret(self, name, text):
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text(text + "\n")
        return path

    def settings(self, node, **other):
        """Writes a node's file of settings; `other` replaces some of them."""
        values = {"cluster": "flock", "name": node, "role": "manager" if node in self.voters else "worker",
                  "listen": f"{self.world[node].ipv4}:9000", "http": "127.0.0.1:9001",
                  "seeds": [self.world[one].ipv4 for one in self.voters], "voters": self.voters,
                  "data": str(self.folder / f"{node}.data"), "secret": {"file": str(self.folder / "secret")},
                  **patient(other.get("leadership")), **other}
        path = self.folder / f"{node}.yaml"
        path.write_text(json.dumps(values))  # which is YAML as well
        return path

    def start(self, *names, first=True, **other):
        for node in names or self.names:
            if other:
                self.settings(node, **other)
            first_start = ["--first-start"] if first and node in self.voters else []
            self.running[node] = self.world[node].start(self.builds.get(node, self.binary), "node", "--config",
                                                        f"{node}.yaml", "--json", "-v", *first_start,
                                                        environment=self.environments.get(node))
        return self

    def said(self, name, event=None):
        """What a node has said so far, all its lives together."""
        # The last line may be on its way still.
        lines = (self.folder / f"{name}.log").read_text(errors="replace").rpartition("\n")[0].splitlines()
        all_of_it = [json.loads(line) for line in lines if line.startswith("{")]
        return [one for one in all_of_it if event in (None, one["event"])]

    def says(self, name, text, seconds=PATIENCE):
        until(lambda: f"'{text}' of {name}\n{self.running[name].tail()}",
              lambda: any(text in one["text"] for one in self.said(name)), seconds)

    def operator_settings(self, name, file, **values):
        """A file with the settings of this node, and `values` over them."""
        path = self.folder / file
        path.write_text(json.dumps({**json.loads((self.folder / f"{name}.yaml").read_text()), **values}))
        return path

    def operator(self, name, *words, settings=None, json_too=True):
        """An operator on this node asks it: (exit code, answer)."""
        settings = settings or self.folder / f"{name}.yaml"
        if self.operators is not None:
            settings = self.operator_settings(name, f"operator-at-{name}.yaml", tls=self.operators)
        limit = [] if "--timeout" in words else ANSWERED
        code, text = self.world[name].run(self.binary, "cluster", *words, "--cluster", settings, "--by", "test",
                                          *limit, *(["--json"] if json_too else []))
        return (code, json.loads(text)) if json_too and code == 0 else (code, text)

    def ask(self, name, *words):
        code, answer = self.operator(name, *words)
        return answer if code == 0 else None

    def members(self, name):
        """{name: state} as a node sees it."""
        answer = self.ask(name, "members")
        return {one["name"]: one["state"] for one in answer["members"]} if answer else {}

    def health(self, name):
        """What a node's page says of it; None when it has none. Asking for it takes no program, as an operator does."""
        status, body = self.page(name, "/health", seconds=5)
        return json.loads(body) if status in (200, 503) else None

    def leader(self, name):
        """(name, term) as a node sees it."""
        health = self.health(name)
        answer = health["leader"] if health else self.ask(name, "leader")
        return (answer["name"], answer["term"]) if answer and answer["name"] else None

    def agreed(self, names=None, seconds=PATIENCE, other_than=None):
        """Waits until all of these nodes know of the same leader, who is one of them; gives (name, term)."""
        names = list(names or self.running)

        def one():
            seen = {self.leader(name) for name in names}
            found = seen.pop() if len(seen) == 1 else None
            return found if found and found[0] in names and found[0] != other_than else None
        return until(lambda: "one leader, known to all\n" + "\n".join(self.running[name].tail(40) for name in names),
                     one, seconds)

    def settled(self):
        """All alive, and a leader that has led for a second; gives (name, term).

        A voter that has just started votes for nobody for as long as it may have promised that before.
        """
        self.all_alive()
        until("a leader that is settled",
              lambda: (self.ask(self.agreed()[0], "leader") or {}).get("since_ms", 0) > 1000)
        return self.agreed()

    def whole(self):
        """All alive, and a leader; gives (name, term)."""
        self.all_alive()
        return self.agreed()

    def all_alive(self, names=None, seconds=PATIENCE):
        names = list(names or self.running)
        want = {name: "alive" for name in names}

        def whole():
            seen = [health["members"] for health in map(self.health, names) if health]
            if any(members.get("alive", 0) < len(names) for members in seen):
                return False
            return all({one: state for one, state in self.members(name).items() if one in want} == want
                       for name in names)
        until(lambda: f"all alive; {names[0]} sees {self.members(names[0])}", whole, seconds)

    def page(self, name, path, seconds=PATIENCE):
        """(status, body) of a node's page; (0, reason) when there is none."""
        return self.world[name].get(9001, path, "127.0.0.1", seconds)

    def metric(self, name, sample):
        for line in self.page(name, "/metrics")[1].splitlines():
            if line.startswith(sample + " "):
                return float(line.rpartition(" ")[2])
        return None

    def samples(self, name, metric):
        """All samples of a metric: [({label: value}, number)]."""
        lines = [line for line in self.page(name, "/metrics")[1].splitlines() if line.startswith(metric + "{")]
        return [(dict(re.findall(r'(\w+)="([^"]*)"', line)), float(line.rpartition(" ")[2])) for line in lines]

    def connections(self, name, label):
        """What the connections of a node have in common with each other, by a label of their metric."""
        return {labels[label] for labels, _ in self.samples(name, "bellwether_connections")}

    def leads_now(self, name):
        """The term in which a node says that it may act now; None when it may not."""
        answer = self.ask(name, "leader")
        return answer["term"] if answer and answer["name"] == name and (answer["valid_for_ms"] or 0) > 0 else None

    def changes(self, name):
        """How often a node has seen the leader change."""
        return self.metric(name, "bellwether_leader_changes_total")


class Test(unittest.TestCase):
    """Tests of clusters. What is promised in any case is looked at in the end of each: no two leaders of one term."""

    kind = Cluster
    binary = router = None
    foreign = None  # a build of protocol 2.0
    clock = None  # the library that steps the wall clock of a process

    def cluster(self, voters, workers=0):
        names = list(string.ascii_lowercase[:voters])
        cluster = self.kind(self.binary, self.router, names, [f"w{i + 1}" for i in range(workers)])
        self.addCleanup(cluster.__exit__)
        self.addCleanup(self.one_leader_a_term, cluster)
        return cluster

    def led(self, voters, workers=0, settled=False):
        """A cluster that runs, and who leads it in which term."""
        cluster = self.cluster(voters, workers).start()
        return cluster, *(cluster.settled() if settled else cluster.whole())

    def let_clocks_be_stepped(self, cluster):
        for name in cluster.names:
            file = cluster.folder / f"{name}.clock"
            file.write_bytes(bytes(8))
            cluster.environments[name] = {"LD_PRELOAD": str(self.clock), "STEPPED_CLOCK": str(file)}

    def one_leader_a_term(self, cluster):
        leaders = {}
        for name in cluster.names:
            if not (cluster.folder / f"{name}.log").exists():
                continue
            for event in cluster.said(name, "elected"):
                self.assertEqual(leaders.setdefault(event["term"], name), name, f"two leaders of term {event['term']}")


def main(*names):
    """Runs the tests of a file, as `FILE BUILT-COMMAND ROUTER [what `names` name] [TEST …]`."""
    enclosure.enter()
    for name in ("binary", "router", *names):
        setattr(Test, name, sys.argv.pop(1))
    unittest.main("__main__", verbosity=2)
