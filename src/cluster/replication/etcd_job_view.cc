#include "cluster/replication/etcd_job_view.h"

#include <utility>

#include "cluster/register/codec.h"
#include "cluster/replication/etcd_job_store.h"

namespace bellwether::jobs {

using runtime::task;

EtcdJobView::EtcdJobView(runtime::Runtime& runtime, store::EtcdPlace place, const std::string& group,
                         Listener& listener, Duration names_every)
    : runtime_(runtime),
      api_(runtime, std::move(place.login)),
      description_(std::move(place.description)),
      owners_(etcd_owners(group)),
      states_(etcd_states(group)),
      listener_(listener),
      names_every_(names_every) {}

void EtcdJobView::visit_keys(VisitKey visit, void* context) const {
  for (const auto& [key, record] : records_) visit(context, key);
}

const registers::JobRecord* EtcdJobView::find(const std::string& key) const {
  const auto at = records_.find(key);
  return at == records_.end() ? nullptr : &at->second;
}

task<void> EtcdJobView::run(runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    const Status seen = co_await look(cancel);
    if (cancel->cancelled()) co_return;
    std::string trouble = seen ? std::string() : seen.error().message;
    if (!trouble.empty() && trouble_.empty()) {
      listener_.on_note(true, "registers of jobs: " + description_ + " does not say what there is: " + trouble);
    } else if (trouble.empty() && !trouble_.empty()) {
      listener_.on_note(false, "registers of jobs: " + description_ + " answers again");
    }
    trouble_ = std::move(trouble);
    co_await runtime_.sleep(kLookEvery, cancel);
  }
}

// Owner and first state of a job are written together. Owners are looked at after the changes, and both are shown
// together, so that no job seems to be without an owner that it has had from its beginning.
task<Status> EtcdJobView::look(runtime::Cancellation* cancel) {
  std::vector<registers::JobRecord> changed;
  BW_CO_TRY(const auto next, co_await look_at_changes(changed, cancel));
  BW_CO_RETURN_IF_ERROR(co_await look_at_owners(cancel));
  for (registers::JobRecord& record : changed) {
    std::string key = record.key;
    records_[std::move(key)] = std::move(record);
  }
  next_revision_ = next;
  if (runtime_.now() >= names_at_) {
    BW_CO_RETURN_IF_ERROR(co_await look_at_names(cancel));
    names_at_ = runtime_.now() + names_every_;
  }
  has_read_ = true;
  co_return Status();
}

task<Result<store::EtcdRange>> EtcdJobView::ask(std::string body, runtime::Cancellation* cancel) {
  const Instant until = runtime_.read_clock() + kAnswerMost;
  BW_CO_TRY(const auto answer, co_await api_.call("/v3/kv/range", std::move(body), true, until, cancel));
  auto range = store::parse_range(answer);
  if (!range) co_return range;
  const bool is_first = cluster_.empty();
  const bool is_another = range->cluster != cluster_ || range->revision + 1 < next_revision_;
  cluster_ = range->cluster;
  if (is_first || !is_another) co_return range;
  next_revision_ = 0;
  names_at_ = Instant();
  co_return fail(Errc::kReset, "it has begun anew, or is another one than before");
}

task<Status> EtcdJobView::look_at_owners(runtime::Cancellation* cancel) {
  std::string body = store::names_body(owners_, store::after_prefix(owners_));
  BW_CO_TRY(auto range, co_await ask(std::move(body), cancel));
  owned_.clear();
  for (const store::EtcdEntry& one : range.entries) {
    if (one.key.starts_with(owners_)) owned_.insert(one.key.substr(owners_.size()));
  }
  co_return Status();
}

task<Result<uint64_t>> EtcdJobView::look_at_changes(std::vector<registers::JobRecord>& changed,
                                                    runtime::Cancellation* cancel) {
  uint64_t from = next_revision_;
  while (true) {
    std::string body = store::changes_body(states_, store::after_prefix(states_), from, kAtOnce);
    BW_CO_TRY(auto range, co_await ask(std::move(body), cancel));
    for (const store::EtcdEntry& one : range.entries) {
      auto record =
          one.key.starts_with(states_) ? message::decode<registers::JobRecord>(one.value) : fail(Errc::kInvalid, "");
      // What cannot be read is no job for this version; whoever takes it says so.
      if (record && record->key == one.key.substr(states_.size())) changed.push_back(std::move(*record));
      from = one.modified + 1;
    }
    if (range.entries.size() < kAtOnce) co_return from;
  }
}

task<Status> EtcdJobView::look_at_names(runtime::Cancellation* cancel) {
  std::string body = store::names_body(states_, store::after_prefix(states_));
  BW_CO_TRY(auto range, co_await ask(std::move(body), cancel));
  std::set<std::string> there;
  for (const store::EtcdEntry& one : range.entries) there.insert(one.key);
  std::erase_if(records_, [&](const auto& one) { return !there.contains(states_ + one.first); });
  co_return Status();
}

}  // namespace bellwether::jobs
