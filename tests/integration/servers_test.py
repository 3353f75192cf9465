#!/usr/bin/env python3
"""The lock stores that other tests start: each one answers its own client, and fails and loses what it is told to."""

import socket
import time
from pathlib import Path

from lib import product
from lib.certificates import Authority
from lib.cut import TO_CLIENT, TO_SERVER, Cut
from lib.daemon import PATIENCE, lives, start_all, until
from lib.etcd import Etcd, EtcdCluster
from lib.postgres import Postgres
from lib.redis import Redis


class Test(product.Test):
    def up(self, *daemons):
        """These servers, started side by side."""
        start_all(*daemons)
        for daemon in daemons:
            self.addCleanup(daemon.stop)
        return daemons if len(daemons) > 1 else daemons[0]

    def certificates(self):
        """(certificate, key, authority) of a server on the loopback, also good for a client; and a stranger's."""
        Authority(self.folder, "stranger").issue("strange", "IP:127.0.0.1")
        Authority(self.folder).issue("server", "IP:127.0.0.1")
        return ([self.folder / name for name in ("server.pem", "server.key", "ca.pem")],
                [self.folder / name for name in ("strange.pem", "strange.key", "stranger.pem")])


class RedisServer(Test):
    def test_its_data_survive_a_crash_when_it_is_durable_and_when_nobody_says_otherwise(self):
        durable, forgetful = self.up(Redis(self.folder / "a"), Redis(self.folder / "b", persistence="none"))
        for redis in (durable, forgetful):
            self.assertEqual(redis.cli("SET", "key", "value"), "OK")
            redis.restart()
        self.assertEqual(durable.cli("GET", "key"), "value")
        self.assertEqual(forgetful.cli("GET", "key"), "")
        durable.restart(lose_data=True)
        self.assertEqual(durable.cli("GET", "key"), "")

    def test_full_it_refuses_writes_and_not_reads(self):
        redis = self.up(Redis(self.folder / "a"))
        redis.cli("SET", "key", "value")
        redis.fill()
        self.assertIn("OOM", redis.cli("SET", "key", "other", check=False).stderr)
        self.assertEqual(redis.cli("GET", "key"), "value")
        redis.fill(False)
        redis.cli("SET", "key", "other")

    def test_a_failover_loses_what_the_replica_had_not_got(self):
        primary = self.up(Redis(self.folder / "a", password="secret"))
        cut = Cut(primary)
        self.addCleanup(cut.close)
        replica = self.up(Redis(self.folder / "b", password="secret", replica_of=cut))
        primary.cli("SET", "early", "1")
        replica.wait_for_replica()
        until("the copy", lambda: replica.cli("GET", "early") == "1")
        self.assertIn("READONLY", replica.cli("SET", "early", "2", check=False).stderr)
        cut.black()
        primary.cli("SET", "late", "1")
        primary.stop()
        replica.promote()
        self.assertEqual((replica.cli("GET", "early"), replica.cli("GET", "late")), ("1", ""))
        replica.cli("SET", "early", "2")

    def test_passwords_users_and_tls(self):
        ours, theirs = self.certificates()
        secret, strict, lenient = self.up(
            Redis(self.folder / "a", password="pass", users={"bob": "bobs"}),
            Redis(self.folder / "b", certificate=ours, client_certificates=True),
            Redis(self.folder / "c", certificate=ours))
        self.assertEqual(lenient.cli("SET", "key", "value"), "OK")
        self.assertEqual(strict.url, f"rediss://127.0.0.1:{strict.port}/0")
        scheme, _, file = secret.url_at(7, "bob").partition("?password_file=")
        self.assertEqual((scheme, Path(file).read_text()), ("redis://bob@127.0.0.1:7/0", "bobs"))
        self.assertIn("NOAUTH", secret.run("redis-cli", "-p", secret.port, "GET", "x"))
        self.assertEqual(secret.run("redis-cli", "-p", secret.port, "--user", "bob", "--pass", "bobs",
                                    "--no-auth-warning", "ACL", "WHOAMI"), "bob")
        self.assertEqual(strict.cli("SET", "key", "value"), "OK")
        strict.certificate = theirs[:2] + ours[2:]
        self.assertNotEqual(strict.cli("PING", check=False).returncode, 0)


class EtcdServer(Test):
    def test_its_data_survive_a_crash_but_not_the_loss_of_its_disk(self):
        etcd = self.up(Etcd(self.folder / "a"))
        etcd.etcdctl("put", "key", "value")
        revision = etcd.revision()
        etcd.restart()
        self.assertEqual(etcd.etcdctl("get", "key", "--print-value-only"), "value")
        self.assertEqual(etcd.revision(), revision)
        etcd.compact()
        self.assertIn("compacted", etcd.etcdctl("get", "key", "--rev=1", check=False).stderr)
        etcd.restart(lose_data=True)
        self.assertEqual(etcd.etcdctl("get", "key"), "")
        self.assertLess(etcd.revision(), revision)

    def test_its_own_tools_elect_and_lock(self):
        """What they print and leave behind is what the product must contend with."""
        etcd = self.up(Etcd(self.folder / "a"))

        def elect(proposal):
            process = etcd.begin(*etcd.client(), "elect", "job", proposal)
            self.addCleanup(product.end, process)
            return process, product.Reader(process.stdout)

        first, said = elect("first")
        self.assertRegex(said.wait_for("job/"), "^job/[0-9a-f]+$")
        second, later = elect("second")
        until("the second's key", lambda: len(etcd.etcdctl("get", "job/", "--prefix", "--keys-only").split()) == 2)
        self.assertEqual(later.lines, [])
        product.interrupt(first)
        later.wait_for("second")
        self.assertEqual(etcd.run(*etcd.client(), "lock", "other", "echo", "inside"), "inside")
        self.assertIsNone(second.poll())

    def test_a_quota_ends_in_an_alarm_and_room_can_be_made(self):
        etcd = self.up(Etcd(self.folder / "a", quota=4 << 20))
        etcd.fill()
        self.assertIn("NOSPACE", etcd.etcdctl("alarm", "list"))
        self.assertIn("space exceeded", etcd.etcdctl("put", "key", "value", check=False).stderr)
        etcd.make_room()
        etcd.etcdctl("put", "key", "value")

    def test_users_and_tls(self):
        ours, theirs = self.certificates()
        secret, strict, lenient = self.up(
            Etcd(self.folder / "a"), Etcd(self.folder / "b", certificate=ours, client_certificates=True),
            Etcd(self.folder / "c", certificate=ours))
        self.assertEqual(lenient.etcdctl("put", "key", "value"), "OK")
        secret.enable_auth("pass", {"bob": "bobs"})
        self.assertEqual(secret.etcdctl("put", "key", "value"), "OK")
        secret.login = ("bob", "bobs")
        self.assertEqual(secret.etcdctl("get", "key", "--print-value-only"), "value")
        self.assertIn("permission denied", secret.etcdctl("user", "add", "eve:e", check=False).stderr)
        secret.login = ("bob", "wrong")
        self.assertIn("authentication failed", secret.etcdctl("get", "key", check=False).stderr)
        self.assertEqual(strict.etcdctl("put", "key", "value"), "OK")
        strict.certificate = theirs[:2] + ours[2:]
        self.assertNotEqual(strict.etcdctl("get", "key", "--command-timeout=300ms", check=False).returncode, 0)

    def test_a_cluster_moves_its_lead_survives_one_member_and_takes_it_back_empty(self):
        cluster = EtcdCluster(self.folder / "c")
        self.addCleanup(cluster.stop)
        cluster.start()
        cluster.etcdctl("put", "key", "value")
        heir = cluster.move_leader()
        self.assertIs(cluster.leader(), heir)
        heir.stop()
        self.assertIsNot(cluster.leader(), heir)
        self.assertEqual(cluster.etcdctl("get", "key", "--print-value-only"), "value")
        cluster.etcdctl("put", "key", "later")
        heir.start()
        self.assertEqual(heir.etcdctl("get", "key", "--print-value-only", everyone=False), "later")
        cluster.replace(heir)
        self.assertEqual(heir.etcdctl("get", "key", "--print-value-only", everyone=False), "later")
        self.assertEqual(len(cluster.etcdctl("member", "list").splitlines()), 3)


class PostgresServer(Test):
    def test_its_data_survive_a_crash_but_not_the_loss_of_its_disk(self):
        postgres = self.up(Postgres(self.folder / "a"))
        postgres.psql("create table t (n int); insert into t values (7)")
        postgres.restart()
        self.assertEqual(postgres.psql("table t"), "7")
        self.assertEqual(postgres.psql("show fsync; show synchronous_commit"), "on\non")
        postgres.read_only()
        self.assertIn("read-only", postgres.psql("delete from t", check=False).stderr)
        postgres.read_only(False)
        postgres.restart(lose_data=True)
        self.assertIn("does not exist", postgres.psql("table t", check=False).stderr)

    def test_a_failover_loses_what_the_standby_had_not_got(self):
        primary = self.up(Postgres(self.folder / "a", password="pass"))
        cut = Cut(primary)
        self.addCleanup(cut.close)
        standby = self.up(Postgres(self.folder / "b", password="pass", replica_of=cut))
        primary.psql("create table t (n int); insert into t values (1)")
        standby.wait_for_replica(primary)
        cut.black()
        primary.psql("insert into t values (2)")
        primary.stop()
        standby.promote()
        standby.psql("insert into t values (3)")
        self.assertEqual(standby.psql("table t"), "1\n3")

    def test_passwords_and_tls(self):
        ours, theirs = self.certificates()
        postgres = self.up(Postgres(self.folder / "a", password="pass", certificate=ours))
        self.assertEqual(postgres.psql("select ssl from pg_stat_ssl where pid = pg_backend_pid()"), "t")
        url = postgres.connection(postgres.port)
        self.assertTrue(postgres.url.startswith(f"postgres://tester@127.0.0.1:{postgres.port}/postgres?password_file="))
        for wrong, complaint in ((url.replace(":pass@", ":nope@"), "authentication failed"),
                                 (url.replace("verify-full", "disable"), "no encryption"),
                                 (url.replace(str(ours[2]), str(theirs[2])), "certificate verify failed")):
            done = postgres.run("psql", "-d", wrong, "-c", "select 1", check=False)
            self.assertIn(complaint, done.stderr)


class AnyServer(Test):
    """What all of them have from Daemon."""

    def test_a_pause_holds_back_the_answer_and_loses_nothing(self):
        servers = self.up(Redis(self.folder / "r"), Postgres(self.folder / "p"))
        redis = servers[0]
        with socket.create_connection(("127.0.0.1", redis.port), PATIENCE) as client:
            client.sendall(b"PING\r\n")
            self.assertEqual(client.recv(100), b"+PONG\r\n")
            for server in servers:
                server.pause()
            client.sendall(b"PING\r\n")
            client.settimeout(0.1)
            self.assertRaises(TimeoutError, client.recv, 100)
            for server in servers:
                server.resume()
            client.settimeout(PATIENCE)
            self.assertEqual(client.recv(100), b"+PONG\r\n")
        self.assertEqual(servers[1].psql("select 1"), "1")

    def test_one_that_cannot_start_says_why_and_is_not_taken_for_another_on_its_port(self):
        first = self.up(Redis(self.folder / "a"))
        second = Redis(self.folder / "b")
        self.addCleanup(second.stop)
        second.port = first.port
        second.spawn()
        self.assertTrue(first.ready())
        self.assertFalse(second.ready())
        with self.assertRaisesRegex(AssertionError, "(?s)Redis on port .*already in use"):
            second.wait()

    def test_all_its_processes_end_with_it_even_when_they_are_paused(self):
        postgres = self.up(Postgres(self.folder / "a"))
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()
                and parent_of(entry) == str(postgres.process.pid)]
        self.assertGreater(len(pids), 2)
        postgres.pause()
        postgres.stop()
        self.assertEqual([pid for pid in pids if lives(pid)], [])


def parent_of(entry):
    """The id of a process's parent, from its folder in /proc."""
    try:
        return (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
    except OSError:
        return None


class Cuts(Test):
    """A cut before a server that sends back what it gets."""

    def setUp(self):
        super().setUp()
        self.redis = self.up(Redis(self.folder / "a", persistence="none"))
        self.cut = Cut(self.redis)
        self.addCleanup(self.cut.close)
        self.client = self.connect()
        self.assertEqual(self.ask(), b"+PONG\r\n")

    def connect(self, seconds=PATIENCE):
        client = socket.create_connection(("127.0.0.1", self.cut.port), seconds)
        self.addCleanup(client.close)
        return client

    def ask(self, question=b"PING\r\n", seconds=PATIENCE):
        self.client.settimeout(seconds)
        self.client.sendall(question)
        return self.client.recv(100)

    def test_black_is_silence_for_old_and_new_connections_and_what_was_sent_comes_late(self):
        self.cut.black()
        self.assertRaises(TimeoutError, self.ask, b"SET late 1\r\n", 0.1)
        self.assertRaises(TimeoutError, self.connect, 0.1)
        self.assertEqual(self.redis.cli("GET", "late"), "")
        self.cut.open()
        self.assertEqual(self.ask(b""), b"+OK\r\n")
        self.client = self.connect()
        self.assertEqual(self.ask(), b"+PONG\r\n")

    def test_black_may_lose_what_was_sent(self):
        self.cut.black(drop=True)
        self.assertRaises(TimeoutError, self.ask, b"SET lost 1\r\n", 0.1)
        self.cut.open()
        self.assertRaises(ConnectionResetError, self.ask, b"")
        self.assertEqual(self.redis.cli("GET", "lost"), "")

    def test_one_way_the_server_acts_and_nobody_learns_of_it(self):
        self.cut.black(TO_CLIENT)
        self.assertRaises(TimeoutError, self.ask, b"SET done 1\r\n", 0.1)
        until("the write", lambda: self.redis.cli("GET", "done") == "1")
        self.cut.black(TO_SERVER)
        self.assertEqual(self.ask(b""), b"+OK\r\n")

    def test_it_refuses_resets_and_hides_the_death_of_a_server(self):
        self.cut.reset()
        self.assertRaises(ConnectionResetError, self.ask, b"")
        self.client = self.connect()
        self.cut.refuse()
        self.assertRaises(ConnectionError, self.ask)
        self.assertRaises(ConnectionRefusedError, self.connect)
        self.cut.open()
        self.client = self.connect()
        self.assertEqual(self.ask(), b"+PONG\r\n")
        self.cut.black()
        self.redis.stop()
        self.assertRaises(TimeoutError, self.ask, b"", 0.1)
        self.cut.open()
        self.assertEqual(self.ask(b""), b"", "it learns now that the server is gone")

    def test_delay_and_another_server(self):
        self.cut.delay(0.2, TO_SERVER)
        before = time.monotonic()
        self.ask()
        self.assertGreaterEqual(time.monotonic() - before, 0.2)
        self.cut.open()
        other = self.up(Redis(self.folder / "b"))
        other.cli("SET", "which", "other")
        self.cut.redirect(other)
        self.assertEqual(self.ask(b"GET which\r\n"), b"$-1\r\n")
        self.client = self.connect()
        self.assertEqual(self.ask(b"GET which\r\n"), b"$5\r\nother\r\n")


if __name__ == "__main__":
    product.main()
