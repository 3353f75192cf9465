"""A cluster of managers and workers on the loopback interface, for benchmarks: started, killed, and asked."""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from lib.processes import QUICK, Failure, leashed, pinned
from lib.testing import free_port, modules

daemon, = modules("integration", "daemon")

START_S = 300  # the longest wait for nodes and their answers
TAKES_WORK = ("healthy", "degraded")  # the second: it must wait for a processor


class LocalCluster:
    """Processes of `bellwether manager` and `bellwether worker`, in a folder of its own."""

    def __init__(self, bellwether, managers=3, workers=3, cores=1, cpus=None, profile="lan"):
        self.bellwether = str(bellwether)
        self.cores = cores
        self.profile = "wan" if QUICK else profile  # beside others nobody is to be taken for dead
        self.cpus = cpus or {}  # by name: the processor of a node
        self.names = [f"m{i + 1}" for i in range(managers)] + [f"w{i + 1}" for i in range(workers)]
        self.ports = {name: free_port() for name in self.names}
        self.children = {}
        self.folder = None

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bellwether-bench-")))
            stack.callback(lambda: [self.kill(name) for name in list(self.children)])
            (self.folder / "secret").write_text(secrets.token_urlsafe(32), encoding="ascii")
            os.chmod(self.folder / "secret", 0o600)
            for name in self.names:
                self.write(name)
            self.write("client")
            for name in self.names:
                self.start(name, first=True)
            self.wait_for_workers()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *ignored):
        self.stack.close()

    def managers(self):
        return [name for name in self.names if name.startswith("m")]

    def workers(self):
        return [name for name in self.names if name.startswith("w")]

    def write(self, name):
        seeds = ", ".join(f"127.0.0.1:{self.ports[one]}" for one in self.managers())
        lines = ["cluster: bench", f"seeds: [{seeds}]", f"secret: {{file: {self.folder / 'secret'}}}",
                 f"profile: {self.profile}"]
        if name != "client":
            lines += [f"name: {name}", f"listen: 127.0.0.1:{self.ports[name]}", f"http: 127.0.0.1:{free_port()}"]
        if name.startswith("m"):
            lines += [f"voters: [{', '.join(self.managers())}]", f"data: {self.folder / name}"]
        if name.startswith("w"):
            lines += [f"cores: {self.cores}"]
        self.config(name).write_text("\n".join(lines) + "\n", encoding="ascii")

    def config(self, name):
        return self.folder / f"{name}.yaml"

    def log(self, name):
        return self.folder / f"{name}.log"

    def start(self, name, first=False):
        verb = "manager" if name.startswith("m") else "worker"
        command = [self.bellwether, verb, "--config", str(self.config(name)), "--json"]
        if first and verb == "manager":
            command.append("--first-start")
        with open(self.log(name), "ab") as log, pinned(self.cpus.get(name)):
            self.children[name] = subprocess.Popen(leashed(command), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                   start_new_session=True)

    def kill(self, name, number=signal.SIGKILL):
        child = self.children.pop(name)
        child.send_signal(number)
        child.wait()

    def assignments(self, name):
        """The processes of a worker's assignments."""
        return daemon.descendants(self.children[name].pid)

    def said(self, name):
        events = []
        for line in self.log(name).read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                events.append(json.loads(line))
        return events

    def ask(self, *arguments):
        """The answer of `bellwether job …` as JSON."""
        done = subprocess.run([self.bellwether, "job", *arguments, "--cluster", str(self.config("client")),
                               "--json"], capture_output=True, text=True, timeout=START_S, check=False)
        if done.returncode != 0:
            raise Failure(f"bellwether job {' '.join(arguments)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def wait_for_workers(self):
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            with contextlib.suppress(Failure):
                known = {one["worker"] for one in self.ask("workers") if one["state"] in TAKES_WORK}
                if known >= {name for name in self.workers() if name in self.children}:
                    return
            time.sleep(0.2)
        raise Failure(f"the workers were not all known within {START_S} s")

    def manager_of(self, job):
        return self.ask("status", job)["manager"]

    def run(self, scenario, result, *options):
        """`bellwether run` on the cluster, in the background."""
        command = [self.bellwether, "run", str(scenario), "--cluster", str(self.config("client")), "--ui",
                   "none", *options]
        if result is not None:
            command += ["--out", f"json={result}"]
        return subprocess.Popen(leashed(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)
