"""Load tests on a cluster of a world: managers and workers, a target that counts what arrives, and a client."""

import contextlib
import json
import os
import re
import signal
from pathlib import Path

import jsonschema

from . import nodes
from .world import PATIENCE, until

SCHEMA = json.loads((Path(__file__).parents[3] / "docs/formats/result.schema.json").read_text(encoding="utf-8"))
PORT = 18080

PASS, THRESHOLDS, WRONG, CANCELLED, ABORT, LOST = 0, 99, 104, 105, 108, 120


def kinds(result):
    """Of what happened, in its order. A generator that says that its machine is busy is right wherever that is so."""
    return [one["kind"] for one in result["events"] if one["kind"] != "generator_saturated"]


def kinds_of_load(result):
    """The same without changes of the owner: a busy machine may depose a manager that the test does not touch."""
    return [kind for kind in kinds(result) if kind != "owner_changed"]


class Client:
    """A command that follows a job, on the client's node. `job` is the job's id."""

    def __init__(self, process, out, job):
        self.process = process
        self.out = out
        self.job = job

    def printed(self):
        return self.process.log.read_text(errors="replace")

    def says(self, text, seconds=PATIENCE):
        until(lambda: f"'{text}' in\n{self.printed()}", lambda: text in self.printed(), seconds)

    def finish(self, seconds=PATIENCE):
        """Its exit code and what it wrote as the job's result (None: nothing), which must be sound."""
        code = self.process.popen.wait(seconds)
        result = json.loads(self.out.read_text(encoding="utf-8")) if self.out.exists() else None
        if result:
            jsonschema.Draft202012Validator(SCHEMA).validate(result)
            assert result["run"]["exit_code"] == code, (result["run"], code, self.printed())
            for name in ("requests", "iterations"):
                assert sum(one[name] for one in result["series"]) == result["totals"][name], (name, result["series"])
        # Above the assertion of a test that expected something else.
        print(f"job {self.job} ended with {code}:",
              json.dumps(result and {key: result[key] for key in ("events", "lost", "workflows")}))
        return code, result


class Cluster(nodes.Cluster):
    """A cluster with two nodes more: `target`, and `client`, who asks for load tests. Each worker has one core."""

    def __init__(self, *arguments, **more):
        self.asked = 0
        self.unwanted = 0  # requests of jobs that were cancelled before the test began
        super().__init__(*arguments, **more)
        target, self.client = self.world.add("target"), self.world.add("client")
        self.url = f"http://{target.ipv4}:{PORT}"
        self.target = target.start(self.binary, "target", "--listen", f"{target.ipv4}:{PORT}", "--cores", "1")
        self.write("client.yaml", {"cluster": "flock", "seeds": [self.world[one].ipv4 for one in self.voters],
                                   "secret": {"file": str(self.folder / "secret")}})

    def write(self, name, value):
        path = self.folder / name
        path.write_text(value if isinstance(value, str) else json.dumps(value))  # which is YAML as well
        return path

    def settings(self, node, **other):
        own = {} if node in self.voters else {"cores": 1, "pin": False}
        return super().settings(node, **{**own, **other})

    def at_work(self, *names):
        """Starts them, and waits until one manager leads and each knows all workers as ready; gives (leader, term)."""
        self.start(*names)
        settled = self.settled()
        # Each has its own picture of them, and any may own the next job.
        for manager in filter(self.running.get, self.voters):
            self.all_free(manager=manager)
        return settled

    # --- what is asked of it

    def scenario(self, rate=60, seconds=6, path="/json", step=None, more=None, **workflow):
        """One workflow, `w`, of one step, `s`. `more` is beside the workflows."""
        return {"workflows": {"w": {
            "executor": "constant-arrival-rate", "rate": f"{rate}/s", "duration": f"{seconds}s",
            "vus": {"preallocated": 60, "max": 600},
            "steps": {"s": {"http": {"get": self.url + path}, **(step or {})}}, **workflow}}, **(more or {})}

    def follow(self, *words):
        self.asked += 1
        out = self.folder / f"result-{self.asked}.json"
        process = self.client.start(self.binary, *words, "--cluster", "client.yaml", "--by", "test", "--out",
                                    f"json={out}", log=self.folder / f"client-{self.asked}.log")
        return process, out

    def run(self, scenario, *words):
        """`bellwether run` on the cluster: goes on in the background, once the job was taken."""
        file = self.write(f"scenario-{self.asked + 1}.yaml", scenario)
        process, out = self.follow("run", file, *words)
        client = Client(process, out, None)

        def taken():
            if not process.alive():
                raise AssertionError(f"the job was not accepted:\n{client.printed()}")
            return re.search(r"job ([0-9a-f]{16}), (?:submitted|given) to", client.printed())
        client.job = until(lambda: f"a job\n{client.printed()}", taken)[1]
        return client

    def run_for(self, seconds, scenario, *words):
        """Runs it, and waits for so many seconds of load."""
        client = self.run(scenario, *words)
        self.under_load(client, seconds)
        return client

    def run_on_all(self, seconds, scenario):
        """The same, of a load of which each worker has a part: what a test needs that does something to one of them.

        A worker that had too much to do when the parts were given away has none: such a job is cancelled.
        """
        workers = sorted(name for name in self.running if name not in self.voters)
        for _ in range(5):
            client = self.run_for(seconds, scenario)
            status = self.status(client.job)
            if sorted(one["worker"] for one in status["assignments"]) == workers and not kinds(status):
                return client
            self.job("cancel", client.job)
            _, result = client.finish()
            self.unwanted += result["totals"]["requests"]
            self.all_free()
        raise AssertionError(f"no job began with a part on each of {workers}: {self.job('workers')}")

    def watch(self, job, verb="watch"):
        process, out = self.follow("job", verb, job)
        return Client(process, out, job)

    def job(self, *words, json_too=True):
        """`bellwether job …`: (exit code, answer)."""
        code, text = self.client.run(self.binary, "job", *words, "--cluster", f"{self.folder}/client.yaml",
                                     *(["--json"] if json_too else []))
        return (code, json.loads(text)) if json_too and code == 0 else (code, text)

    def submit(self, scenario, *words):
        """The id of the new job."""
        code, answer = self.job("submit", self.write("submitted.yaml", scenario), "--by", "test", *words)
        assert code == 0, answer
        return answer["job"]

    def status(self, job):
        code, answer = self.job("status", job)
        return answer if code == 0 else None

    def owner(self, client):
        """The manager that has its job now: another one may lead than before the job was taken."""
        return until(f"an owner of {client.job}", lambda: (self.status(client.job) or {}).get("manager"))

    def in_state(self, job, *states, seconds=PATIENCE):
        """Waits until it is in one of these states, and gives its status."""
        def reached():
            status = self.status(job)
            return status if status and status["state"] in states else None
        return until(lambda: f"{job} is {' or '.join(states)}, not {self.status(job)}", reached, seconds)

    def events(self, job, kind=None):
        """What has happened to it, as far as a manager says so now."""
        status = self.status(job) or {"events": []}
        return [one for one in status["events"] if kind in (None, one["kind"])]

    # --- what is seen of it

    def under_load(self, client, seconds=1):
        """Waits until the totals that this client has seen hold so many seconds of the run; gives its job's status."""
        status = self.in_state(client.job, "running")
        until(lambda: f"{seconds} s of load\n{client.printed()}",
              lambda: any(int(at) >= seconds for at in re.findall(r"^ *(\d+)s .* req/s ", client.printed(), re.M)),
              PATIENCE)
        return status

    def all_free(self, names=None, seconds=PATIENCE, manager=None):
        """Waits until these workers, by default all, say to this manager, by default the leader, that they are free.

        One that must wait for a processor says that it is degraded, and takes work all the same.
        """
        want = set(names or [name for name in self.running if name not in self.voters])

        def free():
            alive = next(name for name in self.voters if self.running[name].alive())
            asked = manager or (self.leader(alive) or [None])[0]
            code, workers = self.job("workers", "--node", self.world[asked].ipv4) if asked else (1, None)
            return code == 0 and want <= {one["worker"] for one in workers
                                          if one["free"] == one["cores"] and one["state"] in ("healthy", "degraded")}
        until(lambda: f"free cores of {want}; {self.job('workers')}", free, seconds)

    def children(self, name):
        """The processes of a node's assignments."""
        found = []
        for path in Path(f"/proc/{self.running[name].pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += [int(pid) for pid in path.read_text().split()]
        return found

    def kill_assignment(self, name, number=signal.SIGKILL):
        [pid] = self.children(name)
        os.kill(pid, number)

    def arrived(self):
        """How many requests of the test the target has answered. It ends."""
        assert self.target.stop() == 0
        return int(re.search(r"answered ([\d,]+) requests", self.target.tail())[1].replace(",", "")) - self.unwanted


class Test(nodes.Test):
    kind = Cluster

    def at_work(self, voters, workers):
        """A cluster that is ready for work, and who leads it."""
        cluster = self.cluster(voters, workers)
        return cluster, cluster.at_work()[0]

    def ended(self, client, code=PASS):
        """What the client wrote as the result. It ends with this code."""
        found, result = client.finish()
        self.assertEqual(found, code, client.printed())
        return result

    def assert_whole(self, result, requests, seconds=0):
        """Each request of the schedule was made and counted once, none late by seconds or left out.

        And there was load in each of so many seconds.
        """
        self.assertEqual(result["totals"]["requests"], requests, result["series"])
        self.assertEqual(result["totals"]["dropped_iterations"], 0)
        self.assertEqual(result["lost"], [])
        self.assert_steady(result, seconds)

    def assert_steady(self, result, seconds):
        load = {point["t"]: point["requests"] for point in result["series"]}
        self.assertEqual([t for t in range(seconds) if not load.get(t)], [], load)
