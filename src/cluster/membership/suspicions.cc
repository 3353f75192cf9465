#include "cluster/membership/suspicions.h"

#include <algorithm>
#include <cmath>

namespace bellwether::membership {

bool CorrelationGuard::holds(uint8_t kind, std::size_t alive, std::size_t suspect, Instant now) {
  constexpr std::size_t kFewest = 4;
  std::erase_if(deaths_, [&](const Death& d) { return now - d.at > limit_; });
  const auto dead = static_cast<std::size_t>(
      std::count_if(deaths_.begin(), deaths_.end(), [&](const Death& d) { return d.kind == kind; }));
  const std::size_t all = alive + suspect + dead;
  Instant& since = since_[kind];
  if (all < kFewest || 2 * (suspect + dead) <= all) {
    since = Instant::never();
    return false;
  }
  if (since == Instant::never()) since = now;
  return now - since < limit_;
}

Duration suspicion_timeout(Duration min, Duration max, int confirmations, int enough) {
  if (enough < 1) return min;
  const double ratio = std::log(confirmations + 1.0) / std::log(enough + 1.0);
  return std::max(min, Duration::from_seconds_f(max.seconds_f() - (max - min).seconds_f() * ratio));
}

Duration Suspicion::timeout() const {
  const int confirmations = accusers.empty() ? 0 : static_cast<int>(accusers.size()) - 1;
  return suspicion_timeout(min, max, confirmations, enough) + extended;
}

void Suspicions::begin(NodeIndex node, const Update& update) {
  const std::size_t members = table_.present();
  const double scale = figures_.health_scales_suspicion ? trust_.stretch() : 1.0;
  const Suspicion& one = suspicions_.emplace_back(
      Suspicion{.node = node,
                .incarnation = update.incarnation,
                .since = self_.now,
                .min = Duration::from_seconds_f(suspicion_min(figures_, members).seconds_f() * scale),
                .max = Duration::from_seconds_f(suspicion_max(figures_, members).seconds_f() * scale),
                .enough = std::clamp(static_cast<int>(members) - 2, 0, figures_.confirmations),
                .accusers = update.accusers,
                .deaf_before = trust_.deaf_time(),
                .extended = {}});
  next_ = std::min(next_, deadline_of(one));
}

std::size_t Suspicions::find(NodeIndex suspect) const {
  std::size_t at = 0;
  while (suspicions_[at].node != suspect) ++at;
  return at;
}

bool Suspicions::confirm(NodeIndex node, const Accusers& accusers) {
  Suspicion& one = suspicions_[find(node)];
  bool news = false;
  for (const AccuserMark mark : accusers) {
    if (static_cast<int>(one.accusers.size()) > one.enough) break;
    news |= one.accusers.add(mark);
  }
  if (news) next_ = std::min(next_, deadline_of(one));
  return news;
}

void Suspicions::wait_until(Instant when) {
  if (next_ != Instant::never()) next_ = std::max(next_, when);
}

// Deaf time is added: all of it while nothing was received since the suspicion began, for a refutation may have been
// missed.
Instant Suspicions::deadline_of(const Suspicion& one) const {
  const Duration deaf = trust_.silent_since(one.since) ? self_.now - one.since : trust_.deaf_time() - one.deaf_before;
  return one.since + one.timeout() + std::min(deaf, figures_.guard_limit);
}

bool Suspicions::guard_holds(NodeIndex node, Effects& out) {
  if (!figures_.guard) return false;
  const uint8_t role = table_.profile(node).role;
  const bool before = guard_.since(role) != Instant::never();
  const std::size_t ourselves = self_.config.profile.role == role ? 1 : 0;
  const bool holds = guard_.holds(role, table_.count(role, false) - ourselves, table_.count(role, true), self_.now);
  const bool after = guard_.since(role) != Instant::never();
  if (before != after) out.emplace_back(GuardChanged{role, after});
  return holds;
}

std::vector<Suspicion> Suspicions::due(Effects& out) {
  std::vector<Suspicion> due;
  if (self_.now < next_) return due;
  next_ = Instant::never();
  for (Suspicion& one : suspicions_) {
    Instant deadline = deadline_of(one);
    if (deadline <= self_.now && guard_holds(one.node, out)) {
      const Instant end = guard_.since(table_.profile(one.node).role) + guard_.limit();
      one.extended += std::max(end - deadline, Duration::millis(20));
      deadline = deadline_of(one);
    }
    if (deadline <= self_.now) {
      due.push_back(one);
    } else {
      next_ = std::min(next_, std::max(deadline, self_.now + Duration::millis(20)));
    }
  }
  return due;
}

}  // namespace bellwether::membership
