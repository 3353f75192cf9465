// Leases in etcd (3.4 or newer), in the queue of etcd's own clients (its package `concurrency`). A candidate puts
// KEY/LEASE, bound to a lease that the server ends unless the candidate keeps it alive. The candidate with the smallest
// create revision holds the key, and that revision is its epoch. So `etcdctl elect KEY` and `etcdctl lock KEY` contend
// with us. etcd never gives a revision twice, and keeps it in a majority's logs, so the epoch needs no separate
// storage.
//
// - A claim takes two calls, for the lease and for the queue; its time counts from before the first.
// - A release or a steal that names an heir leaves a note, bellwether/heir/KEY, which expires after one lease.
//   Meanwhile our candidates other than the heir leave the queue and stay out of it. etcdctl does not know the note.
// - etcd's own clients mistake the claims of a key K/X, where X is a lease's number, for claims of K. We do not.
// - The server times leases by the clock of its leader, and restarts them when the leader changes: it ends one early
//   only by the amount that its clock runs fast.
// - An etcd restored from a copy (`etcdctl snapshot restore`) goes back in its revisions, and would give epochs again.
//   A connected client notices the lower revision, and an Elector notices an epoch below a known one. Restore
//   with --bump-revision where it exists.
#pragma once

#include <memory>
#include <string>

#include "election/store/etcd/etcd_api.h"
#include "election/store/lease_store.h"

namespace bellwether::store {

// etcd://USER@HOST:PORT,HOST:PORT, etcds: with TLS. Options: password_file, ca, cert, key, verify. kInvalid: a wrong
// URL; else the errors of its files. Neither function contacts a server.
struct EtcdPlace {
  EtcdLogin login;
  std::string description;  // without credentials
};
runtime::task<Result<EtcdPlace>> etcd_place(runtime::Runtime& runtime, StoreUrl url);
runtime::task<Result<std::unique_ptr<LeaseStore>>> open_etcd_store(runtime::Runtime& runtime, StoreUrl url);

}  // namespace bellwether::store
