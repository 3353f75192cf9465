"""Clusters that lead contexts: requests, the command that does them, and the sink that it writes to."""

import json
import os
import subprocess
import threading
import uuid
from pathlib import Path

from . import enclosure, voting
from .world import PATIENCE, until

FAILING = ("fails", "hangs", "much")

# What is done for a request: a line in the sink when it begins and one when it is done, with the fence. The payload
# says how long it takes, or how it goes wrong.
COMMAND = r"""
read -r takes <&0
id=$BELLWETHER_CONTEXT_REQUEST
fence="$BELLWETHER_EPOCH $BELLWETHER_CONTEXT_ATTEMPT"
echo "begun $id $fence $BELLWETHER_HOLDER" >> "$SINK"
case "$takes" in
  fails) echo "it cannot be done" >&2; exit 3;;
  hangs) trap "" TERM; while true; do sleep 0.1; done;;
  much) head -c 70000 /dev/zero; exit 0;;
  *) sleep "$takes";;
esac
echo "done $id $fence $BELLWETHER_HOLDER" >> "$SINK"
echo "made of $takes by $BELLWETHER_HOLDER, $(wc -c < "$BELLWETHER_CONTEXT_PAYLOAD") bytes"
"""

# The times of the defaults are for people; these keep their relations. Two of three nodes are healthy enough.
QUICK = {"cluster_health_threshold": 0.6, "generation_start_delay": "100ms", "generation_stop_timeout": "3s",
         "queue_drain_timeout": "10s", "coordination_backoff": "200ms", "context_health_check_interval": "1s",
         "jobs": 2, "job_timeout": "20s", "job_grace": "1s"}


class Test(voting.Test):
    """What is promised in any case is looked at in the end of each: what was acknowledged is completed, once."""

    def contexts(self, count=3, **context):
        """A cluster of that many nodes that lead contexts, in quick times. Nothing runs yet."""
        cluster = self.voting(count)
        self.sink = cluster.folder / "sink"
        self.sink.touch()
        script = cluster.folder / "make-context"
        script.write_text("#!/bin/sh\n" + COMMAND)
        script.chmod(0o755)
        self.other = {"context": {"manager": [str(script)], **QUICK, **context}}
        for name in cluster.voters:
            cluster.environments[name] = {"SINK": str(self.sink)}
        self.kept = {}  # id: what was asked, of those whose end is not known yet
        self.ended = {}  # id: (state, epoch, attempt)
        self.twice, self.wrong = [], []
        self.lock = threading.Lock()
        return cluster

    def context(self, cluster, node, *words, payload="", seconds=PATIENCE):
        """A command of an operator on this node: (exit code, what it printed)."""
        done = subprocess.run(["nsenter", f"--net={enclosure.NAMESPACES / node}", self.binary, "context", *words,
                               "--cluster", f"{cluster.folder}/{node}.yaml", "--by", "test"],
                              input=payload, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=seconds, env={**os.environ})
        return done.returncode, done.stdout, done.stderr

    def submit(self, cluster, node, takes="0.1", *words, request=None):
        """A request that is submitted until it is acknowledged; gives its id."""
        request = request or uuid.uuid4().hex

        said = []

        def acknowledged():
            code, out, err = self.context(cluster, node, "submit", "--id", request, *words, payload=f"{takes}\n")
            said.append(err)
            return code == 0 and out.strip() == request
        until(lambda: f"request {request} is kept: {said[-1]}", acknowledged)
        with self.lock:
            self.kept[request] = takes
        return request

    def submit_many(self, cluster, count, takes="0.1", threads=8):
        """As many requests at once, from all nodes; gives their ids, in no order."""
        ids = []
        names = list(cluster.voters)

        def some(first):
            for number in range(first, count, threads):
                request = self.submit(cluster, names[number % len(names)], takes)
                with self.lock:
                    ids.append(request)
        workers = [threading.Thread(target=some, args=(first,)) for first in range(threads)]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
        return ids

    def status(self, cluster, node):
        code, out, _ = self.context(cluster, node, "status", "--json")
        return json.loads(out) if code == 0 else None

    def counts(self, cluster, node):
        """What the leader has: (queued, active, completed, failed)."""
        status = self.status(cluster, node)
        return status and tuple(status[name] for name in ("queued", "active", "completed", "failed"))

    def status_of(self, cluster, node):
        """What a node knows itself."""
        code, out, _ = self.context(cluster, node, "status", "--json", "--node", f"{cluster.world[node].ipv4}:9000")
        return json.loads(out) if code == 0 else None

    def outcome(self, cluster, node, request):
        code, out, _ = self.context(cluster, node, "result", request, "--json")
        return json.loads(out) if out.startswith("{") else None

    def contexts_led(self):
        cluster = self.start(self.contexts())
        return cluster, self.context_leader(cluster)

    def context_leader(self, cluster, names=None, other_than=None, seconds=PATIENCE):
        """Waits until a node says that it leads contexts; gives its name."""
        def one():
            for name in names or cluster.running:
                status = self.status(cluster, name)
                if status and status["leader"] == status["answered_by"] != other_than and \
                        status["state"] in ("generating", "starting", "idle", "paused"):
                    return status["leader"]
            return None
        return until(lambda: "a leader of contexts\n" + "\n".join(one.tail() for one in cluster.running.values()),
                     one, seconds)

    def done(self):
        """{id: [(epoch, attempt)]} of all attempts that have come to their end."""
        out = {}
        for line in self.sink.read_text().splitlines():
            words = line.split()
            if words[:1] == ["done"] and len(words) == 5:
                out.setdefault(words[1], []).append((int(words[2]), int(words[3])))
        return out

    def look(self, cluster, node):
        """Asks what has become of what was kept, and gives how much is left; an end that changes is a mistake."""
        ends = self.done()
        for request, takes in list(self.kept.items()):
            if takes not in FAILING and request not in ends:
                continue  # no attempt has come to its end
            outcome = self.outcome(cluster, node, request)
            if not outcome or outcome["state"] not in ("completed", "failed"):
                continue
            fence = (outcome["epoch"], outcome["attempt"])
            if self.ended.setdefault(request, (outcome["state"], *fence)) != (outcome["state"], *fence):
                self.twice.append(request)
            with self.lock:
                del self.kept[request]
            own = self.done().get(request, [])
            if takes not in FAILING and (outcome["state"] != "completed" or own.count(fence) != 1):
                self.wrong.append((request, outcome, own))
        return len(self.kept)

    def all_done(self, cluster, node=None, seconds=PATIENCE):
        """Waits until all that was acknowledged has ended, each once, by an attempt that came to its end."""
        node = node or next(iter(cluster.running))
        until(lambda: f"{len(self.kept)} requests are undone: {self.kept}\n{self.status(cluster, node)}\n"
                      + "\n".join(cluster.running[name].tail(40) for name in cluster.running),
              lambda: self.look(cluster, node) == 0, seconds)
        self.assertEqual((self.twice, self.wrong), ([], []))
        for name, process in cluster.running.items():
            self.assertTrue(process.alive(), f"{name} has ended with {process.popen.poll()}:\n{process.tail()}")


class Load:
    """`with Load(...):` requests are submitted, one after the other from each of some threads."""

    def __init__(self, test, cluster, takes="0.1", threads=3):
        self.test, self.cluster, self.takes = test, cluster, takes
        self.over = threading.Event()
        self.acknowledged = 0
        self.troubles = []
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(threads)]

    def run(self, number):
        names = self.cluster.voters
        while not self.over.is_set():
            try:
                self.test.submit(self.cluster, names[number % len(names)], self.takes)
                with self.test.lock:
                    self.acknowledged += 1
            except AssertionError as error:
                self.troubles.append(error)
            self.over.wait(0.3)  # each of them starts a program

    def __enter__(self):
        for one in self.threads:
            one.start()
        return self

    def __exit__(self, kind, *_):
        self.over.set()
        for one in self.threads:
            one.join()
        if self.troubles and not kind:
            raise self.troubles[0]


def begun(sink):
    """The ids of what was begun, in its order."""
    return [line.split()[1] for line in Path(sink).read_text().splitlines() if line.startswith("begun ")]


def commands_of(request):
    """The nodes of which a process works at the request now."""
    out = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if f"BELLWETHER_CONTEXT_REQUEST={request}" in words:
            out |= {word.partition("=")[2] for word in words if word.startswith("BELLWETHER_HOLDER=")}
    return out
