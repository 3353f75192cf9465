// The driver of one voter that keeps the blobs of jobs: the rules (cluster/register/blob_store.h) with a disk and lines
// to the nodes that ask. Its answers are durable before it sends them. With a full or failing disk it refuses, and
// gives the reason; that is the only effect. One thread, that of its runtime.
//
// In its Kv: a record for each complete value, its pieces, a mark for each slot that is not complete, its promises, and
// the dropped jobs. Pieces are written before the record that names them, and removed with it.
#pragma once

#include <string>

#include "cluster/register/blob_store.h"
#include "cluster/replication/replica_disk.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"

namespace bellwether::blobs {

struct BlobReplicaSettings {
  bool first_start = false;  // as of ReplicaDisk
  BlobStoreLimits limits;    // `others`: those of the set of replicas
  Duration sweep_every = Duration::seconds(15);
};

class BlobReplica final {
 public:
  // All must outlive it. `kv` is used by it alone: votes must not wait for megabytes.
  BlobReplica(runtime::Runtime& runtime, cluster::Kv& kv, registers::Lines& lines, BlobReplicaSettings settings,
              registers::Note note);
  BlobReplica(const BlobReplica&) = delete;
  BlobReplica& operator=(const BlobReplica&) = delete;

  // Keeps blobs until cancelled, and until earlier requests have been answered.
  runtime::task<void> run(runtime::Cancellation* cancel);

  std::size_t values() const { return store_.values(); }
  uint64_t bytes() const { return store_.bytes(); }
  // It has read its disk, or found that it cannot.
  bool started() const { return started_; }
  // Empty while it keeps blobs, else why not.
  const std::string& unable() const { return disk_.unable(); }

  // By its lines.
  runtime::task<Answer> answer(Question question);
  registers::ReplicaDisk& disk() { return disk_; }

 private:
  runtime::task<Answer> decide(Question question);
  runtime::task<Answer> read(ReadPiece piece);
  runtime::task<Status> load();
  runtime::task<Status> read_all(std::string other, uint64_t number, runtime::Cancellation* cancel);
  runtime::task<Status> read_one(std::string other, uint64_t number, Listed one, runtime::Cancellation* cancel);
  runtime::task<Result<bool>> read_value(std::string other, uint64_t number, BlobKey key,
                                         runtime::Cancellation* cancel);
  runtime::task<Result<Answer>> do_here(Question question);
  runtime::task<void> sweep(runtime::Cancellation* cancel);
  runtime::task<void> tell_dropped(std::string other, runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  cluster::Kv& kv_;
  registers::Lines& lines_;
  BlobReplicaSettings settings_;
  registers::ReplicaDisk disk_;
  BlobStore store_;
  bool started_ = false;
  std::size_t answering_ = 0;
  runtime::Event idle_;
};

}  // namespace bellwether::blobs
