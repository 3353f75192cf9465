// The register of requests: taking it, writing it, and what waits until it is written.
#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "base/units.h"
#include "election/context/duty_leader.h"

namespace bellwether::context_lead {
namespace {

constexpr std::size_t kMostTickets = 16;      // that wait for one payload
constexpr std::size_t kMostAnswers = 10'000;  // that wait for a write

}  // namespace

Status DutyLeader::submit(Moment now, uint64_t ticket, Request request, Effects& out) {
  const std::string who = "request " + to_string(request.id);
  if (request.id == RequestId{}) return fail(Errc::kInvalid, "a request without an id; draw one at random");
  if (request.payload.size() > kMostPayloadBytes) {
    return fail(Errc::kTooLarge, who + " has " + std::to_string(request.payload.size()) + " bytes; at most " +
                                     std::to_string(kMostPayloadBytes));
  }
  if (!announced_ || duty() == Duty::kTaking) return fail(Errc::kRefused, "this node does not lead; ask the leader");
  const auto* stopping = std::get_if<Stopping>(&phase_);
  if (duty() == Duty::kHandingOver || (stopping != nullptr && stopping->hands_over && jobs_.empty())) {
    return fail(Errc::kRefused, "the leadership is being handed over; submit again to whoever leads");
  }
  if (request.submitted_at.unix_ns > now.wall.unix_ns + kMostClockLead.ns()) {
    return fail(Errc::kInvalid, who + " was submitted more than " + format_duration(kMostClockLead) +
                                    " in the future; look at the clocks");
  }
  if (then_.size() >= kMostAnswers) return fail(Errc::kExhausted, "too many wait for the register; submit again later");
  switch (queue_.standing(request.id, request.submitted_at)) {
    case RequestQueue::Standing::kLive:
    case RequestQueue::Standing::kFinished:
      // Perhaps not written yet.
      (changed_ || writing_ ? then_ : out).push_back(SubmitAnswered{ticket, {}});
      if (writing_) changed_ = true;
      go_on(now, out);
      return {};
    case RequestQueue::Standing::kForgotten:
      return fail(Errc::kRefused, who +
                                      " was submitted so long ago that it may have been done and forgotten; look for "
                                      "its result, and submit it under a new id if there is none");
    case RequestQueue::Standing::kUnknown: break;
  }
  if (const auto at = pending_.find(request.id); at != pending_.end()) {
    if (at->second.tickets.size() == kMostTickets) return fail(Errc::kExhausted, who + " is being submitted already");
    at->second.tickets.push_back(ticket);
    return {};
  }
  if (queue_.room(config_.settings.max_queue_transfer_size) <= pending_.size()) {
    return fail(Errc::kExhausted, "the queue has " + format_count(queue_.live().size() + pending_.size(), "request") +
                                      "; at most " + format_count(config_.settings.max_queue_transfer_size) +
                                      ". Submit again later");
  }
  Pending& pending = pending_[request.id];
  pending.head = {request.id, request.priority, request.submitted_at, {}};
  pending.tickets.push_back(ticket);
  out.push_back(KeepPayload{request.id, std::move(request.payload), config_.settings.coordination_timeout});
  return {};
}

void DutyLeader::on_payload_kept(const PayloadKept& kept, Effects& out) {
  const auto at = pending_.find(kept.id);
  if (at == pending_.end()) return;
  const Pending pending = std::move(at->second);
  pending_.erase(at);
  Status status;
  if (!kept.ok) {
    status =
        fail(Errc::kTimeout, "the request is not kept by a majority: " + printable(kept.why) + ". Submit it again");
  } else if (queue_.standing(kept.id, pending.head.submitted_at) != RequestQueue::Standing::kUnknown) {
    status = fail(Errc::kRefused, "the request is too old by now; submit it under a new id");
  }
  if (status) {
    queue_.admit(pending.head);
    changed_ = true;
  }
  for (const uint64_t ticket : pending.tickets) (status ? then_ : out).push_back(SubmitAnswered{ticket, status});
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
    const std::string why = "the queue was written under epoch " + std::to_string(found->epoch().value()) +
                            ", after this node's " + std::to_string(epoch_.value());
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
  out.insert(out.end(), done.then.begin(), done.then.end());
  if (const auto* taking = std::get_if<Taking>(&phase_); taking != nullptr && taking->opened) on_opened(now, out);
}

void DutyLeader::on_register_failed(Moment now, const RegisterFailed& failed, Effects& out) {
  const auto* taking = std::get_if<Taking>(&phase_);
  if (taking != nullptr && taking->ticket == failed.ticket && !taking->opened) {
    register_trouble(now, failed.why, out);
  } else if (writing_ && writing_->ticket == failed.ticket) {
    // Written or not: the next write has all that this one had.
    Effects then = std::move(writing_->then);
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
  complain(last ? Severity::kCritical : Severity::kWarning, "the register of requests: " + printable(why), out);
  if (last) {
    out.push_back(StepDown{"the register of requests cannot be used: " + printable(why)});
    lose(now, "the register of requests cannot be used", out);
  } else if (auto* taking = std::get_if<Taking>(&phase_); taking != nullptr && !taking->opened) {
    *taking = Taking{0, now.clock + config_.settings.coordination_backoff, false};
  }
}

void DutyLeader::on_register_lost(Moment now, const std::string& why, Effects& out) {
  const Duty duty = this->duty();
  if (duty == Duty::kNotLeading) return;
  if (const auto* handing = std::get_if<HandingOver>(&phase_); handing != nullptr && handing->office_given) return;
  if (const auto* taking = std::get_if<Taking>(&phase_); taking != nullptr && !taking->opened) return;
  complain(Severity::kWarning, "the register of requests was lost: " + printable(why), out);
  drop_work("the register of requests was lost", out);
  queue_ = {};
  if (std::exchange(generating_, false)) out.push_back(GenerationStopped{config_.self, "the register was lost"});
  phase_ = Taking{0, now.clock + config_.settings.coordination_backoff, false};
  carry_out(now, failover_.abandon(now.clock, "the register of requests was lost"), out);
}

void DutyLeader::write(Moment now, Effects& out) {
  if (!changed_ || writing_ || now.clock < write_at_ || duty() == Duty::kNotLeading) return;
  changed_ = false;
  writing_ = Writing{++last_ticket_, std::exchange(then_, {})};
  out.push_back(WriteRegister{writing_->ticket, queue_.encode(), config_.settings.coordination_timeout});
}

// Everything that is under way ends here: jobs are killed, and nobody is left without an answer.
void DutyLeader::drop_work(const std::string& why, Effects& out) {
  stop_jobs(true, out);
  jobs_.clear();
  Effects waiting = std::exchange(then_, {});
  if (writing_) waiting.insert(waiting.end(), writing_->then.begin(), writing_->then.end());
  writing_.reset();
  changed_ = false;
  const Status unsure = fail(Errc::kTimeout, "nobody knows whether the request was accepted (" + printable(why) +
                                                 "); submit it again, with the same id");
  for (const Effect& one : waiting) {
    if (const auto* answer = std::get_if<SubmitAnswered>(&one)) out.push_back(SubmitAnswered{answer->ticket, unsure});
  }
  for (const auto& [id, pending] : std::exchange(pending_, {})) {
    for (const uint64_t ticket : pending.tickets) out.push_back(SubmitAnswered{ticket, unsure});
  }
}

}  // namespace bellwether::context_lead
