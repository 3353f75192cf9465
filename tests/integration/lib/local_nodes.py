"""A cluster of `bellwether cluster up` on this machine, in the folder of a test."""

import contextlib
import json
import os
import signal
from pathlib import Path

from . import product
from .daemon import until


def runs(pid):
    """Whether it is there and has not ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    return False


def processes_of(folder):
    """The ids of all nodes whose settings are in this folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"node" in words and any(word.startswith(os.fsencode(folder) + b"/") for word in words):
                found.append(int(entry.name))
    return [pid for pid in found if runs(pid)]


class Test(product.Test):
    def setUp(self):
        super().setUp()
        self.dir = self.folder / "a cluster"
        self.addCleanup(self.end_all)

    def end_all(self):
        for pid in processes_of(self.dir):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def cluster(self, *words, code=0, environment=None):
        run = self.bellwether("cluster", *words, "--cluster", self.dir, environment=environment)
        self.assertEqual(run.code, code, run)
        return run

    def up(self, *words, code=0):
        limit = [] if "--timeout" in words else ["--timeout", "4m"]
        run = self.cluster("up", "--json", *words, *limit, code=code)
        return json.loads(run.out) if code == 0 else run

    def status(self, code=0):
        """What is seen once all is well, or, with another code, is not."""
        def seen():
            run = self.bellwether("cluster", "status", "--json", "--cluster", self.dir)
            return run if run.code == code else None
        return json.loads(until(f"a status with code {code}", seen).out)

    def pids(self, sight):
        return {node["name"]: node["pid"] for node in sight["nodes"]}
