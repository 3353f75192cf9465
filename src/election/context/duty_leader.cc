#include "election/context/duty_leader.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/encoding.h"
#include "core/base/enum_names.h"
#include "core/base/overloaded.h"
#include "core/base/units.h"

namespace bellwether::context_lead {
namespace {

constexpr std::size_t kMaxTickets = 16;      // that wait for one payload
constexpr std::size_t kMaxAnswers = 10'000;  // that wait for a write

}  // namespace

std::string_view to_string(Duty duty) {
  static constexpr EnumNames<Duty> kNames("not_leading", "taking", "idle", "starting", "generating", "paused",
                                          "stopping", "handing_over");
  return kNames[duty];
}

DutyLeader::DutyLeader(DutyConfig config, uint64_t seed)
    : config_(std::move(config)),
      health_period_(Period::up_to(config_.settings.context_health_check_interval), Prng(seed)),
      failover_(config_.settings),
      succession_(config_.settings, config_.self, config_.digest) {
  check(config_.settings.validate().has_value(), "settings are looked at before they are used");
  check(!config_.members.empty() && config_.members.size() <= vote::kMaxNodes && config_.digest != nullptr,
        "there are members, and a digest");
}

void DutyLeader::step(Moment now, const Event& event, Effects& out) {
  const auto answer = [&](uint64_t ticket, Status status) {
    if (ticket != 0) out.push_back(Answered{ticket, std::move(status)});
  };
  std::visit(
      Overloaded{
          [](const Tick&) {},
          [&](const Elected& elected) { on_elected(now, elected.epoch, out); },
          [&](const LeadershipLost& lost) {
            if (lost.epoch == epoch_) lose(now, lost.why, out);
          },
          [&](const LeaderSeen& seen) { on_leader_seen(now, seen, out); },
          [&](const HandOverRefused& refused) { carry_out(now, failover_.abandon(now.clock, refused.why), out); },
          [&](const RegisterTaken& taken) { on_taken(now, taken, out); },
          [&](const RegisterWritten& written) { on_written(now, written.ticket, out); },
          [&](const RegisterFailed& failed) { on_register_failed(now, failed, out); },
          [&](const RegisterLost& lost) { on_register_lost(now, lost.why, out); },
          [&](const PayloadKept& kept) { on_payload_kept(kept, out); },
          [&](const PayloadFetched& fetched) { on_fetched(now, fetched, out); },
          [&](const PayloadDropped& dropped) {
            // Part of the next write: a leader that does not know it sends the outcome again, and drops again.
            if (announced_) queue_.mark_settled(dropped.id);
          },
          [&](const JobEnded& ended) { on_job_ended(now, ended, out); },
          [&](const OutcomeTold& told) {
            if (announced_ && queue_.find_finished(told.id) != nullptr) out.push_back(DropPayload{told.id});
          },
          [&](const HealthReport& report) { on_health(now, report, out); },
          [&](const Heard& heard) { on_heard(now, heard, out); },
          [&](const ManagerRegistered& registered) {
            check(!manager_ && registered.manager.validate(), "a node has one context manager");
            manager_ = registered.manager;
            if (std::holds_alternative<Idle>(phase_) && wanted_) {
              stand_ready(now, config_.settings.generation_start_delay, out);
            }
          },
          [&](const Submit& wish) {
            if (const Status taken = submit(now, wish, out); !taken) answer(wish.ticket, taken);
          },
          [&](const StartGeneration& wish) { answer(wish.ticket, start_generation(now, out)); },
          [&](const StopGeneration& wish) { answer(wish.ticket, stop_generation(now, wish.why)); },
          [&](const Transfer& wish) { answer(wish.ticket, transfer(now, wish, out)); },
      },
      event);
  carry_out(now, failover_.tick(now.clock), out);
  go_through_phase(now, out);
  begin_jobs(now, out);
  write(now, out);
  if (announced_ && now.clock >= check_at_) {
    check_at_ = now.clock + health_period_.next();
    out.push_back(CheckHealth{});
    for (const FinishedRequest& one : queue_.finished()) {
      // An unwritten outcome is sent after its write.
      if (!one.settled && !changed_ && !writing_) out.push_back(TellOutcome{one});
    }
  }
}

void DutyLeader::go_through_phase(Moment now, Effects& out) {
  std::visit(Overloaded{[&](Taking& taking) {
                          if (taking.ticket != 0 || now.clock < taking.again_at) return;
                          taking.ticket = ++last_ticket_;
                          out.push_back(TakeRegister{taking.ticket, config_.settings.coordination_timeout});
                        },
                        [&](const Starting& starting) {
                          if (now.clock < starting.at) return;
                          const bool paused =
                              health_.total_nodes > 0 && health_.overall < config_.settings.cluster_health_threshold;
                          phase_ = Generating{paused};
                          if (!std::exchange(generating_, true)) out.push_back(GenerationStarted{config_.self});
                        },
                        [&](Stopping& stopping) { go_through_stopping(now, stopping, out); },
                        []<OneOf<NotLeading, Idle, Generating, HandingOver> Waiting>(const Waiting&) {}},
             phase_);
}

void DutyLeader::on_elected(Moment now, Epoch epoch, Effects& out) {
  if (!config_.settings.enable_context_leadership || epoch <= epoch_) return;
  carry_out(now, failover_.abandon(now.clock, "this node was elected again"), out);
  lose(now, "elected again", out);
  epoch_ = epoch;
  since_ = now.clock;
  troubles_ = 0;
  phase_ = Taking{0, now.clock, false};
}

void DutyLeader::on_leader_seen(Moment now, const LeaderSeen& seen, Effects& out) {
  if (seen.leader == vote::kNobody) {
    if (leader_ != vote::kNobody) without_leader_ = now.clock;
    if (leader_ != config_.self) change_leader(seen.leader, leader_epoch_, out);
    return;
  }
  if (seen.epoch < leader_epoch_ || seen.epoch < epoch_ || seen.leader == config_.self) return;
  if (seen.epoch > epoch_) {
    lose(now, fmt::format("node {} is the leader under a later epoch", seen.leader.value()), out);
    change_leader(seen.leader, seen.epoch, out);
    carry_out(now, failover_.on_leader(now.clock, seen.leader), out);
  }
}

void DutyLeader::change_leader(NodeId leader, Epoch epoch, Effects& out) {
  leader_epoch_ = epoch;
  const NodeId old = std::exchange(leader_, leader);
  if (old != leader) out.push_back(LeaderChanged{old, leader, epoch});
}

// The register has the queue under this epoch: its requests are now this leader's work.
void DutyLeader::on_opened(Moment now, Effects& out) {
  troubles_ = 0;
  if (!announced_) {
    announced_ = true;
    out.push_back(BecameLeader{epoch_, queue_.terms()});
    const Instant since = leader_ == vote::kNobody && without_leader_ != Instant() ? without_leader_ : since_;
    change_leader(config_.self, epoch_, out);
    if (predecessor_ != vote::kNobody && predecessor_ != config_.self) {
      out.push_back(FailedOver{predecessor_, config_.self, now.clock - since});
    }
    if (auto state = succession_.take(now.clock, epoch_)) out.push_back(Restored{std::move(*state)});
    check_at_ = now.clock + health_period_.first();
    health_ = {};
    poor_checks_ = 0;
    wanted_ = config_.settings.auto_start_generation;
  }
  for (const FinishedRequest& one : queue_.finished()) {
    if (!one.settled) out.push_back(TellOutcome{one});
  }
  stand_ready(now, config_.settings.generation_start_delay, out);
}

void DutyLeader::stand_ready(Moment now, Duration delay, Effects& out) {
  if (!wanted_) {
    phase_ = Idle{"an operator must start the generation"};
  } else if (!manager_) {
    phase_ = Idle{"no context manager is registered"};
  } else {
    phase_ = Starting{now.clock + delay};
    go_through_phase(now, out);
  }
}

void DutyLeader::lose(Moment now, const std::string& why, Effects& out) {
  if (duty() == Duty::kNotLeading) return;
  const auto* handing = std::get_if<HandingOver>(&phase_);
  const bool given = handing != nullptr && handing->office_given;
  if (!given) {
    phase_ = NotLeading{};
    carry_out(now, failover_.abandon(now.clock, why), out);
    drop_work(why, out);
    out.push_back(ReleaseRegister{});
  }
  phase_ = NotLeading{};
  if (std::exchange(generating_, false)) out.push_back(GenerationStopped{config_.self, why});
  check_at_ = Instant::never();
  queue_ = {};
  if (!std::exchange(announced_, false)) return;
  without_leader_ = now.clock;
  out.push_back(LostLeadership{given ? failover_.target() : vote::kNobody});
  change_leader(vote::kNobody, epoch_, out);
}

Instant DutyLeader::wake() const {
  Instant wake = std::min(failover_.wake(), check_at_);
  const Instant of_phase = std::visit(
      Overloaded{
          [](const Taking& taking) { return taking.ticket == 0 ? taking.again_at : Instant::never(); },
          [](const Starting& starting) { return starting.at; }, [](const Stopping& stopping) { return stopping.until; },
          []<OneOf<NotLeading, Idle, Generating, HandingOver> Waiting>(const Waiting&) { return Instant::never(); }},
      phase_);
  wake = std::min(wake, of_phase);
  if (changed_ && !writing_ && duty() != Duty::kNotLeading) wake = std::min(wake, write_at_);
  for (const auto& [id, job] : jobs_) wake = std::min(wake, job.fetch_at);
  return wake;
}

Status DutyLeader::start_generation(Moment now, Effects& out) {
  switch (duty()) {
    case Duty::kNotLeading:
    case Duty::kTaking:
      return fail(Errc::kRefused,
                  "this node is not the leader; send the request to start the generation to the leader");
    case Duty::kStarting:
    case Duty::kGenerating:
    case Duty::kPaused: return fail(Errc::kExists, "the generation is running already");
    case Duty::kStopping:
    case Duty::kHandingOver: return fail(Errc::kRefused, "the generation is stopping; start it when it has stopped");
    case Duty::kIdle: break;
  }
  if (!manager_) return fail(Errc::kNotFound, "no context manager is registered; register one first");
  wanted_ = true;
  stand_ready(now, config_.settings.generation_start_delay, out);
  return {};
}

Status DutyLeader::stop_generation(Moment now, const std::string& why) {
  switch (duty()) {
    case Duty::kNotLeading:
    case Duty::kTaking:
      return fail(Errc::kRefused, "this node is not the leader; send the request to stop the generation to the leader");
    case Duty::kIdle: return fail(Errc::kRefused, "the generation is not running");
    case Duty::kStopping:
    case Duty::kHandingOver: return fail(Errc::kExists, "the generation is stopping already");
    case Duty::kStarting:
    case Duty::kGenerating:
    case Duty::kPaused: break;
  }
  wanted_ = false;
  phase_ = Stopping{false, why, false, now.clock + config_.settings.queue_drain_timeout};
  return {};
}

// The register of requests: taking it, writing it, and the actions that wait for a write.

Status DutyLeader::submit(Moment now, const Submit& wish, Effects& out) {
  const auto& [ticket, request] = wish;
  const std::string who = "request " + to_string(request.id);
  if (request.id == RequestId{}) return fail(Errc::kInvalid, "the request has no id; use a random one");
  if (request.payload.size() > kMaxPayloadBytes) {
    return fail(Errc::kTooLarge, "{} has {} bytes; the limit is {}", who, request.payload.size(), kMaxPayloadBytes);
  }
  if (!announced_ || duty() == Duty::kTaking)
    return fail(Errc::kRefused, "this node is not the leader; send the request to the leader");
  const auto* stopping = std::get_if<Stopping>(&phase_);
  if (duty() == Duty::kHandingOver || (stopping != nullptr && stopping->hands_over && jobs_.empty())) {
    return fail(Errc::kRefused, "the leadership is being handed over; submit again to the next leader");
  }
  if (request.submitted_at.unix_ns > now.wall.unix_ns + kMaxClockLead.ns()) {
    return fail(Errc::kInvalid, "{} was submitted more than {} in the future; check the clocks", who,
                format_duration(kMaxClockLead));
  }
  if (then_.size() >= kMaxAnswers)
    return fail(Errc::kExhausted, "too many requests wait for the register; submit again later");
  switch (queue_.state(request.id, request.submitted_at)) {
    case RequestQueue::State::kLive:
    case RequestQueue::State::kFinished:
      if (!changed_ && !writing_) {
        out.push_back(Answered{ticket, {}});
      } else {  // perhaps not written yet
        then_.push_back(Answered{ticket, {}});
        changed_ = true;
      }
      return {};
    case RequestQueue::State::kForgotten:
      return fail(Errc::kExists, who +
                                     " was submitted so long ago that it may have been completed and forgotten; look "
                                     "for its result, and if there is none, submit it with a new id");
    case RequestQueue::State::kUnknown: break;
  }
  if (const auto at = pending_.find(request.id); at != pending_.end()) {
    if (at->second.tickets.size() == kMaxTickets) return fail(Errc::kExhausted, who + " is being submitted already");
    at->second.tickets.push_back(ticket);
    return {};
  }
  if (queue_.room(config_.settings.max_queue_transfer_size) <= pending_.size()) {
    return fail(Errc::kExhausted, "the queue has {}; the limit is {}. Submit again later",
                format_count(queue_.live().size() + pending_.size(), "request"),
                format_count(config_.settings.max_queue_transfer_size));
  }
  Pending& pending = pending_[request.id];
  pending.head = {request.id, request.priority, request.submitted_at, {}};
  pending.tickets.push_back(ticket);
  out.push_back(KeepPayload{request.id, request.payload, config_.settings.coordination_timeout});
  return {};
}

void DutyLeader::on_payload_kept(const PayloadKept& kept, Effects& out) {
  const auto at = pending_.find(kept.id);
  if (at == pending_.end()) return;
  const Pending pending = std::move(at->second);
  pending_.erase(at);
  Status status;
  if (!kept.ok) {
    status = fail(Errc::kTimeout, "no majority has stored the request: {}. Submit it again", printable(kept.why));
  } else if (queue_.state(kept.id, pending.head.submitted_at) != RequestQueue::State::kUnknown) {
    status = fail(Errc::kRefused, "the request is too old now; submit it with a new id");
  }
  if (!status) {
    for (const uint64_t ticket : pending.tickets) out.push_back(Answered{ticket, status});
    return;
  }
  queue_.admit(pending.head);
  changed_ = true;
  for (const uint64_t ticket : pending.tickets) then_.push_back(Answered{ticket, status});
}

void DutyLeader::on_taken(Moment now, const RegisterTaken& taken, Effects& out) {
  auto* taking = std::get_if<Taking>(&phase_);
  if (duty() == Duty::kNotLeading) out.push_back(ReleaseRegister{});
  if (taking == nullptr || taking->ticket != taken.ticket || taking->opened) return;
  auto found = RequestQueue::decode(taken.value);
  if (!found) {
    register_trouble(now, found.error().message, out);
    return;
  }
  if (found->epoch() > epoch_) {
    const std::string why = fmt::format("the queue was written under epoch {}, after this node's {}",
                                        found->epoch().value(), epoch_.value());
    out.push_back(StepDown{why});
    lose(now, why, out);
    return;
  }
  if (!announced_) predecessor_ = found->leader();
  queue_ = std::move(*found);
  queue_.open(config_.self, epoch_);
  taking->opened = true;
  changed_ = true;
  write_at_ = now.clock;
}

void DutyLeader::on_written(Moment now, uint64_t ticket, Effects& out) {
  if (!writing_ || writing_->ticket != ticket) return;
  const Writing done = std::move(*writing_);
  writing_.reset();
  troubles_ = 0;
  for (const Then& one : done.then) {
    std::visit([&](const auto& effect) { out.push_back(effect); }, one);
  }
  if (const auto* taking = std::get_if<Taking>(&phase_); taking != nullptr && taking->opened) on_opened(now, out);
}

void DutyLeader::on_register_failed(Moment now, const RegisterFailed& failed, Effects& out) {
  const auto* taking = std::get_if<Taking>(&phase_);
  if (taking != nullptr && taking->ticket == failed.ticket && !taking->opened) {
    register_trouble(now, failed.why, out);
  } else if (writing_ && writing_->ticket == failed.ticket) {
    // Written or not: the next write has all that this one had.
    std::vector<Then> then = std::move(writing_->then);
    writing_.reset();
    then.insert(then.end(), std::make_move_iterator(then_.begin()), std::make_move_iterator(then_.end()));
    then_ = std::move(then);
    changed_ = true;
    write_at_ = now.clock + config_.settings.coordination_backoff;
    register_trouble(now, failed.why, out);
  }
}

void DutyLeader::register_trouble(Moment now, const std::string& why, Effects& out) {
  ++troubles_;
  const bool last = troubles_ > config_.settings.max_coordination_retries;
  out.push_back(DutyError{last ? Severity::kCritical : Severity::kWarning, "the request register: " + printable(why)});
  if (last) {
    out.push_back(StepDown{"the request register cannot be used: " + printable(why)});
    lose(now, "the request register cannot be used", out);
    return;
  }
  auto* taking = std::get_if<Taking>(&phase_);
  if (taking != nullptr && !taking->opened) *taking = {0, now.clock + config_.settings.coordination_backoff, false};
}

void DutyLeader::on_register_lost(Moment now, const std::string& why, Effects& out) {
  const Duty duty = this->duty();
  if (duty == Duty::kNotLeading) return;
  if (const auto* handing = std::get_if<HandingOver>(&phase_); handing != nullptr && handing->office_given) return;
  if (const auto* taking = std::get_if<Taking>(&phase_); taking != nullptr && !taking->opened) return;
  out.push_back(DutyError{Severity::kWarning, "the request register was lost: " + printable(why)});
  drop_work("the request register was lost", out);
  queue_ = {};
  if (std::exchange(generating_, false))
    out.push_back(GenerationStopped{config_.self, "the request register was lost"});
  phase_ = Taking{0, now.clock + config_.settings.coordination_backoff, false};
  carry_out(now, failover_.abandon(now.clock, "the request register was lost"), out);
}

void DutyLeader::write(Moment now, Effects& out) {
  if (!changed_ || writing_ || now.clock < write_at_ || duty() == Duty::kNotLeading) return;
  changed_ = false;
  writing_ = Writing{++last_ticket_, std::exchange(then_, {})};
  out.push_back(WriteRegister{writing_->ticket, queue_.encode(), config_.settings.coordination_timeout});
}

// Ends all pending work: kills the jobs, and answers every caller.
void DutyLeader::drop_work(const std::string& why, Effects& out) {
  stop_jobs(true, out);
  jobs_.clear();
  std::vector<Then> waiting = std::exchange(then_, {});
  if (writing_) waiting.insert(waiting.end(), writing_->then.begin(), writing_->then.end());
  writing_.reset();
  changed_ = false;
  const Status unsure =
      fail(Errc::kTimeout, "it is unknown whether the request was accepted ({}); submit it again with the same id",
           printable(why));
  // The next leader, or this one after it has taken the register again, fetches and sends by the register.
  for (const Then& one : waiting) {
    std::visit(Overloaded{[&](const Answered& answer) {
                            out.push_back(Answered{answer.ticket, unsure});
                          },
                          []<OneOf<FetchPayload, TellOutcome> Dropped>(const Dropped&) {}},
               one);
  }
  for (const auto& [id, pending] : std::exchange(pending_, {})) {
    for (const uint64_t ticket : pending.tickets) out.push_back(Answered{ticket, unsure});
  }
}

}  // namespace bellwether::context_lead
