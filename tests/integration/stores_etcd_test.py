#!/usr/bin/env python3
"""The store of leases on etcd against its real server: the behaviours that all share, and its own troubles."""

import json
import signal
import subprocess

from lib import product
from lib.conformance import Served, conformance, probe
from lib.daemon import until
from lib.etcd import Etcd, EtcdCluster
from lib.stores import Test


class ServedEtcd(Served):
    """Foreign programs are those of etcd itself."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.candidates = {}

    def backup(self):
        self.server.etcdctl("snapshot", "save", self.server.folder / "copy", everyone=False)

    def restore(self):
        self.server.stop()
        self.server.forget()
        self.server.run("etcdctl", "snapshot", "restore", self.server.folder / "copy", "--data-dir", self.server.data,
                        "--name", self.server.name, "--initial-cluster", f"{self.server.name}={self.server.peer}",
                        "--initial-advertise-peer-urls", self.server.peer)
        self.server.start()

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
        self.conforms(ServedEtcd(self.up(Etcd(self.folder / "a"))))

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
        self.says("etcd://h/path", "open: invalid:", "nothing may follow")
        self.says("etcds://h?colour=red", "open: invalid:", "colour", "password_file, ca, cert, key, verify")


if __name__ == "__main__":
    product.main()
