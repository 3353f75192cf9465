// Health, transfers, and the status of a leader.

#include <algorithm>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/overloaded.h"
#include "election/context/duty_leader.h"

namespace bellwether::context_lead {
namespace {

// Of all but `self`, when it is well enough to lead; kNobody: none is.
NodeId healthiest_other(const std::map<NodeId, double>& healths, NodeId self, double least) {
  NodeId best;
  double most = 0;
  for (const auto& [node, score] : healths) {
    if (node == self || score < least || score <= most) continue;
    best = node;
    most = score;
  }
  return best;
}

}  // namespace

Duty DutyLeader::duty() const {
  return std::visit(Overloaded{
                        [](const NotLeading&) { return Duty::kNotLeading; },
                        [](const Taking&) { return Duty::kTaking; },
                        [](const Idle&) { return Duty::kIdle; },
                        [](const Starting&) { return Duty::kStarting; },
                        [](const Generating& one) { return one.paused ? Duty::kPaused : Duty::kGenerating; },
                        [](const Stopping&) { return Duty::kStopping; },
                        [](const HandingOver&) { return Duty::kHandingOver; },
                    },
                    phase_);
}

void DutyLeader::on_health(Moment now, const HealthReport& report, Effects& out) {
  if (!announced_) return;
  const ContextSettings& settings = config_.settings;
  ContextClusterHealth health;
  health.total_nodes = static_cast<uint32_t>(config_.members.size());
  for (const NodeId node : config_.members) {
    const auto at = report.nodes.find(node);
    const double score = at != report.nodes.end() && at->second > 0 ? std::min(at->second, 1.0) : 0;
    health.node_healths[node] = score;
    health.overall += score / static_cast<double>(config_.members.size());
    if (score >= settings.cluster_health_threshold) {
      ++health.healthy_nodes;
    } else {
      health.unhealthy_nodes.push_back(node);
    }
  }
  health.current_leader = config_.self;
  health.leader_healthy = health.node_healths[config_.self] >= settings.leader_health_threshold;
  health.next_health_check = {now.wall.unix_ns + (check_at_ - now.clock).ns()};
  health_ = std::move(health);
  if (auto* generating = std::get_if<Generating>(&phase_)) {
    const bool poor = health_.overall < settings.cluster_health_threshold;
    if (poor && !generating->paused) {
      ++counted_.pauses;
      out.push_back(
          DutyError{Severity::kWarning, "the health of the cluster is below the threshold: generation pauses"});
    }
    generating->paused = poor;
  }
  poor_checks_ = health_.leader_healthy ? 0 : poor_checks_ + 1;
  if (poor_checks_ < kLeaderHealthChecks) return;
  poor_checks_ = 0;
  const NodeId heir = healthiest_other(health_.node_healths, config_.self, settings.leader_health_threshold);
  if (heir == vote::kNobody) {
    out.push_back(
        DutyError{Severity::kWarning, "the leader's health is below the threshold, and no other node is better"});
  } else if (const Status begun = transfer(now, {0, heir, "the health of the leader", "health check"}, out); !begun) {
    out.push_back(DutyError{Severity::kInfo, begun.error().message});
  }
}

Status DutyLeader::transfer(Moment now, Transfer wish, Effects& out) {
  if (!announced_ || duty() == Duty::kTaking) {
    return fail(Errc::kRefused, "this node is not the leader; send the transfer request to the leader");
  }
  if (failover_.stage() != Failover::Stage::kNone) {
    return fail(Errc::kExists, "a transfer to node {} is running; wait until it has ended", failover_.target().value());
  }
  const std::vector<NodeId>& members = config_.members;
  if (wish.target == config_.self || std::ranges::find(members, wish.target) == members.end()) {
    return fail(Errc::kNotFound, "node {} is not another member of this cluster; name one of the declared members",
                wish.target.value());
  }
  ++counted_.transfers;
  wish.reason.resize(std::min(wish.reason.size(), kMaxTextBytes));
  wish.source.resize(std::min(wish.source.size(), kMaxTextBytes));
  failover_.begin(now.clock, wish.target, epoch_);
  phase_ = Stopping{true, "the leadership is transferred", false, now.clock + config_.settings.queue_drain_timeout};
  out.push_back(TransferBegun{wish.target, wish.source});
  transfer_ = std::move(wish);
  return {};
}

void DutyLeader::on_heard(Moment now, const Heard& heard, Effects& out) {
  std::visit(Overloaded{
                 [&](const StateOffer& offer) { on_offer(now, heard.from, offer, out); },
                 [&](const OfferWithdrawn& withdrawn) { succession_.on_withdrawn(heard.from, withdrawn); },
                 [](const StateReceived&) {},
                 [&](const StateVerdict& verdict) {
                   if (!verdict.accepted) return;
                   for (const StateIssue& issue : verdict.dropped) {
                     out.push_back(DutyError{
                         Severity::kWarning,
                         fmt::format("the target drops {}: {}", to_string(issue.field), printable(issue.text))});
                   }
                 },
             },
             heard.message);
  carry_out(now, failover_.on_message(now.clock, heard.from, heard.message), out);
}

void DutyLeader::on_offer(Moment now, NodeId from, const StateOffer& offer, Effects& out) {
  std::string obstacle;
  if (duty() != Duty::kNotLeading || offer.id.epoch < epoch_) {
    obstacle = "this node is the leader, or was since then";
  } else if (from != leader_ || offer.id.epoch != leader_epoch_) {
    obstacle = "this node knows another leader";
  } else if (!config_.settings.enable_context_leadership) {
    obstacle = "this node does not generate contexts";
  } else if (config_.settings.require_context_capability && !manager_) {
    obstacle = "this node has no context manager";
  }
  for (Message& answer : succession_.on_offer(now, from, offer, obstacle)) {
    out.push_back(Send{from, std::move(answer)});
  }
}

void DutyLeader::carry_out(Moment now, Failover::Acts acts, Effects& out) {
  const Overloaded carry_out_one{
      [&](Failover::Say& say) {
        out.push_back(Send{say.to, std::move(say.message)});
      },
      [&](Failover::GiveOffice& give) {
        phase_ = HandingOver{true};
        out.push_back(ReleaseRegister{});
        out.push_back(HandOver{give.target});
      },
      [&](Failover::TakeOfficeBack&) { out.push_back(TakeBack{}); },
      [&](Failover::Ended& ended) { on_transfer_ended(now, ended, out); },
  };
  for (Failover::Act& act : acts) std::visit(carry_out_one, act);
}

void DutyLeader::on_transfer_ended(Moment now, const Failover::Ended& ended, Effects& out) {
  out.push_back(TransferEnded{ended.target, ended.ok, ended.why});
  if (ended.ok) {
    out.push_back(FailedOver{config_.self, ended.target, ended.took});
    return;
  }
  ++counted_.transfers_failed;
  out.push_back(DutyError{Severity::kWarning, "the leadership was not transferred: " + ended.why});
  if (duty() != Duty::kStopping && duty() != Duty::kHandingOver) return;
  if (ended.office_given) {
    phase_ = Taking{0, now.clock, false};
  } else {
    stand_ready(now, Duration::zero(), out);
  }
}

DutyStatus DutyLeader::status(WallTime now) const {
  DutyStatus status = counted_;
  status.leader = leader_;
  status.epoch = leader_epoch_;
  status.since = since_;
  status.duty = duty();
  if (const auto* idle = std::get_if<Idle>(&phase_)) status.why = idle->why;
  if (const auto* stopping = std::get_if<Stopping>(&phase_)) status.why = stopping->why;
  if (status.duty == Duty::kPaused) status.why = "the health of the cluster is below the threshold";
  status.terms = queue_.terms();
  status.active = jobs_.size();
  status.queued = queue_.live().size() - jobs_.size();
  status.completed = queue_.completed();
  status.failed = queue_.failed();
  for (const LiveRequest& one : queue_.live()) {
    const Duration waits = Duration::nanos(now.unix_ns - one.submitted_at.unix_ns);
    if (!one.is_active()) status.oldest_waiting = std::max(status.oldest_waiting, waits);
  }
  return status;
}

FailoverState DutyLeader::failover_state(Moment now) const {
  const ContextSettings& settings = config_.settings;
  const DutyStatus status = this->status(now.wall);
  FailoverState state;
  state.leader = config_.self;
  state.term = epoch_;
  state.transfer_time = now.wall;
  for (const LiveRequest& one : queue_.live()) {
    (one.is_active() ? state.active_jobs : state.queued_requests).push_back(one);
  }
  if (settings.preserve_completed_jobs) state.completed_jobs = queue_.finished();
  state.cluster_state.members = config_.members;
  if (manager_) state.manager_config = *manager_;
  state.generation_policy = {settings.auto_start_generation, settings.generation_start_delay,
                             settings.generation_stop_timeout, settings.cluster_health_threshold,
                             settings.leader_health_threshold};
  state.queue_policy = {static_cast<uint32_t>(settings.max_queue_transfer_size), settings.queue_drain_timeout, kTries,
                        settings.preserve_completed_jobs};
  state.state_version = state_version_;
  state.health_snapshot = health_;
  state.health_snapshot.generation_active = status.duty == Duty::kGenerating;
  state.health_snapshot.queue = {static_cast<uint32_t>(status.queued), static_cast<uint32_t>(status.active),
                                 status.oldest_waiting};
  state.transfer_reason = transfer_.reason;
  state.transfer_source = transfer_.source;
  state.transfer_duration = now.clock - failover_.begun();
  return state;
}

// Attempts at requests: begun, ended, stopped.

void DutyLeader::begin_jobs(Moment now, Effects& out) {
  for (auto& [id, job] : jobs_) {
    if (now.clock < job.fetch_at) continue;
    job.fetch_at = Instant::never();
    out.push_back(FetchPayload{id, job.fence, config_.settings.coordination_timeout});
  }
  const auto* generating = std::get_if<Generating>(&phase_);
  if (generating == nullptr || generating->paused || !manager_) return;
  while (jobs_.size() < manager_->slots && queue_.room_to_finish(jobs_.size())) {
    const LiveRequest* next = queue_.next();
    if (next == nullptr) return;
    const RequestId id = next->id;
    const AttemptFence fence = queue_.start(id);
    changed_ = true;
    if (fence.attempt > kMaxAttempts) {
      finish(id, fence, Outcome::kFailed, "too many attempts without a result");
      continue;
    }
    jobs_[id] = Job{fence, false, now.clock, Instant::never()};
    then_.push_back(FetchPayload{id, fence, config_.settings.coordination_timeout});
  }
}

void DutyLeader::on_fetched(Moment now, const PayloadFetched& fetched, Effects& out) {
  const auto at = jobs_.find(fetched.id);
  if (at == jobs_.end() || at->second.fence != fetched.fence || at->second.runs) return;
  Job& job = at->second;
  switch (fetched.found) {
    case PayloadFetched::Found::kHere: {
      const LiveRequest* one = queue_.find(fetched.id);
      job.runs = true;
      job.since = now.clock;
      job.fetch_at = Instant::never();
      out.push_back(RunJob{{fetched.id, one->priority, one->submitted_at, fetched.payload}, job.fence});
      return;
    }
    case PayloadFetched::Found::kGone:
      out.push_back(
          DutyError{Severity::kCritical, fmt::format("the payload of request {} is lost", to_string(fetched.id))});
      finish(fetched.id, job.fence, Outcome::kFailed, "its payload is lost");
      jobs_.erase(at);
      return;
    case PayloadFetched::Found::kFailed:
      out.push_back(DutyError{Severity::kWarning, fmt::format("the payload of request {} could not be fetched: {}",
                                                              to_string(fetched.id), printable(fetched.why))});
      job.fetch_at = now.clock + config_.settings.coordination_backoff;
      return;
  }
}

void DutyLeader::on_job_ended(Moment now, const JobEnded& ended, Effects& out) {
  const auto refuse = [&](std::string why) {
    // A cancelled job that reports its cancellation is in order.
    if (ended.end == JobEnded::End::kCancelled) return;
    ++counted_.completions_refused;
    out.push_back(CompletionRefused{ended.id, ended.fence, std::move(why)});
  };
  const auto at = jobs_.find(ended.id);
  if (at == jobs_.end()) {
    const bool done = queue_.find_finished(ended.id) != nullptr;
    return refuse(done ? "the request is finished" : "this node runs no attempt of the request");
  }
  const Job job = at->second;
  if (job.fence != ended.fence || !job.runs) return refuse(to_string(job.fence) + " is the current attempt");
  jobs_.erase(at);
  changed_ = true;
  if (ended.end == JobEnded::End::kCancelled) {
    queue_.requeue(ended.id, ended.fence, false);
    return;
  }
  const Duration took = now.clock - job.since;
  ++counted_.jobs_ended;
  counted_.job_time += took;
  counted_.longest_job = std::max(counted_.longest_job, took);
  if (ended.end == JobEnded::End::kDone) {
    finish(ended.id, ended.fence, Outcome::kCompleted, {});
  } else if (queue_.find(ended.id)->failures + 1 < kTries) {
    queue_.requeue(ended.id, ended.fence, true);
  } else {
    finish(ended.id, ended.fence, Outcome::kFailed, printable(ended.reason));
  }
}

void DutyLeader::finish(RequestId id, AttemptFence fence, Outcome outcome, std::string reason) {
  if (!queue_.finish(id, fence, outcome, std::move(reason))) return;
  changed_ = true;
  then_.push_back(TellOutcome{*queue_.find_finished(id)});
}

void DutyLeader::stop_jobs(bool kill, Effects& out) {
  for (const auto& [id, job] : jobs_) {
    if (job.runs) out.push_back(CancelJob{id, job.fence, kill});
  }
}

void DutyLeader::go_through_stopping(Moment now, Stopping& stopping, Effects& out) {
  if (now.clock >= stopping.until) {
    const bool kill = std::exchange(stopping.cancelled, true);
    stop_jobs(kill, out);
    for (auto at = jobs_.begin(); at != jobs_.end();) {
      if (kill || !at->second.runs) {
        queue_.requeue(at->first, at->second.fence, false);
        changed_ = true;
        at = jobs_.erase(at);
      } else {
        ++at;
      }
    }
    stopping.until = kill ? Instant::never() : now.clock + config_.settings.generation_stop_timeout;
  }
  if (!jobs_.empty() || changed_ || writing_ || (stopping.hands_over && !pending_.empty())) return;
  const std::string why = stopping.why;
  if (std::exchange(generating_, false)) out.push_back(GenerationStopped{config_.self, why});
  if (!stopping.hands_over) {
    phase_ = Idle{why};
    return;
  }
  phase_ = HandingOver{};
  ++state_version_;
  auto state = encode(failover_state(now), config_.digest);
  carry_out(
      now,
      state ? failover_.prepared(now.clock, std::move(*state)) : failover_.abandon(now.clock, state.error().message),
      out);
}

}  // namespace bellwether::context_lead
