"""etcd from the distribution's package: one member, or a cluster of them."""

import json

from .daemon import Daemon, free_port, start_all, until

TRANSIENT = ("request timed out", "leader changed", "no leader", "deadline exceeded")  # of a command that failed


class Etcd(Daemon):
    """One member; by default the only one. `certificate`: as of Redis. `quota`: bytes its database may have."""

    def __init__(self, folder, name="only", certificate=None, client_certificates=False, quota=None):
        super().__init__(folder)
        self.name = name
        self.certificate = certificate
        self.client_certificates = client_certificates
        self.quota = quota
        self.peer_port = free_port()
        self.members = [self]  # of its cluster
        self.joins = False  # it is a new member of a cluster that exists
        self.users = {}  # passwords, once there is authentication
        self.login = None  # (user, password) of the root of an etcd with authentication

    @property
    def origin(self):
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}"

    @property
    def peer(self):
        return f"http://127.0.0.1:{self.peer_port}"

    def url_at(self, port, user=None):
        """`port`: one, or several of a cluster."""
        ports = port if isinstance(port, (list, tuple)) else [port]
        return (f"{'etcds' if self.certificate else 'etcd'}://{user + '@' if user else ''}"
                f"{','.join(f'127.0.0.1:{one}' for one in ports)}{self.password_option(self.users.get(user), user)}")

    def command(self):
        command = ["etcd", "--name", self.name, "--data-dir", self.data, "--logger", "zap", "--log-level", "warn",
                   "--log-outputs", "stderr", "--listen-client-urls", self.origin, "--advertise-client-urls",
                   self.origin, "--listen-peer-urls", self.peer, "--initial-advertise-peer-urls", self.peer,
                   "--initial-cluster", ",".join(f"{member.name}={member.peer}" for member in self.members),
                   "--initial-cluster-state", "existing" if self.joins else "new"]
        if len(self.members) == 1:  # nobody to lose the lead to
            command += ["--heartbeat-interval", 50, "--election-timeout", 500]
        if self.certificate:
            certificate, key, authority = self.certificate
            command += ["--cert-file", certificate, "--key-file", key]
            if self.client_certificates:
                command += ["--client-cert-auth", "--trusted-ca-file", authority]
        if self.quota:
            command += ["--quota-backend-bytes", self.quota]
        return command

    def ready(self):
        if not super().ready():
            return False
        health = self.etcdctl("endpoint", "health", "--command-timeout", "1s", check=False, everyone=False)
        return health.returncode == 0

    def prepare(self):
        self.data.mkdir(mode=0o700, exist_ok=True)

    def etcdctl(self, *arguments, check=True, input=None, everyone=True):
        """What etcdctl prints. It talks to all members that run (`everyone`), or to this one.

        Members of a busy machine lose their leader for a moment; what may be done twice is done again then.
        """
        transient = TRANSIENT if check and arguments[0] in ("get", "put", "del") else ()
        return self.run(*self.client(everyone), *arguments, check=check, input=input, transient=transient)

    def client(self, everyone=True):
        """The beginning of an etcdctl command, for tests that start one themselves."""
        ends = [member.origin for member in self.members if member.runs()] if everyone else []
        command = ["etcdctl", "--dial-timeout", "30s", "--command-timeout", "60s", "--endpoints",
                   ",".join(ends) or self.origin]
        if self.certificate:
            certificate, key, authority = self.certificate
            command += ["--cacert", authority]
            command += ["--cert", certificate, "--key", key] if self.client_certificates else []
        if self.login:
            command += ["--user", ":".join(self.login)]
        return list(map(str, command))

    def status(self):
        """The parsed `endpoint status` of this member."""
        return json.loads(self.etcdctl("endpoint", "status", "-w", "json", everyone=False))[0]["Status"]

    @property
    def id(self):
        return self.status()["header"]["member_id"]

    def leads(self):
        status = self.status()
        return status.get("leader") == status["header"]["member_id"]  # it names none while there is none

    def revision(self):
        return self.status()["header"]["revision"]

    def compact(self, revision=None):
        """Forgets the history before a revision (default: before the current one)."""
        self.etcdctl("compaction", "--physical", revision or self.revision())

    def enable_auth(self, password, users=None):
        """Nobody is let in without a password from now on. `users`: passwords of users who may do everything below
        any key, but not administer."""
        self.etcdctl("user", "add", f"root:{password}")
        self.etcdctl("user", "grant-role", "root", "root")
        self.etcdctl("role", "add", "everything")
        self.etcdctl("role", "grant-permission", "everything", "readwrite", "", "--prefix")
        for name, secret in (users or {}).items():
            self.etcdctl("user", "add", f"{name}:{secret}")
            self.etcdctl("user", "grant-role", name, "everything")
        self.etcdctl("auth", "enable")
        for member in self.members:
            member.login = ("root", password)
            member.users = {"root": password, **(users or {})}

    def fill(self):
        """Writes until the quota is reached; every write fails then, until make_room()."""
        for _ in range(1000):
            done = self.etcdctl("put", "/filler", check=False, input="x" * (1 << 20))
            if done.returncode != 0:
                assert "database space exceeded" in done.stderr, done.stderr
                return
        raise AssertionError("the quota is never reached")

    def make_room(self):
        self.etcdctl("del", "/filler")
        self.compact()
        self.etcdctl("defrag")
        self.etcdctl("alarm", "disarm")


class EtcdCluster:
    """Several members. It has the face of one: url, etcdctl(), start(), stop()."""

    def __init__(self, folder, size=3, **options):
        self.members = [Etcd(folder / f"m{number}", f"m{number}", **options) for number in range(1, size + 1)]
        for member in self.members:
            member.members = self.members

    def start(self):
        start_all(*self.members)
        return self

    def stop(self):
        for member in self.members:
            member.stop()

    @property
    def url(self):
        return self.members[0].url_at([member.port for member in self.members])

    def etcdctl(self, *arguments, **more):
        return self.running()[0].etcdctl(*arguments, **more)

    def running(self):
        return [member for member in self.members if member.runs()]

    def leader(self):
        return until("a leader of etcd", lambda: next((m for m in self.running() if m.leads()), None))

    def followers(self):
        leader = self.leader()
        return [member for member in self.running() if member is not leader]

    def move_leader(self):
        """Gives the lead to another member and tells which."""
        leader, heir = self.leader(), self.followers()[0]
        leader.etcdctl("move-leader", f"{heir.id:x}", everyone=False)
        until("the move of the lead", heir.leads)
        return heir

    def replace(self, member):
        """A member comes back without its data: the others remove it and take it in again as a new one.

        etcd refuses that until its members have known each other for 5 s.
        """
        id = f"{member.id:x}"
        member.stop()
        member.forget()
        other = self.running()[0]
        for change in (["remove", id], ["add", member.name, f"--peer-urls={member.peer}"]):
            until("the others' consent", lambda: other.etcdctl("member", *change, check=False).returncode == 0)
        member.joins = True
        member.start()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
