#include "lead/metrics/lease_figures.h"

#include <algorithm>

namespace bellwether::lead {

using Guard = std::lock_guard<std::mutex>;

void WaitHistogram::add(Duration span) {
  const double seconds = static_cast<double>(span.ns()) / 1e9;
  const auto* bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  if (bound != kBounds.end()) ++at_most[static_cast<std::size_t>(bound - kBounds.begin())];
  ++count;
  sum += seconds;
}

void LeaseFigures::elected(const election::TermOfOffice& term, Instant now) {
  const Guard guard(mutex_);
  term_ = term;
  renewal_sent_ = now;
}

void LeaseFigures::renewed(Instant now, Duration took) {
  const Guard guard(mutex_);
  ++figures_.renewals;
  figures_.renew_seconds.add(took);
  renewal_sent_ = now - took;
}

void LeaseFigures::term_ended() {
  const Guard guard(mutex_);
  term_ = {};
}

void LeaseFigures::leader_changed(const election::LeaseRecord& record, Duration failover) {
  const Guard guard(mutex_);
  if (record.held() && record.epoch > figures_.epoch) {
    // What came before the first one seen is not known.
    if (figures_.epoch.value() > 0) figures_.failover = failover;
    ++figures_.transitions;
  }
  figures_.epoch = std::max(figures_.epoch, record.epoch);
}

void LeaseFigures::renewal_failed() {
  const Guard guard(mutex_);
  ++figures_.renewal_failures;
}

void LeaseFigures::fell_open() {
  const Guard guard(mutex_);
  ++figures_.fail_opens;
}

void LeaseFigures::lock_waited(Duration took) {
  const Guard guard(mutex_);
  figures_.lock_wait.add(took);
}

void LeaseFigures::tick_ended(bool succeeded) {
  const Guard guard(mutex_);
  ++figures_.ticks;
  if (!succeeded) ++figures_.tick_failures;
}

void LeaseFigures::stale_jobs(uint64_t count) {
  const Guard guard(mutex_);
  figures_.stale_jobs = count;
}

void LeaseFigures::orphans_replayed(uint64_t more) {
  const Guard guard(mutex_);
  figures_.orphans_replayed = figures_.orphans_replayed.value_or(0) + more;
}

LeaseSnapshot LeaseFigures::read(Instant now) const {
  const Guard guard(mutex_);
  LeaseSnapshot out = figures_;
  // Asked of the term itself: a process that was paused holds nothing any more although nobody has told it yet.
  out.leader = term_.valid_for(now) > Duration::zero();
  if (out.leader) out.since_renewal = now - renewal_sent_;
  return out;
}

}  // namespace bellwether::lead
