// The disk of a replica: the set of all replicas, and the changes that must become durable. Changes do so in the order
// of the calls, those that wait for the disk together. One thread, that of its runtime.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "cluster/net/kv.h"
#include "cluster/replication/lines.h"
#include "core/base/callback.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"

namespace bellwether::registers {

// Reports a replica's events to people.
using Note = Callback<void(bool warning, const std::string& text)>;

class ReplicaDisk {
 public:
  // `mark`: the key that holds the set of replicas. `what`: "registers of jobs". `first_start`: a person says that
  // nothing was ever kept under this node's name, or that no job is left anywhere. Else an empty disk counts as a lost
  // one, and the node that replaces it must have another name; and a changed set of replicas is refused. All must
  // outlive it.
  ReplicaDisk(runtime::Runtime& runtime, cluster::Kv& kv, const Lines& lines, const char* mark, std::string what,
              bool first_start, Note note);
  ReplicaDisk(const ReplicaDisk&) = delete;
  ReplicaDisk& operator=(const ReplicaDisk&) = delete;

  // Called when all kept values have been read: `empty`: none were there. An error: nothing may be kept here.
  runtime::task<Status> open(bool empty);
  // It is used from here on; if `found` is an error, it is of no use while the node runs.
  void begin(const Status& found, runtime::Scope& scope);
  // Durable when it has succeeded, else perhaps.
  runtime::task<Status> write(std::vector<cluster::KvChange> changes);

  // So many changes wait already that nothing more should be taken.
  bool crowded() const { return pending_.size() >= kMaxPending || pending_bytes_ > kMaxPendingBytes; }
  bool readable() const { return readable_; }
  // Empty while it works, else why it does not.
  const std::string& unable() const { return unable_; }

 private:
  static constexpr std::size_t kMaxBatchBytes = std::size_t{2} << 20;  // that become durable together
  static constexpr std::size_t kMaxPending = 4'096;
  static constexpr std::size_t kMaxPendingBytes = std::size_t{32} << 20;

  struct Write {
    std::vector<cluster::KvChange> changes;
    std::size_t bytes = 0;
    Status durable;
    runtime::Event done;
  };

  static runtime::task<void> flush(ReplicaDisk* self);
  void written(const Status& done);

  runtime::Runtime& runtime_;
  cluster::Kv& kv_;
  const Lines& lines_;
  std::string mark_;
  std::string what_;
  bool first_start_;
  Note note_;
  runtime::Scope* scope_ = nullptr;
  std::deque<Write*> pending_;  // of the coroutines that wait for them
  std::size_t pending_bytes_ = 0;
  bool flushing_ = false;
  bool readable_ = false;
  std::string unable_;
};

}  // namespace bellwether::registers
