#include "cluster/replication/replica_disk.h"

#include <utility>

#include "core/base/probe.h"
#include "election/quorum/no_record.h"

namespace bellwether::registers {

using cluster::KvChange;
using runtime::task;

ReplicaDisk::ReplicaDisk(runtime::Runtime& runtime, cluster::Kv& kv, const Lines& lines, const char* mark,
                         std::string what, bool first_start, Note note)
    : runtime_(runtime),
      kv_(kv),
      lines_(lines),
      mark_(mark),
      what_(std::move(what)),
      first_start_(first_start),
      note_(note) {}

// An empty disk proves nothing: it may have been replaced. And a majority of another set of replicas may know nothing
// of the values that these have kept.
task<Status> ReplicaDisk::open(bool empty) {
  const auto known = co_await kv_.get(mark_);
  if (!known) co_return fail(Errc::kIo, "the {} cannot be read: {}", what_, known.error().message);
  if (!*known && !first_start_) {
    co_return fail(Errc::kInvalid, fmt::format("this node has no record of {} that it stored earlier. {}", what_,
                                               quorum::kNoRecordRemedy));
  }
  const std::string names = lines_.replica_names(" ");
  if (*known == names) co_return Status();
  if (*known && (!empty || !first_start_)) {
    co_return fail(Errc::kInvalid,
                   "this node stores {} together with {}, but its settings name {}. Restore the former list on all "
                   "nodes until no jobs are left; then start each node once with the new list and --first-start",
                   what_, **known, names);
  }
  std::vector<KvChange> mark;
  mark.push_back({mark_, names});
  const Status marked = co_await kv_.put(std::move(mark));
  if (!marked) {
    co_return fail(Errc::kIo, "this node's mark that it stores {} cannot be written: {}", what_,
                   marked.error().message);
  }
  co_return Status();
}

void ReplicaDisk::begin(const Status& found, runtime::Scope& scope) {
  scope_ = &scope;
  readable_ = found.has_value();
  if (readable_) return;
  unable_ = found.error().message;
  note_(true, unable_ + ". This node stores none");
}

task<Status> ReplicaDisk::write(std::vector<KvChange> changes) {
  Write mine;
  for (const KvChange& change : changes) mine.bytes += change.value ? change.value->size() : 0;
  mine.changes = std::move(changes);
  pending_bytes_ += mine.bytes;
  pending_.push_back(&mine);
  if (!std::exchange(flushing_, true)) scope_->spawn(flush(this));
  co_await mine.done.wait();
  co_return mine.durable;
}

task<void> ReplicaDisk::flush(ReplicaDisk* self) {
  while (true) {
    // Other requests of this turn, from coroutines that woke with it, become durable together.
    co_await self->runtime_.yield();
    if (self->pending_.empty()) break;
    std::vector<Write*> batch;
    std::vector<KvChange> changes;
    std::size_t bytes = 0;
    while (!self->pending_.empty() && (batch.empty() || bytes + self->pending_.front()->bytes <= kMaxBatchBytes)) {
      Write* const next = self->pending_.front();
      self->pending_.pop_front();
      bytes += next->bytes;
      for (KvChange& change : next->changes) changes.push_back(std::move(change));
      batch.push_back(next);
    }
    if (batch.size() > 1) BW_PROBE("jobs: changes become durable together");
    const Status done = co_await self->kv_.put(std::move(changes));
    self->pending_bytes_ -= bytes;
    self->written(done);
    for (Write* const one : batch) {
      one->durable = done;
      one->done.set();
    }
  }
  self->flushing_ = false;
}

void ReplicaDisk::written(const Status& done) {
  if (!done && unable_.empty()) {
    unable_ = fmt::format("{} cannot be written: {}", what_, done.error().message);
    note_(true, unable_ + ". Until writing works again, this node makes no promises and accepts no writes");
  } else if (done && !unable_.empty()) {
    unable_.clear();
    note_(false, what_ + " can be written again");
  }
}

}  // namespace bellwether::registers
