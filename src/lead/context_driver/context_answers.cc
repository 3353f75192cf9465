// The questions of other processes about contexts, and the messages between nodes.
#include <utility>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/overloaded.h"
#include "lead/context_driver/context_driver.h"

namespace bellwether::cluster {

using namespace context_lead;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject
using runtime::task;

namespace {

constexpr std::size_t kMaxCallers = 10'000;

}  // namespace

void ContextDriver::on_closed(link::Connection& connection) {
  std::erase_if(callers_, [&](const auto& one) { return one.second.connection == &connection; });
}

void ContextDriver::answer(const Caller& caller, const ContextAnswer& answer) {
  parts_.router.respond(*caller.connection, caller.id, message::encode(answer));
}

uint64_t ContextDriver::ticket_of(Caller caller) {
  callers_.emplace(++last_ticket_, std::move(caller));
  return last_ticket_;
}

// A client that has gone in the meantime gets no answer.
void ContextDriver::answer_ticket(uint64_t ticket, const Status& status) {
  const auto caller = callers_.extract(ticket);
  if (caller.empty()) return;
  const Caller& one = caller.mapped();
  if (!status) return answer(one, refusal(status.error()));
  if (!one.said.empty()) say("context_generation", one.said);
  answer(one, ContextDone{one.done});
}

ContextRefused ContextDriver::refusal(const Error& error) const {
  return {error.code, named(error.message), leads() ? std::string() : name_of(status().leader)};
}

void ContextDriver::on_request(link::Connection& connection, const wire::Inbound& request) {
  const Caller caller{&connection, request.id, {}, {}};
  auto question = decode_context_question(as_text(request.body));
  if (!question) return answer(caller, refusal(question.error()));
  if (!loop_.running() || left_)
    return answer(caller, refusal({Errc::kRefused, "this node does not lead contexts now"}));
  if (callers_.size() >= kMaxCallers) {
    return answer(caller, refusal({Errc::kExhausted, "too many requests are waiting; try again later"}));
  }
  const bool changes =
      std::holds_alternative<AskTransfer>(*question) || std::holds_alternative<AskGeneration>(*question);
  if (changes && connection.peer().identity.role != wire::Role::kOperator) {
    return answer(caller,
                  refusal({Errc::kInvalid, "only an operator may transfer the leadership or stop the generation"}));
  }
  const auto waits = [&](std::string done, std::string said = {}) {
    return ticket_of({&connection, request.id, std::move(done), std::move(said)});
  };
  std::visit(
      Overloaded{
          [&](Request& wish) {
            tell(Submit{waits("the request is stored and will be processed"), std::move(wish)});
          },
          [&](const AskOutcome& outcome) { on_outcome_question(caller, outcome.id); },
          [&](const AskContextStatus&) { answer(caller, view()); },
          [&](const AskTransfer& wish) {
            const auto target = member(wish.target);
            if (!target) {
              return answer(
                  caller,
                  refusal({Errc::kNotFound,
                           fmt::format(
                               "'{}' is not a member of this cluster; name one that `bellwether cluster quorum` shows",
                               printable(wish.target))}));
            }
            tell(Transfer{
                waits(fmt::format("the transfer to '{}' has begun; `bellwether context status` shows how it ends",
                                  wish.target)),
                *target, wish.reason.empty() ? "requested by an operator" : wish.reason, "operator " + wish.by});
          },
          [&](const AskGeneration& wish) {
            const std::string by = fmt::format("operator '{}' ", printable(wish.by));
            if (wish.start) {
              tell(StartGeneration{waits("the generation starts", by + "starts the generation")});
            } else {
              tell(StopGeneration{
                  waits("the generation stops when the running jobs have ended", by + "stops the generation"),
                  fmt::format("requested by operator {}", printable(wish.by))});
            }
          },
      },
      *question);
}

// An end that is not durable yet is none: another leader may find another one.
void ContextDriver::on_outcome_question(const Caller& caller, RequestId id) {
  if (!leads() || term_.valid_for(parts_.runtime.boot_now()) <= Duration::zero()) {
    return answer(caller, refusal({Errc::kRefused, "this node is not the leader; send the request to the leader"}));
  }
  if (kernel_.leader.duty() == Duty::kTaking) {
    return answer(caller, refusal({Errc::kRefused, "this node is reading the register; try again"}));
  }
  OutcomeAnswer out;
  if (const LiveRequest* live = kernel_.leader.queue().find(id)) {
    out.state = live->is_active() ? OutcomeAnswer::State::kActive : OutcomeAnswer::State::kQueued;
    out.attempts = live->attempts;
    out.epoch = live->active_under.value();
    return answer(caller, out);
  }
  const FinishedRequest* finished = kernel_.leader.queue().find_finished(id);
  if (finished == nullptr) return answer(caller, out);
  out.attempts = finished->fence.attempt;
  out.epoch = finished->fence.epoch.value();
  if (!finished->settled && !jobs_.is_told(id)) {
    out.state = OutcomeAnswer::State::kActive;
    return answer(caller, out);
  }
  out.state =
      finished->outcome == Outcome::kCompleted ? OutcomeAnswer::State::kCompleted : OutcomeAnswer::State::kFailed;
  out.reason = finished->reason;
  if (out.state == OutcomeAnswer::State::kFailed) return answer(caller, out);
  scope_->spawn(answer_with_result(this, ticket_of(caller), id, std::move(out)));
}

task<void> ContextDriver::answer_with_result(ContextDriver* self, uint64_t ticket, RequestId id,
                                             OutcomeAnswer outcome) {
  auto result = co_await self->jobs_.result(id, self->scope_->cancellation());
  const auto caller = self->callers_.extract(ticket);
  if (caller.empty()) co_return;
  if (!result && result.error().code != Errc::kNotFound) {
    co_return self->answer(caller.mapped(), self->refusal(result.error()));
  }
  outcome.result_gone = !result;
  if (result) outcome.result = std::move(*result);
  self->answer(caller.mapped(), outcome);
}

Result<ContextMessage> ContextDriver::read_message(const wire::Inbound& inbound, const std::string& sender) const {
  if (parts_.seal == nullptr) return message::decode<ContextMessage>(as_text(inbound.body));
  BW_TRY(const auto opened, parts_.seal->open(as_text(inbound.body), sender, VoteSeal::About::kContext));
  return message::decode<ContextMessage>(opened);
}

void ContextDriver::on_message(link::Connection& connection, const wire::Inbound& inbound) {
  if (!loop_.running()) return;
  const std::string& sender = connection.peer().identity.node;
  const auto from = member(sender);
  auto message = read_message(inbound, sender);
  if (message && (!from || connection.peer().identity.role != wire::Role::kManager)) {
    message = fail(Errc::kRefused, "a message of '{}', which is not a member of this cluster", printable(sender));
    parts_.router.refuse(connection, wire::Refusal::kSender,
                         "it does not lead contexts, but sends messages of a context leader");
  }
  if (!message) {
    // Only the first of many is logged.
    if (refused_++ == 0) say("context_message_refused", message.error().message, true);
    return;
  }
  hear(*from, sender, *message);
}

void ContextDriver::hear(vote::NodeId from, const std::string& sender, ContextMessage& message) {
  const std::string by = fmt::format("'{}' ", sender);
  const auto pass_on = [&](Message one) { tell(Heard{from, std::move(one)}); };
  std::visit(
      Overloaded{
          [&](const GenerationBegun& begun) {
            say("context_generation_heard", fmt::format("{}generates contexts, epoch {}", by, begun.epoch));
          },
          [&](const GenerationEnded& ended) {
            say("context_generation_heard",
                fmt::format("{}does not generate contexts: {}", by, printable(ended.reason)));
          },
          [&](StateVerdict& verdict) {
            note_step(fmt::format("{}{} the state", by, verdict.accepted ? "accepts" : "refuses"));
            if (!verdict.accepted) {
              say("context_state_refused", fmt::format("{}refuses the state: {}", by, printable(verdict.why)), true);
            }
            for (const StateIssue& one : verdict.dropped) {
              say("context_state_issue",
                  fmt::format("{}reports a fault in {}: {}", by, to_string(one.field), printable(one.text)), true);
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
