// Watching others: whom to probe next, asking proxies, and what a probe that nobody answered means.
#include <algorithm>

#include "membership/membership.h"

namespace bellwether::membership {
namespace {

constexpr std::size_t kMostProbes = 32;

}  // namespace

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
