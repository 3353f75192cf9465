// Jobs in etcd, from the URL of a lease store: the store, and the view of all of them.
#pragma once

#include <memory>
#include <string>

#include "cluster/replication/etcd_job_view.h"
#include "cluster/replication/job_store.h"

namespace bellwether::jobs {

// etcd://USER@HOST:PORT,HOST:PORT, etcds: with TLS, with the options and passwords of election/store/etcd/etcd_store.h.
// `group`: whose jobs (CLUSTER/ENVIRONMENT); `self`: the name of this node, unique in it. `seed` must differ between
// nodes and between starts. Fails when the URL, the names or the settings are wrong, or a file cannot be read; does not
// talk to the server yet.
runtime::task<Result<std::unique_ptr<JobStore>>> open_etcd_job_store(runtime::Runtime& runtime, std::string url,
                                                                     std::string group, std::string self,
                                                                     JobSettings settings, uint64_t seed);

// `listener` must outlive it. Errors as above.
runtime::task<Result<std::unique_ptr<EtcdJobView>>> open_etcd_job_view(runtime::Runtime& runtime, std::string url,
                                                                       std::string group,
                                                                       EtcdJobView::Listener& listener,
                                                                       Duration names_every = EtcdJobView::kNamesEvery);

}  // namespace bellwether::jobs
