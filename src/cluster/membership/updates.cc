#include "cluster/membership/updates.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::membership {

// --- about this member -----------------------------------------------------------------------------------------------

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

// --- about others ----------------------------------------------------------------------------------------------------

void Updates::heard() {
  // After a long silence all waiting packets come before any verdict.
  if (trust_.heard()) suspicions_.wait_until(self_.now + figures_.verdict_after);
}

void Updates::read(PacketReader& in, const Source& source, Effects& out) {
  Update update;
  while (in.update(update)) apply(update, source, out);
  if (!in.ok()) ++self_.malformed;
}

void Updates::apply(const Update& update, const Source& source, Effects& out) {
  if (update.node == self_.id) return refuter_.hear(update, source, out);
  switch (update.kind) {
    case UpdateKind::kJoin:
    case UpdateKind::kAlive: return apply_alive(update, source, out);
    case UpdateKind::kSuspect: return apply_suspect(update, source, out);
    case UpdateKind::kDead: return apply_dead(update, source, out);
    case UpdateKind::kLeave: return apply_leave(update, source, out);
  }
}

// --- alive -----------------------------------------------------------------------------------------------------------

void Updates::enter(const Update& update, const Source& source, Effects& out) {
  if (table_.size() >= figures_.max_members) return;
  const auto node = roster_.enter(update);
  if (!node) {
    out.emplace_back(Conflict{.kind = ConflictKind::kId, .name = update.name, .claimed = update.profile.endpoint});
    return;
  }
  gossip_.tell(MemberChange::kJoined, *node, update, source, out);
  if (!source.pass_on) return;
  find_address_conflict(*node, out);
  gossip_.pass_on(update, out);
}

void Updates::find_address_conflict(NodeIndex node, Effects& out) const {
  const auto other = table_.with_endpoint_of(node);
  if (!other) return;
  out.emplace_back(Conflict{ConflictKind::kAddress, table_.name(node), table_.name(*other), table_.endpoint(*other),
                            table_.endpoint(node)});
}

void Updates::apply_alive(const Update& update, const Source& source, Effects& out) {
  const auto found = table_.find(update.node);
  if (!found) return enter(update, source, out);
  const NodeIndex node = *found;
  const Member before = table_.at(node);
  const bool present = is_present(before.state);
  // Of two lives with one incarnation the older keeps the name.
  const bool wins = update.incarnation > before.incarnation ||
                    (present && update.incarnation == before.incarnation && update.life < before.life);
  if (!wins) {
    // News of a join comes over a stream, which does not show its sender's datagram address: the sender states it.
    const Endpoint& where = source.reachable ? source.endpoint : update.profile.endpoint;
    if (update.life > before.life && source.node == update.node) gossip_.correct(node, where, out);
    return;
  }
  const Endpoint held = table_.endpoint(node);
  const bool other_life = update.life != before.life;
  const bool other_profile = table_.profile(node) != update.profile;
  if (other_life || other_profile) roster_.identify(node, update.life, update.profile);
  roster_.become(node, MemberState::kAlive, update.incarnation);
  if (before.state == MemberState::kSuspect) suspicions_.end(node);
  if (present && other_life && held != update.profile.endpoint) {
    out.emplace_back(Conflict{ConflictKind::kName, update.name, {}, held, update.profile.endpoint});
  }
  const MemberChange change = !present        ? MemberChange::kJoined
                              : other_life    ? MemberChange::kRestarted
                              : other_profile ? MemberChange::kUpdated
                                              : MemberChange::kRefuted;
  if (change != MemberChange::kRefuted || before.state == MemberState::kSuspect) {
    gossip_.tell(change, node, update, source, out);
  }
  if (!source.pass_on) return;
  if (held != update.profile.endpoint) find_address_conflict(node, out);
  gossip_.pass_on(update, out);
}

// --- suspect ---------------------------------------------------------------------------------------------------------

void Updates::apply_suspect(const Update& update, const Source& source, Effects& out) {
  const auto node = table_.find(update.node);
  if (!node) return;
  const Member& member = table_.at(*node);
  if (update.incarnation < member.incarnation || !is_present(member.state)) return;
  if (member.state == MemberState::kAlive) return suspect(*node, update, source, out);
  if (update.incarnation > member.incarnation) {
    // It has refuted the suspicion that we hold, and is suspected anew.
    suspicions_.end(*node);
    return suspect(*node, update, source, out);
  }
  if (!suspicions_.confirm(*node, update.accusers)) return;
  Update merged = update;
  merged.accusers = suspicions_.accusers_of(*node);
  gossip_.pass_on(merged, out);
}

void Updates::suspect(NodeIndex node, const Update& update, const Source& source, Effects& out) {
  suspicions_.begin(node, update);
  roster_.become(node, MemberState::kSuspect, update.incarnation);
  gossip_.tell(MemberChange::kSuspected, node, update, source, out);
  gossip_.pass_on(update, out);
  if (figures_.tell_at_once && source.cause != Cause::kGossip) gossip_.send({.kind = PacketKind::kNews}, node, out);
}

void Updates::check_suspicions(Effects& out) {
  for (const Suspicion& one : suspicions_.due(out)) {
    Update word{.kind = UpdateKind::kDead, .node = table_.id(one.node), .incarnation = one.incarnation};
    word.accusers.add(mark_of(self_.id));
    bury(one.node, MemberState::kDead, word, {.cause = Cause::kTimeout}, one.accusers, out);
  }
}

// --- dead and left ---------------------------------------------------------------------------------------------------

void Updates::bury(NodeIndex node, MemberState state, const Update& update, const Source& source,
                   const Accusers& accusers, Effects& out) {
  if (table_.at(node).state == MemberState::kSuspect) suspicions_.end(node);
  roster_.become(node, state, update.incarnation);
  const bool silent = state == MemberState::kDead && !update.accusers.empty();
  if (silent) suspicions_.died_silently(node);
  Update told = update;
  if (!accusers.empty()) told.accusers = accusers;
  gossip_.tell(state == MemberState::kLeft ? MemberChange::kLeft : MemberChange::kDied, node, told, source, out);
  gossip_.pass_on(update, out);
}

void Updates::apply_dead(const Update& update, const Source& source, Effects& out) {
  const auto node = table_.find(update.node);
  if (!node) return;
  const Member& member = table_.at(*node);
  if (update.incarnation < member.incarnation || !is_present(member.state)) return;
  const bool proven = update.accusers.empty();
  // A comparison of views may bring one side's view of the other side of a partition: the member may still answer. So
  // may one that dies while too many die at once.
  if (!proven && (source.cause == Cause::kSync || suspicions_.guard_holds(*node, out))) {
    Update doubt = update;
    doubt.kind = UpdateKind::kSuspect;
    return apply_suspect(doubt, source, out);
  }
  bury(*node, MemberState::kDead, update, source, {}, out);
}

void Updates::apply_leave(const Update& update, const Source& source, Effects& out) {
  const auto node = table_.find(update.node);
  if (!node || update.incarnation < table_.at(*node).incarnation || !is_present(table_.at(*node).state)) return;
  bury(*node, MemberState::kLeft, update, source, {}, out);
}

void Updates::prove(const ProofOfDeath& proof, Effects& out) {
  const auto node = table_.find(node_id(proof.name));
  if (!node || *node == roster_.me() || table_.endpoint(*node) != proof.endpoint) return;
  const Member& member = table_.at(*node);
  if (!is_present(member.state)) return;
  // A death without accusers is a proven one.
  const Update word{.kind = UpdateKind::kDead, .node = table_.id(*node), .incarnation = member.incarnation};
  bury(*node, MemberState::kDead, word, {.cause = Cause::kProof}, {}, out);
}

}  // namespace bellwether::membership
