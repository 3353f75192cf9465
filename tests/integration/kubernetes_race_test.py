#!/usr/bin/env python3
"""`bellwether lead` and electors that behave as those of client-go contend for one Lease: never do two hold it.

Two of each stand for it at all times; in each round whoever holds it crashes, leaves or is paused. BW_RACE_ROUNDS=N
makes N rounds instead of a few. Electors of client-go are not paused: they do not notice that their lease is over.
"""

import os
import random
import signal
import time

from lib import leading, product
from lib.daemon import until
from lib.foreign import Foreign
from lib.kubeconfig import kubeconfig
from lib.kubernetes import Kubernetes

ROUNDS = int(os.environ.get("BW_RACE_ROUNDS", "6"))
LEASE = 6  # s


class Ours:
    """A candidate of the product, whose command writes its acts to the file of all of them."""

    ways_to_lose = ("crash", "leave", "pause")

    def __init__(self, test, name):
        self.name = name
        self.candidate = test.lead("--id", name, "--drain", "0.3s", via=test.via, key="job", ttl=f"{LEASE}s",
                                   command=[*leading.RECORDER, test.acts])

    def runs(self):
        return self.candidate.runs()

    def crash(self):
        self.candidate.signal(signal.SIGKILL)
        self.candidate.wait()

    def leave(self):
        self.candidate.signal(signal.SIGTERM)
        self.candidate.wait()

    def pause(self):
        self.candidate.signal(signal.SIGSTOP)
        time.sleep(1.5 * LEASE)
        self.candidate.signal(signal.SIGCONT)


class Theirs:
    """An elector of the other kind. `terms`: (epoch, begin, end) of those that are over, in ns of the boot clock."""

    ways_to_lose = ("crash", "leave")

    def __init__(self, test, name):
        self.name = name
        self.crashed_at = None
        self.program = Foreign("client_go", "--server", test.kubernetes.url, "--name", "job", "--id", name,
                               "--lease-duration", LEASE, "--renew-deadline", LEASE / 2, "--retry-period", 0.25,
                               "--release-on-cancel")
        test.addCleanup(self.program.__exit__)

    def runs(self):
        return self.program.process.poll() is None

    def crash(self):
        self.crashed_at = leading.boot_ns()
        self.program.crash()

    def leave(self):
        self.program.end()

    @property
    def terms(self):
        ends = [at for at, _ in self.program.said("stopped")] + [self.crashed_at or leading.boot_ns()]
        return [(int(more[0]), at, min(end for end in ends if end >= at)) for at, more in self.program.said("leader")]


class Race(leading.Test):
    def setUp(self):
        super().setUp()
        self.kubernetes = Kubernetes()
        self.addCleanup(self.kubernetes.stop)
        self.via = f"k8s:default?kubeconfig={kubeconfig(self.folder / 'config', self.kubernetes.url)}"
        self.acts = self.folder / "acts"
        self.everyone = []

    def fill(self):
        """There are always two of each kind."""
        for kind in (Ours, Theirs):
            while sum(isinstance(one, kind) and one.runs() for one in self.everyone) < 2:
                self.everyone.append(kind(self, f"{kind.__name__.lower()}-{len(self.everyone)}"))

    def holder(self, besides=None):
        def found():
            spec = (self.kubernetes.lease("job") or {"spec": {}})["spec"]
            name = spec.get("holderIdentity")
            return next((one for one in self.everyone if one.name == name and one.runs() and name != besides), None)
        return until("a holder", found)

    def test_one_holds_the_lease_at_a_time(self):
        for _ in range(ROUNDS):
            self.fill()
            holder = self.holder()
            time.sleep(random.uniform(0, LEASE))
            # Somebody else may hold it by now; then somebody who only waits is lost, which must not matter either.
            way = random.choice(holder.ways_to_lose)
            getattr(holder, way)()
            self.fill()
            self.holder(besides=holder.name if way != "pause" else None)
        for one in self.everyone:
            if one.runs():
                one.leave()
        self.examine()

    def examine(self):
        acts = leading.acts(self.acts)
        self.assertEqual(leading.overlaps(acts), [])
        terms = [term for one in self.everyone if isinstance(one, Theirs) for term in one.terms]
        for epoch in {epoch for epoch, _ in acts}:
            of_epoch = [at for other, at in acts if other == epoch]
            terms.append((epoch, min(of_epoch), max(of_epoch)))
        terms.sort(key=lambda term: term[1])
        self.assertGreater(len(terms), 1)
        for before, after in zip(terms, terms[1:]):
            self.assertLess(before[2], after[1], f"two hold it at once: (epoch, begin, end) of {terms}")
            self.assertLess(before[0], after[0], f"epochs must grow: {terms}")


if __name__ == "__main__":
    product.main()
