#!/usr/bin/env python3
"""The store of leases on Kubernetes against a double of its server: what all stores share, and its own troubles."""

import os
from urllib.parse import parse_qs

from lib import product
from lib.conformance import Served, conformance
from lib.kubeconfig import in_cluster, kubeconfig, service_account
from lib.kubernetes import Kubernetes
from lib.stores import Test


class ServedKubernetes(Served):
    """Foreign programs are electors as those of client-go."""

    def __init__(self, server, folder):
        super().__init__(server)
        self.folder = folder

    @property
    def url(self):
        return f"k8s:default?kubeconfig={kubeconfig(self.folder / 'cut', f'http://127.0.0.1:{self.cut.port}')}"

    def backup(self):
        self.copy = self.server.store.copy()

    def restore(self):
        self.server.stop()
        self.server.store.restore(self.copy)
        self.server.start()

    foreign_hold = None  # its electors only wait for each other: any may update the Lease at any time
    lose = None  # nobody but those who know a greater epoch could tell an emptied cluster from a new one

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
            "ServerTrouble.what_a_foreign_program_holds_is_shown_and_cannot_be_taken_until_it_is_given_back"])

    def watched(self, server, *tests):
        """The resource versions from which it was watched while these behaviours were shown ("": none)."""
        served = ServedKubernetes(server, self.folder)
        served.reset = lambda: (server.store.forget_history(), server.end_watches())
        self.addCleanup(served.close)
        self.assertEqual(conformance(self, served, ":".join(tests)), (len(tests), []))
        watches = [parse_qs(path.partition("?")[2]) for _, path in server.requests if "watch=1" in path]
        self.assertTrue(all(one["fieldSelector"][0].startswith("metadata.name=bw-test-") for one in watches), watches)
        return [one.get("resourceVersion", [""])[0] for one in watches]

    def test_a_watch_goes_on_from_what_was_seen(self):
        versions = self.watched(self.kubernetes(), "Watching.whatever_somebody_else_does_to_the_key_is_told")
        self.assertEqual(len(versions), 1, "one connection is enough")

    def test_a_watch_whose_history_is_forgotten_begins_anew(self):
        versions = self.watched(self.kubernetes(), "WatchTrouble.of_a_connection_that_is_reset*")
        self.assertGreater(len(versions), 1)


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
        every = {"get", "list", "watch", "create", "update"}
        server = self.kubernetes(tokens={"good": every, "reader": {"get"}}, tls=(certificate, key, authority))
        token = self.write("token", "good\n")
        for access in ({"token": "good", "ca": authority}, {"token_file": token, "ca_data": authority},
                       {"client": (certificate, key), "ca": authority}, {"token": "good", "insecure": True},
                       {"client_data": (certificate, key), "ca_data": authority}):
            self.says(self.url_of(server, **access), "look: ok")
        self.says(self.url_of(server, token="bad", ca=authority), "look: refused:", "authentication failed")
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
        self.says(f"k8s:?kubeconfig={self.write('text', 'just text')}", "open: invalid:", "not a kubeconfig")
        config = kubeconfig(self.folder / "config", "https://127.0.0.1:1")
        self.says(f"k8s:?kubeconfig={config}&context=other", "open: invalid:", "no context 'other'")
        self.says(f"k8s:?kubeconfig={config}&colour=red", "open: invalid:", "colour")


if __name__ == "__main__":
    product.main()
