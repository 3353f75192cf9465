"""Stores on a node of a world, for clusters that leave it to one who leads: etcd and Redis from the distribution."""

from .world import until


class StoreServer:
    """A server on a node. It keeps its data when it is killed and started again."""

    def __init__(self, node):
        self.node = node
        self.folder = node.world.folder / f"{node.name}.{type(self).__name__}"
        self.folder.mkdir(mode=0o700)
        self.process = None

    def start(self):
        self.process = self.node.start(*self.command())
        until(lambda: f"{type(self).__name__}\n{self.process.tail()}", self.ready)
        return self

    def kill(self):
        self.process.kill()


class Etcd(StoreServer):
    @property
    def url(self):
        return f"etcd://{self.node.ipv4}:2379"

    def command(self):
        clients, peers = f"http://{self.node.ipv4}:2379", f"http://{self.node.ipv4}:2380"
        return ["etcd", "--name", "only", "--data-dir", self.folder, "--logger", "zap", "--log-level", "error",
                "--listen-client-urls", clients, "--advertise-client-urls", clients, "--listen-peer-urls", peers,
                "--initial-advertise-peer-urls", peers, "--initial-cluster", f"only={peers}", "--heartbeat-interval",
                "50", "--election-timeout", "500"]

    def ready(self):
        return self.node.get(2379, "/health")[0] == 200


class Redis(StoreServer):
    @property
    def url(self):
        return f"redis://{self.node.ipv4}:6379/0"

    def command(self):
        return ["redis-server", "--bind", self.node.ipv4, "--port", "6379", "--protected-mode", "no", "--dir",
                self.folder, "--appendonly", "yes", "--appendfsync", "always", "--save", ""]

    def ready(self):
        return self.node.run("redis-cli", "-h", self.node.ipv4, "ping") == (0, "PONG\n")
