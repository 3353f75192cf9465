#!/usr/bin/env python3
"""The in-test Kubernetes API server keeps the rules of the real one, as far as they concern Leases."""

import http.client
import json
import os
import ssl
import threading
import time

from lib import product
from lib.certificates import Authority
from lib.daemon import PATIENCE, until
from lib.kubeconfig import in_cluster, kubeconfig, service_account
from lib.kubernetes import ALL_VERBS, Kubernetes

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def lease(name="job", version=None, annotations=None, **spec):
    meta = {"name": name, "resourceVersion": version, "annotations": annotations}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec,
            "metadata": {key: value for key, value in meta.items() if value is not None}}


class Answer:
    def __init__(self, response):
        self.code = response.status
        self.headers = response.headers
        self.value = json.loads(response.read() or b"null")

    @property
    def version(self):
        return self.value["metadata"]["resourceVersion"]

    @property
    def reason(self):
        return self.value.get("reason")


class Double(product.Test):
    def setUp(self):
        super().setUp()
        self.kubernetes = Kubernetes()
        self.addCleanup(lambda: self.kubernetes.stop())

    def ask(self, method, path, value=None, token=None, tls=None, kind="application/json"):
        connection = (http.client.HTTPSConnection if tls else http.client.HTTPConnection)(
            "127.0.0.1", self.kubernetes.port, timeout=PATIENCE, **({"context": tls} if tls else {}))
        try:
            headers = {"Content-Type": kind, **({"Authorization": f"Bearer {token}"} if token else {})}
            connection.request(method, path, None if value is None else json.dumps(value), headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def create(self, value):
        return self.ask("POST", LEASES, value)

    def update(self, value, name="job"):
        return self.ask("PUT", f"{LEASES}/{name}", value)

    def assert_refused(self, answer, code, reason, words=""):
        self.assertEqual((answer.code, answer.reason), (code, reason), answer.value)
        self.assertEqual((answer.value["kind"], answer.value["status"], answer.value["code"]),
                         ("Status", "Failure", code))
        self.assertIn(words, answer.value["message"])


class Objects(Double):
    def test_a_lease_is_made_read_changed_and_removed(self):
        made = self.create(lease(holderIdentity="a", leaseDurationSeconds=15, annotations={"epoch": "7"}))
        self.assertEqual(made.code, 201)
        read = self.ask("GET", f"{LEASES}/job")
        self.assertEqual(read.value, made.value)
        read.value["spec"]["holderIdentity"] = "b"
        changed = self.update(read.value)
        self.assertEqual(changed.value["metadata"]["annotations"], {"epoch": "7"})
        self.assertGreater(int(changed.version), int(made.version))
        self.assertEqual(changed.value["metadata"]["uid"], made.value["metadata"]["uid"])
        self.assertEqual(self.update(changed.value).version, changed.version, "no change is no new version")
        self.assertEqual(self.ask("DELETE", f"{LEASES}/job").value["status"], "Success")
        self.assert_refused(self.ask("GET", f"{LEASES}/job"), 404, "NotFound", 'leases.coordination.k8s.io "job"')

    def test_conflicts(self):
        made = self.create(lease(holderIdentity="a"))
        self.assert_refused(self.create(lease()), 409, "AlreadyExists", "already exists")
        self.assertEqual(self.update(lease(version=made.version, holderIdentity="b")).code, 200)
        self.assert_refused(self.update(lease(version=made.version, holderIdentity="c")), 409, "Conflict",
                            "the object has been modified")
        self.assert_refused(self.update(lease(holderIdentity="c")), 422, "Invalid", "must be specified for an update")
        self.assert_refused(self.ask("DELETE", f"{LEASES}/job", {"preconditions": {"resourceVersion": made.version}}),
                            409, "Conflict")
        self.ask("DELETE", f"{LEASES}/job")
        self.assert_refused(self.update(made.value), 409, "Conflict", "UID in precondition")
        self.assertEqual(self.update(lease(holderIdentity="a")).code, 201)
        self.assertEqual(self.kubernetes.lease("job")["spec"], {"holderIdentity": "a"})

    def test_of_many_who_change_the_same_version_one_does(self):
        made = self.create(lease(holderIdentity="nobody"))
        answers = []
        threads = [threading.Thread(target=lambda n=n: answers.append(
            self.update(lease(version=made.version, holderIdentity=f"t{n}")).code)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(answers), [200] + [409] * 7)

    def test_what_is_invalid_is_named(self):
        for wrong, field in ((lease(leaseDurationSeconds=0), "spec.leaseDurationSeconds"),
                             (lease(leaseTransitions=-1), "spec.leaseTransitions"),
                             (lease("Big_Name"), "metadata.name"), (lease(""), "metadata.name")):
            answer = self.create(wrong)
            self.assert_refused(answer, 422, "Invalid", field)
            self.assertEqual([cause["field"] for cause in answer.value["details"]["causes"]], [field])
        for wrong in (lease(leaseDurationSeconds="15"), lease(leaseDurationSeconds=1.5), lease(holderIdentity=5),
                      lease(renewTime="2026-01-02T03:04:05Z"), lease(renewTime="2026-01-02T03:04:05.123Z"),
                      {**lease(), "kind": "Pod"}, []):
            self.assert_refused(self.create(wrong), 400, "BadRequest")
        self.assert_refused(self.update(lease("other")), 400, "BadRequest", "does not match the name on the URL")
        self.assert_refused(self.ask("POST", LEASES.replace("default", "nowhere"), lease()), 404, "NotFound",
                            'namespaces "nowhere"')
        self.assert_refused(self.ask("POST", LEASES, lease(), kind="text/plain"), 415, "UnsupportedMediaType")
        self.assert_refused(self.ask("GET", "/apis/apps/v1/deployments"), 404, "NotFound")
        self.assertIsNone(self.kubernetes.lease("job"))

    def test_times_are_given_back_in_utc_and_unknown_fields_not_at_all(self):
        made = self.create({**lease(renewTime="2026-01-02T03:04:05.000006+02:00", colour="red"), "status": {}})
        self.assertEqual(made.value["spec"], {"renewTime": "2026-01-02T01:04:05.000006Z"})
        self.assertNotIn("status", made.value)
        self.assertIn("spec.colour", made.headers["Warning"])
        self.assert_refused(self.ask("POST", f"{LEASES}?fieldValidation=Strict", lease("more", colour="red")), 400,
                            "BadRequest", "spec.colour")

    def test_patches(self):
        made = self.create(lease(holderIdentity="a", annotations={"epoch": "7"}))
        merge = "application/merge-patch+json"
        changed = self.ask("PATCH", f"{LEASES}/job", {"spec": {"holderIdentity": None}}, kind=merge)
        self.assertEqual((changed.code, changed.value["spec"]), (200, {}))
        self.assert_refused(self.ask("PATCH", f"{LEASES}/job", {"metadata": {"resourceVersion": made.version}},
                                     kind=merge), 409, "Conflict")

    def test_lists(self):
        self.kubernetes.store.namespaces.add("more")
        self.create(lease("a"))
        last = self.create(lease("b"))
        self.assertEqual(self.ask("GET", LEASES).version, last.version)
        self.ask("POST", LEASES.replace("default", "more"), lease("a"))

        def names(path):
            return [item["metadata"]["name"] for item in self.ask("GET", path).value["items"]]

        self.assertEqual(names(LEASES), ["a", "b"])
        self.assertEqual(names("/apis/coordination.k8s.io/v1/leases"), ["a", "b", "a"])
        self.assertEqual(names(f"{LEASES}?fieldSelector=metadata.name%3Db"), ["b"])


class Watches(Double):
    def watch(self, query):
        connection = http.client.HTTPConnection("127.0.0.1", self.kubernetes.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request("GET", f"{LEASES}?watch=1&{query}")
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        return lambda: json.loads(response.readline() or b"null")

    def test_it_tells_every_change_after_a_version(self):
        made = self.create(lease(holderIdentity="a"))
        old, new = self.watch(f"resourceVersion={made.version}"), self.watch("fieldSelector=metadata.name%3Djob")
        first = new()
        self.assertEqual((first["type"], first["object"]), ("ADDED", made.value))
        self.create(lease("other"))
        changed = self.update(lease(version=made.version, holderIdentity="b"))
        self.ask("DELETE", f"{LEASES}/job")
        self.assertEqual([old()["type"] for _ in range(3)], ["ADDED", "MODIFIED", "DELETED"])
        event = new()
        self.assertEqual((event["type"], event["object"]), ("MODIFIED", changed.value))
        self.assertGreater(int(new()["object"]["metadata"]["resourceVersion"]), int(changed.version))

    def test_it_ends_in_time_and_a_forgotten_version_is_an_error(self):
        self.assertIsNone(self.watch("timeoutSeconds=0")())
        made = self.create(lease())
        self.create(lease("other"))
        self.kubernetes.store.forget_history()
        event = self.watch(f"resourceVersion={made.version}")()
        self.assertEqual((event["type"], event["object"]["code"], event["object"]["reason"]),
                         ("ERROR", 410, "Expired"))

    def test_it_can_be_cut(self):
        following = self.watch("")
        until("the watch", lambda: self.kubernetes.watchers)
        self.kubernetes.end_watches()
        with self.assertRaises((http.client.HTTPException, ConnectionError)):
            if following() is None:
                raise ConnectionError("it ended")


class Outages(Double):
    def test_faults_with_and_without_effect(self):
        self.kubernetes.inject(status=429, retry_after=3, methods=("POST",))
        refused = self.create(lease())
        self.assert_refused(refused, 429, "TooManyRequests")
        self.assertEqual(refused.headers["Retry-After"], "3")
        self.assertIsNone(self.kubernetes.lease("job"))
        self.kubernetes.inject(status=504, applied=True)
        self.assert_refused(self.create(lease()), 504, "Timeout")
        self.assertIsNotNone(self.kubernetes.lease("job"))
        self.kubernetes.inject(close=True, applied=True)
        self.assertRaises((http.client.HTTPException, ConnectionError), self.ask, "DELETE", f"{LEASES}/job")
        self.assertIsNone(self.kubernetes.lease("job"))

    def test_a_late_answer(self):
        self.kubernetes.inject(delay=0.2, methods=("GET",))
        before = time.monotonic()
        self.assertEqual(self.ask("GET", LEASES).code, 200)
        self.assertGreaterEqual(time.monotonic() - before, 0.2)

    def test_it_goes_away_and_comes_back_with_or_without_its_data(self):
        made = self.create(lease())
        self.kubernetes.stop()
        self.assertRaises(ConnectionError, self.ask, "GET", LEASES)
        self.kubernetes.start()
        self.assertEqual(self.ask("GET", f"{LEASES}/job").version, made.version)
        self.kubernetes.restart(lose_data=True)
        self.assertEqual(self.ask("GET", f"{LEASES}/job").code, 404)


class Identity(Double):
    def test_tokens_and_what_they_allow(self):
        self.kubernetes.tokens = {"all": ALL_VERBS, "some": {"get"}}
        self.assert_refused(self.ask("GET", LEASES), 401, "Unauthorized")
        self.assert_refused(self.ask("GET", LEASES, token="wrong"), 401, "Unauthorized")
        self.assert_refused(self.ask("POST", LEASES, lease(), token="some"), 403, "Forbidden", "cannot create")
        self.assertEqual(self.ask("POST", LEASES, lease(), token="all").code, 201)
        self.assertEqual(self.ask("GET", f"{LEASES}/job", token="some").code, 200)

    def test_certificates(self):
        authority = Authority(self.folder)
        authority.issue("server", "IP:127.0.0.1")
        authority.issue("client", "DNS:client")
        self.kubernetes.stop()
        self.kubernetes = Kubernetes(tokens={"all": ALL_VERBS},
                                     tls=[self.folder / name for name in ("server.pem", "server.key", "ca.pem")])
        trusting = ssl.create_default_context(cafile=authority.file)
        self.assert_refused(self.ask("GET", LEASES, tls=trusting), 401, "Unauthorized")
        self.assertEqual(self.ask("GET", LEASES, tls=trusting, token="all").code, 200)
        trusting.load_cert_chain(self.folder / "client.pem", self.folder / "client.key")
        self.assertEqual(self.ask("GET", LEASES, tls=trusting).code, 200)
        self.assertRaises(ssl.SSLError, self.ask, "GET", LEASES, tls=ssl.create_default_context())

    def test_files_that_say_where_it_is(self):
        authority = Authority(self.folder)
        file = kubeconfig(self.folder / "config", "https://127.0.0.1:6443", token="secret", ca_data=authority.file,
                          namespace="more")
        text = file.read_text()
        for words in ("current-context: right", "token: secret", "namespace: more", "certificate-authority-data: LS0t"):
            self.assertIn(words, text)
        for token in ("first", "second"):
            folder = service_account(self.folder / "pod", token, authority.file)
            self.assertEqual((folder / "token").read_text(), token)
        self.assertEqual(sorted(name for name in os.listdir(folder) if not name.startswith("..")),
                         ["ca.crt", "namespace", "token"])
        self.assertEqual(in_cluster(5)["KUBERNETES_SERVICE_PORT"], "5")


if __name__ == "__main__":
    product.main()
