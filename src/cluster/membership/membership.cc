#include "cluster/membership/membership.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/overloaded.h"

namespace bellwether::membership {

void Membership::step(Instant now, const Event& event, Effects& out) {
  check(now >= self_.now, "the monotonic clock does not go back");
  self_.now = now;
  if (const auto* start = std::get_if<Start>(&event)) return on_start(*start, out);
  if (state() == State::kIdle || state() == State::kGone) return;
  std::visit(Overloaded{[](const Start&) {}, [&](const Tick&) { on_tick(out); },
                        [&](const DatagramArrived& e) { on_datagram(e, out); },
                        [&](const StreamAsked& e) { view_sync_.on_stream_asked(e, out); },
                        [&](const StreamAnswered& e) { view_sync_.on_stream_answered(e, out); },
                        [&](const Leave&) { on_leave(out); }, [&](const ProofOfDeath& e) { updates_.prove(e, out); },
                        [&](const LoopLag& e) { trust_.on_lag(e.ratio, out); },
                        [&](const SetState& e) {
                          check(e.bytes.size() <= kMaxState, "embedded state is short");
                          state_bytes_ = e.bytes;
                          ++state_version_;
                        },
                        [&](const SetMeta& e) { refuter_.set_meta(e.meta, out); }},
             event);
  if (self_.config.figures.health_max > 0) trust_.update_level(out);
}

Instant Membership::wake() const {
  if (state() == State::kGone) return Instant::never();
  return std::min(
      {suspicions_.wake(), gossip_.wake(), refuter_.wake(), detector_.wake(), view_sync_.wake(), leave_ends_});
}

void Membership::on_start(const Start& start, Effects& out) {
  check(state() == State::kIdle, "a membership starts once");
  trust_.begin();
  refuter_.enter();
  const Source memory{.cause = Cause::kSync, .pass_on = false};
  for (const Update& one : start.remembered) {
    if (one.kind == UpdateKind::kAlive && one.node != self_.id) updates_.apply(one, memory, out);
  }
  detector_.begin();
  view_sync_.begin(start, out);
}

void Membership::on_tick(Effects& out) {
  const Figures& figures = self_.config.figures;
  const Instant now = self_.now;
  const Duration late = now - std::min(now, wake());
  if (figures.deaf_pause && late > figures.timeout_min) {
    // This process did not run for a while: packets of that time still wait to be read. Deadlines move by that time and
    // a little more, so that the answers come first.
    trust_.postpone(late + figures.timeout_min);
    detector_.postpone(late + figures.timeout_min);
  }
  detector_.check(out);
  updates_.check_suspicions(out);
  refuter_.check_claim(out);
  if (now >= leave_ends_) {
    self_.state = State::kGone;
    out.emplace_back(LeftGroup{});
    return;
  }
  view_sync_.join(out);
  detector_.probe_next(out);
  if (now >= gossip_.wake()) gossip_.gossip_round(out);
  detector_.probe_the_dead(out);
  view_sync_.probe_islands(out);
  view_sync_.reap(out);
}

void Membership::on_leave(Effects& out) {
  if (state() == State::kLeaving) return;
  self_.state = State::kLeaving;
  detector_.end();
  view_sync_.end();
  gossip_.announce(UpdateKind::kLeave, out);
  leave_ends_ = self_.now + spread(self_.config.figures, table_.present());
  gossip_.gossip_round(out);
}

void Membership::on_datagram(const DatagramArrived& arrived, Effects& out) {
  PacketReader in(arrived.bytes);
  PacketHead head;
  if (!read_head(in, head)) {
    ++self_.malformed;
    return;
  }
  if (head.from == self_.id) {
    // Another process has our name; only an answer to our question shows that it lives.
    if (arrived.from == profile().endpoint) return;
    if (head.kind == PacketKind::kAck) on_ack(head, arrived.from, out);
    if (head.kind == PacketKind::kPing && head.to == self_.id) on_ping(head, arrived.from, out);
    return;
  }
  updates_.heard();
  updates_.read(in, {.node = head.from, .endpoint = arrived.from, .reachable = head.kind != PacketKind::kPing}, out);
  switch (head.kind) {
    case PacketKind::kPing: return on_ping(head, arrived.from, out);
    case PacketKind::kAck: return on_ack(head, arrived.from, out);
    case PacketKind::kPingReq: return detector_.on_ping_req(head, arrived.from, out);
    case PacketKind::kNack: return detector_.on_nack(head);
    case PacketKind::kNews: return;
  }
}

void Membership::on_ping(const PacketHead& head, const Endpoint& from, Effects& out) {
  if (head.to != self_.id && head.to != NodeId()) return;  // meant for an earlier process at this address
  PacketHead ack{.kind = PacketKind::kAck, .sequence = head.sequence};
  if (state_version_ > head.state_version) {
    ack.state_version = state_version_;
    ack.state = state_bytes_;
  }
  const auto who = head.from == self_.id ? std::nullopt : table_.find(head.from);
  gossip_.send(ack, from, who, out);
  // Another process than the known one has this name: it must learn of the known one.
  if (who && head.life != table_.at(*who).life) return gossip_.correct(*who, from, out);
  if (head.from != self_.id) view_sync_.on_ping(head, from, who, out);
}

void Membership::on_ack(const PacketHead& head, const Endpoint& from, Effects& out) {
  if (refuter_.on_ack(head, from, out) || detector_.on_ack(head, out)) return;
  const auto who = table_.find(head.from);
  const StateVersion version{head.life, head.state_version};
  const bool this_life = who && head.life == table_.at(*who).life;
  if (this_life && head.state_version > 0 && roster_.accept_state(head.from, version)) {
    out.emplace_back(StateArrived{table_.name(*who), version, std::string(head.state)});
  }
  view_sync_.on_ack(head, from, who, out);
}

}  // namespace bellwether::membership
