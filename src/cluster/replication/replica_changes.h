// Moves the set of replicas on a manager (decision 054): it asks the others what they know and have read, makes the
// changes that operators or the voters want with the kernel of cluster/register/set_change.h, and completes those of
// managers that died. One thread, that of its runtime.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/register/set_change.h"
#include "cluster/replication/job_store.h"
#include "cluster/replication/lines.h"
#include "cluster/replication/replica_disk.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"

namespace bellwether::registers {

class ReplicaChanges final : private jobs::JobHandle::Listener {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    Lines& lines;
    jobs::JobStore& store;
    const jobs::JobView& view;
    Callback<std::vector<std::string>()> peers;  // the managers that are alive
    // This node completes the changes of others, and moves the set to `target`.
    Callback<bool()> moves;
    // The names that the set is to have, ascending; nothing: only operators change it.
    Callback<std::optional<std::vector<std::string>>()> target;
    Note note;
  };

  // `settings`: the names that the settings of this node have for the set. All parts must outlive it.
  ReplicaChanges(Parts parts, std::vector<std::string> settings);
  ReplicaChanges(const ReplicaChanges&) = delete;
  ReplicaChanges& operator=(const ReplicaChanges&) = delete;

  runtime::task<void> run(runtime::Cancellation* cancel);
  // Begins it soon. kRefused: another one is under way, or this one makes no sense.
  Status want(SetWish wish);

  bool under_way() const;
  // For people: the step of a change that this node makes, or why its last one has failed.
  const std::string& doing() const { return doing_; }
  // It has all that was kept before it became a replica, as far as this node knows.
  bool has_read(const std::string& name) const;

 private:
  void on_lost(const jobs::LostJob& lost) override;

  std::optional<SetWish> due();
  void ask_all(runtime::Scope& scope);
  static runtime::task<void> ask_one(ReplicaChanges* self, std::string name, runtime::Cancellation* cancel);
  runtime::task<Status> make(SetWish wish, runtime::Cancellation* cancel);
  runtime::task<Result<std::optional<ReplicaSet>>> take(jobs::JobHandle& handle, runtime::Cancellation* cancel);
  runtime::task<Status> carry_out(WriteSet write, jobs::JobHandle& handle, runtime::Scope& scope);
  runtime::task<Status> carry_out(HaveSet have, jobs::JobHandle& handle, runtime::Scope& scope);
  runtime::task<Status> carry_out(AskSetState ask, jobs::JobHandle& handle, runtime::Scope& scope);
  runtime::task<Status> carry_out(SetDone done, jobs::JobHandle& handle, runtime::Scope& scope);
  runtime::task<Status> carry_out(SetFailed failed, jobs::JobHandle& handle, runtime::Scope& scope);
  void heard(const std::string& name, const SetState& state);
  void tell(SetEvent event);
  void tell_people();
  std::string comes() const;

  Parts parts_;
  std::vector<std::string> settings_;
  std::map<std::string, SetState> states_;  // of other replicas, as they said last
  std::set<std::string> asking_;
  std::optional<SetWish> wanted_;
  std::string doing_;
  std::string failed_;  // why the last change did; empty: it did not
  uint64_t told_ = 0;   // number of the last set in the log
  // Of a change that this node makes:
  bool making_ = false;
  std::deque<SetEvent> inbox_;
  bool take_ = false;  // the register must be taken
  bool over_ = false;
  Status outcome_;
  Instant patience_;  // until then the node that comes must know the set, before others count
  runtime::Condition changed_;
};

}  // namespace bellwether::registers
