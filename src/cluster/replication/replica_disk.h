// The disk of a replica: the newest set of replicas that it knows, how far it has read from the others, and the changes
// that must become durable. Changes do so in the order of the calls, those that wait for the disk together. One thread,
// that of its runtime.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <vector>

#include "cluster/net/kv.h"
#include "cluster/register/small.h"
#include "core/base/callback.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"

namespace bellwether::registers {

class Lines;

// Reports a replica's events to people.
using Note = Callback<void(bool warning, const std::string& text)>;

class ReplicaDisk {
 public:
  // Takes over all that another replica keeps, which must know the set with this number, durable.
  using ReadAll = Callback<runtime::task<Status>(std::string other, uint64_t number, runtime::Cancellation* cancel)>;

  // `mark`: the key that holds the set of replicas. `what`: "registers of jobs". `first_start`: a person says that
  // nothing was ever kept under this node's name, or that no job is left anywhere. Else an empty disk of a node that
  // is a replica counts as a lost one, and the node that replaces it must have another name. All must outlive it.
  ReplicaDisk(runtime::Runtime& runtime, cluster::Kv& kv, std::string self, const char* mark, std::string what,
              bool first_start, Note note);
  ReplicaDisk(const ReplicaDisk&) = delete;
  ReplicaDisk& operator=(const ReplicaDisk&) = delete;

  // Called when all kept values have been read: `empty`: none were there. `settings`: the set with the number 0. An
  // error: nothing may be kept here.
  runtime::task<Status> open(bool empty, ReplicaSet settings);
  // It is used from here on; if `found` is an error, it is of no use while the node runs.
  void begin(const Status& found, runtime::Scope& scope);
  // That the node knows a set, and that it has read all for the first step of a change, are durable like all else. A
  // node that a set names, though it never knew how it came to be one of them, has lost its disk: it stores nothing.
  const ReplicaSet& kept() const { return kept_; }
  runtime::task<Status> keep(ReplicaSet set);
  // The same, until no newer set is known. Then its replica may answer.
  runtime::task<void> join(Lines& lines);
  uint64_t read() const { return read_; }
  // For each set of replicas with this node: reads from so many others that it has what was ever decided.
  runtime::task<void> catch_up(Lines& lines, ReadAll read_all, runtime::Cancellation* cancel);
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
  void give_up(const std::string& why);
  bool is_enough(const ReplicaSet& set, const std::set<std::string>& had) const;
  runtime::task<Status> have_read(uint64_t number);

  runtime::Runtime& runtime_;
  cluster::Kv& kv_;
  std::string self_;
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
  ReplicaSet kept_;
  uint64_t read_ = 0;
};

}  // namespace bellwether::registers
