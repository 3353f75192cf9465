"""The Leases of the in-test Kubernetes API server: versions, conflicts, and the history that watchers follow."""

import copy
import datetime
import random
import threading
import uuid

from . import kubernetes_lease as rules
from .kubernetes_lease import Refusal


class Store:
    """All methods may be called from any thread. Leases go in and out as copies."""

    def __init__(self):
        self.changed = threading.Condition()
        self.namespaces = {"default"}
        self.leases = {}  # by (namespace, name)
        self.revision = 1000
        self.history = []  # (revision, kind of event, lease), oldest first
        self.forgotten = 1000  # the revision up to which there is no history

    def next_revision(self):
        """Grows by more than one, as in a cluster where other objects change too."""
        self.revision += random.randint(1, 9)
        return str(self.revision)

    def record(self, event, lease):
        self.history.append((self.revision, event, copy.deepcopy(lease)))
        self.changed.notify_all()
        return copy.deepcopy(lease)

    def get(self, namespace, name):
        with self.changed:
            if (namespace, name) not in self.leases:
                raise rules.not_found(name)
            return copy.deepcopy(self.leases[namespace, name])

    def list(self, chosen):
        """(the leases that `chosen(lease)` takes, the revision that they are of)."""
        with self.changed:
            return [copy.deepcopy(lease) for lease in self.leases.values() if chosen(lease)], self.revision

    def create(self, namespace, lease):
        meta = lease["metadata"]
        with self.changed:
            if meta.get("namespace", namespace) != namespace:
                raise rules.bad_request("the namespace of the provided object does not match the namespace sent on "
                                        "the request")
            if namespace not in self.namespaces:
                raise Refusal(404, "NotFound", f'namespaces "{namespace}" not found', namespace, "namespaces")
            rules.validate(lease)
            if (namespace, meta["name"]) in self.leases:
                raise rules.already_exists(meta["name"])
            if meta.get("resourceVersion"):
                raise Refusal(500, "InternalError", "resourceVersion should not be set on objects to be created")
            return self.insert(namespace, lease)

    def insert(self, namespace, lease):
        now = datetime.datetime.now(datetime.timezone.utc)
        lease["metadata"].update(namespace=namespace, uid=str(uuid.uuid4()), resourceVersion=self.next_revision(),
                                 creationTimestamp=now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        self.leases[namespace, lease["metadata"]["name"]] = lease
        return self.record("ADDED", lease)

    def update(self, namespace, name, lease):
        """(the lease as stored, whether it is new): a PUT creates what is not there."""
        meta = lease["metadata"]
        with self.changed:
            if meta.setdefault("name", name) != name:
                raise rules.bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL "
                                        f"({name})")
            old = self.leases.get((namespace, name))
            self.check_uid(name, meta.get("uid"), old)
            if old is None:
                meta.pop("resourceVersion", None)
                return self.create(namespace, lease), True
            if not meta.get("resourceVersion"):
                raise rules.invalid(name, [("metadata.resourceVersion", "FieldValueInvalid",
                                            "Invalid value: 0x0: must be specified for an update")])
            if meta["resourceVersion"] != old["metadata"]["resourceVersion"]:
                raise rules.conflict(name)
            return self.replace(namespace, name, lease, old), False

    def patch(self, namespace, name, patch):
        """A merge patch needs no version; with one, it must be the right one."""
        with self.changed:
            old = self.get(namespace, name)
            lease, _ = rules.decode(rules.merge(old, patch))
            self.check_uid(name, lease["metadata"].get("uid"), old)
            if lease["metadata"].get("resourceVersion") != old["metadata"]["resourceVersion"]:
                raise rules.conflict(name)
            return self.replace(namespace, name, lease, old)

    def replace(self, namespace, name, lease, old):
        rules.validate(lease)
        for kept in ("namespace", "uid", "creationTimestamp"):
            lease["metadata"][kept] = old["metadata"][kept]
        if lease == old:
            return lease  # what changes nothing makes no version
        lease["metadata"]["resourceVersion"] = self.next_revision()
        self.leases[namespace, name] = lease
        return self.record("MODIFIED", lease)

    def check_uid(self, name, uid, old):
        there = old["metadata"]["uid"] if old else ""
        if uid and uid != there:
            raise rules.conflict(name, f"Precondition failed: UID in precondition: {uid}, UID in object meta: {there}")

    def delete(self, namespace, name, preconditions):
        with self.changed:
            lease = self.get(namespace, name)
            self.check_uid(name, preconditions.get("uid"), lease)
            version = preconditions.get("resourceVersion")
            if version and version != lease["metadata"]["resourceVersion"]:
                raise rules.conflict(name, f"Precondition failed: ResourceVersion in precondition: {version}")
            del self.leases[namespace, name]
            lease["metadata"]["resourceVersion"] = self.next_revision()
            self.record("DELETED", lease)
            return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                    "details": {"name": name, "group": rules.GROUP, "kind": "leases", "uid": lease["metadata"]["uid"]}}

    def forget_history(self):
        """Watching from any version before now is refused from now on, as after a compaction."""
        with self.changed:
            self.history = []
            self.forgotten = self.revision

    def copy(self):
        """A backup, for restore()."""
        with self.changed:
            return copy.deepcopy(self.leases), self.revision

    def restore(self, backup):
        """Goes back to an older state, revisions included, as after `etcdctl snapshot restore`."""
        with self.changed:
            self.leases, self.revision = copy.deepcopy(backup[0]), backup[1]
            self.history = []
            self.forgotten = self.revision
            self.changed.notify_all()

    def lose_data(self):
        """Comes back empty: as from no backup at all. The revisions begin anew."""
        with self.changed:
            self.leases = {}
            self.history = []
            self.revision = self.forgotten = 1000
            self.changed.notify_all()
