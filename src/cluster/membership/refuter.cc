#include "cluster/membership/refuter.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::membership {

void Refuter::set_meta(const std::string& meta, Effects& out) {
  check(meta.size() <= kMaxMeta, "meta has at most 255 bytes");
  Profile& profile = self_.config.profile;
  if (meta == profile.meta) return;
  profile.meta = meta;
  roster_.identify(roster_.me(), self_.config.life, profile);
  roster_.raise(++incarnation_, false);
  out.emplace_back(IncarnationRaised{incarnation_});
  gossip_.announce(UpdateKind::kAlive, out);
}

void Refuter::hear(const Update& update, const Source& source, Effects& out) {
  if (self_.state == MembershipState::kLeaving) return;
  if (update.kind != UpdateKind::kAlive && update.kind != UpdateKind::kJoin) {
    if (update.incarnation >= incarnation_) return refute(update, source, out);
    // A sender that still repeats what was refuted long ago may have missed the refutation, and gets it from no other
    // node.
    if (source.reachable) gossip_.correct(roster_.me(), source.endpoint, out);
    return;
  }
  // Another process claims our name elsewhere, now or before us: we must find out whether it lives.
  const MembershipConfig& config = self_.config;
  if (update.profile.endpoint != config.profile.endpoint) return question(update, out);
  if (update.life == config.life && update.incarnation <= incarnation_) return;
  // An earlier life of ours, here: the group believes it until we go beyond.
  if (update.incarnation >= incarnation_) return refute(update, source, out);
  gossip_.announce(UpdateKind::kAlive, out);
}

void Refuter::go_beyond(uint32_t incarnation, Effects& out) {
  incarnation_ = std::min(incarnation, kMaxIncarnation - 1) + 1;
  roster_.raise(incarnation_, true);
  out.emplace_back(IncarnationRaised{incarnation_});
}

void Refuter::refute(const Update& update, const Source& source, Effects& out) {
  go_beyond(update.incarnation, out);
  trust_.suspected();
  gossip_.tell(MemberChange::kRefuted, roster_.me(), update, source, out);
  gossip_.announce(UpdateKind::kAlive, out);
  if (!self_.config.figures.tell_at_once || !source.reachable) return;
  gossip_.send({.kind = PacketKind::kNews}, source.endpoint, std::nullopt, out);
}

// Another process claims our name from another address. Whether it lives decides.
void Refuter::question(const Update& update, Effects& out) {
  if (claimant_.deadline != Instant::never()) return;
  const Endpoint& where = update.profile.endpoint;
  out.emplace_back(Conflict{ConflictKind::kName, self_.config.name, {}, self_.config.profile.endpoint, where});
  claimant_ = {where, update.life, update.incarnation, gossip_.ping(self_.id, where, std::nullopt, out),
               self_.now + self_.config.figures.verdict_after};
}

bool Refuter::on_ack(const PacketHead& head, const Endpoint& from, Effects& out) {
  if (claimant_.deadline == Instant::never() || head.sequence != claimant_.sequence || from != claimant_.endpoint) {
    return false;
  }
  claimant_.life = head.life;  // the record that made us ask may be of an earlier process there
  settle_claim(true, out);
  return true;
}

void Refuter::check_claim(Effects& out) {
  if (self_.now >= claimant_.deadline) settle_claim(false, out);
}

void Refuter::settle_claim(bool answered, Effects& out) {
  const Claimant other = claimant_;
  claimant_ = {};
  const MembershipConfig& config = self_.config;
  const bool older = config.life != other.life ? config.life < other.life : config.profile.endpoint < other.endpoint;
  if (answered && !older) {
    self_.state = MembershipState::kGone;
    out.emplace_back(Refused{other.endpoint});
    return;
  }
  go_beyond(std::max(incarnation_, other.incarnation), out);
  gossip_.announce(UpdateKind::kAlive, out);
}

}  // namespace bellwether::membership
