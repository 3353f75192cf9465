"""A group of `bellwether lead --via vote:FILE` or `quorum:FILE` on the loopback: its files, and who is in it."""

import json
import subprocess

from . import product
from .daemon import free_port
from .patience import ANSWERED, PATIENCE, patient

CLUSTER = "flock"


class Group:
    """`voters` vote; `others` have files too, and only look on. Nothing runs: tests start what they want.

    `settings` go into each file.
    """

    def __init__(self, folder, scheme, voters=("a", "b", "c"), others=(), **settings):
        self.folder = folder
        self.scheme = scheme
        self.voters = list(voters)
        self.settings = settings
        folder.mkdir(parents=True, exist_ok=True)
        self.ports = {name: free_port() for name in (*voters, *others)}
        self.write_secret("secret", "a shared secret for the tests, 7Qx")
        for name in self.ports:
            if scheme == "vote":
                self.make_key(name)
            self.write(name)

    def write_secret(self, name, text):
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text(text + "\n")
        return path

    def make_key(self, name):
        key, keys = self.folder / f"{name}.key", self.folder / "keys"
        keys.mkdir(exist_ok=True)
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, capture_output=True)
        key.chmod(0o600)
        subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", keys / f"{name}.pem"], check=True)

    def file(self, name):
        return self.folder / f"{name}.yaml"

    def write(self, name, without=(), **other):
        """The file of one node; `other` replaces some of its settings."""
        values = {"cluster": CLUSTER, "name": name, "listen": f"127.0.0.1:{self.ports[name]}", "http": "",
                  "seeds": [f"127.0.0.1:{port}" for port in self.ports.values()], "voters": self.voters,
                  "leadership": self.scheme, "data": str(self.folder / f"{name}.data"),
                  "secret": {"file": str(self.folder / "secret")}, **patient(self.scheme), **self.settings, **other}
        if self.scheme == "vote":
            values.setdefault("vote", {"key": str(self.folder / f"{name}.key"), "keys": str(self.folder / "keys")})
        for setting in without:
            del values[setting]
        self.file(name).write_text(json.dumps(values))  # which is YAML as well
        return self.url(name)

    def url(self, name):
        return f"{self.scheme}:{self.file(name)}"

    def first_start(self, name):
        """What the command line of a node needs that votes for the first time."""
        return [] if (self.folder / f"{name}.data").exists() or name not in self.voters else ["--first-start"]

    def operator(self, name, *words):
        """What `bellwether cluster` says, asked of one node: (exit code, answer)."""
        done = subprocess.run([product.binary, "cluster", *words, "--cluster", self.file(name), "--by", "test",
                               "--json", *ANSWERED], capture_output=True, text=True, timeout=PATIENCE)
        return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr
