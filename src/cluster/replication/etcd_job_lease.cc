// The lease of a job in etcd: that it is renewed, and noticed when it is lost.
#include <algorithm>
#include <utility>

#include "cluster/replication/etcd_job.h"

namespace bellwether::jobs {
namespace {

using runtime::task;

constexpr Duration kRenewAgainAfter = Duration::millis(200);

}  // namespace

bool EtcdJob::mine(const View& view) const {
  return lease_ != 0 && view.owner && view.owner->created == created_ && view.owner->lease == lease_;
}

// The server counts from later than this node asked.
void EtcdJob::move_end(Instant asked_at) {
  const JobSettings& settings = store_.settings_;
  ends_ = std::max(ends_, asked_at + Duration::from_seconds_f(settings.lease.seconds_f() * (1 - settings.drift)));
  const Duration most = settings.renew_every();
  renew_at_ = asked_at + Duration::nanos(store_.prng_.between(most.ns() * 3 / 4, most.ns()));
  if (nap_ != nullptr) nap_->cancel();
}

void EtcdJob::drop() {
  lease_ = 0;
  ends_ = Instant();
  if (nap_ != nullptr) nap_->cancel();
}

void EtcdJob::lose(const std::string& owner, const std::string& why) {
  if (lease_ == 0) return;
  // A lease that etcd still counts keeps others waiting for nobody.
  store_.abandon(lease_);
  drop();
  if (listener_ != nullptr) listener_->on_lost({fence_, owner, why});
}

task<void> EtcdJob::keep(std::shared_ptr<EtcdJob> self) {
  runtime::Cancellation* const all = self->store_.loops_.cancellation();
  while (self->lease_ != 0 && !all->cancelled()) {
    runtime::Cancellation nap(all);
    self->nap_ = &nap;
    const bool due = co_await self->store_.runtime_.sleep_until_boot(std::min(self->renew_at_, self->ends_), &nap);
    self->nap_ = nullptr;
    if (!due || self->lease_ == 0) continue;
    if (!self->held()) {
      self->lose({}, "etcd has not answered before the lease was over");
    } else {
      co_await self->renew();
    }
  }
  self->keeping_ = false;
}

// That the lease lives does not say that the job is still bound to it: somebody may have removed the key.
task<void> EtcdJob::renew() {
  const uint64_t lease = lease_;
  const Instant asked_at = store_.runtime_.boot_now();
  const Duration most = std::min(store_.settings_.renew_every(), ends_ - asked_at);
  Time time(*this, store_.runtime_.read_clock() + most, nullptr);
  std::string which = store::lease_body(lease);
  const auto body = co_await call("/v3/lease/keepalive", std::move(which), true, time);
  if (lease_ != lease) co_return;
  const auto left = body ? store::parse_keep_alive(*body) : tl::unexpected(body.error());
  const bool ended = left ? *left <= 0 : left.error().code == Errc::kNotFound;
  renew_at_ = store_.runtime_.boot_now() + kRenewAgainAfter;
  if (ended) {
    lose({}, "etcd has ended the lease");
    co_return;
  }
  if (!left) co_return;
  const auto seen = co_await look(time);
  if (lease_ != lease || !seen) co_return;
  if (mine(*seen)) {
    move_end(asked_at);
  } else {
    lose(seen->owner ? seen->owner->name : std::string(), "etcd shows another owner, or none");
  }
}

}  // namespace bellwether::jobs
