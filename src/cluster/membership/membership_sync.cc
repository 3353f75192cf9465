// Joining, and comparing views over reliable streams. Two views that agree cost nothing beyond the four bytes of digest
// in each ping. Two that differ exchange the hashes of 256 buckets of members and then only the records of those
// buckets that differ.

#include <algorithm>

#include "cluster/membership/membership.h"

namespace bellwether::membership {
namespace {

constexpr std::size_t kMostExchanges = 16;

constexpr std::size_t kMostProbes = 32;

}  // namespace

void Membership::ask(StreamKind kind, const Endpoint& to, std::string bytes, Effects& out) {
  if (exchanges_.size() >= kMostExchanges) exchanges_.erase(exchanges_.begin());
  exchanges_.push_back({next_exchange_++, to, kind});
  out.emplace_back(SendStream{exchanges_.back().id, to, std::move(bytes)});
}

void Membership::join_somebody(Effects& out) {
  // Others have found us meanwhile, although no seed answered.
  if (table_.present() > 1) return joined(out);
  std::string bytes;
  PacketWriter writer(bytes);
  write_stream_head(writer, StreamKind::kJoin, id_);
  Update word = record_of(self_);
  word.kind = UpdateKind::kJoin;
  writer.update(word);
  // Three at a time, at random: one that is down costs nothing.
  for (std::size_t i = 0; i < std::min<std::size_t>(3, islands_.size()); ++i) {
    std::swap(islands_[i], islands_[i + prng_.below(islands_.size() - i)]);
    ask(StreamKind::kJoin, islands_[i], bytes, out);
  }
  const Duration wait = Duration::millis(500) * (int64_t{1} << std::min(join_tries_++, 5));
  next_join_ = now_ + jittered(std::min(wait, Duration::seconds(15)));
}

void Membership::joined(Effects& out) {
  if (state_ != State::kJoining) return;
  state_ = State::kMember;
  next_join_ = Instant::never();
  // Others compare with us as soon as they see another digest.
  last_sync_ = now_ - config_.figures.sync_interval;
  out.emplace_back(JoinedGroup{table_.present()});
  announce(UpdateKind::kJoin, out);
}

bool Membership::may_compare() const {
  const Figures& figures = config_.figures;
  if (state_ != State::kMember || now_ - last_sync_ < figures.sync_interval) return false;
  // A small group does not wait as long as news of a large one takes.
  const Duration settle = std::min(figures.sync_settle, spread(figures, table_.present()) * 2);
  return now_ - last_change_ >= settle || now_ - last_sync_ >= figures.sync_interval * 3;
}

// A stranger knows a group that we do not: one that has lived on while all who knew it were away, or the other way
// round. Gossip does not bring the two together, and its question does not wait until our own view is quiet.
bool Membership::may_meet() const {
  return state_ == State::kMember && now_ - last_sync_ >= config_.figures.sync_interval / 4;
}

void Membership::compare_with(const Endpoint& peer, Effects& out) {
  last_sync_ = now_;
  ask(StreamKind::kBuckets, peer, bucket_hashes(), out);
}

std::string Membership::bucket_hashes() const {
  std::string bytes;
  PacketWriter writer(bytes);
  write_stream_head(writer, StreamKind::kBuckets, id_);
  writer.u16(kBuckets);
  for (uint32_t bucket = 0; bucket < kBuckets; ++bucket) writer.u32(table_.bucket_digest(bucket));
  return bytes;
}

std::vector<uint32_t> Membership::differing(PacketReader& in) const {
  std::vector<uint32_t> buckets;
  const uint32_t count = in.u16();
  for (uint32_t bucket = 0; bucket < count && in.ok(); ++bucket) {
    const uint32_t hash = in.u32();
    if (in.ok() && bucket < kBuckets && hash != table_.bucket_digest(bucket)) buckets.push_back(bucket);
  }
  return buckets;
}

// All that we know of the members in these buckets, or of all; as much as fits, the rest is for the next comparison.
void Membership::write_records(std::string& bytes, const std::vector<uint32_t>* buckets) const {
  PacketWriter writer(bytes);
  for (NodeIndex node = 0; node < table_.slots() && bytes.size() < kMaxStream - kMaxDatagram; ++node) {
    if (!table_.has(node)) continue;
    if (buckets && !std::binary_search(buckets->begin(), buckets->end(), MemberTable::bucket_of(table_.id(node)))) {
      continue;
    }
    const Member& member = table_.at(node);
    if (member.state == MemberState::kAlive || member.state == MemberState::kSuspect) writer.update(record_of(node));
    if (member.state == MemberState::kAlive) continue;
    Update word{.kind = UpdateKind::kSuspect, .node = table_.id(node), .incarnation = member.incarnation};
    if (member.state == MemberState::kDead) word.kind = UpdateKind::kDead;
    if (member.state == MemberState::kLeft) word.kind = UpdateKind::kLeave;
    if (member.state != MemberState::kLeft) word.accusers.add(mark_of(id_));
    writer.update(word);
  }
}

void Membership::apply_records(PacketReader& in, Source source, Effects& out) {
  source.cause = Cause::kSync;
  Update update;
  while (in.update(update)) {
    apply(update, source, out);
    if (state_ == State::kGone) return;
  }
  if (!in.ok()) ++malformed_;
}

void Membership::on_stream_asked(const StreamAsked& asked, Effects& out) {
  PacketReader in(asked.bytes);
  StreamKind kind{};
  NodeId from;
  std::string answer;
  PacketWriter writer(answer);
  if (!read_stream_head(in, kind, from) || (from == id_ && kind != StreamKind::kJoin)) {
    ++malformed_;
    out.emplace_back(ReplyStream{asked.request, {}});
    return;
  }
  if (from != id_) heard();
  if (kind == StreamKind::kJoin) {
    // A process that asks under our own name is answered too: from our record it learns that the name is taken.
    if (from != id_) apply_records(in, {.node = from}, out);
    write_stream_head(writer, StreamKind::kAll, id_);
    write_records(answer, nullptr);
  } else if (kind == StreamKind::kBuckets) {
    last_sync_ = now_;
    const std::vector<uint32_t> buckets = differing(in);
    write_stream_head(writer, StreamKind::kDiffering, id_);
    writer.u16(static_cast<uint16_t>(buckets.size()));
    for (const uint32_t bucket : buckets) writer.u16(static_cast<uint16_t>(bucket));
    if (!buckets.empty()) write_records(answer, &buckets);
  } else if (kind == StreamKind::kRecords) {
    apply_records(in, {.node = from}, out);
    write_stream_head(writer, StreamKind::kRecords, id_);
  }
  out.emplace_back(ReplyStream{asked.request, std::move(answer)});
}

void Membership::on_stream_answered(const StreamAnswered& answered, Effects& out) {
  const auto found = std::find_if(exchanges_.begin(), exchanges_.end(),
                                  [&](const Exchange& exchange) { return exchange.id == answered.exchange; });
  if (found == exchanges_.end()) return;
  const Exchange exchange = *found;
  exchanges_.erase(found);
  if (!answered.bytes) return;
  PacketReader in(*answered.bytes);
  StreamKind kind{};
  NodeId from;
  if (!read_stream_head(in, kind, from)) {
    ++malformed_;
    return;
  }
  if (from != id_) heard();
  Source source{.node = from};
  if (exchange.kind == StreamKind::kJoin && kind == StreamKind::kAll) {
    source.pass_on = state_ != State::kJoining;
    apply_records(in, source, out);
    return joined(out);
  }
  if (exchange.kind != StreamKind::kBuckets || kind != StreamKind::kDiffering) return;
  std::vector<uint32_t> buckets;
  for (uint32_t count = in.u16(); count > 0 && in.ok(); --count) buckets.push_back(in.u16());
  std::sort(buckets.begin(), buckets.end());
  if (buckets.empty()) return;
  // Ours first: what theirs changes here has been told by them already.
  std::string ours;
  PacketWriter writer(ours);
  write_stream_head(writer, StreamKind::kRecords, id_);
  write_records(ours, &buckets);
  apply_records(in, source, out);
  if (state_ != State::kGone) ask(StreamKind::kRecords, exchange.peer, std::move(ours), out);
}

// Watching others: whom to probe next, asking proxies, and what a probe that nobody answered means.

// The alive member whose id follows ours on the circle of ids: each has exactly one such watcher.
std::optional<NodeIndex> Membership::watched() {
  if (watch_known_) return watch_;
  watch_known_ = true;
  watch_.reset();
  uint64_t nearest = 0;
  for (NodeIndex node = 0; node < table_.slots(); ++node) {
    if (node == self_ || !table_.has(node) || table_.at(node).state != MemberState::kAlive) continue;
    const uint64_t distance = table_.id(node).value() - id_.value();
    if (watch_ && distance >= nearest) continue;
    watch_ = node;
    nearest = distance;
  }
  return watch_;
}

void Membership::watch_may_change(NodeIndex node) {
  if (!watch_known_) return;
  if (!watch_ || node == *watch_ || table_.id(node).value() - id_.value() < table_.id(*watch_).value() - id_.value()) {
    watch_known_ = false;
  }
}

std::optional<NodeIndex> Membership::next_target() {
  const auto busy = [&](NodeIndex node) {
    return std::any_of(probes_.begin(), probes_.end(), [&](const Probe& p) { return p.target == node; });
  };
  watch_turn_ = !watch_turn_;
  if (watch_turn_ && config_.figures.watch_successor) {
    const auto node = watched();
    if (node && !busy(*node)) return node;
  }
  for (std::size_t tries = order_.size(); tries > 0; --tries) {
    const NodeIndex node = *order_.next(prng_);
    if (is_present(table_.at(node).state) && !busy(node)) return node;
  }
  return std::nullopt;
}

void Membership::probe_next(Effects& out) {
  next_probe_ = now_ + jittered(stretched(config_.figures.probe_interval));
  if (probes_.size() >= kMostProbes) return;
  const bool watching = !watch_turn_;
  const auto target = next_target();
  if (!target) return;
  const double skipped = conduct(level_).skipped_probes;
  const bool essential = watching || table_.at(*target).state == MemberState::kSuspect || health_.score() == 0;
  if (!essential && skipped > 0 && config_.figures.watch_successor && prng_.chance(skipped)) return;
  probe(*target, out);
}

void Membership::probe(NodeIndex target, Effects& out) {
  const Figures& figures = config_.figures;
  const Duration timeout = figures.adaptive_timeout
                               ? table_.at(target).round_trip.timeout(figures.timeout_min, figures.timeout_max)
                               : figures.timeout_max;
  Probe one;
  one.sequence = next_sequence_++;
  one.target = target;
  one.sent = now_;
  one.indirect_at = now_ + stretched(timeout);
  one.verdict_at = now_ + stretched(figures.verdict_after);
  next_check_ = std::min(next_check_, one.indirect_at);
  send(ping_to(table_.id(target), one.sequence), table_.endpoint(target), target, true, out);
  probes_.push_back(one);
}

void Membership::check_probes(Effects& out) {
  for (std::size_t i = 0; i < probes_.size();) {
    if (now_ >= probes_[i].verdict_at) {
      const Probe failed = probes_[i];
      probes_.erase(probes_.begin() + static_cast<std::ptrdiff_t>(i));
      judge(failed, out);
      continue;
    }
    Probe& probe = probes_[i++];
    if (!probe.indirect && now_ >= probe.indirect_at) go_indirect(probe, out);
    next_check_ = std::min(next_check_, probe.indirect ? probe.verdict_at : probe.indirect_at);
  }
}

std::optional<NodeIndex> Membership::random_peer() {
  for (int tries = 0; order_.size() > 0 && tries < 8; ++tries) {
    const NodeIndex node = order_.any(prng_);
    if (is_present(table_.at(node).state)) return node;
  }
  return std::nullopt;
}

void Membership::go_indirect(Probe& probe, Effects& out) {
  probe.indirect = true;
  const int points = config_.figures.health.indirect_needed;
  health_.add(points);
  probe.points += points;
  PacketHead ask{.kind = PacketKind::kPingReq, .from = id_, .sequence = probe.sequence, .to = table_.id(probe.target)};
  std::vector<NodeIndex> asked;
  for (int tries = 0; tries < 4 * config_.figures.proxies && probe.asked < config_.figures.proxies; ++tries) {
    const auto proxy = random_peer();
    if (!proxy || *proxy == probe.target || table_.at(*proxy).state != MemberState::kAlive ||
        std::find(asked.begin(), asked.end(), *proxy) != asked.end()) {
      continue;
    }
    asked.push_back(*proxy);
    ++probe.asked;
    send(ask, table_.endpoint(*proxy), *proxy, true, out);
  }
}

// Nobody reached the target in time. That is evidence against it only if we can hear at all: a node to which nothing
// has come since the probe, from anybody, has reason to doubt itself first.
void Membership::judge(const Probe& probe, Effects& out) {
  const HealthSteps& steps = config_.figures.health;
  const int nacks = static_cast<int>(probe.silent.size());
  health_.add(steps.probe_failed + steps.nack_missing * std::max(0, probe.asked - nacks));
  if (steps.excused_by_nacks && probe.asked > 0 && nacks == probe.asked) {
    health_.add(-probe.points - steps.probe_failed);
  }
  if (can_be_deaf() && last_heard_ <= probe.sent && now_ - last_heard_ < config_.figures.guard_limit) return;
  if (!table_.has(probe.target)) return;
  const Member& member = table_.at(probe.target);
  if (!is_present(member.state)) return;
  Update word{.kind = UpdateKind::kSuspect, .node = table_.id(probe.target), .incarnation = member.incarnation};
  word.accusers.add(mark_of(id_));
  if (config_.figures.nack_testifies) {
    for (const AccuserMark witness : probe.silent) word.accusers.add(witness);
  }
  apply_suspect(word, {.cause = Cause::kOwnProbe}, out);
}

void Membership::check_errands(Effects& out) {
  std::erase_if(errands_, [&](const Errand& errand) {
    if (now_ < errand.deadline) {
      next_check_ = std::min(next_check_, errand.deadline);
      return false;
    }
    const bool deaf = can_be_deaf() && now_ - last_heard_ > deaf_after();
    if (config_.figures.nacks && !deaf) {
      const PacketHead nack{
          .kind = PacketKind::kNack, .from = id_, .sequence = errand.their_sequence, .to = errand.target};
      send(nack, errand.asked_by, std::nullopt, false, out);
    }
    return true;
  });
}

// The dead are asked now and then: one that lives is told of its death by the question, and refutes it.
void Membership::probe_the_dead(Effects& out) {
  next_dead_probe_ = now_ + jittered(config_.figures.dead_probe_interval);
  if (tombstones_.empty()) return;
  const NodeIndex node = tombstones_[prng_.below(tombstones_.size())].node;
  send(ping_to(table_.id(node), next_sequence_++), table_.endpoint(node), node, true, out);
}

void Membership::probe_islands(Effects& out) {
  next_island_ = now_ + jittered(config_.figures.island_interval);
  if (islands_.empty()) return;
  island_sequence_ = next_sequence_++;
  send(ping_to(NodeId(), island_sequence_), islands_[prng_.below(islands_.size())], std::nullopt, false, out);
}

}  // namespace bellwether::membership
