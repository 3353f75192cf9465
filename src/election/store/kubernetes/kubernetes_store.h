// Leases in Kubernetes: Lease objects of coordination.k8s.io/v1, as the electors of client-go use them. So both contend
// for one Lease, and `kubectl get lease` shows the holder. leaseTransitions is the epoch. Each change is an update with
// the Lease's resourceVersion, which the API server refuses after any other change.
//
// A key is the name of a Lease if Kubernetes permits the name; otherwise the name is a hash, and an annotation holds
// the key. A second Lease, NAME-epoch, keeps the epoch too, and is raised before a term begins: deleting NAME removes
// its holder but repeats no epoch. Deleting both deletes the epoch; an Elector that knows a greater one notices.
// Confirmed writes are in a majority of etcd's logs.
#pragma once

#include <memory>
#include <string>

#include "election/store/kubernetes/kube_api.h"
#include "election/store/lease_store.h"

namespace bellwether::store {

// k8s:NAMESPACE. Errors as find_kubernetes(): no credentials, or wrong ones. Does not contact the server.
runtime::task<Result<std::unique_ptr<LeaseStore>>> open_kubernetes_store(runtime::Runtime& runtime, StoreUrl url);

}  // namespace bellwether::store
