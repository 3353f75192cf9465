#include "cluster/membership/membership.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/enum_names.h"

namespace bellwether::membership {
namespace {

constexpr std::size_t kMostStates = 20'000;

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

constexpr std::size_t kMostErrands = 64;

}  // namespace

Duration suspicion_timeout(Duration min, Duration max, int confirmations, int enough) {
  if (enough < 1) return min;
  const double share = std::log(confirmations + 1.0) / std::log(enough + 1.0);
  return std::max(min, Duration::from_seconds_f(max.seconds_f() - (max - min).seconds_f() * share));
}

Duration Suspicion::timeout() const {
  const int confirmations = accusers.empty() ? 0 : static_cast<int>(accusers.size()) - 1;
  return suspicion_timeout(min, max, confirmations, enough) + extended;
}

void ProbeList::add(NodeIndex node, Prng& prng) {
  order_.push_back(node);
  std::swap(order_.back(), order_[prng.below(order_.size())]);
}

void ProbeList::remove(NodeIndex node) {
  const auto found = std::find(order_.begin(), order_.end(), node);
  if (found == order_.end()) return;
  if (static_cast<std::size_t>(found - order_.begin()) < at_) --at_;
  order_.erase(found);
}

std::optional<NodeIndex> ProbeList::next(Prng& prng) {
  if (order_.empty()) return std::nullopt;
  if (at_ >= order_.size()) {
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[prng.below(i)]);
    at_ = 0;
  }
  return order_[at_++];
}

const char* to_string(MemberChange change) {
  static constexpr EnumNames<MemberChange> kNames("joined", "suspected", "refuted", "died", "left", "updated",
                                                  "restarted", "forgotten");
  return kNames[change];
}

const char* to_string(Cause cause) {
  static constexpr EnumNames<Cause> kNames("own-probe", "gossip", "sync", "timeout", "proof", "itself", "age");
  return kNames[cause];
}

const char* to_string(ConflictKind kind) {
  static constexpr EnumNames<ConflictKind> kNames("name", "address", "id");
  return kNames[kind];
}

Membership::Membership(MembershipConfig config, Directory& directory, uint64_t seed)
    : config_(std::move(config)),
      prng_(seed),
      id_(node_id(config_.name)),
      table_(directory),
      gossip_(config_.figures.gossip_limit),
      health_(config_.figures.health_max, config_.figures.health_step),
      guard_(config_.figures.guard_limit),
      clock_(kMostStates),
      incarnation_(config_.incarnation) {
  check(!config_.name.empty() && config_.name.size() <= kMaxName, "a member's name has 1 to 64 bytes");
  check(config_.profile.meta.size() <= kMaxMeta, "meta has at most 255 bytes");
}

void Membership::step(Instant now, const Event& event, Effects& out) {
  check(now >= now_, "the monotonic clock does not go back");
  now_ = now;
  if (const auto* start = std::get_if<Start>(&event)) return on_start(*start, out);
  if (state_ == State::kIdle || state_ == State::kGone) return;
  std::visit(
      Overloaded{[](const Start&) {}, [&](const Tick&) { on_tick(out); },
                 [&](const DatagramArrived& e) { on_datagram(e, out); },
                 [&](const StreamAsked& e) { on_stream_asked(e, out); },
                 [&](const StreamAnswered& e) { on_stream_answered(e, out); }, [&](const Leave&) { on_leave(out); },
                 [&](const ProofOfDeath& e) { on_proof(e, out); }, [&](const LoopLag& e) { on_loop_lag(e.ratio, out); },
                 [&](const SetState& e) {
                   check(e.bytes.size() <= kMaxState, "embedded state is short");
                   state_bytes_ = e.bytes;
                   ++state_version_;
                 },
                 [&](const SetMeta& e) { on_set_meta(e, out); }},
      event);
  if (config_.figures.health_max > 0) update_level(out);
}

Instant Membership::wake() const {
  return std::min({next_probe_, next_check_, next_suspicion_, next_gossip_, next_join_, next_dead_probe_, next_island_,
                   next_reap_, leave_ends_, claimant_.deadline});
}

void Membership::on_start(const Start& start, Effects& out) {
  check(state_ == State::kIdle, "a membership starts once");
  const Figures& figures = config_.figures;
  started_ = last_heard_ = last_change_ = last_sync_ = now_;
  const auto self = table_.enter(
      config_.name, {.incarnation = incarnation_, .life = config_.life, .state = MemberState::kAlive}, config_.profile);
  check(self.has_value(), "one's own name is the first in the view");
  self_ = *self;
  const Source memory{.cause = Cause::kSync, .pass_on = false};
  for (const Update& one : start.remembered) {
    if (one.kind == UpdateKind::kAlive && one.node != id_) apply_alive(one, memory, out);
  }
  for (const Endpoint& seed : start.seeds) {
    if (seed != config_.profile.endpoint && islands_.size() < kMostIslands) islands_.push_back(seed);
  }
  next_probe_ = now_ + Duration::nanos(prng_.between(0, figures.probe_interval.ns()));
  next_dead_probe_ = now_ + jittered(figures.dead_probe_interval);
  next_island_ = now_ + jittered(figures.island_interval);
  next_reap_ = now_ + jittered(figures.tombstone_ttl / 8);
  state_ = State::kJoining;
  if (start.founds || islands_.empty() || !start.remembered.empty()) return joined(out);
  join_somebody(out);
}

double Membership::stretch() const { return std::max(health_.stretch(), conduct(level_).stretch); }

Duration Membership::jittered(Duration span) { return prng_.between(span - span / 10, span + span / 10); }

bool Membership::can_be_deaf() const { return config_.figures.deaf_pause && table_.present() >= 4; }

void Membership::heard() {
  // After a long silence what else waits to be read comes before any verdict.
  if (can_be_deaf() && now_ - last_heard_ > deaf_after() && next_suspicion_ != Instant::never()) {
    next_suspicion_ = std::max(next_suspicion_, now_ + config_.figures.verdict_after);
  }
  deaf_total_ = deaf_time();
  last_heard_ = now_;
}

// All the time so far in which nothing arrived although somebody should have spoken.
Duration Membership::deaf_time() const {
  if (!can_be_deaf()) return deaf_total_;
  return deaf_total_ + std::max(Duration(), now_ - last_heard_ - deaf_after());
}

// This process did not run for a while: what it would have read in that time still waits to be read. Deadlines move by
// as long, so that the answers come first.
void Membership::postpone(Duration lateness) {
  for (Probe& probe : probes_) {
    probe.indirect_at += lateness;
    probe.verdict_at += lateness;
  }
  for (Errand& errand : errands_) errand.deadline += lateness;
  deaf_total_ += lateness;
  last_heard_ = std::min(now_, last_heard_ + lateness);
  if (next_check_ != Instant::never()) next_check_ += lateness;
  health_.add(lateness > config_.figures.probe_interval ? 2 : 1);
}

void Membership::on_tick(Effects& out) {
  const Instant planned = wake();
  if (config_.figures.deaf_pause && planned < now_ && now_ - planned > config_.figures.timeout_min) {
    // And a little more, in which what waits to be read is read.
    postpone(now_ - planned + config_.figures.timeout_min);
  }
  if (now_ >= next_check_) {
    next_check_ = Instant::never();
    check_probes(out);
    check_errands(out);
  }
  if (now_ >= next_suspicion_) check_suspicions(out);
  if (now_ >= claimant_.deadline) settle_claim(false, out);
  if (now_ >= leave_ends_) {
    leave_ends_ = Instant::never();
    state_ = State::kGone;
    next_probe_ = next_check_ = next_suspicion_ = next_gossip_ = next_join_ = Instant::never();
    next_dead_probe_ = next_island_ = next_reap_ = claimant_.deadline = Instant::never();
    out.emplace_back(LeftGroup{});
    return;
  }
  if (now_ >= next_join_) join_somebody(out);
  if (now_ >= next_probe_) probe_next(out);
  if (now_ >= next_gossip_) gossip_round(out);
  if (now_ >= next_dead_probe_) probe_the_dead(out);
  if (now_ >= next_island_) probe_islands(out);
  if (now_ >= next_reap_) reap(out);
}

void Membership::announce(UpdateKind kind, Effects& out) {
  Update word = record_of(self_);
  word.kind = kind;
  pass_on(word, out);
}

void Membership::on_leave(Effects& out) {
  if (state_ == State::kLeaving) return;
  state_ = State::kLeaving;
  next_probe_ = next_dead_probe_ = next_island_ = next_join_ = Instant::never();
  const Update word{.kind = UpdateKind::kLeave, .node = id_, .incarnation = incarnation_};
  pass_on(word, out);
  leave_ends_ = now_ + spread(config_.figures, table_.present());
  gossip_round(out);
}

void Membership::on_set_meta(const SetMeta& set, Effects& out) {
  check(set.meta.size() <= kMaxMeta, "meta has at most 255 bytes");
  if (set.meta == config_.profile.meta) return;
  config_.profile.meta = set.meta;
  ++incarnation_;
  table_.set_identity(self_, config_.life, config_.profile);
  table_.set_state(self_, MemberState::kAlive, incarnation_, 0);
  out.emplace_back(IncarnationRaised{incarnation_});
  announce(UpdateKind::kAlive, out);
}

void Membership::on_proof(const ProofOfDeath& proof, Effects& out) {
  const auto node = table_.find(node_id(proof.name));
  if (!node || *node == self_ || table_.endpoint(*node) != proof.endpoint) return;
  const Member& member = table_.at(*node);
  if (member.state != MemberState::kAlive && member.state != MemberState::kSuspect) return;
  // A death without accusers is a proven one.
  const Update word{.kind = UpdateKind::kDead, .node = table_.id(*node), .incarnation = member.incarnation};
  bury(*node, MemberState::kDead, word, {.cause = Cause::kProof}, {}, out);
}

void Membership::on_loop_lag(double ratio, Effects& out) {
  if (ratio >= 0.5) {
    health_.add(ratio >= 2 ? 2 : 1);
  } else if (lag_ratio_ >= 0.5) {
    health_.add(-1);
  }
  lag_ratio_ = ratio;
  update_level(out);
}

void Membership::update_level(Effects& out) {
  const Degradation level = degradation_of(health_.score(), lag_ratio_);
  if (level == level_) return;
  level_ = level;
  out.emplace_back(DegradationChanged{level, health_.score(), lag_ratio_});
}

void Membership::reap(Effects& out) {
  next_reap_ = now_ + jittered(config_.figures.tombstone_ttl / 8);
  std::erase_if(tombstones_, [&](const Tombstone& tomb) {
    if (now_ - tomb.since < config_.figures.tombstone_ttl) return false;
    const Endpoint where = table_.endpoint(tomb.node);
    if (std::find(islands_.begin(), islands_.end(), where) == islands_.end()) {
      if (islands_.size() >= kMostIslands) {
        islands_.erase(islands_.begin() + static_cast<std::ptrdiff_t>(prng_.below(kMostIslands)));
      }
      islands_.push_back(where);
    }
    tell(MemberChange::kForgotten, tomb.node, {.incarnation = table_.at(tomb.node).incarnation}, {.cause = Cause::kAge},
         out);
    clock_.forget(table_.id(tomb.node).value());
    order_.remove(tomb.node);
    table_.forget(tomb.node);
    return true;
  });
}

std::string Membership::name_of(AccuserMark mark) const {
  for (NodeIndex node = 0; node < table_.slots(); ++node) {
    if (table_.has(node) && mark_of(table_.id(node)) == mark) return table_.name(node);
  }
  return {};
}

std::vector<Update> Membership::remember() const {
  std::vector<Update> view;
  view.reserve(table_.present());
  for (NodeIndex node = 0; node < table_.slots(); ++node) {
    if (!table_.has(node) || node == self_) continue;
    const MemberState state = table_.at(node).state;
    if (state == MemberState::kAlive || state == MemberState::kSuspect) view.push_back(record_of(node));
  }
  return view;
}

// Datagrams: probes and their answers, errands of proxies, and the news that every packet carries.

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
