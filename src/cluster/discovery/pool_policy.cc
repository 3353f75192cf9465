// What the pool decides by: whom to evict, whom to take in, and when.
#include <algorithm>

#include "cluster/discovery/pool.h"

namespace bellwether::discovery {

// What is usual among the others: the median of their 99th percentiles. A slow peer has no part in what it is held
// against, and when all are slow at once nobody is evicted for it.
std::optional<Duration> Pool::baseline(const Member& member) const {
  std::vector<Duration> usual;
  for (const Member* other : pool_) {
    if (other == &member) continue;
    if (const auto p99 = other->health.p99()) usual.push_back(*p99);
  }
  if (usual.empty()) return std::nullopt;
  const auto middle = usual.begin() + static_cast<std::ptrdiff_t>((usual.size() - 1) / 2);
  std::nth_element(usual.begin(), middle, usual.end());
  return std::max(*middle, settings_.latency_floor / settings_.latency_multiplier);
}

double Pool::latency_factor(const Member& member) const {
  if (member.health.ewma() == Duration::zero()) return 0;  // most of them: nothing is known
  const auto usual = baseline(member);
  if (!usual || *usual <= Duration::zero()) return 0;
  const Duration limit = *usual * settings_.latency_multiplier;
  return std::min(1.0, static_cast<double>(member.health.ewma().ns()) / static_cast<double>(limit.ns()));
}

std::optional<Eviction> Pool::wrong_with(const Member& member) const {
  if (member.health.consecutive_failures() > settings_.consecutive_failures_max) return Eviction::kConsecutiveFailures;
  if (member.health.error_rate() > settings_.error_rate_max) return Eviction::kErrorRate;
  if (member.health.ewma() <= settings_.latency_floor) return std::nullopt;  // nothing to compare with the others
  const auto usual = baseline(member);
  if (usual && member.health.ewma() > *usual * settings_.latency_multiplier) return Eviction::kLatency;
  return std::nullopt;
}

void Pool::judge(Instant now, Member& member, Effects& effects) {
  if (member.standing != Standing::kPrimary && member.standing != Standing::kBackup) return;
  if (const auto reason = wrong_with(member)) {
    evict(now, member, reason, effects);
    settle(now, effects);
  }
}

void Pool::evict(Instant now, Member& member, std::optional<Eviction> reason, Effects& effects) {
  const bool was_primary = member.standing == Standing::kPrimary;
  effects.push_back(effect::Disconnect{member.peer.id, reason});
  put(member, Standing::kKnown);
  member.retire_at = Instant::never();
  if (reason) {
    ++metrics_.pool_evictions[static_cast<std::size_t>(*reason)];
    ++metrics_.candidate_set_changes[static_cast<std::size_t>(SetChange::kHealthChange)];
    // A connection that was only old says nothing against its peer, but taking it again at once would refresh nothing.
    member.set_aside_until = now + settings_.set_aside;
    if (*reason != Eviction::kStale) member.health = PeerHealth(settings_.alpha);
    rank(now);
  }
  const auto soon = [&] { return now + prng_.between(settings_.promotion_min, settings_.promotion_max); };
  if (was_primary && promote_at_ == Instant::never()) promote_at_ = soon();
  if (fill_at_ == Instant::never()) fill_at_ = soon();
}

// The candidates anew. Those in the pool stay: connections are sticky. Whoever is set aside comes after all others.
void Pool::rank(Instant now) {
  constexpr double kLeast = 0.001;
  std::vector<Weighed> weighed;
  for (const auto& [id, member] : members_) {
    if (member.set_aside_until > now) {
      weighed.push_back({id, Tier::kGlobal, kLeast});
      continue;
    }
    weighed.push_back({id, tier_of(settings_.locality, member.peer.locality, member.health.ewma()),
                       health_weight(member.health.error_rate(), latency_factor(member))});
  }
  const CandidateSet set = select_candidates(weighed, settings_.self, settings_.role, settings_.candidates,
                                             settings_.locality.min_peers_per_tier);
  candidates_.clear();
  for (const Ranked& ranked : set.ranked) candidates_.emplace_back(weighed[ranked.index].id);
  metrics_.candidate_set_size = candidates_.size();
  if (!candidates_.empty()) ++metrics_.locality_tier_selected[static_cast<std::size_t>(set.widest)];
}

void Pool::settle(Instant now, Effects& effects) {
  // Nobody to send to is worse than everybody promoting at once.
  if (count(Standing::kPrimary) == 0 || promote_at_ <= now) promote();
  const bool due = fill_at_ <= now || fill_at_ == Instant::never();
  if (due || pool_.empty()) fill(now, due, effects);
  count_connections();
}

void Pool::promote() {
  promote_at_ = Instant::never();
  while (count(Standing::kPrimary) < settings_.primaries) {
    Member* best = nullptr;
    for (Member* member : pool_) {
      if (member->standing != Standing::kBackup) continue;
      if (best == nullptr || member->health.ewma() < best->health.ewma()) best = member;
    }
    if (best == nullptr) return;
    put(*best, Standing::kPrimary);
    ++metrics_.pool_promotions;
  }
}

// Connects to as many as are wanted: candidates that are not set aside, the better of two each time. When it is `due`,
// and there is nobody else, those that are set aside too: but not at once, or a dead peer would be tried without end.
void Pool::fill(Instant now, bool due, Effects& effects) {
  const Instant was_to_fill_at = fill_at_;
  fill_at_ = Instant::never();
  const std::size_t wanted = settings_.primaries + settings_.backups;
  std::size_t have = pool_.size();
  const auto choose = [&](bool set_aside_too) {
    while (have < wanted) {
      std::vector<Member*> open;
      std::vector<Duration> latencies;
      for (const std::string& id : candidates_) {
        Member& member = members_.find(id)->second;
        if (member.standing != Standing::kKnown || (!set_aside_too && member.set_aside_until > now)) continue;
        open.push_back(&member);
        latencies.push_back(member.health.ewma());
      }
      const auto chosen = better_of_two(latencies, prng_);
      if (!chosen) return;
      put(*open[*chosen], Standing::kConnecting);
      effects.push_back(effect::Connect{open[*chosen]->peer});
      ++have;
    }
  };
  choose(false);
  if (have < wanted && due) {  // some may be set aside no longer
    rank(now);
    choose(false);
  }
  if (have == 0 && due) choose(true);
  if (have == wanted) return;
  // Those that are set aside may be taken later.
  fill_at_ = due ? now + prng_.between(settings_.promotion_min, settings_.promotion_max) * 10 : was_to_fill_at;
}

void Pool::count_connections() { metrics_.pool_connections = {count(Standing::kPrimary), count(Standing::kBackup)}; }

}  // namespace bellwether::discovery
