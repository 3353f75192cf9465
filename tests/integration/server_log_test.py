#!/usr/bin/env python3
"""Counts and percentiles beside the log of the server, in both models and through stalls."""

import subprocess
import sys
import threading
import time
from math import ceil
from pathlib import Path

from lib import product

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1}
RESOLUTION = 0.001  # of the histogram, as a share of a value
LOOPBACK_MS = 5  # what two sockets may add; a quiet machine adds 0.2
# What each of two processes may add that wait for a processor: as much as the next figure of a third one beside them.
NEXT = {"p50": "p90", "p90": "p95", "p95": "p99", "p99": "max"}
TRIES = 5
RATE = 200


class Logged:
    """A `lib/logged.py`, which answers as its kind says."""

    def __init__(self, test, kind, seed):
        program = Path(__file__).parent / "lib/logged.py"
        self.process = subprocess.Popen([sys.executable, "-B", program, kind, str(seed)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        test.addCleanup(self.process.stdin.close)
        test.addCleanup(product.end, self.process)
        self.url = f"http://127.0.0.1:{self.process.stdout.readline().strip()}"

    def log(self):
        """Ends it. (read at, answered at) of each request in ms, in the order of the first."""
        out, _ = self.process.communicate(timeout=product.PATIENCE)
        return sorted(tuple(int(at) / 1e6 for at in line.split()) for line in out.splitlines())


class Beside(threading.Thread):
    """Sleeps beside a run, again and again, and notes how late this machine wakes it, in ms."""

    def __enter__(self):
        self.late, self.over = [], threading.Event()
        self.start()
        return self

    def run(self):
        while not self.over.is_set():
            due = time.monotonic() + 0.002
            time.sleep(0.002)
            self.late.append((time.monotonic() - due) * 1000)

    def __exit__(self, *_):
        self.over.set()
        self.join()


def percentiles(times):
    times = sorted(times)
    return {name: times[ceil(share * len(times)) - 1] for name, share in QUANTILES.items()}


def service_times(log):
    return percentiles(answered - read for read, answered in log)


def response_times(log):
    """From when each was due. The request that came soonest after its time says when the schedule began."""
    due = [i * 1000 / RATE for i in range(len(log))]
    begun = min(read - after for (read, _), after in zip(log, due))
    return percentiles(answered - begun - after for (_, answered), after in zip(log, due))


class ServerLog(product.Test):
    def compare(self, kind, load):
        """In each run the counts are equal, and no service time is below that of the log. Each percentile is in one of
        a few runs as near to the log as the machine allows then."""
        far = {}
        for seed in range(TRIES):
            server = Logged(self, kind, seed)
            with Beside() as beside:
                run = self.load(f"""\
workflows:
  w:
    {load}
    duration: 2s
    steps: {{s: {{http: {{get: "{server.url}/"}}}}}}
""", "--cores", "1")
            late = percentiles(beside.late)
            log, step = server.log(), run.result["steps"]["w.s"]
            self.assertEqual((step["count"], step["failed"], run.totals["iterations"]), (len(log), 0, len(log)))
            logged = {"service_ms": service_times(log)}
            for name, at_least in logged["service_ms"].items():
                self.assertGreaterEqual(step["service_ms"][name], at_least * (1 - RESOLUTION), name)
            if load.startswith("rate"):
                self.assertEqual(len(log), RATE * 2)
                logged["response_ms"] = response_times(log)
            added = {(times, name): (value, step[times][name] - value)
                     for times, values in logged.items() for name, value in values.items() if name != "max"}
            print(kind, *load.split(), len(log), *(f"{times} {name} {value:.2f} {more:+.2f}"
                                                   for (times, name), (value, more) in added.items()), file=sys.stderr)
            far = {which: [*far.get(which, ()), (value, more)] for which, (value, more) in added.items()
                   if (which in far or not seed)
                   and not -RESOLUTION * value <= more <= RESOLUTION * value + LOOPBACK_MS + 2 * late[NEXT[which[1]]]}
            if not far:
                return
        self.fail(f"not near to the log of the server in any run, as (log, added): {far}")

    def test_a_closed_model(self):
        # With pauses a tenth of the requests meets a stall, so no percentile lies on the step between the two kinds.
        spread = "vus: 40\n    pacing: 50ms..150ms"
        for kind, load in (("lognormal", "vus: 20"), ("humps", "vus: 20"), ("stalls", spread)):
            with self.subTest(kind):
                self.compare(kind, load)

    def test_an_open_model(self):
        for kind in ("lognormal", "humps", "stalls"):
            with self.subTest(kind):
                self.compare(kind, f"rate: {RATE}/s\n    vus: {2 * RATE}")


if __name__ == "__main__":
    product.main()
