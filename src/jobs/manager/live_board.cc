#include "jobs/manager/live_board.h"

#include <algorithm>

namespace bellwether::node {

void LiveBoard::set_zero(Instant zero) {
  if (!windows_) zero_ = zero;
}

metrics::LiveWindows& LiveBoard::windows(Instant now) {
  if (!windows_) windows_.emplace(zero_.value_or(now));
  return *windows_;
}

void LiveBoard::begins(Instant now, dispatch::ShareId share) {
  if (finished_) return;
  const auto [at, is_new] = told_.try_emplace(share);
  if (is_new) at->second.source = windows(now).open(now, true);
}

bool LiveBoard::heard(Instant now, Instant collected, uint64_t number, const dispatch::LiveLetter::Share& told) {
  if (finished_) return false;
  const auto [at, is_new] = told_.try_emplace(told.share);
  Told& known = at->second;
  if (known.over) return false;
  if (is_new) known.source = windows(now).open(now, false);
  windows_->take(now, known.source, collected, number,
                 {told.requests, told.failed, told.iterations, told.dropped, told.vus});
  if (known.number && number <= *known.number) return false;
  if (known.number) take_off(known.what);
  known.number = number;
  known.at = now;
  known.what = told;
  add(told);
  ++version_;
  return true;
}

void LiveBoard::ended(Instant now, dispatch::ShareId share) {
  const auto at = told_.find(share);
  if (finished_ || at == told_.end() || at->second.over) return;
  at->second.over = true;
  sum_.vus -= at->second.what.vus;
  at->second.what.vus = 0;
  windows_->end(now, at->second.source);
  ++version_;
}

void LiveBoard::finish(Instant now) {
  if (windows_ && !finished_) windows_->finish(now);
  finished_ = true;
}

dispatch::LiveSum LiveBoard::sum(Instant now) const {
  dispatch::LiveSum out = sum_;
  for (const auto& [share, told] : told_) {
    if (!told.over && told.number) out.age = std::max(out.age, client::Span((now - told.at).ns()));
  }
  return out;
}

void LiveBoard::advance(Instant now) {
  if (windows_ && !finished_) windows_->advance(now);
}

dispatch::LiveNews LiveBoard::news(Instant now, uint64_t change) const {
  dispatch::LiveNews out;
  out.total = sum(now);
  if (!windows_) return out;
  out.change = windows_->change();
  std::vector<metrics::LiveWindow> closed;
  windows_->since(change, closed);
  static_assert(metrics::LiveWindows::kKept <= dispatch::kMostLiveWindows);
  for (const metrics::LiveWindow& one : closed) {
    const metrics::LiveCounts& done = one.counts;
    out.windows.push_back({one.number,
                           one.revision,
                           one.told,
                           {done.requests, done.failed, done.iterations, done.dropped, done.vus, {}}});
  }
  return out;
}

void LiveBoard::add(const dispatch::LiveLetter::Share& one) {
  sum_.requests += one.requests;
  sum_.failed += one.failed;
  sum_.iterations += one.iterations;
  sum_.dropped += one.dropped;
  sum_.vus += one.vus;
}

void LiveBoard::take_off(const dispatch::LiveLetter::Share& one) {
  sum_.requests -= one.requests;
  sum_.failed -= one.failed;
  sum_.iterations -= one.iterations;
  sum_.dropped -= one.dropped;
  sum_.vus -= one.vus;
}

}  // namespace bellwether::node
