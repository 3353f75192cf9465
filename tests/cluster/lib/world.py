"""A world of nodes, each a network namespace with an IPv4 and an IPv6 address, whose links run through the router.

    enclosure.enter()
    with World(router, ["a", "b", "c"]) as world:
        one = world["a"].start("bellwether", "node", "--config", path)
        world.set("a", "b", delay="20ms", loss="1%")
        world.cut("a", ["b", "c"], both=False)     # a is heard by nobody, and hears all
        one.pause()
        one.starve(ratio=0.05)

Nothing of it is seen outside of the enclosure, and nothing outlives the test.
"""

import contextlib
import http.client
import os
import random
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from integration.lib.patience import PATIENCE, until

from . import enclosure

DEVICE = "link0"


def names(nodes):
    return nodes if isinstance(nodes, str) else ",".join(str(node) for node in nodes)


def ip(*lines, within=None):
    """Commands of `ip`, in a namespace, by one process."""
    subprocess.run(["ip", *(["-n", within] if within else []), "-batch", "-"], check=True, stdout=subprocess.DEVNULL,
                   input="".join(f"{line}\n" for line in lines), text=True)


class World:
    """The router and its nodes. `folder` holds what the nodes write."""

    def __init__(self, router, nodes, seed=1):
        self.temporary = tempfile.TemporaryDirectory(prefix="bellwether-world-")
        self.folder = Path(self.temporary.name)
        self.router = subprocess.Popen([str(router), str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True)
        self.nodes = {}
        for name in nodes:
            self.add(name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes.values():
            node.end()
        self.router.stdin.close()
        self.router.wait()
        self.router.stdout.close()
        ip(*(f"netns delete {name}" for name in self.nodes))
        self.temporary.cleanup()

    def __getitem__(self, name):
        return self.nodes[name]

    def add(self, name):
        """One more node, reachable by all."""
        assert enclosure.inside(), "a world is made inside an enclosure"
        node = Node(self, name, len(self.nodes))
        ip(f"netns add {name}")
        self.tell(f"node {name} {name} {node.ipv4} {node.ipv6}")
        ip(f"address add {node.ipv4}/16 dev {DEVICE}", f"address add {node.ipv6}/64 dev {DEVICE} nodad",
           "link set lo up", f"link set {DEVICE} up txqueuelen 10000", within=name)
        self.nodes[name] = node
        return node

    def tell(self, line):
        """A line of the router's script; gives the lines that it shows."""
        self.router.stdin.write(line + "\n")
        self.router.stdin.flush()
        shown = []
        while True:
            answer = self.router.stdout.readline().rstrip("\n")
            if answer == "ok":
                return shown
            if not answer or answer.startswith("error: "):
                raise ValueError(f"{line}: {answer or 'the router has ended'}")
            shown.append(answer)

    def set(self, sources, targets, both=True, **settings):
        """Faults of the links, by the names that the router's script has for them: delay="20ms", loss=0.1."""
        values = " ".join(f"{name} {value}" for name, value in settings.items())
        self.tell(f"set {names(sources)} {'<>' if both else '>'} {names(targets)} {values}")

    def cut(self, sources, targets, both=True):
        self.tell(f"cut {names(sources)} {'<>' if both else '>'} {names(targets)}")

    def heal(self, sources="*", targets="*", both=True):
        self.tell(f"heal {names(sources)} {'<>' if both else '>'} {names(targets)}")

    def clear(self):
        """All links perfect again."""
        self.tell("clear * > *")

    def split(self, *groups):
        """Nobody of a group reaches anybody of another one."""
        for i, group in enumerate(groups):
            for other in groups[i + 1:]:
                self.cut(group, other)

    def counters(self):
        """{(from, to): {"packets": …, "lost": …}} of the links that were used."""
        found = {}
        for line in self.tell("show"):
            source, _, target, *words = line.split()
            found[source, target] = {name: int(value) for name, value in zip(words[::2], words[1::2])}
        return found


class Node:
    def __init__(self, world, name, number):
        self.world = world
        self.name = name
        self.ipv4 = f"10.77.{number // 250}.{number % 250 + 1}"
        self.ipv6 = f"fd77::{number + 1:x}"
        self.processes = []
        self.mounts = []

    def disk(self, size):
        """A folder of its own with so much room ("4M"), on a file system that can be filled."""
        folder = self.world.folder / f"{self.name}.disk"
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
        self.mounts.append(folder)
        return folder

    def start(self, *command, log=None, environment=None, **more):
        """A process on this node. What it writes goes to the log, `NODE.log` of the world's folder by default."""
        log = Path(log or self.world.folder / f"{self.name}.log")
        with open(log, "ab") as out:
            popen = subprocess.Popen(
                ["nsenter", f"--net={enclosure.NAMESPACES / self.name}", *map(str, command)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env={**self.environment(), **(environment or {})}, cwd=more.pop("cwd", self.world.folder), **more)
        process = Process(popen, log)
        self.processes.append(process)
        return process

    def environment(self):
        """Runs are stored in the folder of the world, not among those of whoever runs the tests."""
        return {**os.environ, "XDG_DATA_HOME": str(self.world.folder / "data")}

    def run(self, *command, seconds=PATIENCE):
        """A command on this node to its end: (exit code, what it printed)."""
        done = subprocess.run(["nsenter", f"--net={enclosure.NAMESPACES / self.name}", *map(str, command)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=seconds, env=self.environment())
        return done.returncode, done.stdout

    def get(self, port, path, address=None, seconds=PATIENCE):
        """Asks an HTTP server on this node, from the node itself: (status, body); (0, reason) when none answers."""
        connection = http.client.HTTPConnection(address or self.ipv4, port, timeout=seconds)
        try:
            with self.visit():
                connection.connect()
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)
        finally:
            connection.close()

    def visit(self):
        """`with node.visit():` this thread makes its sockets on this node."""
        return enclosure.Visit(self.name)

    def end(self):
        for process in self.processes:
            process.kill()
        for folder in self.mounts:
            subprocess.run(["umount", str(folder)], check=True)


def fill(folder):
    """Leaves no room on the file system of this folder; gives the file whose removal makes room again."""
    path = Path(folder) / "filled"
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
        while file.write(b"\0" * 65536):
            pass
    return path


class Process:
    """A process on a node. After `kill()` it can be started again by the node, with the same command or another one."""

    def __init__(self, popen, log):
        self.popen = popen
        self.log = log
        self.starving = None

    @property
    def pid(self):
        return self.popen.pid

    def alive(self):
        return self.popen.poll() is None

    def signal(self, number):
        if self.alive():
            self.popen.send_signal(number)

    def kill(self):
        """As `kill -9` does."""
        self.feed()
        self.signal(signal.SIGKILL)
        self.popen.wait()

    def stop(self, seconds=PATIENCE):
        """Asks it to end, and gives its exit code."""
        self.feed()
        self.signal(signal.SIGTERM)
        return self.wait(seconds)

    def wait(self, seconds=PATIENCE):
        """Its exit code, once it has ended by itself."""
        return self.popen.wait(seconds)

    def pause(self):
        """When this returns none of its threads runs any more: a signal alone takes a while on a busy machine."""
        self.feed()
        self.signal(signal.SIGSTOP)
        until(f"process {self.pid} stops", self.at_rest)

    def at_rest(self):
        """Whether all of its threads are stopped, or it has ended."""
        states = []
        for path in Path(f"/proc/{self.pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):
                states.append(path.read_text().rpartition(")")[2].split()[0])
        return all(state in "TtZX" for state in states)

    def resume(self):
        self.signal(signal.SIGCONT)

    def starve(self, ratio, period=0.1):
        """Lets it run for this ratio of the time only, as a machine with too little CPU does, until `feed()`.

        Each period is drawn between a half and one and a half of `period` seconds. It needs no control group, so it
        leaves nothing behind; like one, it does not slow the process but stops it again and again.
        """
        self.feed()
        self.starving = Starving(self, ratio, period)

    def feed(self):
        if self.starving:
            self.starving.end()
            self.starving = None

    def tail(self, lines=20):
        with contextlib.suppress(OSError):
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        return ""


class Starving:
    def __init__(self, process, ratio, period):
        self.process = process
        self.ratio = ratio
        self.period = period
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        prng = random.Random(self.process.pid)
        while not self.over.is_set() and self.process.alive():
            span = self.period * prng.uniform(0.5, 1.5)
            self.process.signal(signal.SIGSTOP)
            self.over.wait(span * (1 - self.ratio))
            self.process.signal(signal.SIGCONT)
            self.over.wait(span * self.ratio)

    def end(self):
        self.over.set()
        self.thread.join()
        self.process.resume()
