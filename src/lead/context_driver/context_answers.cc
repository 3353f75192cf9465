// What others ask of a node about contexts, and what nodes tell each other.
#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/overloaded.h"
#include "core/base/printable.h"
#include "lead/context_driver/context_driver.h"

namespace bellwether::cluster {

using namespace context_lead;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject

namespace {

constexpr std::size_t kMostCallers = 10'000;

}  // namespace

void ContextDriver::on_closed(link::Connection& connection) {
  std::erase_if(callers_, [&](const auto& one) { return one.second.connection == &connection; });
}

void ContextDriver::answer(const Caller& caller, const ContextAnswer& answer) {
  parts_.switchboard.respond(*caller.connection, caller.id, message::encode(answer));
}

// Whoever has gone in the meantime is not told.
void ContextDriver::answer_ticket(uint64_t ticket, const Status& status) {
  const auto caller = callers_.find(ticket);
  if (caller == callers_.end()) return;
  const Caller one = caller->second;
  callers_.erase(caller);
  if (status) {
    answer(one, ContextDone{"the request is kept, and will be done"});
  } else {
    answer(one, refusal(status.error()));
  }
}

ContextRefused ContextDriver::refusal(const Error& error) const {
  const std::string leader = name_of(kernel_.status(parts_.runtime.wall_now()).leader);
  return {error.code, named(error.message), kernel_.is_leader() ? std::string() : leader};
}

void ContextDriver::on_request(link::Connection& connection, const wire::Inbound& request) {
  const Caller caller{&connection, request.id};
  auto question = decode_context_question(as_text(request.body));
  if (!question) return answer(caller, refusal(question.error()));
  if (scope_ == nullptr || left_) return answer(caller, refusal({Errc::kRefused, "this node leads no contexts now"}));
  if (callers_.size() >= kMostCallers) {
    return answer(caller, refusal({Errc::kExhausted, "too many wait for an answer; ask again later"}));
  }
  const bool changes =
      std::holds_alternative<AskTransfer>(*question) || std::holds_alternative<AskGeneration>(*question);
  if (changes && connection.peer().identity.role != wire::Role::kOperator) {
    return answer(caller, refusal({Errc::kInvalid, "only an operator moves the leadership, or stops the generation"}));
  }
  on_question(caller, *question);
}

void ContextDriver::on_question(const Caller& caller, ContextQuestion& question) {
  const auto answer_done = [&](const Result<std::string>& done) {
    answer(caller, done ? ContextAnswer(ContextDone{*done}) : ContextAnswer(refusal(done.error())));
  };
  std::visit(Overloaded{
                 [&](Request& request) { on_submit(caller, std::move(request)); },
                 [&](const AskOutcome& outcome) { on_outcome_question(caller, outcome.id); },
                 [&](const AskContextStatus&) { answer(caller, view()); },
                 [&](const AskTransfer& wish) { answer_done(transfer(wish)); },
                 [&](const AskGeneration& wish) { answer_done(generation(wish)); },
             },
             question);
}

void ContextDriver::on_submit(const Caller& caller, Request request) {
  const uint64_t ticket = ++last_ticket_;
  callers_.emplace(ticket, caller);
  const bool is_forgotten = kernel_.is_leader() && kernel_.queue().standing(request.id, request.submitted_at) ==
                                                       RequestQueue::Standing::kForgotten;
  const Status taken = ask([&](Effects& out) { return kernel_.submit(moment(), ticket, std::move(request), out); });
  // What is forgotten is refused for good, all else by this node or for now.
  if (!taken) answer_ticket(ticket, is_forgotten ? fail(Errc::kExists, taken.error().message) : taken);
}

Result<std::string> ContextDriver::transfer(const AskTransfer& wish) {
  const auto known =
      std::find_if(names_.begin(), names_.end(), [&](const auto& one) { return one.second == wish.target; });
  if (known == names_.end()) {
    return fail(Errc::kNotFound, "'" + printable(wish.target) +
                                     "' is no member of this cluster; name one of those that "
                                     "`bellwether cluster quorum` shows");
  }
  BW_RETURN_IF_ERROR(ask([&](Effects& out) {
    return kernel_.transfer(moment(), known->first, wish.reason.empty() ? "an operator asks for it" : wish.reason,
                            "operator " + wish.by, out);
  }));
  steps_.clear();
  note_step("the transfer to '" + wish.target + "' begins");
  failover_.reset();
  say("context_transfer", "operator '" + printable(wish.by) + "' transfers the leadership to '" + wish.target + "'");
  return "the transfer to '" + wish.target + "' has begun; `bellwether context status` shows how it ends";
}

Result<std::string> ContextDriver::generation(const AskGeneration& wish) {
  BW_RETURN_IF_ERROR(ask([&](Effects& out) {
    return wish.start ? kernel_.start_generation(moment(), out)
                      : kernel_.stop_generation(moment(), "operator " + printable(wish.by) + " says so", out);
  }));
  say("context_generation",
      "operator '" + printable(wish.by) + "' " + (wish.start ? "starts" : "stops") + " the generation");
  return std::string(wish.start ? "the generation starts" : "the generation stops when what runs has ended");
}

// An end that is not durable yet is none: another leader may find another one.
void ContextDriver::on_outcome_question(const Caller& caller, RequestId id) {
  if (!kernel_.is_leader() || term_.valid_for(parts_.runtime.boot_now()) <= Duration::zero()) {
    return answer(caller, refusal({Errc::kRefused, "this node does not lead; ask the leader"}));
  }
  if (kernel_.duty() == Duty::kTaking) {
    return answer(caller, refusal({Errc::kRefused, "this node reads the register anew; ask again"}));
  }
  OutcomeAnswer out;
  if (const LiveRequest* live = kernel_.queue().find(id)) {
    out.standing = live->is_active() ? OutcomeAnswer::Standing::kActive : OutcomeAnswer::Standing::kQueued;
    out.attempts = live->attempts;
    out.epoch = live->active_under.value();
    return answer(caller, out);
  }
  const FinishedRequest* finished = kernel_.queue().find_finished(id);
  if (finished == nullptr) return answer(caller, out);
  out.attempts = finished->fence.attempt;
  out.epoch = finished->fence.epoch.value();
  if (!finished->settled && !told_.contains(id)) {
    out.standing = OutcomeAnswer::Standing::kActive;
    return answer(caller, out);
  }
  out.standing =
      finished->outcome == Outcome::kCompleted ? OutcomeAnswer::Standing::kCompleted : OutcomeAnswer::Standing::kFailed;
  out.reason = finished->reason;
  if (out.standing == OutcomeAnswer::Standing::kFailed) return answer(caller, out);
  const uint64_t ticket = ++last_ticket_;
  callers_.emplace(ticket, caller);
  scope_->spawn(answer_with_result(this, ticket, id, std::move(out)));
}

Result<ContextMessage> ContextDriver::read_message(const wire::Inbound& inbound, const std::string& sender) const {
  if (parts_.seal == nullptr) return message::decode<ContextMessage>(as_text(inbound.body));
  BW_TRY(const auto opened, parts_.seal->open(as_text(inbound.body), sender, VoteSeal::About::kContext));
  return message::decode<ContextMessage>(opened);
}

void ContextDriver::on_message(link::Connection& connection, const wire::Inbound& inbound) {
  if (scope_ == nullptr) return;
  const std::string& sender = connection.peer().identity.node;
  const auto from = std::find_if(names_.begin(), names_.end(), [&](const auto& one) { return one.second == sender; });
  auto message = read_message(inbound, sender);
  if (message && (from == names_.end() || connection.peer().identity.role != wire::Role::kManager)) {
    message = fail(Errc::kRefused, "a message of '" + printable(sender) + "', which is no member of this cluster");
    parts_.switchboard.refuse(connection, wire::Refusal::kSender, "it leads no contexts, and speaks as one that does");
  }
  if (!message) {
    // The first of many is said.
    if (refused_++ == 0) say("context_message_refused", message.error().message, true);
    return;
  }
  hear(from->first, sender, *message);
}

void ContextDriver::hear(vote::NodeId from, const std::string& sender, ContextMessage& message) {
  const std::string by = "'" + sender + "' ";
  const auto pass_on = [&](Message one) { tell(Heard{from, std::move(one)}); };
  std::visit(Overloaded{
                 [&](const GenerationBegun& begun) {
                   say("context_generation_heard", by + "generates contexts, epoch " + std::to_string(begun.epoch));
                 },
                 [&](const GenerationEnded& ended) {
                   say("context_generation_heard", by + "generates no contexts: " + printable(ended.reason));
                 },
                 [&](StateVerdict& verdict) {
                   note_step(by + (verdict.accepted ? "accepts" : "refuses") + " the state");
                   if (!verdict.accepted) {
                     say("context_state_refused", by + "refuses the state: " + printable(verdict.why), true);
                   }
                   for (const StateIssue& one : verdict.dropped) {
                     say("context_state_issue",
                         by + "finds a fault in " + std::string(to_string(one.field)) + ": " + printable(one.text),
                         true);
                   }
                   pass_on(std::move(verdict));
                 },
                 [&](StateOffer& offer) { pass_on(std::move(offer)); },
                 [&](StateReceived& received) { pass_on(received); },
                 [&](OfferWithdrawn& withdrawn) { pass_on(withdrawn); },
             },
             message);
}

}  // namespace bellwether::cluster
