"""PostgreSQL from the distribution's package, as a user without rights, with durable commits; and standbys."""

import atexit
import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import weakref
from pathlib import Path

from .daemon import Daemon, until

BIN = "/usr/lib/postgresql/15/bin"  # another PostgreSQL may come first in PATH
MEMORY = Path("/dev/shm")
ROOM = 1 << 29  # bytes that must be free there
made = {}  # by name and password: the data of a new server, to copy; making them anew takes a second of a processor


class Postgres(Daemon):
    """`password` of its superuser `name` (scram-sha-256); without one, everybody is trusted.

    `certificate`: (certificate, key, authority) files; only TLS is let in then. `replica_of`: whatever has a `port`
    where its primary answers.
    """

    user = "postgres"

    def __init__(self, folder, name="tester", password=None, certificate=None, replica_of=None):
        super().__init__(folder)
        memory = memory_folder()
        if memory:
            weakref.finalize(self, shutil.rmtree, memory, ignore_errors=True)
            self.own(memory, 0o700)
            self.data = memory / "data"
        self.name = name
        self.password = password
        self.certificate = certificate
        self.replica_of = replica_of

    def url_at(self, port, user=None):
        return (f"postgres://{user or self.name}@127.0.0.1:{port}/postgres"
                f"{'' if user else self.password_option(self.password)}")

    def connection(self, port):
        """A URL for PostgreSQL's own tools."""
        secret = f":{self.password}" if self.password else ""
        tail = f"?sslmode=verify-full&sslrootcert={self.certificate[2]}" if self.certificate else ""
        return f"postgres://{self.name}{secret}@127.0.0.1:{port}/postgres{tail}"

    def prepare(self):
        if self.data.exists():
            return
        if self.replica_of:
            self.run(f"{BIN}/pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d",
                     self.connection(self.replica_of.port))
            return
        if template := made.get((self.name, self.password)):
            subprocess.run(["cp", "-a", template, self.data], check=True)
            return
        secret = self.folder / "password"
        secret.write_text(self.password or "")
        self.own(secret)
        method = ["-A", "scram-sha-256", "--pwfile", secret] if self.password else ["-A", "trust"]
        self.run(f"{BIN}/initdb", "-D", self.data, "-U", self.name, "-E", "UTF8", "--locale=C", "--no-sync",
                 "--no-instructions", *method)
        place = memory_folder() or tempfile.mkdtemp()
        atexit.register(shutil.rmtree, place, ignore_errors=True)
        made[self.name, self.password] = f"{place}/data"
        subprocess.run(["cp", "-a", self.data, f"{place}/data"], check=True)

    def command(self):
        settings = {"port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
                    "shared_buffers": "16MB", "max_wal_size": "64MB", "log_min_messages": "warning",
                    "autovacuum": "off", "wal_receiver_status_interval": "1s",
                    "dynamic_shared_memory_type": "mmap"}
        if self.certificate:
            for number, (setting, file) in enumerate(zip(("cert", "key", "ca"), self.certificate)):
                copy = self.folder / f"tls-{setting}.pem"
                shutil.copy(file, copy)
                self.own(copy)
                settings[f"ssl_{setting}_file"] = copy
            settings["ssl"] = "on"
            rules = self.data / "pg_hba.conf"
            rules.write_text(rules.read_text().replace("\nhost ", "\nhostssl "))
        return [f"{BIN}/postgres", "-D", self.data,
                *(word for name, value in settings.items() for word in ("-c", f"{name}={value}"))]

    def stop(self):
        super().stop()
        # What a killed server leaves in the kernel is removed by its next start only, and there may be none.
        lock = self.data / "postmaster.pid"
        lines = lock.read_text().splitlines() if lock.exists() else []
        if len(lines) > 6:
            subprocess.run(["ipcrm", "-m", lines[6].split()[1]], stderr=subprocess.DEVNULL, check=False)

    def own(self, file, mode=0o600):
        """Makes the file private to the server's user."""
        file.chmod(mode)
        if os.geteuid() == 0:
            entry = pwd.getpwnam(self.user)
            os.chown(file, entry.pw_uid, entry.pw_gid)

    def ready(self):
        return super().ready() and self.psql("select 1", check=False).returncode == 0

    def psql(self, statement, check=True):
        """The rows that a statement gives, a line each, columns between bars."""
        return self.run(f"{BIN}/psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d",
                        self.connection(self.port), "-c", statement, check=check)

    def read_only(self, on=True):
        """Whether it refuses writes, as one does that has been failed over from, or whose disk is full."""
        self.psql(f"alter system set default_transaction_read_only = {'on' if on else 'off'}")
        self.psql("select pg_reload_conf()")
        until("the new setting", lambda: self.psql("show default_transaction_read_only") == ("on" if on else "off"))

    def sessions(self):
        """How many client connections it has, but for the one that asks."""
        return int(self.psql("select count(*) from pg_stat_activity where backend_type = 'client backend'"
                             " and pid <> pg_backend_pid()"))

    def end_sessions(self):
        """Ends all client connections, as an administrator does."""
        self.psql("select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend'"
                  " and pid <> pg_backend_pid()")

    def wait_for_replica(self, primary):
        """Until this standby has got all that the primary has written so far."""
        written = primary.psql("select pg_current_wal_lsn()")
        until("the standby's replay", lambda: self.psql(
            f"select coalesce(pg_last_wal_replay_lsn() >= '{written}', false)") == "t")

    def promote(self):
        """Makes a standby a primary, with what it has got so far. The old one is not asked."""
        self.psql("select pg_promote()")
        self.replica_of = None


def memory_folder():
    """A temporary folder in memory, or None when there is not much of it.

    It outlives a crash of the server as a disk does. On a disk that others use too, PostgreSQL takes many seconds to
    start after a crash, for it first flushes each of a thousand files. Folders of tests that were killed are removed.
    """
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
        return None
    for left in MEMORY.glob("bellwether-test-*-*"):
        pid = left.name.split("-")[2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(left, ignore_errors=True)
    with contextlib.suppress(OSError):
        return Path(tempfile.mkdtemp(prefix=f"bellwether-test-{os.getpid()}-", dir=MEMORY))
    return None
