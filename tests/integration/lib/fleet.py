"""A fleet of agents as tests run it: its folder, its queue, its agents, and what their tasks write down."""

import collections
import json

from . import leading, product
from .daemon import until

# Writes what it was given to the end of a file, once when it begins and once when it ends. In between it does WORK.
TASK = """
import os, signal, sys, time
def tell(what):
    words = [what, *(os.environ["BELLWETHER_" + name] for name in ("TASK_NUMBER", "EPOCH", "TASK_ATTEMPT", "TASK"))]
    os.write(out, (" ".join(words) + "\\n").encode())
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
number, epoch = int(os.environ["BELLWETHER_TASK_NUMBER"]), int(os.environ["BELLWETHER_EPOCH"])
payload = os.environ["BELLWETHER_TASK_PAYLOAD"]
tell("begin")
WORK
tell("end")
"""
Line = collections.namedtuple("Line", "what number epoch attempt name")


class Test(leading.Test):
    """Tests of `bellwether agents lead`: a fleet in a folder, and its agents."""

    def setUp(self):
        super().setUp()
        self.fleet = self.folder / "fleet"

    def tasks(self, act, *arguments, code=0, **more):
        run = self.bellwether("agents", "tasks", act, "--dir", self.fleet, *arguments, **more)
        self.assertEqual(run.code, code, run)
        return run

    def queue(self, *arguments):
        return json.loads(self.tasks("list", "--json", *arguments).out)

    def states(self):
        """How many tasks are in which state, those that are done among them."""
        return dict(collections.Counter(task["state"] for task in self.queue("--all")["tasks"]))

    def add(self, count, payload="p"):
        lines = "".join(json.dumps({"name": f"t{i}", "payload": payload}) + "\n" for i in range(1, count + 1))
        self.tasks("add", "--from", self.write("tasks.jsonl", lines))

    def agents(self):
        run = self.bellwether("agents", "list", "--dir", self.fleet, "--json")
        self.assertEqual(run.code, 0, run)
        return {agent["id"]: agent for agent in json.loads(run.out)["agents"]}

    def agent_format(self, name, *options, ttl="8s", work="pass", command=None):
        command = command or ["python3", "-I", "-S", "-c", TASK.replace("WORK", work), self.folder / "log"]
        return list(map(str, [product.binary, "agents", "lead", "--dir", self.fleet, "--id", name, "--ttl", ttl,
                              "--poll", "20ms", "--json", "-v", *options, "--", *command]))

    def agent(self, name, *options, **more):
        """Starts an agent, as its own process."""
        return self.launch(self.agent_format(name, *options, **more))

    def leader(self, name, *options, **more):
        agent = self.agent(name, *options, **more)
        agent.wait_for("taken_over")
        return agent

    def log(self):
        path = self.folder / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [Line(words[0], *map(int, words[1:4]), words[4]) for words in map(str.split, lines)]

    def begun(self, number, epoch):
        return until(f"task {number} in epoch {epoch}",
                     lambda: any((line.number, line.epoch) == (number, epoch) for line in self.log()))

    remembered = "state"  # the folder in which an agent's machine keeps the epochs that it has seen

    def environment(self):
        return {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / self.remembered)}

    def snapshot(self):
        """All that is in the fleet's folder but the registry."""
        return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in self.fleet.iterdir()
                if not path.name.startswith("agents.json")}
