#include "cluster/membership/failure_detector.h"

#include <algorithm>

namespace bellwether::membership {
namespace {

constexpr std::size_t kMaxProbes = 32;
constexpr std::size_t kMaxErrands = 64;

}  // namespace

void FailureDetector::begin() {
  next_probe_ = self_.now + Duration::nanos(self_.prng.between(0, figures_.probe_interval.ns()));
  next_dead_probe_ = self_.now + self_.jittered(figures_.dead_probe_interval);
}

void FailureDetector::postpone(Duration lateness) {
  for (Probe& probe : probes_) {
    probe.indirect_at += lateness;
    probe.verdict_at += lateness;
  }
  for (Errand& errand : errands_) errand.deadline += lateness;
  if (next_check_ != Instant::never()) next_check_ += lateness;
}

void FailureDetector::check(Effects& out) {
  if (self_.now < next_check_) return;
  next_check_ = Instant::never();
  check_probes(out);
  check_errands(out);
}

// --- probes ----------------------------------------------------------------------------------------------------------

std::optional<NodeIndex> FailureDetector::next_target() {
  const auto busy = [&](NodeIndex node) {
    return std::any_of(probes_.begin(), probes_.end(), [&](const Probe& p) { return p.target == node; });
  };
  successors_turn_ = !successors_turn_;
  if (successors_turn_ && figures_.watch_successor) {
    const auto node = roster_.successor();
    if (node && !busy(*node)) return node;
  }
  return roster_.next(busy);
}

void FailureDetector::probe_next(Effects& out) {
  if (self_.now < next_probe_) return;
  next_probe_ = self_.now + self_.jittered(trust_.stretched(figures_.probe_interval));
  if (probes_.size() >= kMaxProbes) return;
  const auto target = next_target();
  if (!target) return;
  const double skipped = conduct(trust_.level()).skipped_probes;
  const bool essential = successors_turn_ || table_.at(*target).state == MemberState::kSuspect || trust_.score() == 0;
  if (!essential && skipped > 0 && figures_.watch_successor && self_.prng.chance(skipped)) return;
  probe(*target, out);
}

Duration FailureDetector::timeout(NodeIndex target) const {
  if (!figures_.adaptive_timeout) return figures_.timeout_max;
  return table_.at(target).round_trip.timeout(figures_.timeout_min, figures_.timeout_max);
}

void FailureDetector::probe(NodeIndex target, Effects& out) {
  Probe& one = probes_.emplace_back();
  one.sequence = gossip_.ping(target, out);
  one.target = target;
  one.sent = self_.now;
  one.indirect_at = self_.now + trust_.stretched(timeout(target));
  one.verdict_at = self_.now + trust_.stretched(figures_.verdict_after);
  next_check_ = std::min(next_check_, one.indirect_at);
}

void FailureDetector::check_probes(Effects& out) {
  for (std::size_t i = 0; i < probes_.size();) {
    if (self_.now >= probes_[i].verdict_at) {
      const Probe failed = probes_[i];
      probes_.erase(probes_.begin() + static_cast<std::ptrdiff_t>(i));
      judge(failed, out);
      continue;
    }
    Probe& probe = probes_[i++];
    if (!probe.indirect && self_.now >= probe.indirect_at) go_indirect(probe, out);
    next_check_ = std::min(next_check_, probe.indirect ? probe.verdict_at : probe.indirect_at);
  }
}

void FailureDetector::go_indirect(Probe& probe, Effects& out) {
  probe.indirect = true;
  const int points = figures_.health.indirect_needed;
  trust_.add(points);
  probe.points += points;
  const PacketHead ask{.kind = PacketKind::kPingReq, .sequence = probe.sequence, .to = table_.id(probe.target)};
  std::vector<NodeIndex> asked;
  for (int tries = 0; tries < 4 * figures_.proxies && probe.asked < figures_.proxies; ++tries) {
    const auto proxy = roster_.random_peer();
    if (!proxy || *proxy == probe.target || table_.at(*proxy).state != MemberState::kAlive ||
        std::find(asked.begin(), asked.end(), *proxy) != asked.end()) {
      continue;
    }
    asked.push_back(*proxy);
    ++probe.asked;
    gossip_.send(ask, *proxy, out);
  }
}

// No probe reached the target in time. That is evidence against it only if this node can receive at all: a node that
// has received nothing since the probe has reason to doubt itself first.
void FailureDetector::judge(const Probe& probe, Effects& out) {
  const HealthSteps& steps = figures_.health;
  const int nacks = static_cast<int>(probe.silent.size());
  trust_.add(steps.probe_failed + steps.nack_missing * std::max(0, probe.asked - nacks));
  if (steps.excused_by_nacks && probe.asked > 0 && nacks == probe.asked) {
    trust_.add(-probe.points - steps.probe_failed);
  }
  if (trust_.silent_since(probe.sent) && trust_.silence() < figures_.guard_limit) return;
  if (!table_.has(probe.target)) return;
  const Member& member = table_.at(probe.target);
  Update word{.kind = UpdateKind::kSuspect, .node = table_.id(probe.target), .incarnation = member.incarnation};
  word.accusers.add(mark_of(self_.id));
  if (figures_.nack_testifies) {
    for (const AccuserMark witness : probe.silent) word.accusers.add(witness);
  }
  updates_.apply(word, {.cause = Cause::kOwnProbe}, out);
}

void FailureDetector::on_nack(const PacketHead& head) {
  for (Probe& probe : probes_) {
    if (probe.sequence == head.sequence) probe.silent.add(mark_of(head.from));
  }
}

// The node probes the dead now and then: a living one learns of its death by the probe, and refutes it.
void FailureDetector::probe_the_dead(Effects& out) {
  if (self_.now < next_dead_probe_) return;
  next_dead_probe_ = self_.now + self_.jittered(figures_.dead_probe_interval);
  if (const auto node = roster_.random_dead()) gossip_.ping(*node, out);
}

// --- errands ---------------------------------------------------------------------------------------------------------

void FailureDetector::on_ping_req(const PacketHead& head, const Endpoint& from, Effects& out) {
  const auto target = table_.find(head.to);
  if (!target || *target == roster_.me() || errands_.size() >= kMaxErrands) return;
  const Instant deadline = self_.now + timeout(*target);
  errands_.push_back({gossip_.ping(*target, out), head.sequence, from, head.to, deadline});
  next_check_ = std::min(next_check_, deadline);
}

bool FailureDetector::on_ack(const PacketHead& head, Effects& out) {
  const auto has_sequence = [&](const auto& one) { return one.sequence == head.sequence; };
  if (const auto errand = std::find_if(errands_.begin(), errands_.end(), has_sequence); errand != errands_.end()) {
    gossip_.send({.kind = PacketKind::kAck, .sequence = errand->their_sequence}, errand->asked_by, std::nullopt, out);
    errands_.erase(errand);
    return true;
  }
  if (const auto probe = std::find_if(probes_.begin(), probes_.end(), has_sequence); probe != probes_.end()) {
    if (head.from == table_.id(probe->target)) roster_.measured(probe->target, self_.now - probe->sent);
    probes_.erase(probe);
    trust_.probe_answered();
  }
  return false;
}

void FailureDetector::check_errands(Effects& out) {
  std::erase_if(errands_, [&](const Errand& errand) {
    if (self_.now < errand.deadline) {
      next_check_ = std::min(next_check_, errand.deadline);
      return false;
    }
    if (figures_.nacks && !trust_.is_deaf()) {
      const PacketHead nack{.kind = PacketKind::kNack, .sequence = errand.their_sequence, .to = errand.target};
      gossip_.send(nack, errand.asked_by, std::nullopt, out);
    }
    return true;
  });
}

}  // namespace bellwether::membership
