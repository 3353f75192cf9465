#include "cluster/replication/etcd_job_store.h"

#include <utility>

#include "cluster/replication/etcd_job.h"
#include "core/base/check.h"

namespace bellwether::jobs {
namespace {

using runtime::task;

constexpr Duration kWatchAgainAfter = Duration::seconds(1);
constexpr Duration kOneLookMost = Duration::seconds(5);

// What the user of a store has in hand.
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

}  // namespace

std::string etcd_owners(const std::string& group) { return "bellwether/jobs/" + group + "/owner/"; }
std::string etcd_states(const std::string& group) { return "bellwether/jobs/" + group + "/state/"; }

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
  if (closed_) return fail(Errc::kClosed, "the node that asks is ending");
  if (jobs_.contains(key)) return fail(Errc::kExists, "job '" + key + "' is open already: a node has one handle of it");
  if (jobs_.size() >= kMostHandles) return fail(Errc::kExhausted, "too many jobs are open on this node");
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
    // What happened before the watch stood was not told.
    for (const auto& [key, job] : jobs_) job->wake();
  }
  return store::WebWatch::Word::kNothing;
}

// --- leases that nobody needs any more -------------------------------------------------------------------------------

void EtcdJobStore::abandon(uint64_t lease) { revokes_.spawn(revoke(this, lease)); }

task<void> EtcdJobStore::revoke(EtcdJobStore* self, uint64_t lease) {
  runtime::Cancellation* const cancel = self->revokes_.cancellation();
  const Instant over = self->runtime_.read_clock() + self->settings_.lease;
  while (self->runtime_.read_clock() < over) {
    std::string which = store::lease_body(lease);
    const Instant until = self->runtime_.read_clock() + kOneLookMost;
    const auto done = co_await self->api_.call("/v3/lease/revoke", std::move(which), true, until, cancel);
    if (done || done.error().code == Errc::kNotFound) co_return;
    const bool slept = co_await self->runtime_.sleep(kWatchAgainAfter, cancel);
    if (!slept) co_return;
  }
}

}  // namespace bellwether::jobs
