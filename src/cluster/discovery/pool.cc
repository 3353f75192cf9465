#include "cluster/discovery/pool.h"

#include <algorithm>

namespace bellwether::discovery {

Pool::Pool(PoolSettings settings, Instant now, Prng prng, Metrics& metrics)
    : settings_(std::move(settings)),
      prng_(prng),
      metrics_(metrics),
      refresh_(settings_.refresh, prng_.fork()),
      refresh_at_(now + refresh_.next()) {}

void Pool::peers_changed(Instant now, const std::vector<Peer>& peers, SetChange change, Effects& effects) {
  ++metrics_.candidate_set_changes[static_cast<std::size_t>(change)];
  std::map<std::string_view, const Peer*> there;
  for (const Peer& peer : peers) {
    if (peer.id != settings_.self && there.size() < kPeersMax) there.emplace(peer.id, &peer);
  }
  for (auto it = members_.begin(); it != members_.end();) {
    const auto found = there.find(it->first);
    const bool stays = found != there.end() && found->second->place == it->second.peer.place;
    if (!stays && it->second.standing != Standing::kKnown) evict(now, it->second, std::nullopt, effects);
    if (stays) it->second.peer.locality = found->second->locality;
    it = stays ? std::next(it) : members_.erase(it);
  }
  for (const auto& [id, peer] : there) {
    members_.try_emplace(std::string(id), Member{*peer, PeerHealth(settings_.alpha)});
  }
  rank(now);
  settle(now, effects);
}

void Pool::connected(Instant now, std::string_view peer, Effects& effects) {
  const auto found = members_.find(peer);
  if (found == members_.end() || found->second.standing != Standing::kConnecting) return;
  Member& member = found->second;
  const bool primary = count(Standing::kPrimary) < settings_.primaries && promote_at_ == Instant::never();
  put(member, primary ? Standing::kPrimary : Standing::kBackup);
  // Up to a tenth longer, so that connections that were made together do not end together.
  member.retire_at = now + settings_.age_max + prng_.between(Duration::zero(), settings_.age_max / 10);
  settle(now, effects);
}

void Pool::disconnected(Instant now, std::string_view peer, Effects& effects) {
  const auto found = members_.find(peer);
  if (found == members_.end() || found->second.standing == Standing::kKnown) return;
  found->second.health.failed();
  evict(now, found->second, Eviction::kConsecutiveFailures, effects);
  settle(now, effects);
}

void Pool::succeeded(Instant now, std::string_view peer, Duration latency, Effects& effects) {
  const auto found = members_.find(peer);
  if (found == members_.end()) return;
  found->second.health.succeeded(latency);
  judge(now, found->second, effects);
}

void Pool::failed(Instant now, std::string_view peer, Effects& effects) {
  const auto found = members_.find(peer);
  if (found == members_.end()) return;
  found->second.health.failed();
  judge(now, found->second, effects);
}

void Pool::tick(Instant now, Effects& effects) {
  if (refresh_at_ <= now) {
    refresh_at_ = now + refresh_.next();
    rank(now);
  }
  // One at a time, and only while others carry on: age is no emergency.
  const auto old = std::find_if(pool_.begin(), pool_.end(), [&](const Member* m) { return m->retire_at <= now; });
  if (old != pool_.end() && count(Standing::kPrimary) >= 2) evict(now, **old, Eviction::kStale, effects);
  settle(now, effects);
}

Instant Pool::next_deadline() const {
  Instant next = std::min({refresh_at_, promote_at_, fill_at_});
  if (count(Standing::kPrimary) < 2) return next;
  for (const Member* member : pool_) next = std::min(next, member->retire_at);
  return next;
}

std::optional<std::string> Pool::next() {
  auto ring = primaries();
  if (ring.empty()) ring = backups();
  if (ring.empty()) return std::nullopt;
  const auto after = std::upper_bound(ring.begin(), ring.end(), last_);
  last_ = after == ring.end() ? ring.front() : *after;
  return last_;
}

Standing Pool::standing(std::string_view peer) const {
  const auto found = members_.find(peer);
  return found == members_.end() ? Standing::kKnown : found->second.standing;
}

std::vector<PeerFigures> Pool::figures() const {
  std::vector<PeerFigures> all;
  for (const Member* member : pool_) {
    if (member->standing == Standing::kConnecting) continue;
    all.push_back(
        {member->peer.id, member->peer.locality.datacenter, member->health.ewma(), member->health.error_rate()});
  }
  return all;
}

void Pool::put(Member& member, Standing standing) {
  if (member.standing == Standing::kKnown) pool_.push_back(&member);
  member.standing = standing;
  if (standing == Standing::kKnown) std::erase(pool_, &member);
}

std::vector<std::string> Pool::with(Standing standing) const {
  std::vector<std::string> ids;
  for (const Member* member : pool_) {
    if (member->standing == standing) ids.push_back(member->peer.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::size_t Pool::count(Standing standing) const {
  return static_cast<std::size_t>(
      std::count_if(pool_.begin(), pool_.end(), [&](const Member* member) { return member->standing == standing; }));
}

}  // namespace bellwether::discovery
