#include "cluster/replication/replica_disk.h"

#include <algorithm>
#include <utility>

#include "cluster/register/codec.h"
#include "cluster/replication/lines.h"
#include "core/base/bytes.h"
#include "core/base/probe.h"
#include "election/quorum/configuration.h"

namespace bellwether::registers {

using cluster::KvChange;
using runtime::task;

namespace {

constexpr Duration kReadAgain = Duration::millis(200);

// Before the bytes of a set. A mark without it is the names of a set with the number 0.
constexpr char kWithNumber = '\0';

std::string bytes_of_mark(const ReplicaSet& set) {
  return set.number == 0 ? names_of(set, " ") : kWithNumber + message::encode(set);
}

Result<ReplicaSet> read_mark(std::string_view bytes) {
  if (!bytes.empty() && bytes.front() == kWithNumber) return message::decode<ReplicaSet>(bytes.substr(1));
  ReplicaSet set;
  for (std::size_t at = 0; at <= bytes.size();) {
    const std::size_t end = std::min(bytes.find(' ', at), bytes.size());
    set.names.emplace_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  return set;
}

}  // namespace

ReplicaDisk::ReplicaDisk(runtime::Runtime& runtime, cluster::Kv& kv, std::string self, const char* mark,
                         std::string what, bool first_start, Note note)
    : runtime_(runtime),
      kv_(kv),
      self_(std::move(self)),
      mark_(mark),
      what_(std::move(what)),
      first_start_(first_start),
      note_(note) {}

// An empty disk proves nothing: it may have been replaced. The set on the disk counts, whatever the settings say: a
// majority of another set may know nothing of the values that these replicas have kept.
task<Status> ReplicaDisk::open(bool empty, ReplicaSet settings) {
  const auto known = co_await kv_.get(mark_);
  const auto read = co_await kv_.get(mark_ + ".read");
  if (!known || !read) {
    co_return fail(Errc::kIo, "the {} cannot be read: {}", what_, (!known ? known : read).error().message);
  }
  if (!*known && !first_start_ && settings.has(self_)) {
    co_return fail(Errc::kInvalid, fmt::format("this node has no record of {} that it stored earlier. {}", what_,
                                               quorum::kNoRecordRemedy));
  }
  auto kept = *known ? read_mark(**known) : settings;
  const auto number = *read ? parse_u64(**read) : 0;
  if (!kept || !number) co_return fail(Errc::kInvalid, "this node's mark that it stores {} cannot be read", what_);
  kept_ = std::move(*kept);
  read_ = *number;
  const bool anew = kept_.number == 0 && empty && (first_start_ || !(kept_.has(self_) || settings.has(self_)));
  if (*known && kept_.number == 0 && kept_ != settings && !anew) {
    note_(true, fmt::format("this node stores {} together with {}, but its settings name {}. The former counts. Change "
                            "it with `bellwether cluster managers`, or, when no jobs are left, start each node once "
                            "with the new list and --first-start",
                            what_, names_of(kept_, ", "), names_of(settings, ", ")));
  }
  if (*known && (kept_ == settings || !anew)) co_return Status();
  kept_ = std::move(settings);
  std::vector<KvChange> mark;
  mark.push_back({mark_, bytes_of_mark(kept_)});
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
  if (!readable_) give_up(found.error().message);
}

void ReplicaDisk::give_up(const std::string& why) {
  readable_ = false;
  unable_ = why;
  note_(true, unable_ + ". This node stores none");
}

task<Status> ReplicaDisk::keep(ReplicaSet set) {
  if (!readable_ || set.number <= kept_.number) co_return Status();
  if (!kept_.has(self_) && std::binary_search(set.names.begin(), set.names.end(), self_)) {
    give_up(
        fmt::format("this node's disk has no record of {}, though the others count on it: it was lost. Remove this "
                    "node (bellwether cluster managers remove {}), and add one with another name",
                    what_, self_));
    co_return Status();
  }
  std::vector<KvChange> changes;
  changes.push_back({mark_, bytes_of_mark(set)});
  BW_CO_RETURN_IF_ERROR(co_await write(std::move(changes)));
  if (set.number > kept_.number) kept_ = std::move(set);
  co_return Status();
}

task<Status> ReplicaDisk::have_read(uint64_t number) {
  std::vector<KvChange> changes;
  changes.push_back({mark_ + ".read", std::to_string(number)});
  BW_CO_RETURN_IF_ERROR(co_await write(std::move(changes)));
  read_ = std::max(read_, number);
  co_return Status();
}

task<void> ReplicaDisk::join(Lines& lines) {
  if (!readable_) co_return;
  lines.restore(kept_);
  lines.hear(kept_);
  while (readable_ && kept_.number < lines.set().number) {
    const Status done = co_await keep(lines.set());
    if (!done) co_await runtime_.sleep(kReadAgain, scope_->cancellation());
    if (scope_->cancellation()->cancelled()) co_return;
  }
}

// What was decided before the first step is at a majority of the old nodes. Later on a majority of all has it, though
// perhaps not this node.
bool ReplicaDisk::is_enough(const ReplicaSet& set, const std::set<std::string>& had) const {
  if (set.joint()) {
    return ReplicaSet::most(set.names, [&](const auto& name) { return name == self_ || had.contains(name); });
  }
  return had.size() >= std::min(set.names.size() / 2 + 1, set.names.size() - 1);
}

task<void> ReplicaDisk::catch_up(Lines& lines, ReadAll read_all, runtime::Cancellation* cancel) {
  std::set<std::string> had;
  uint64_t number = 0;
  while (!cancel->cancelled()) {
    const ReplicaSet set = lines.set();
    if (std::exchange(number, set.number) != set.number) had.clear();
    const bool stays = std::ranges::binary_search(set.joint() ? set.next : set.names, self_);
    if (!readable_ || !stays || read_ >= first_step_of(set)) {
      co_await lines.set_changed().wait(
          runtime_, [&] { return lines.set().number != number; }, Instant::never(), cancel);
      continue;
    }
    for (const std::string& other : set.names) {
      if (other == self_ || had.contains(other) || is_enough(set, had)) continue;
      const Status done = co_await read_all(other, number, cancel);
      if (lines.set().number != number || cancel->cancelled()) break;
      if (done) had.insert(other);
    }
    if (lines.set().number != number || cancel->cancelled()) continue;
    if (is_enough(set, had)) {
      const Status done = co_await have_read(first_step_of(set));
      if (done) continue;
    }
    co_await runtime_.sleep(kReadAgain, cancel);
  }
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
  if (!readable_) return;
  if (!done && unable_.empty()) {
    unable_ = fmt::format("{} cannot be written: {}", what_, done.error().message);
    note_(true, unable_ + ". Until writing works again, this node makes no promises and accepts no writes");
  } else if (done && !unable_.empty()) {
    unable_.clear();
    note_(false, what_ + " can be written again");
  }
}

}  // namespace bellwether::registers
