#!/usr/bin/env python3
"""The stores of leases against their real servers: the behaviours that all share, and the troubles of each."""

import json
import os
import signal
import subprocess

from lib import product
from lib.certificates import Authority
from lib.conformance import Served, conformance, probe
from lib.cut import Cut
from lib.daemon import start_all, until
from lib.etcd import Etcd, EtcdCluster
from lib.kubeconfig import in_cluster, kubeconfig, service_account
from lib.kubernetes import Kubernetes
from lib.postgres import Postgres
from lib.redis import Redis


class Test(product.Test):
    def up(self, *daemons):
        start_all(*daemons)
        for daemon in daemons:
            self.addCleanup(daemon.stop)
        return daemons if len(daemons) > 1 else daemons[0]

    def conforms(self, served, skipped=()):
        self.addCleanup(served.close)
        passed, left_out = conformance(self, served)
        self.assertGreater(passed, 20)
        self.assertEqual(left_out, sorted(skipped))

    def certificates(self):
        """(certificate, key, authority) of a server on the loopback, also good for a client."""
        Authority(self.folder).issue("server", "IP:127.0.0.1")
        return [self.folder / name for name in ("server.pem", "server.key", "ca.pem")]

    def says(self, url, *words, key="probe", environment=None):
        text = probe(url, key, environment)
        for word in words:
            self.assertIn(word, text)
        return text


class ServedRedis(Served):
    def foreign_take(self, key):
        return self.server.cli("SET", key, "somebody", "NX", "PX", "60000") == "OK"

    def foreign_refused(self, key):
        return not self.foreign_take(key) and self.server.cli("GET", key) != ""

    def foreign_release(self, key):
        return self.server.cli("DEL", key) == "1"


class RedisStore(Test):
    def test_it_behaves_as_every_store(self):
        self.conforms(ServedRedis(self.up(Redis(self.folder / "a"))))

    def test_what_it_holds_is_there_for_people_to_see(self):
        redis = self.up(Redis(self.folder / "a"))
        self.says(redis.url, "take: ok holder=prober")
        token = redis.cli("GET", "probe")
        self.assertRegex(token, "^[0-9a-f]{32}$")
        self.assertEqual(redis.cli("HGET", "{probe}:bellwether", "token"), token)
        self.assertEqual(redis.cli("HGET", "{probe}:bellwether", "holder"), "prober")
        self.assertGreater(int(redis.cli("PTTL", "probe")), 5000)
        self.assertEqual(redis.cli("TTL", "{probe}:bellwether"), "-1")

    def test_a_key_that_expired_is_still_held_until_its_candidates_have_waited(self):
        redis = self.up(Redis(self.folder / "a"))
        self.says(redis.url, "take: ok")
        redis.cli("DEL", "probe")
        self.says(redis.url, "look: ok holder=prober", "foreign=0")

    def test_a_lock_without_end_of_another_program_is_explained(self):
        redis = self.up(Redis(self.folder / "a"))
        redis.cli("SET", "probe", "somebody")
        self.says(redis.url, "look: ok holder=somebody", "foreign=1", "never expires", "refused: ok holder=somebody")
        redis.cli("DEL", "probe")
        redis.cli("LPUSH", "probe", "x")
        self.says(redis.url, "look: invalid:", "something else than a lock")

    def test_an_emptied_server_is_not_believed(self):
        redis = self.up(Redis(self.folder / "a"))
        self.assertIn("doubt=1", self.says(redis.url, "never kept leases").splitlines()[0])
        self.says(redis.url, "look: ok holder=prober", "doubt=0")
        redis.cli("FLUSHALL")
        self.says(redis.url, "doubt=1", "never kept leases, or has lost all its data")
        self.says(redis.url, "doubt=1", "this Redis is new", key="another")

    def test_a_failover_leaves_everything_in_doubt(self):
        primary = self.up(Redis(self.folder / "a"))
        replica = self.up(Redis(self.folder / "b", replica_of=primary))
        replica.wait_for_replica()
        self.says(primary.url, "take: ok holder=prober")
        until("the copy", lambda: replica.cli("GET", "probe") != "")
        self.says(replica.url, "look: refused:", "a replica of 127.0.0.1:%d" % primary.port, "name its primary")
        primary.stop()
        replica.promote()
        self.says(replica.url, "look: ok holder=prober", "doubt=1", "what was written last may be lost")
        both = f"redis://127.0.0.1:{primary.port},127.0.0.1:{replica.port}/0"
        self.says(both, "look: ok holder=prober")

    def test_a_failover_under_an_open_connection(self):
        primary, other = self.up(Redis(self.folder / "a"), Redis(self.folder / "b"))
        served = ServedRedis(primary)
        served.restart = lambda: (other.cli("REPLICAOF", "127.0.0.1", primary.port), other.wait_for_replica(),
                                  served.cut.redirect(other), primary.stop(), other.promote(), served.cut.reset())
        self.addCleanup(served.close)
        self.assertEqual(conformance(self, served, "*restart_with_its_data*"), (1, []))

    def test_passwords(self):
        redis = self.up(Redis(self.folder / "a", password="first", users={"bob": "second"}))
        bare = f"127.0.0.1:{redis.port}/0"
        good, wrong = self.write("good", "first\n"), self.write("wrong", "third\n")
        self.write("bob", "second\n")
        self.says(f"redis://{bare}", "look: refused:", "NOAUTH", "password_file")
        self.says(f"redis://{bare}?password_file={wrong}", "look: refused:", "WRONGPASS", "password is wrong")
        self.says(f"redis://{bare}?password_file={good}", "take: ok")
        self.says(f"redis://bob@{bare}?password_file={self.folder / 'bob'}", "look: ok")
        self.says(f"redis://{bare}", "look: ok", environment={**os.environ, "REDISCLI_AUTH": "first"})
        self.says(f"redis://{bare}?password_file={self.folder / 'none'}", "open: not_found:", "none")
        redis.cli("ACL", "SETUSER", "eve", "on", ">second", "~*", "+@read")
        self.says(f"redis://eve@{bare}?password_file={self.folder / 'bob'}", "look: refused:", "NOPERM")

    def test_tls(self):
        certificate, key, authority = self.certificates()
        redis = self.up(Redis(self.folder / "a", certificate=[certificate, key, authority], client_certificates=True))
        where = f"127.0.0.1:{redis.port}"
        self.says(f"rediss://{where}?ca={authority}&cert={certificate}&key={key}", "take: ok")
        self.says(f"rediss://{where}?cert={certificate}&key={key}", "look: tls:", where, "certificate")
        self.assertNotIn("look: ok", probe(f"rediss://{where}?ca={authority}"))
        self.assertNotIn("look: ok", probe(f"redis://{where}"))
        self.says(f"rediss://{where}?ca={self.folder / 'none'}", "open: tls:", "none")

    def test_a_full_server_refuses_in_words(self):
        redis = self.up(Redis(self.folder / "a"))
        self.says(redis.url, "take: ok")
        redis.fill()
        self.says(redis.url, "look: ok holder=prober", "take: exhausted:", "maxmemory")
        redis.fill(False)
        redis.cli("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru")
        self.says(redis.url, "look: refused:", "allkeys-lru", "noeviction")

    def test_what_is_no_redis(self):
        redis = self.up(Redis(self.folder / "a"))
        redis.stop()
        self.says(redis.url, "look: refused:", str(redis.port))
        with Cut(1) as nowhere:
            self.assertNotIn("look: ok", probe(redis.url_at(nowhere.port)))

    def test_wrong_urls(self):
        self.says("redis:", "open: invalid:", "host")
        self.says("redis://h/x", "open: invalid:", "number of a database")
        self.says("redis://h/0?colour=red", "open: invalid:", "colour", "password_file")
        self.says("redis://127.0.0.1:1/0", "open: invalid:", ":bellwether", key="a:bellwether")


class ServedEtcd(Served):
    """Foreign programs are those of etcd itself."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.candidates = {}

    def claims(self, key):
        return self.server.etcdctl("get", "--prefix", f"{key}/", "--keys-only").split()

    def campaign(self, key):
        before = len(self.claims(key))
        candidate = subprocess.Popen([*self.server.client(), "elect", key, "somebody"], text=True,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        until("the claim of etcdctl", lambda: len(self.claims(key)) > before)
        return candidate

    def foreign_take(self, key):
        self.candidates[key] = self.campaign(key)
        return self.candidates[key].stdout.readline().startswith(f"{key}/")

    def foreign_release(self, key):
        self.end(self.candidates.pop(key))
        return True

    def foreign_refused(self, key):
        return self.end(self.campaign(key)) == ""  # it has never been elected

    def end(self, candidate):
        """What it had to say."""
        candidate.send_signal(signal.SIGINT)
        return candidate.communicate()[0]


class EtcdStore(Test):
    def test_it_behaves_as_every_store(self):
        self.conforms(ServedEtcd(self.up(Etcd(self.folder / "a"))), POLLED)

    def test_a_lock_of_etcdctl_is_shown_and_waits_its_turn(self):
        etcd = self.up(Etcd(self.folder / "a"))
        lock = subprocess.Popen([*etcd.client(), "lock", "probe"], text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE)
        name = lock.stdout.readline().strip()
        lease = name.split("/")[1]
        self.says(etcd.url, f"look: ok holder=lease {lease}", "foreign=1", "refused: ok", "ahead=1")
        lock.send_signal(signal.SIGINT)
        lock.wait()
        lock.stdout.close()
        queue = json.loads(etcd.etcdctl("get", "--prefix", "probe/", "-w", "json"))
        self.assertEqual(queue["count"], 1, "ours has moved up")

    def test_a_claim_that_nobody_keeps_alive_ends(self):
        etcd = self.up(Etcd(self.folder / "a"))
        self.says(etcd.url, "take: ok holder=prober")
        [claim] = json.loads(etcd.etcdctl("get", "--prefix", "probe/", "-w", "json"))["kvs"]
        granted = json.loads(etcd.etcdctl("lease", "timetolive", f"{claim['lease']:x}", "-w", "json"))
        self.assertEqual(granted["granted-ttl"], 15)

    def test_a_cluster_goes_on_without_one_member(self):
        cluster = EtcdCluster(self.folder / "c").start()
        self.addCleanup(cluster.stop)
        self.says(cluster.url, "take: ok holder=prober")
        cluster.members[0].stop()
        self.says(cluster.url, "look: ok holder=prober")
        cluster.members[1].stop()
        text = probe(cluster.url, "another")
        self.assertNotIn("look: ok", text)

    def test_a_lead_that_moves_keeps_the_holder(self):
        cluster = EtcdCluster(self.folder / "c").start()
        served = ServedEtcd(cluster.members[0])
        served.restart = cluster.move_leader
        self.addCleanup(cluster.stop)
        self.addCleanup(served.close)
        self.assertEqual(conformance(self, served, "*restart_with_its_data*"), (1, []))

    def test_passwords(self):
        etcd = self.up(Etcd(self.folder / "a"))
        etcd.enable_auth("first", {"bob": "second"})
        where = f"127.0.0.1:{etcd.port}"
        good, wrong = self.write("good", "second"), self.write("wrong", "third")
        self.says(f"etcd://{where}", "look: refused:", "etcd://USER@HOST")
        self.says(f"etcd://bob@{where}?password_file={wrong}", "look: refused:", "password is wrong")
        self.says(f"etcd://bob@{where}?password_file={good}", "take: ok")
        etcd.etcdctl("user", "add", "eve:second")
        self.says(f"etcd://eve@{where}?password_file={good}", "look: refused:", "may not read and write")

    def test_a_user_where_none_is_asked_for(self):
        etcd = self.up(Etcd(self.folder / "a"))
        self.says(f"etcd://bob@127.0.0.1:{etcd.port}?password_file={self.write('secret', 'x')}", "take: ok")

    def test_tls(self):
        certificate, key, authority = self.certificates()
        etcd = self.up(Etcd(self.folder / "a", certificate=[certificate, key, authority], client_certificates=True))
        where = f"127.0.0.1:{etcd.port}"
        self.says(f"etcds://{where}?ca={authority}&cert={certificate}&key={key}", "take: ok")
        self.says(f"etcds://{where}?cert={certificate}&key={key}", "look: tls:", where, "certificate")
        self.assertNotIn("look: ok", probe(f"etcds://{where}?ca={authority}"))
        self.assertNotIn("look: ok", probe(f"etcd://{where}"))

    def test_a_full_server_refuses_in_words(self):
        etcd = self.up(Etcd(self.folder / "a", quota=4 << 20))
        etcd.fill()
        self.says(etcd.url, "look: ok", "take: no_space:", "NOSPACE")
        etcd.make_room()
        self.says(etcd.url, "take: ok")

    def test_wrong_urls(self):
        self.says("etcd:", "open: invalid:", "host")
        self.says("etcd://h/path", "open: invalid:", "comes nothing")
        self.says("etcds://h?colour=red", "open: invalid:", "colour", "password_file, ca, cert, key, verify")


POLLED = ["StoreConformance.whoever_waits_for_a_change_can_give_up",
          "StoreConformance.whoever_waits_for_a_change_is_woken_by_it_or_told_to_poll"]


class PostgresStore(Test):
    FOREIGN = ["ServerTrouble.a_foreign_program_cannot_take_what_we_hold",
               "ServerTrouble.what_a_foreign_program_holds_is_shown_and_cannot_be_taken_until_it_is_given_back"]

    def test_it_behaves_as_every_store(self):
        self.conforms(Served(self.up(Postgres(self.folder / "a"))), POLLED + self.FOREIGN)

    def test_what_it_holds_is_a_row_for_people_to_see(self):
        postgres = self.up(Postgres(self.folder / "a"))
        self.says(postgres.url, "doubt=1", "never kept leases", "take: ok holder=prober")
        self.assertEqual(postgres.psql("select holder, lease_ms from bellwether_leases where key = 'probe'"),
                         "prober|15000")
        self.says(postgres.url, "look: ok holder=prober", "doubt=0")
        self.says(postgres.url, "doubt=1", "this PostgreSQL is new", key="another")
        postgres.psql("drop table bellwether_leases")
        self.says(postgres.url, "doubt=1", "has lost all its data")

    def test_a_failover_leaves_everything_in_doubt(self):
        primary = self.up(Postgres(self.folder / "a"))
        self.says(primary.url, "take: ok holder=prober")
        standby = self.up(Postgres(self.folder / "b", replica_of=primary))
        standby.wait_for_replica(primary)
        self.says(standby.url, "look: refused:", "standby", "name its primary")
        both = f"postgres://tester@127.0.0.1:{standby.port},127.0.0.1:{primary.port}/postgres"
        self.assertNotIn("doubt=1", probe(both))
        primary.stop()
        standby.promote()
        self.says(standby.url, "look: ok holder=prober", "doubt=1", "what was written last may be lost")

    def test_rights(self):
        postgres = self.up(Postgres(self.folder / "a"))
        postgres.psql("create role eve login")
        eve = f"postgres://eve@127.0.0.1:{postgres.port}/postgres"
        self.says(eve, "look: refused:", "let an administrator run: create table")
        self.says(postgres.url, "take: ok")
        self.says(eve, "look: refused:", "no right")
        postgres.psql("grant select, insert, update on bellwether_leases to eve")
        self.says(eve, "look: ok", "take: ok")

    def test_a_read_only_server_refuses_in_words(self):
        postgres = self.up(Postgres(self.folder / "a"))
        self.says(postgres.url, "take: ok")
        postgres.read_only()
        self.says(postgres.url, "look: ok holder=prober", "take: refused:", "read-only")

    def test_passwords(self):
        postgres = self.up(Postgres(self.folder / "a", password="first"))
        bare = f"postgres://tester@127.0.0.1:{postgres.port}/postgres"
        self.says(f"{bare}?password_file={self.write('wrong', 'third')}", "look: refused:", "password")
        self.says(bare, "look: refused:", "password_file")
        self.says(postgres.url, "take: ok")
        self.says(bare, "look: ok", environment={**os.environ, "PGPASSWORD": "first"})
        self.says(bare.replace("/postgres", "/nowhere") + f"?password_file={self.write('good', 'first')}",
                  "look: not_found:", "nowhere")

    def test_tls(self):
        certificate, key, authority = self.certificates()
        postgres = self.up(Postgres(self.folder / "a", certificate=[certificate, key, authority]))
        bare = f"postgres://tester@127.0.0.1:{postgres.port}/postgres"
        self.says(f"{bare}?sslmode=verify-full&sslrootcert={authority}", "take: ok")
        self.says(f"{bare}?sslmode=disable", "look: refused:", "pg_hba.conf")
        self.says(f"{bare}?sslmode=verify-full&sslrootcert={key}", "look: tls:")

    def test_wrong_urls(self):
        self.says("postgres:", "open: invalid:", "host")
        self.says("postgres://h/d?colour=red", "open: invalid:", "colour", "sslmode")


class ServedKubernetes(Served):
    """Foreign programs are electors as those of client-go."""

    def __init__(self, server, folder):
        super().__init__(server)
        self.folder = folder

    @property
    def url(self):
        return f"k8s:default?kubeconfig={kubeconfig(self.folder / 'cut', f'http://127.0.0.1:{self.cut.port}')}"

    foreign_hold = None  # its electors only wait for each other: any may update the Lease at any time
    pause = None  # it is a part of this process
    lose = None  # what the API server has answered is in a majority of logs

    def foreign_take(self, key):
        lease = self.server.lease(key)
        if lease["spec"].get("holderIdentity"):
            return False
        lease["spec"].update(holderIdentity="somebody", leaseDurationSeconds=15,
                             leaseTransitions=lease["spec"]["leaseTransitions"] + 1)
        self.server.store.update("default", key, lease)
        return True

    def foreign_refused(self, key):
        return not self.foreign_take(key) and self.server.lease(key)["spec"]["holderIdentity"] == "alice"

    def foreign_release(self, key):
        lease = self.server.lease(key)
        del lease["spec"]["holderIdentity"]
        self.server.store.update("default", key, lease)


class KubernetesStore(Test):
    def kubernetes(self, **options):
        server = Kubernetes(**options)
        self.addCleanup(server.stop)
        return server

    def url_of(self, server, name="default", **access):
        return f"k8s:{name}?kubeconfig={kubeconfig(self.folder / 'config', server.url, **access)}"

    def test_it_behaves_as_every_store(self):
        self.conforms(ServedKubernetes(self.kubernetes(), self.folder), [
            "ServerTrouble.a_restart_without_its_data_is_noticed_and_repeats_no_epoch",
            "ServerTrouble.what_a_foreign_program_holds_is_shown_and_cannot_be_taken_until_it_is_given_back",
            "Silence.of_a_paused_server_ends_at_the_deadline_and_the_store_is_usable_afterwards", *POLLED])

    def test_what_it_holds_is_there_for_other_electors_to_see(self):
        server = self.kubernetes()
        self.says(self.url_of(server), "take: ok holder=prober epoch=1")
        spec = server.lease("probe")["spec"]
        self.assertEqual((spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]),
                         ("prober", 15, 1))
        self.assertRegex(spec["renewTime"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")

    def test_a_lease_of_another_elector_is_shown(self):
        server = self.kubernetes()
        server.store.create("default", {"metadata": {"name": "probe"}, "spec": {
            "holderIdentity": "somebody", "leaseDurationSeconds": 15, "leaseTransitions": 7}})
        self.says(self.url_of(server), "look: ok holder=somebody epoch=7", "foreign=1",
                  "take: ok holder=prober epoch=8")

    def test_a_lease_that_was_deleted_repeats_no_epoch(self):
        server = self.kubernetes()
        self.says(self.url_of(server), "take: ok holder=prober epoch=1")
        server.store.delete("default", "probe", {})
        self.says(self.url_of(server), "look: ok holder= epoch=0 floor=2", "take: ok holder=prober epoch=2")

    def test_credentials(self):
        certificate, key, authority = self.certificates()
        every = {"get", "list", "create", "update"}
        server = self.kubernetes(tokens={"good": every, "reader": {"get"}}, tls=(certificate, key, authority))
        token = self.write("token", "good\n")
        for access in ({"token": "good", "ca": authority}, {"token_file": token, "ca_data": authority},
                       {"client": (certificate, key), "ca": authority}, {"token": "good", "insecure": True},
                       {"client_data": (certificate, key), "ca_data": authority}):
            self.says(self.url_of(server, **access), "look: ok")
        self.says(self.url_of(server, token="bad", ca=authority), "look: refused:", "does not know us")
        self.says(self.url_of(server, token="reader", ca=authority), "look: ok", "take: refused:", "a Role must permit")
        self.says(self.url_of(server, token="good"), "look: tls:", "certificate")
        self.says(self.url_of(server, name="nowhere", token="good", ca=authority), "take: not_found:", "nowhere")
        pod = service_account(self.folder / "pod", "good", authority)
        self.says(f"k8s:?service_account={pod}", "take: ok", key="pod",
                  environment={**os.environ, **in_cluster(server.port)})

    def test_an_overloaded_server_is_asked_again_when_it_says(self):
        server = self.kubernetes()
        server.inject(status=429, retry_after=0, times=2)
        self.says(self.url_of(server), "take: ok")
        server.inject(status=429, retry_after=60)
        self.says(self.url_of(server), "look: exhausted:", "60 s")
        server.inject(status=503, times=2)
        self.says(self.url_of(server), "look: unreachable:", "503")

    def test_wrong_files(self):
        self.says(f"k8s:?kubeconfig={self.folder / 'none'}", "open: not_found:", "none")
        self.says(f"k8s:?kubeconfig={self.write('text', 'just text')}", "open: invalid:", "no kubeconfig")
        config = kubeconfig(self.folder / "config", "https://127.0.0.1:1")
        self.says(f"k8s:?kubeconfig={config}&context=other", "open: invalid:", "no context 'other'")
        self.says(f"k8s:?kubeconfig={config}&colour=red", "open: invalid:", "colour")


if __name__ == "__main__":
    product.main()
