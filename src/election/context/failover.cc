#include "election/context/failover.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/encoding.h"
#include "core/base/units.h"

namespace bellwether::context_lead {
namespace {

std::string name(NodeId node) { return fmt::format("node {}", node.value()); }

}  // namespace

void Failover::begin(Instant now, NodeId target, Epoch epoch) {
  check(stage_ == Stage::kNone, "one transfer at a time");
  stage_ = Stage::kPreparing;
  target_ = target;
  id_ = {epoch, id_.epoch == epoch ? id_.number + 1 : 1};
  begun_ = now;
  tries_ = 0;
  trouble_ = "it has not answered";
}

Failover::Acts Failover::prepared(Instant now, std::string state) {
  check(stage_ == Stage::kPreparing, "a state is prepared once");
  stage_ = Stage::kTransferring;
  state_ = std::move(state);
  stage_ends_ = now + settings_.state_transfer_timeout;
  failover_ends_ = now + settings_.context_failover_timeout;
  return offer(now);
}

Failover::Acts Failover::offer(Instant now) {
  ++tries_;
  waiting_ = Waiting::kReceipt;
  waiting_ends_ = now + settings_.coordination_timeout;
  return {Say{target_, StateOffer{id_, state_}}};
}

void Failover::try_failed(Instant now, std::string why) {
  trouble_ = std::move(why);
  waiting_ = Waiting::kBackoff;
  // After the last try no wait follows.
  waiting_ends_ = tries_ > settings_.max_coordination_retries ? now : now + settings_.coordination_backoff;
}

Failover::Acts Failover::on_message(Instant now, NodeId from, const Message& message) {
  if (stage_ != Stage::kTransferring || from != target_) return {};
  if (const auto* received = std::get_if<StateReceived>(&message);
      received != nullptr && received->id == id_ && waiting_ != Waiting::kVerdict) {
    waiting_ = Waiting::kVerdict;
    waiting_ends_ = now + settings_.validation_timeout;
  }
  const auto* verdict = std::get_if<StateVerdict>(&message);
  if (verdict == nullptr || verdict->id != id_) return {};
  if (!verdict->accepted)
    return end(now, false, fmt::format("{} refuses the state: {}", name(target_), printable(verdict->why)));
  stage_ = Stage::kExecuting;
  stage_ends_ = std::min(now + kTakeOverTimeout, failover_ends_);
  state_.clear();
  return {GiveOffice{target_}};
}

Failover::Acts Failover::on_leader(Instant now, NodeId leader) {
  if (stage_ == Stage::kNone) return {};
  const bool ok = stage_ == Stage::kExecuting && leader == target_;
  return end(now, ok, ok ? "" : fmt::format("{} became the leader instead of {}", name(leader), name(target_)));
}

Failover::Acts Failover::tick(Instant now) {
  if (stage_ == Stage::kNone || stage_ == Stage::kPreparing) return {};
  if (now >= stage_ends_ && stage_ == Stage::kExecuting) {
    Acts acts =
        end(now, false,
            fmt::format("{} did not become the leader within {}", name(target_), format_duration(kTakeOverTimeout)));
    acts.insert(acts.begin(), TakeOfficeBack{});
    return acts;
  }
  if (now >= stage_ends_) {
    return end(now, false,
               fmt::format("{} did not accept the state within {}: {}", name(target_),
                           format_duration(settings_.state_transfer_timeout), trouble_));
  }
  if (stage_ != Stage::kTransferring || now < waiting_ends_) return {};
  switch (waiting_) {
    case Waiting::kReceipt:
      try_failed(now, "it did not answer within " + format_duration(settings_.coordination_timeout));
      break;
    case Waiting::kVerdict:
      try_failed(now, "it did not validate the state within " + format_duration(settings_.validation_timeout));
      break;
    case Waiting::kBackoff: break;
  }
  if (now < waiting_ends_) return {};
  if (tries_ <= settings_.max_coordination_retries) return offer(now);
  return end(now, false, fmt::format("{} was asked {}: {}", name(target_), format_count(tries_, "time"), trouble_));
}

Failover::Acts Failover::abandon(Instant now, std::string why) {
  return stage_ == Stage::kNone ? Acts() : end(now, false, std::move(why));
}

Failover::Acts Failover::end(Instant now, bool ok, std::string why) {
  const Ended ended{target_, ok, stage_ == Stage::kExecuting, now - begun_, std::move(why)};
  const bool knows = stage_ != Stage::kPreparing;
  stage_ = Stage::kNone;
  state_.clear();
  if (ok || !knows) return {ended};
  return {Say{target_, OfferWithdrawn{id_}}, ended};
}

Instant Failover::wake() const {
  switch (stage_) {
    case Stage::kNone:
    case Stage::kPreparing: return Instant::never();
    case Stage::kTransferring: return std::min(stage_ends_, waiting_ends_);
    case Stage::kExecuting: return stage_ends_;
  }
  return Instant::never();
}

std::vector<Message> Succession::on_offer(Moment now, NodeId from, const StateOffer& offer,
                                          const std::string& obstacle) {
  std::vector<Message> answers = {StateReceived{offer.id}};
  const auto refuse = [&](std::string why) {
    answers.push_back(StateVerdict{offer.id, false, std::move(why), {}});
    return answers;
  };
  if (!obstacle.empty()) return refuse(obstacle);
  if (accepted_ && accepted_->id.epoch > offer.id.epoch) return refuse("a later leader has already handed over");
  ReadState read = read_state(offer.state, digest_, now.wall, self_);
  auto recovered = recover(std::move(read));
  if (recovered && (recovered->state.leader != from || recovered->state.term != offer.id.epoch)) {
    return refuse("the state does not belong to the leader that offers it");
  }
  if (!recovered) {
    if (settings_.require_state_validation) return refuse(recovered.error().message);
    recovered = RecoveredState{{}, {{StateField::kForm, recovered.error().message}}};
  }
  answers.push_back(StateVerdict{offer.id, true, {}, recovered->dropped});
  accepted_ = {from, offer.id, now.clock + settings_.context_failover_timeout, std::move(*recovered)};
  return answers;
}

void Succession::on_withdrawn(NodeId from, const OfferWithdrawn& withdrawn) {
  if (accepted_ && accepted_->from == from && accepted_->id == withdrawn.id) accepted_.reset();
}

std::optional<RecoveredState> Succession::take(Instant now, Epoch epoch) {
  std::optional<Accepted> accepted = std::exchange(accepted_, std::nullopt);
  if (!accepted || now >= accepted->until || accepted->id.epoch >= epoch) return std::nullopt;
  return std::move(accepted->state);
}

}  // namespace bellwether::context_lead
