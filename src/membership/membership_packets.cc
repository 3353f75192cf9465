// Datagrams: probes and their answers, errands of proxies, and the news that every packet carries.
#include <algorithm>

#include "membership/membership.h"

namespace bellwether::membership {
namespace {

constexpr std::size_t kMostErrands = 64;

}  // namespace

PacketHead Membership::ping_to(NodeId to, uint32_t sequence) const {
  return {.kind = PacketKind::kPing,
          .from = id_,
          .sequence = sequence,
          .to = to,
          .life = config_.life,
          .digest = table_.digest(),
          .state_version = clock_.last(to.value()).count};
}

// What a member must hear about itself before anything else: that it is suspected, or gone.
std::optional<Update> Membership::word_to(NodeIndex who) const {
  const Member& member = table_.at(who);
  Update word{.node = table_.id(who), .incarnation = member.incarnation};
  if (member.state == MemberState::kSuspect && config_.figures.tell_suspect) {
    word.kind = UpdateKind::kSuspect;
    for (const Suspicion& one : suspicions_) {
      if (one.node == who) word.accusers = one.accusers;
    }
    return word;
  }
  if (member.state != MemberState::kDead && member.state != MemberState::kLeft) return std::nullopt;
  word.kind = UpdateKind::kDead;
  word.accusers.add(mark_of(id_));
  return word;
}

// `told`: whether the receiver, `who`, should hear about itself first.
void Membership::send(const PacketHead& head, const Endpoint& to, std::optional<NodeIndex> who, bool told,
                      Effects& out) {
  auto& datagram = std::get<SendDatagram>(out.emplace_back(SendDatagram{to, {}}));
  PacketWriter writer(datagram.bytes);
  write_head(writer, head);
  NodeId except;
  if (told && who) {
    if (const auto word = word_to(*who)) {
      writer.update(*word);
      except = word->node;
    }
  }
  if (gossip_.empty()) return;
  const std::size_t room = std::min(kMaxDatagram, datagram.bytes.size() + conduct(level_).piggyback);
  gossip_.fill(datagram.bytes, room, transmissions(config_.figures.lambda, table_.present()), except);
}

void Membership::gossip_round(Effects& out) {
  next_gossip_ = Instant::never();
  const int fanout = std::max(1, config_.figures.gossip_fanout - conduct(level_).gossip_fanout_less);
  const PacketHead head{.kind = PacketKind::kNews, .from = id_, .sequence = 0};
  for (int i = 0; i < fanout && !gossip_.empty(); ++i) {
    const auto peer = random_peer();
    if (!peer) break;
    send(head, table_.endpoint(*peer), *peer, true, out);
  }
  if (!gossip_.empty()) next_gossip_ = now_ + jittered(config_.figures.gossip_interval);
}

void Membership::on_datagram(const DatagramArrived& arrived, Effects& out) {
  PacketReader in(arrived.bytes);
  PacketHead head;
  if (!read_head(in, head)) {
    ++malformed_;
    return;
  }
  if (head.from == id_) {
    // Another process under our name; an answer to our question is what shows that it lives.
    if (arrived.from == config_.profile.endpoint) return;
    if (head.kind == PacketKind::kAck) on_ack(head, arrived.from, out);
    if (head.kind == PacketKind::kPing && head.to == id_) on_ping(head, arrived.from, out);
    return;
  }
  heard();
  const Source source{.node = head.from, .endpoint = arrived.from, .reachable = head.kind != PacketKind::kPing};
  Update update;
  while (in.update(update)) {
    apply(update, source, out);
    if (state_ == State::kGone) return;
  }
  if (!in.ok()) ++malformed_;
  switch (head.kind) {
    case PacketKind::kPing: return on_ping(head, arrived.from, out);
    case PacketKind::kAck: return on_ack(head, arrived.from, out);
    case PacketKind::kPingReq: return on_ping_req(head, arrived.from, out);
    case PacketKind::kNack: return on_nack(head);
    case PacketKind::kNews: return;
  }
}

void Membership::on_ping(const PacketHead& head, const Endpoint& from, Effects& out) {
  if (head.to != id_ && head.to != NodeId()) return;  // meant for somebody who was here before
  PacketHead ack{.kind = PacketKind::kAck, .from = id_, .sequence = head.sequence, .life = config_.life};
  if (state_version_ > head.state_version) {
    ack.state_version = state_version_;
    ack.state = state_bytes_;
  }
  const auto who = head.from == id_ ? std::nullopt : table_.find(head.from);
  send(ack, from, who, true, out);
  // None of the seeds may run any more while a group still knows this name: whoever asks belongs to it.
  if (state_ == State::kJoining && !who && head.from != id_ && islands_.size() < kMostIslands &&
      std::find(islands_.begin(), islands_.end(), from) == islands_.end()) {
    islands_.push_back(from);
    next_join_ = now_;
  }
  // Another process than the one that we know under this name: it must hear of that one.
  if (who && head.life != table_.at(*who).life) return correct(*who, from, out);
  if (head.from != id_ && head.digest != table_.digest() && (who ? may_compare() : may_meet())) {
    // A proxy's or a stranger's question comes from where it may be asked back.
    compare_with(who ? table_.endpoint(*who) : from, out);
  }
}

void Membership::complete(std::size_t index, const PacketHead& head) {
  const Probe& probe = probes_[index];
  if (head.from == table_.id(probe.target)) table_.round_trip(probe.target).add(now_ - probe.sent);
  probes_.erase(probes_.begin() + static_cast<std::ptrdiff_t>(index));
  health_.add(config_.figures.health.probe_ok);
  if (refuted_at_ != Instant::never() && now_ - refuted_at_ > spread(config_.figures, table_.present())) {
    refuted_at_ = Instant::never();
    health_.add(config_.figures.health.refuted);
  }
}

void Membership::on_ack(const PacketHead& head, const Endpoint& from, Effects& out) {
  if (head.sequence == claimant_.sequence && claimant_.deadline != Instant::never() && from == claimant_.endpoint) {
    claimant_.life = head.life;  // the record that made us ask may be of an earlier process there
    return settle_claim(true, out);
  }
  for (std::size_t i = 0; i < errands_.size(); ++i) {
    if (errands_[i].sequence != head.sequence) continue;
    const PacketHead ack{
        .kind = PacketKind::kAck, .from = id_, .sequence = errands_[i].their_sequence, .life = config_.life};
    const Endpoint to = errands_[i].asked_by;
    errands_.erase(errands_.begin() + static_cast<std::ptrdiff_t>(i));
    send(ack, to, std::nullopt, false, out);
    return;
  }
  for (std::size_t i = 0; i < probes_.size(); ++i) {
    if (probes_[i].sequence != head.sequence) continue;
    complete(i, head);
    break;
  }
  const auto who = table_.find(head.from);
  const bool this_life = who && head.life == table_.at(*who).life;
  if (this_life && head.state_version > 0 && clock_.accept(head.from.value(), {head.life, head.state_version}, now_)) {
    out.emplace_back(StateArrived{table_.name(*who), {head.life, head.state_version}, std::string(head.state)});
  }
  if (head.sequence != island_sequence_ || island_sequence_ == 0) return;
  island_sequence_ = 0;
  const bool known =
      who && (table_.at(*who).state == MemberState::kAlive || table_.at(*who).state == MemberState::kSuspect);
  if (!known) compare_with(from, out);
}

void Membership::on_ping_req(const PacketHead& head, const Endpoint& from, Effects& out) {
  const auto target = table_.find(head.to);
  if (!target || *target == self_ || errands_.size() >= kMostErrands) return;
  const Figures& figures = config_.figures;
  const Duration timeout = figures.adaptive_timeout
                               ? table_.at(*target).round_trip.timeout(figures.timeout_min, figures.timeout_max)
                               : figures.timeout_max;
  errands_.push_back({next_sequence_++, head.sequence, from, head.to, now_, now_ + timeout});
  next_check_ = std::min(next_check_, errands_.back().deadline);
  send(ping_to(head.to, errands_.back().sequence), table_.endpoint(*target), *target, true, out);
}

void Membership::on_nack(const PacketHead& head) {
  for (Probe& probe : probes_) {
    if (probe.sequence == head.sequence) probe.silent.add(mark_of(head.from));
  }
}

}  // namespace bellwether::membership
