// What the group knows: how news about members changes the view, and is passed on.
#include <algorithm>

#include "cluster/membership/membership.h"

namespace bellwether::membership {
namespace {}  // namespace

void Membership::apply(const Update& update, const Source& source, Effects& out) {
  if (update.node == id_) return about_self(update, source, out);
  switch (update.kind) {
    case UpdateKind::kJoin:
    case UpdateKind::kAlive: return apply_alive(update, source, out);
    case UpdateKind::kSuspect: return apply_suspect(update, source, out);
    case UpdateKind::kDead: return apply_dead(update, source, out);
    case UpdateKind::kLeave: return apply_leave(update, source, out);
  }
}

void Membership::pass_on(const Update& update, Effects& out) {
  const GossipBuffer::Pushed pushed = gossip_.push(update);
  if (pushed.dropped) out.emplace_back(GossipOverflowed{pushed.kind});
  if (next_gossip_ != Instant::never()) return;
  next_gossip_ = now_ + prng_.between(Duration(), config_.figures.gossip_interval);
}

void Membership::tell(MemberChange change, NodeIndex node, const Update& update, const Source& source,
                      Effects& out) const {
  out.emplace_back(MemberEvent{change, table_.name(node), table_.endpoint(node), update.incarnation,
                               source.node == update.node && source.node != NodeId() ? Cause::kItself : source.cause,
                               update.accusers, source.node});
}

Update Membership::record_of(NodeIndex node) const {
  const Member& member = table_.at(node);
  return {.kind = UpdateKind::kAlive,
          .node = table_.id(node),
          .incarnation = member.incarnation,
          .name = table_.name(node),
          .life = member.life,
          .profile = table_.profile(node),
          .accusers = {}};
}

// --- alive -----------------------------------------------------------------------------------------------------------

void Membership::enter(const Update& update, const Source& source, Effects& out) {
  if (table_.size() >= config_.figures.max_members) return;
  const auto seconds = static_cast<uint32_t>((now_ - started_).ms() / 1000);
  const Member member{
      .incarnation = update.incarnation, .life = update.life, .since_s = seconds, .state = MemberState::kAlive};
  const auto node = table_.enter(update.name, member, update.profile);
  if (!node) {
    out.emplace_back(Conflict{.kind = ConflictKind::kId, .name = update.name, .claimed = update.profile.endpoint});
    return;
  }
  last_change_ = now_;
  order_.add(*node, prng_);
  watch_may_change(*node);
  tell(MemberChange::kJoined, *node, update, source, out);
  if (!source.pass_on) return;
  find_address_conflict(*node, out);
  pass_on(update, out);
}

void Membership::find_address_conflict(NodeIndex node, Effects& out) const {
  for (NodeIndex other = 0; other < table_.slots(); ++other) {
    if (other == node || !table_.has(other) || !is_present(table_.at(other).state)) continue;
    if (table_.endpoint(other) != table_.endpoint(node)) continue;
    out.emplace_back(Conflict{ConflictKind::kAddress, table_.name(node), table_.name(other), table_.endpoint(other),
                              table_.endpoint(node)});
    return;
  }
}

// Tells a process that speaks from an earlier incarnation, after a restart without memory, what the group knows of its
// name, so that it can go beyond that.
void Membership::correct(NodeIndex node, const Endpoint& who, Effects& out) {
  const PacketHead head{.kind = PacketKind::kNews, .from = id_, .sequence = 0};
  auto& datagram = std::get<SendDatagram>(out.emplace_back(SendDatagram{who, {}}));
  PacketWriter writer(datagram.bytes);
  write_head(writer, head);
  if (const auto word = word_to(node)) return writer.update(*word);
  writer.update(record_of(node));
}

void Membership::apply_alive(const Update& update, const Source& source, Effects& out) {
  const auto found = table_.find(update.node);
  if (!found) return enter(update, source, out);
  const NodeIndex node = *found;
  const Member before = table_.at(node);
  const bool present = is_present(before.state);
  // Of two lives with one incarnation the older keeps the name.
  const bool wins = update.incarnation > before.incarnation ||
                    (present && update.incarnation == before.incarnation && update.life < before.life);
  if (!wins) {
    // News of a join comes over a stream, which says nothing of where its sender gets datagrams: it says so itself.
    const Endpoint& where = source.reachable ? source.endpoint : update.profile.endpoint;
    if (update.life > before.life && source.node == update.node) correct(node, where, out);
    return;
  }
  const Endpoint held = table_.endpoint(node);
  const bool other_life = update.life != before.life;
  const bool other_profile = table_.profile(node) != update.profile;
  if (other_life || other_profile) table_.set_identity(node, update.life, update.profile);
  if (other_life) clock_.forget(update.node.value());  // it counts its states from the beginning, in whichever life
  table_.set_state(node, MemberState::kAlive, update.incarnation, static_cast<uint32_t>((now_ - started_).ms() / 1000));
  last_change_ = now_;
  if (before.state == MemberState::kSuspect) end_suspicion(node);
  if (!present) std::erase_if(tombstones_, [&](const Tombstone& tomb) { return tomb.node == node; });
  watch_may_change(node);
  if (present && other_life && held != update.profile.endpoint) {
    out.emplace_back(Conflict{ConflictKind::kName, update.name, {}, held, update.profile.endpoint});
  }
  const MemberChange change = !present        ? MemberChange::kJoined
                              : other_life    ? MemberChange::kRestarted
                              : other_profile ? MemberChange::kUpdated
                                              : MemberChange::kRefuted;
  if (change != MemberChange::kRefuted || before.state == MemberState::kSuspect) {
    tell(change, node, update, source, out);
  }
  if (!source.pass_on) return;
  if (held != update.profile.endpoint) find_address_conflict(node, out);
  pass_on(update, out);
}

// --- suspect ---------------------------------------------------------------------------------------------------------

void Membership::apply_suspect(const Update& update, const Source& source, Effects& out) {
  const auto node = table_.find(update.node);
  if (!node) return;
  const Member& member = table_.at(*node);
  if (update.incarnation < member.incarnation || !is_present(member.state)) return;
  if (member.state == MemberState::kAlive) return suspect(*node, update, source, out);
  if (update.incarnation > member.incarnation) {
    // It has refuted the suspicion that we hold, and is suspected anew.
    end_suspicion(*node);
    return suspect(*node, update, source, out);
  }
  confirm(*node, update, out);
}

void Membership::suspect(NodeIndex node, const Update& update, const Source& source, Effects& out) {
  const Figures& figures = config_.figures;
  const std::size_t members = table_.present();
  const double scale = figures.health_scales_suspicion ? stretch() : 1.0;
  Suspicion one;
  one.node = node;
  one.incarnation = update.incarnation;
  one.since = now_;
  one.min = Duration::from_seconds_f(suspicion_min(figures, members).seconds_f() * scale);
  one.max = Duration::from_seconds_f(suspicion_max(figures, members).seconds_f() * scale);
  one.enough = std::clamp(static_cast<int>(members) - 2, 0, figures.confirmations);
  one.accusers = update.accusers;
  one.deaf_before = deaf_time();
  suspicions_.push_back(one);
  next_suspicion_ = std::min(next_suspicion_, deadline_of(one));
  table_.set_state(node, MemberState::kSuspect, update.incarnation,
                   static_cast<uint32_t>((now_ - started_).ms() / 1000));
  last_change_ = now_;
  watch_may_change(node);
  tell(MemberChange::kSuspected, node, update, source, out);
  pass_on(update, out);
  if (!figures.tell_at_once || source.cause == Cause::kGossip) return;
  send({.kind = PacketKind::kNews, .from = id_, .sequence = 0}, table_.endpoint(node), node, true, out);
}

Suspicion* Membership::suspicion_of(NodeIndex node) {
  const auto found =
      std::find_if(suspicions_.begin(), suspicions_.end(), [&](const Suspicion& one) { return one.node == node; });
  return found == suspicions_.end() ? nullptr : &*found;
}

void Membership::confirm(NodeIndex node, const Update& update, Effects& out) {
  Suspicion& one = *suspicion_of(node);
  bool news = false;
  for (const AccuserMark mark : update.accusers) {
    if (static_cast<int>(one.accusers.size()) > one.enough) break;
    news |= one.accusers.add(mark);
  }
  if (!news) return;
  next_suspicion_ = std::min(next_suspicion_, deadline_of(one));
  Update merged = update;
  merged.accusers = one.accusers;
  pass_on(merged, out);
}

void Membership::end_suspicion(NodeIndex node) {
  std::erase_if(suspicions_, [&](const Suspicion& one) { return one.node == node; });
}

// Deaf time is added, which is all of it while nothing was heard since the suspicion began: what was not heard may have
// been a refutation.
Instant Membership::deadline_of(const Suspicion& one) const {
  const bool nothing_heard = can_be_deaf() && last_heard_ <= one.since;
  const Duration deaf = nothing_heard ? now_ - one.since : deaf_time() - one.deaf_before;
  return one.since + one.timeout() + std::min(deaf, config_.figures.guard_limit);
}

bool Membership::guard_holds(NodeIndex node, Effects& out) {
  const uint8_t role = table_.profile(node).role;
  const bool before = guard_.since(role) != Instant::never();
  const std::size_t ourselves = config_.profile.role == role ? 1 : 0;
  const bool holds = guard_.holds(role, table_.count(role, false) - ourselves, table_.count(role, true), now_);
  const bool after = guard_.since(role) != Instant::never();
  if (before != after) out.emplace_back(GuardChanged{role, after});
  return holds;
}

void Membership::check_suspicions(Effects& out) {
  std::vector<Suspicion> due;
  next_suspicion_ = Instant::never();
  for (Suspicion& one : suspicions_) {
    Instant deadline = deadline_of(one);
    if (deadline <= now_ && config_.figures.guard && guard_holds(one.node, out)) {
      const Instant end = guard_.since(table_.profile(one.node).role) + guard_.limit();
      one.extended += std::max(end - deadline, Duration::millis(20));
      deadline = deadline_of(one);
    }
    if (deadline <= now_) {
      due.push_back(one);
    } else {
      next_suspicion_ = std::min(next_suspicion_, std::max(deadline, now_ + Duration::millis(20)));
    }
  }
  for (const Suspicion& one : due) {
    Update word{.kind = UpdateKind::kDead, .node = table_.id(one.node), .incarnation = one.incarnation};
    word.accusers.add(mark_of(id_));
    bury(one.node, MemberState::kDead, word, {.cause = Cause::kTimeout}, one.accusers, out);
  }
}

// --- dead and left ---------------------------------------------------------------------------------------------------

void Membership::bury(NodeIndex node, MemberState state, const Update& update, const Source& source,
                      const Accusers& accusers, Effects& out) {
  if (table_.at(node).state == MemberState::kSuspect) end_suspicion(node);
  table_.set_state(node, state, update.incarnation, static_cast<uint32_t>((now_ - started_).ms() / 1000));
  last_change_ = now_;
  watch_may_change(node);
  tombstones_.push_back({node, now_});
  const bool silent = state == MemberState::kDead && !update.accusers.empty();
  if (silent) guard_.died_silently(table_.profile(node).role, now_);
  Update told = update;
  if (!accusers.empty()) told.accusers = accusers;
  tell(state == MemberState::kLeft ? MemberChange::kLeft : MemberChange::kDied, node, told, source, out);
  pass_on(update, out);
}

void Membership::apply_dead(const Update& update, const Source& source, Effects& out) {
  const auto node = table_.find(update.node);
  if (!node) return;
  const Member& member = table_.at(*node);
  if (update.incarnation < member.incarnation || !is_present(member.state)) return;
  const bool proven = update.accusers.empty();
  // A comparison of views may bring what one side of a partition thought of the other: the member may still answer. So
  // may one that dies while too many die at once.
  if (!proven && (source.cause == Cause::kSync || (config_.figures.guard && guard_holds(*node, out)))) {
    Update doubt = update;
    doubt.kind = UpdateKind::kSuspect;
    return apply_suspect(doubt, source, out);
  }
  bury(*node, MemberState::kDead, update, source, {}, out);
}

void Membership::apply_leave(const Update& update, const Source& source, Effects& out) {
  const auto node = table_.find(update.node);
  if (!node || update.incarnation < table_.at(*node).incarnation || !is_present(table_.at(*node).state)) return;
  bury(*node, MemberState::kLeft, update, source, {}, out);
}

// --- ourselves -------------------------------------------------------------------------------------------------------

void Membership::about_self(const Update& update, const Source& source, Effects& out) {
  if (state_ == State::kLeaving) return;
  if (update.kind != UpdateKind::kAlive && update.kind != UpdateKind::kJoin) {
    if (update.incarnation >= incarnation_) return refute(update.incarnation, update, source, out);
    // Who still says what was refuted long ago may have missed it, and hears of it from nobody else.
    if (source.reachable) correct(self_, source.endpoint, out);
    return;
  }
  // Another process claims our name elsewhere, now or before us: whether it lives must be found out.
  if (update.profile.endpoint != config_.profile.endpoint) return question(update, out);
  if (update.life == config_.life && update.incarnation <= incarnation_) return;
  // An earlier life of ours, here: the group goes by what it said until we go beyond.
  if (update.incarnation >= incarnation_) return refute(update.incarnation, update, source, out);
  announce(UpdateKind::kAlive, out);
}

void Membership::refute(uint32_t incarnation, const Update& update, const Source& source, Effects& out) {
  incarnation_ = std::min(incarnation, kMaxIncarnation - 1) + 1;
  table_.set_state(self_, MemberState::kAlive, incarnation_, 0);
  last_change_ = now_;
  health_.add(config_.figures.health.suspected);
  refuted_at_ = now_;
  out.emplace_back(IncarnationRaised{incarnation_});
  tell(MemberChange::kRefuted, self_, update, source, out);
  announce(UpdateKind::kAlive, out);
  if (!config_.figures.tell_at_once || !source.reachable) return;
  send({.kind = PacketKind::kNews, .from = id_, .sequence = 0}, source.endpoint, std::nullopt, false, out);
}

// Another process claims our name from another address. Whether it lives decides.
void Membership::question(const Update& update, Effects& out) {
  if (claimant_.deadline != Instant::never()) return;
  claimant_ = {update.profile.endpoint, update.life, update.incarnation, next_sequence_++,
               now_ + config_.figures.verdict_after};
  out.emplace_back(Conflict{ConflictKind::kName, config_.name, {}, config_.profile.endpoint, update.profile.endpoint});
  send(ping_to(id_, claimant_.sequence), claimant_.endpoint, std::nullopt, false, out);
}

void Membership::settle_claim(bool answered, Effects& out) {
  const Claimant other = claimant_;
  claimant_ = {};
  const bool older = config_.life != other.life ? config_.life < other.life : config_.profile.endpoint < other.endpoint;
  if (answered && !older) {
    state_ = State::kGone;
    next_probe_ = next_check_ = next_suspicion_ = next_gossip_ = next_join_ = Instant::never();
    next_dead_probe_ = next_island_ = next_reap_ = leave_ends_ = Instant::never();
    out.emplace_back(Refused{other.endpoint});
    return;
  }
  incarnation_ = std::min(std::max(incarnation_, other.incarnation), kMaxIncarnation - 1) + 1;
  table_.set_state(self_, MemberState::kAlive, incarnation_, 0);
  last_change_ = now_;
  out.emplace_back(IncarnationRaised{incarnation_});
  announce(UpdateKind::kAlive, out);
}

}  // namespace bellwether::membership
