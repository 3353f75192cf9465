"""Redis from the distribution's package: durable or not; with a password, users or TLS; with replicas."""

from .daemon import Daemon, until


class Redis(Daemon):
    """`persistence`: "always" (each write is on disk before its answer), "everysec", or "none".

    `users`: passwords by the names of further users who may do everything. `replica_of`: whatever has a `port` where
    another Redis answers, such as that one or a Cut before it. `certificate`: (certificate, key, authority) files; TLS
    is then the only way in, and with `client_certificates` only for clients that show one of that authority.
    """

    def __init__(self, folder, persistence="always", password=None, users=None, replica_of=None, certificate=None,
                 client_certificates=False):
        super().__init__(folder)
        self.persistence = persistence
        self.password = password
        self.users = users or {}
        self.replica_of = replica_of
        self.certificate = certificate
        self.client_certificates = client_certificates

    def command(self):
        ports = ["--port", self.port]
        if self.certificate:
            certificate, key, authority = self.certificate
            ports = ["--port", 0, "--tls-port", self.port, "--tls-cert-file", certificate, "--tls-key-file", key,
                     "--tls-ca-cert-file", authority, "--tls-auth-clients", "yes" if self.client_certificates else "no"]
        disk = ["--appendonly", "no"]
        if self.persistence != "none":
            disk = ["--appendonly", "yes", "--appendfsync", self.persistence]
        command = ["redis-server", "--bind", "127.0.0.1", *ports, "--dir", self.data, "--save", "", *disk,
                   "--loglevel", "notice", "--repl-diskless-sync-delay", 0, "--repl-timeout", 5]
        if self.password:
            command += ["--requirepass", self.password, "--masterauth", self.password]
        for name, password in self.users.items():
            command += ["--user", name, "on", f">{password}", "~*", "&*", "+@all"]
        if self.replica_of:
            command += ["--replicaof", f"127.0.0.1 {self.replica_of.port}"]
        return command

    def ready(self):
        return super().ready() and self.cli("PING", check=False).stdout.strip() == "PONG"

    def url_at(self, port, user=None):
        password = self.users[user] if user else self.password
        return (f"{'rediss' if self.certificate else 'redis'}://{user + '@' if user else ''}127.0.0.1:{port}/0"
                f"{self.password_option(password, user)}")

    def cli(self, *arguments, check=True):
        """What redis-cli prints for this command; an error answer raises when `check`."""
        command = ["redis-cli", "-e", "-h", "127.0.0.1", "-p", self.port]
        if self.password:
            command += ["--no-auth-warning", "-a", self.password]
        if self.certificate:
            certificate, key, authority = self.certificate
            command += ["--tls", "--cacert", authority]
            command += ["--cert", certificate, "--key", key] if self.client_certificates else []
        return self.run(*command, *arguments, check=check)

    def fill(self, full=True):
        """Makes its memory full, so that it refuses what would need more; or gives it room again."""
        self.cli("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "1" if full else "0")

    def replicates(self):
        """Whether this replica is in step with its primary's stream."""
        return "master_link_status:up" in self.cli("INFO", "replication")

    def wait_for_replica(self):
        until("the first copy from the primary", self.replicates)

    def promote(self):
        """Makes a replica a primary, with what it has got so far. The old one is not asked."""
        self.cli("REPLICAOF", "NO", "ONE")
        self.replica_of = None
