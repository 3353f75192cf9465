"""Whatever can decide who leads, with one face: how a candidate is told of it, and what can be done to it.

`ALL` has the class of each scheme. A mechanism is up from its making on, and ends with the test.
"""

from .daemon import until
from .etcd import Etcd
from .groups import CLUSTER, Group
from .kubeconfig import kubeconfig
from .kubernetes import Kubernetes
from .postgres import Postgres
from .redis import Redis

NAMES = ("a", "b", "c")  # of candidates; "looker" only looks on


class Lease:
    """Candidates that share a lease in a store."""

    key = "key"
    ttl = "5s"
    wide = True  # candidates are processes of their own

    def __init__(self, test):
        self.test = test
        self.folder = test.folder / "mechanism"
        self.folder.mkdir()

    def url(self):
        raise NotImplementedError

    def options(self, name):
        """The command line of a candidate, before what a test adds."""
        return ["--via", self.url(), "--key", self.key, "--id", name, "--ttl", self.ttl]

    def restart(self):
        """Ends what keeps the decision, as a crash does, and starts it again with its data. No candidate runs."""

    def hand_over(self, to):
        """Returns when the one who is named has it."""
        run = self.test.bellwether("lease", "transfer", self.key, "--to", to, "--via", self.url(), "--wait", "100s",
                                   environment=self.test.environment())
        self.test.assertEqual(run.code, 0, run)


class Memory(Lease):
    wide = False

    def url(self):
        return "memory:only"


class Flock(Lease):
    def url(self):
        return f"flock:{self.folder}"


class File(Lease):
    def url(self):
        return f"file:{self.folder}/"


class Served(Lease):
    Server = None

    def __init__(self, test):
        super().__init__(test)
        self.server = self.Server(self.folder / "server").start()
        test.addCleanup(self.server.stop)

    def url(self):
        return self.server.url

    def restart(self):
        self.server.restart()


class OnRedis(Served):
    Server = Redis


class OnEtcd(Served):
    Server = Etcd


class OnPostgres(Served):
    Server = Postgres


class OnKubernetes(Lease):
    """The stand-in of lib/kubernetes.py, for the distribution has no package of the real one."""

    def __init__(self, test):
        super().__init__(test)
        self.server = Kubernetes()
        test.addCleanup(self.server.stop)
        self.config = kubeconfig(self.folder / "kube", self.server.url)

    def url(self):
        return f"k8s:default?kubeconfig={self.config}"

    def restart(self):
        self.server.restart()


class Elected(Lease):
    """Candidates that elect one of them."""

    key = CLUSTER
    scheme = None

    def __init__(self, test):
        super().__init__(test)
        self.group = Group(self.folder, self.scheme, NAMES, ["looker"])

    def options(self, name):
        return ["--via", self.group.url(name), *self.group.first_start(name)]

    def hand_over(self, to):
        def moved():
            code, leader = self.group.operator(to, "leader")
            if code == 0 and leader["name"] == to:
                return True
            self.group.operator(to, "transfer", "--to", to)  # perhaps it is on its way already
            return False
        until(f"{to} has it", moved)


class ByVote(Elected):
    scheme = "vote"


class ByQuorum(Elected):
    scheme = "quorum"


ALL = {"memory": Memory, "flock": Flock, "file": File, "redis": OnRedis, "etcd": OnEtcd, "postgres": OnPostgres,
       "k8s": OnKubernetes, "vote": ByVote, "quorum": ByQuorum}
