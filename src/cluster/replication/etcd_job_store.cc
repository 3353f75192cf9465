#include "cluster/replication/etcd_job_store.h"

#include <utility>

#include "cluster/register/codec.h"
#include "cluster/replication/etcd_job.h"
#include "core/base/check.h"
#include "election/store/store_url.h"

namespace bellwether::jobs {

namespace {

using runtime::task;

constexpr Duration kWatchAgainAfter = Duration::seconds(1);
constexpr Duration kMaxOneLook = Duration::seconds(5);

// The user's handle of a store.
class Handle final : public JobHandle {
 public:
  explicit Handle(std::shared_ptr<EtcdJob> job) : job_(std::move(job)) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() override { job_->close(); }

  const std::string& key() const override { return job_->key(); }
  task<Result<TakenJob>> take(Instant deadline, runtime::Cancellation* cancel) override {
    return EtcdJob::take(job_, deadline, cancel);
  }
  task<Written> write(std::string value, Instant deadline, runtime::Cancellation* cancel) override {
    return EtcdJob::write(job_, std::move(value), deadline, cancel);
  }
  task<Result<std::optional<std::string>>> read(Instant deadline, runtime::Cancellation* cancel) override {
    return EtcdJob::read(job_, deadline, cancel);
  }
  task<Status> give_back(Instant deadline, runtime::Cancellation* cancel) override {
    return EtcdJob::give_back(job_, deadline, cancel);
  }
  task<Written> retire(Instant deadline, runtime::Cancellation* cancel) override {
    return EtcdJob::retire(job_, deadline, cancel);
  }
  Instant held_until() const override { return job_->held_until(); }
  JobFence fence() const override { return job_->fence(); }

 private:
  std::shared_ptr<EtcdJob> job_;
};

runtime::task<Result<store::EtcdPlace>> place_of(runtime::Runtime& runtime, std::string url) {
  BW_CO_TRY(auto parsed, store::parse_store_url(url));
  if (parsed.scheme != "etcd" && parsed.scheme != "etcds") {
    co_return fail(Errc::kUnsupported, "'{}' cannot store jobs: only etcd can (etcd://HOST:PORT)", parsed.text);
  }
  auto place = co_await store::etcd_place(runtime, std::move(parsed));
  co_return place;
}

}  // namespace

EtcdJobView::EtcdJobView(runtime::Runtime& runtime, store::EtcdPlace place, const std::string& group, Note note,
                         Duration names_every)
    : runtime_(runtime),
      api_(runtime, std::move(place.login)),
      description_(std::move(place.description)),
      owners_(etcd_owners(group)),
      states_(etcd_states(group)),
      note_(note),
      names_every_(names_every) {}

void EtcdJobView::visit_keys(VisitKey visit, void* context) const {
  for (const auto& [key, record] : records_) visit(context, key);
}

const registers::RegisterRecord* EtcdJobView::find(const std::string& key) const {
  const auto at = records_.find(key);
  return at == records_.end() ? nullptr : &at->second;
}

task<void> EtcdJobView::run(runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    const Status seen = co_await look(cancel);
    if (cancel->cancelled()) co_return;
    std::string trouble = seen ? std::string() : seen.error().message;
    if (!trouble.empty() && trouble_.empty()) {
      note_(true, fmt::format("job registers: {} cannot be read: {}", description_, trouble));
    } else if (trouble.empty() && !trouble_.empty()) {
      note_(false, fmt::format("job registers: {} answers again", description_));
    }
    trouble_ = std::move(trouble);
    co_await runtime_.sleep(kLookEvery, cancel);
  }
}

// Owner and first state of a job are written together. Owners are looked at after the changes, and both are shown
// together, so that no job seems to be without an owner that it has had from its beginning.
task<Status> EtcdJobView::look(runtime::Cancellation* cancel) {
  std::vector<registers::RegisterRecord> changed;
  BW_CO_TRY(const auto next, co_await look_at_changes(changed, cancel));
  BW_CO_RETURN_IF_ERROR(co_await look_at_owners(cancel));
  for (registers::RegisterRecord& record : changed) {
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
  const Instant until = runtime_.read_clock() + kMaxAnswer;
  BW_CO_TRY(const auto answer, co_await api_.call("/v3/kv/range", std::move(body), true, until, cancel));
  auto range = store::parse_range(answer);
  if (!range) co_return range;
  const bool is_first = cluster_.empty();
  const bool is_another = range->cluster != cluster_ || range->revision + 1 < next_revision_;
  cluster_ = range->cluster;
  if (is_first || !is_another) co_return range;
  next_revision_ = 0;
  names_at_ = Instant();
  co_return fail(Errc::kReset, "it was reset or replaced");
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

task<Result<uint64_t>> EtcdJobView::look_at_changes(std::vector<registers::RegisterRecord>& changed,
                                                    runtime::Cancellation* cancel) {
  uint64_t from = next_revision_;
  while (true) {
    std::string body = store::changes_body(states_, store::after_prefix(states_), from, kAtOnce);
    BW_CO_TRY(auto range, co_await ask(std::move(body), cancel));
    for (const store::EtcdEntry& one : range.entries) {
      auto record = one.key.starts_with(states_) ? message::decode<registers::RegisterRecord>(one.value)
                                                 : fail(Errc::kInvalid, "");
      // An unreadable record is no job for this version; a node that takes the job reports it.
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

std::string etcd_owners(const std::string& group) { return fmt::format("bellwether/jobs/{}/owner/", group); }
std::string etcd_states(const std::string& group) { return fmt::format("bellwether/jobs/{}/state/", group); }

EtcdJobStore::EtcdJobStore(runtime::Runtime& runtime, store::EtcdPlace place, const std::string& group,
                           std::string self, const JobSettings& settings, uint64_t seed)
    : runtime_(runtime),
      api_(runtime, std::move(place.login)),
      description_(std::move(place.description)),
      owners_(etcd_owners(group)),
      states_(etcd_states(group)),
      self_(std::move(self)),
      settings_(settings),
      prng_(seed),
      watch_(runtime, *this) {
  check(check_settings(settings).has_value(), "settings are validated before they are used");
}

EtcdJobStore::~EtcdJobStore() { check(jobs_.empty(), "handles end before their store"); }

Result<std::unique_ptr<JobHandle>> EtcdJobStore::open(std::string key, JobHandle::Listener& listener) {
  BW_RETURN_IF_ERROR(check_key(key));
  if (closed_) return fail(Errc::kClosed, "this node is ending");
  if (jobs_.contains(key)) return fail(Errc::kExists, "job '{}' is open already: a node has one handle of it", key);
  if (jobs_.size() >= kMaxHandles) return fail(Errc::kExhausted, "too many jobs are open on this node");
  auto job = std::make_shared<EtcdJob>(*this, key, listener);
  jobs_[std::move(key)] = job.get();
  return std::make_unique<Handle>(std::move(job));
}

task<void> EtcdJobStore::close(Duration most) {
  closed_ = true;
  for (const auto& [key, job] : jobs_) job->end();
  loops_.cancel();
  co_await loops_.join();
  {
    runtime::Until until(runtime_, runtime_.read_clock() + most, nullptr);
    runtime::CancelCallback on_end(
        until.cancellation(), [](void* scope) { static_cast<runtime::Scope*>(scope)->cancel(); }, &revokes_);
    co_await revokes_.join();
  }
}

// --- news of free jobs -----------------------------------------------------------------------------------------------

void EtcdJobStore::begin_to_watch() {
  if (!std::exchange(watching_, true)) loops_.spawn(watch(this));
}

task<void> EtcdJobStore::watch(EtcdJobStore* self) {
  runtime::Cancellation* const cancel = self->loops_.cancellation();
  while (!cancel->cancelled()) co_await self->watch_.changed(cancel);
}

task<Status> EtcdJobStore::listen(store::WebWatch& watch, Instant begin_by, Instant deadline) {
  std::string range = store::watch_body(owners_, store::after_prefix(owners_));
  const Status ended = co_await api_.watch(std::move(range), watch, begin_by, deadline);
  co_return ended;
}

store::WebWatch::Word EtcdJobStore::hear(std::string_view line) {
  const auto removals = store::parse_removals(line);
  if (!removals || removals->over) return store::WebWatch::Word::kEnd;
  for (const std::string& name : removals->names) {
    const auto job = name.starts_with(owners_) ? jobs_.find(name.substr(owners_.size())) : jobs_.end();
    if (job != jobs_.end()) job->second->wake();
  }
  if (removals->begins) {
    // Events before the watch stood were not reported.
    for (const auto& [key, job] : jobs_) job->wake();
  }
  return store::WebWatch::Word::kNothing;
}

// --- leases that are no longer needed --------------------------------------------------------------------------------

task<void> EtcdJobStore::revoke(EtcdJobStore* self, uint64_t lease) {
  runtime::Cancellation* const cancel = self->revokes_.cancellation();
  const Instant over = self->runtime_.read_clock() + self->settings_.lease;
  while (self->runtime_.read_clock() < over) {
    std::string which = store::lease_body(lease);
    const Instant until = self->runtime_.read_clock() + kMaxOneLook;
    const auto done = co_await self->api_.call("/v3/lease/revoke", std::move(which), true, until, cancel);
    if (done || done.error().code == Errc::kNotFound) co_return;
    const bool slept = co_await self->runtime_.sleep(kWatchAgainAfter, cancel);
    if (!slept) co_return;
  }
}

runtime::task<Result<std::unique_ptr<JobStore>>> open_etcd_job_store(runtime::Runtime& runtime, std::string url,
                                                                     std::string group, std::string self,
                                                                     JobSettings settings, uint64_t seed) {
  BW_CO_RETURN_IF_ERROR(check_settings(settings));
  if (group.empty() || self.empty())
    co_return fail(Errc::kInvalid, "jobs in etcd need the names of a group and a node");
  BW_CO_TRY(auto place, co_await place_of(runtime, std::move(url)));
  co_return std::make_unique<EtcdJobStore>(runtime, std::move(place), group, std::move(self), settings, seed);
}

runtime::task<Result<std::unique_ptr<EtcdJobView>>> open_etcd_job_view(runtime::Runtime& runtime, std::string url,
                                                                       std::string group, EtcdJobView::Note note,
                                                                       Duration names_every) {
  BW_CO_TRY(auto place, co_await place_of(runtime, std::move(url)));
  co_return std::make_unique<EtcdJobView>(runtime, std::move(place), group, note, names_every);
}

}  // namespace bellwether::jobs
