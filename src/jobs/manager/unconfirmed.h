// What is known of a job that no manager owns, because a majority of them is gone: for people.
#pragma once

#include "cluster/net/peer_links.h"
#include "cluster/replication/blobs.h"
#include "core/runtime/task.h"
#include "jobs/dispatch/messages.h"
#include "jobs/manager/cluster_view.h"
#include "jobs/manager/known_jobs.h"

namespace bellwether::node {

// The newest copy of the job that any replica has, with the seconds and ends that its workers still keep beyond it. No
// node changes its state by this. `known`: the job as this manager sees it. Answers Watched, with an event that names
// what was asked; or a refusal without a copy of the scenario. It takes some seconds, because nodes that are gone do
// not answer. All must outlive it.
runtime::task<dispatch::Response> fetch_unconfirmed(runtime::Runtime& runtime, cluster::PeerLinks& links,
                                                    const ClusterView& cluster_view, blobs::Blobs& blobs,
                                                    KnownJobs::Known known, runtime::Cancellation* cancel);

}  // namespace bellwether::node
