#include "cluster/context/context_codec.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "proto/context_lead.pb.h"

namespace bellwether::cluster {
namespace {

using namespace context_lead;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject

constexpr std::size_t kIdBytes = 16;
constexpr std::size_t kQuestionMost = kMostPayloadBytes + 4096;
constexpr std::size_t kMessageMost = kMostStateBytes + 64 * 1024;
constexpr int kNodesMost = 1000;
constexpr int kJobsMost = static_cast<int>(kMostRequests);
constexpr int kStepsMost = 64;
constexpr int kIssuesMost = 64;
constexpr int kTextsMost = 64;

std::string bytes_of(RequestId id) {
  std::string out;
  for (const uint64_t half : {id.high, id.low}) {
    for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(half >> shift));
  }
  return out;
}

std::string cut(const std::string& text, std::size_t most) { return text.substr(0, most); }

// --- writing ---------------------------------------------------------------------------------------------------------

struct QuestionWriter {
  wire::ContextQuestion& to;

  void operator()(const Request& from) const {
    auto& submit = *to.mutable_submit();
    submit.set_id(bytes_of(from.id));
    submit.set_priority(from.priority);
    submit.set_submitted_unix_ns(from.submitted_at.unix_ns);
    submit.set_payload(from.payload);
  }
  void operator()(const AskOutcome& from) const { to.mutable_outcome()->set_id(bytes_of(from.id)); }
  void operator()(const AskContextStatus&) const { to.mutable_status(); }
  void operator()(const AskTransfer& from) const {
    to.mutable_transfer()->set_target(from.target);
    to.mutable_transfer()->set_by(from.by);
    to.mutable_transfer()->set_reason(from.reason);
  }
  void operator()(const AskGeneration& from) const {
    to.mutable_generation()->set_start(from.start);
    to.mutable_generation()->set_by(from.by);
  }
};

void put(const ContextView& from, wire::ContextAnswer::Status& to) {
  to.set_answered_by(from.answered_by);
  to.set_leader(from.leader);
  to.set_epoch(from.epoch);
  to.set_terms(from.terms);
  to.set_duty(from.duty);
  to.set_why(cut(from.why, kMostWhyBytes));
  to.set_manager(from.manager);
  to.set_queued(from.queued);
  to.set_active(from.active);
  to.set_completed(from.completed);
  to.set_failed(from.failed);
  to.set_oldest_waiting_ns(from.oldest_waiting.ns());
  to.set_leads_for_ns(from.leads_for.ns());
  to.set_health(from.health);
  to.set_checked(from.checked);
  for (const auto& one : from.nodes) {
    auto& node = *to.add_nodes();
    node.set_name(one.name);
    node.set_health(one.health);
  }
  for (const auto& one : from.jobs) {
    auto& job = *to.add_jobs();
    job.set_id(bytes_of(one.id));
    job.set_attempt(one.attempt);
    job.set_runs_for_ns(one.runs_for.ns());
  }
  to.set_failovers(from.failovers);
  if (from.failover) {
    auto& failover = *to.mutable_failover();
    failover.set_from(from.failover->from);
    failover.set_to(from.failover->to);
    failover.set_took_ns(from.failover->took.ns());
    failover.set_ok(from.failover->ok);
    failover.set_why(cut(from.failover->why, kMostWhyBytes));
    for (const auto& one : from.failover->steps) {
      auto& step = *failover.add_steps();
      step.set_text(cut(one.text, kMostWhyBytes));
      step.set_at_unix_ns(one.at.unix_ns);
    }
  }
  if (from.fitness) {
    auto& fitness = *to.mutable_fitness();
    fitness.set_score(from.fitness->score);
    for (const std::string& one : from.fitness->disqualified) fitness.add_disqualified(cut(one, kMostWhyBytes));
    for (const std::string& one : from.fitness->lacks_preferred) fitness.add_lacks_preferred(one);
  }
}

struct AnswerWriter {
  wire::ContextAnswer& to;

  void operator()(const ContextRefused& from) const {
    to.mutable_refused()->set_code(static_cast<uint32_t>(from.code));
    to.mutable_refused()->set_why(cut(from.why, kMostWhyBytes));
    to.mutable_refused()->set_leader(from.leader);
  }
  void operator()(const ContextDone& from) const { to.mutable_done()->set_text(cut(from.text, kMostWhyBytes)); }
  void operator()(const OutcomeAnswer& from) const {
    auto& outcome = *to.mutable_outcome();
    outcome.set_standing(static_cast<uint32_t>(from.standing));
    outcome.set_attempts(from.attempts);
    outcome.set_epoch(from.epoch);
    outcome.set_reason(cut(from.reason, kMostWhyBytes));
    outcome.set_result(from.result);
    outcome.set_result_gone(from.result_gone);
  }
  void operator()(const ContextView& from) const { put(from, *to.mutable_status()); }
};

void put(TransferId from, wire::ContextMessage::Transfer& to) {
  to.set_epoch(from.epoch.value());
  to.set_number(from.number);
}

struct MessageWriter {
  wire::ContextMessage& to;

  void operator()(const StateOffer& from) const {
    put(from.id, *to.mutable_offer()->mutable_transfer());
    to.mutable_offer()->set_state(from.state);
  }
  void operator()(const StateReceived& from) const { put(from.id, *to.mutable_received()); }
  void operator()(const StateVerdict& from) const {
    auto& verdict = *to.mutable_verdict();
    put(from.id, *verdict.mutable_transfer());
    verdict.set_accepted(from.accepted);
    verdict.set_why(cut(from.why, kMostWhyBytes));
    for (const StateIssue& one : from.dropped) {
      auto& issue = *verdict.add_dropped();
      issue.set_field(static_cast<uint32_t>(one.field));
      issue.set_text(cut(one.text, kMostWhyBytes));
    }
  }
  void operator()(const OfferWithdrawn& from) const { put(from.id, *to.mutable_withdrawn()); }
  void operator()(const GenerationBegun& from) const { to.mutable_started()->set_epoch(from.epoch); }
  void operator()(const GenerationEnded& from) const {
    to.mutable_stopped()->set_epoch(from.epoch);
    to.mutable_stopped()->set_reason(cut(from.reason, kMostWhyBytes));
  }
};

// --- reading ---------------------------------------------------------------------------------------------------------

// Reads what is not plainly a number, and remembers what was wrong with it.
class Reader {
 public:
  const char* wrong = nullptr;

  RequestId id(const std::string& bytes) {
    if (bytes.size() != kIdBytes) {
      wrong = "an id that has not 16 bytes";
      return {};
    }
    RequestId out;
    for (std::size_t i = 0; i < kIdBytes; ++i) {
      uint64_t& half = i < kIdBytes / 2 ? out.high : out.low;
      half = half << 8 | static_cast<unsigned char>(bytes[i]);
    }
    if (out == RequestId{}) wrong = "an id that is all zero";
    return out;
  }
  std::string text(const std::string& bytes, std::size_t most) {
    if (bytes.size() > most) wrong = "a text that is too long";
    return wrong == nullptr ? bytes : std::string();
  }
  Duration span(int64_t ns) {
    if (ns < 0) wrong = "a span below zero";
    return Duration::nanos(ns);
  }
  double share(double value) {
    // Written so that a number which is none is wrong too.
    if (!(value >= 0 && value <= 1)) wrong = "a share that is not within 0 and 1";
    return wrong == nullptr ? value : 0;
  }
  bool few(int count, int most) {
    if (count > most) wrong = "a list that is too long";
    return wrong == nullptr;
  }
  TransferId transfer(const wire::ContextMessage::Transfer& from) { return {Epoch(from.epoch()), from.number()}; }
  StateVerdict verdict(const wire::ContextMessage::Verdict& from);
  ContextView view(const wire::ContextAnswer::Status& from);
  OutcomeAnswer outcome(const wire::ContextAnswer::Outcome& from);
  ContextRefused refused(const wire::ContextAnswer::Refused& from);
};

StateVerdict Reader::verdict(const wire::ContextMessage::Verdict& from) {
  StateVerdict out{transfer(from.transfer()), from.accepted(), text(from.why(), kMostWhyBytes), {}};
  if (!few(from.dropped_size(), kIssuesMost)) return out;
  for (const auto& one : from.dropped()) {
    if (one.field() == 0 || one.field() > static_cast<uint32_t>(StateField::kForm)) wrong = "a field that there is not";
    const auto field = wrong == nullptr ? static_cast<StateField>(one.field()) : StateField::kForm;
    out.dropped.push_back({field, text(one.text(), kMostWhyBytes)});
  }
  return out;
}

ContextView Reader::view(const wire::ContextAnswer::Status& from) {
  ContextView out;
  if (!few(from.nodes_size(), kNodesMost) || !few(from.jobs_size(), kJobsMost)) return out;
  out.answered_by = text(from.answered_by(), kMostNameBytes);
  out.leader = text(from.leader(), kMostNameBytes);
  out.epoch = from.epoch();
  out.terms = from.terms();
  out.duty = text(from.duty(), kMostNameBytes);
  out.why = text(from.why(), kMostWhyBytes);
  out.manager = text(from.manager(), kMostTextBytes);
  out.queued = from.queued();
  out.active = from.active();
  out.completed = from.completed();
  out.failed = from.failed();
  out.oldest_waiting = span(from.oldest_waiting_ns());
  out.leads_for = span(from.leads_for_ns());
  out.health = share(from.health());
  out.checked = from.checked();
  for (const auto& one : from.nodes()) out.nodes.push_back({text(one.name(), kMostNameBytes), share(one.health())});
  for (const auto& one : from.jobs()) out.jobs.push_back({id(one.id()), one.attempt(), span(one.runs_for_ns())});
  out.failovers = from.failovers();
  if (from.has_failover() && few(from.failover().steps_size(), kStepsMost)) {
    const auto& told = from.failover();
    out.failover = {text(told.from(), kMostNameBytes),
                    text(told.to(), kMostNameBytes),
                    span(told.took_ns()),
                    told.ok(),
                    text(told.why(), kMostWhyBytes),
                    {}};
    for (const auto& one : told.steps()) {
      out.failover->steps.push_back({text(one.text(), kMostWhyBytes), {one.at_unix_ns()}});
    }
  }
  if (from.has_fitness() && few(from.fitness().disqualified_size(), kTextsMost) &&
      few(from.fitness().lacks_preferred_size(), kTextsMost)) {
    out.fitness.emplace();
    out.fitness->score = share(from.fitness().score());
    for (const auto& one : from.fitness().disqualified()) {
      out.fitness->disqualified.push_back(text(one, kMostWhyBytes));
    }
    for (const auto& one : from.fitness().lacks_preferred()) {
      out.fitness->lacks_preferred.push_back(text(one, kMostNameBytes));
    }
  }
  return out;
}

OutcomeAnswer Reader::outcome(const wire::ContextAnswer::Outcome& from) {
  OutcomeAnswer out;
  if (from.standing() > static_cast<uint32_t>(OutcomeAnswer::Standing::kFailed)) {
    wrong = "a standing that there is not";
    return out;
  }
  out.standing = static_cast<OutcomeAnswer::Standing>(from.standing());
  out.attempts = from.attempts();
  out.epoch = from.epoch();
  out.reason = text(from.reason(), kMostWhyBytes);
  out.result = text(from.result(), kMostResultBytes);
  out.result_gone = from.result_gone();
  return out;
}

ContextRefused Reader::refused(const wire::ContextAnswer::Refused& from) {
  if (from.code() == 0 || from.code() > static_cast<uint32_t>(Errc::kUnsupported)) {
    wrong = "an error that there is not";
    return {};
  }
  return {static_cast<Errc>(from.code()), text(from.why(), kMostWhyBytes), text(from.leader(), kMostNameBytes)};
}

template <class Message>
bool parse(Message& message, std::string_view bytes) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// What was read, unless something of it was wrong.
template <class Value>
Result<Value> checked(const Reader& reader, std::optional<Value> value, const char* what) {
  if (reader.wrong != nullptr) return fail(Errc::kProtocol, std::string(what) + " with " + reader.wrong);
  if (!value) return fail(Errc::kUnsupported, std::string(what) + " of a kind that is not known: update this node");
  return std::move(*value);
}

}  // namespace

std::string_view to_string(OutcomeAnswer::Standing standing) {
  switch (standing) {
    case OutcomeAnswer::Standing::kUnknown: return "unknown";
    case OutcomeAnswer::Standing::kQueued: return "queued";
    case OutcomeAnswer::Standing::kActive: return "active";
    case OutcomeAnswer::Standing::kCompleted: return "completed";
    case OutcomeAnswer::Standing::kFailed: return "failed";
  }
  return "";
}

std::string encode_context_question(const ContextQuestion& question) {
  wire::ContextQuestion out;
  std::visit(QuestionWriter{out}, question);
  return out.SerializeAsString();
}

std::string encode_context_answer(const ContextAnswer& answer) {
  wire::ContextAnswer out;
  std::visit(AnswerWriter{out}, answer);
  return out.SerializeAsString();
}

std::string encode_context_message(const ContextMessage& message) {
  wire::ContextMessage out;
  std::visit(MessageWriter{out}, message);
  return out.SerializeAsString();
}

Result<ContextQuestion> decode_context_question(std::string_view bytes) {
  constexpr const char* kWhat = "a question about contexts";
  wire::ContextQuestion in;
  if (bytes.size() > kQuestionMost) {
    return fail(Errc::kTooLarge,
                "a request has at most " + std::to_string(kMostPayloadBytes) + " bytes: pass on where the rest is");
  }
  if (!parse(in, bytes)) return fail(Errc::kProtocol, std::string(kWhat) + " that cannot be read");
  Reader reader;
  std::optional<ContextQuestion> out;
  if (in.has_submit()) {
    const auto& submit = in.submit();
    if (submit.priority() > UINT8_MAX) reader.wrong = "a priority above 255";
    out = Request{reader.id(submit.id()),
                  static_cast<uint8_t>(submit.priority()),
                  {submit.submitted_unix_ns()},
                  submit.payload()};
  } else if (in.has_outcome()) {
    out = AskOutcome{reader.id(in.outcome().id())};
  } else if (in.has_status()) {
    out = AskContextStatus{};
  } else if (in.has_transfer()) {
    out = AskTransfer{reader.text(in.transfer().target(), kMostNameBytes),
                      reader.text(in.transfer().by(), kMostTextBytes),
                      reader.text(in.transfer().reason(), kMostTextBytes)};
  } else if (in.has_generation()) {
    out = AskGeneration{in.generation().start(), reader.text(in.generation().by(), kMostTextBytes)};
  }
  return checked(reader, std::move(out), kWhat);
}

Result<ContextAnswer> decode_context_answer(std::string_view bytes) {
  constexpr const char* kWhat = "an answer about contexts";
  wire::ContextAnswer in;
  if (bytes.size() > kMessageMost || !parse(in, bytes)) {
    return fail(Errc::kProtocol, std::string(kWhat) + " that cannot be read");
  }
  Reader reader;
  std::optional<ContextAnswer> out;
  if (in.has_refused()) {
    out = reader.refused(in.refused());
  } else if (in.has_done()) {
    out = ContextDone{reader.text(in.done().text(), kMostWhyBytes)};
  } else if (in.has_outcome()) {
    out = reader.outcome(in.outcome());
  } else if (in.has_status()) {
    out = reader.view(in.status());
  }
  return checked(reader, std::move(out), kWhat);
}

Result<ContextMessage> decode_context_message(std::string_view bytes) {
  constexpr const char* kWhat = "a message of context leadership";
  wire::ContextMessage in;
  if (bytes.size() > kMessageMost || !parse(in, bytes)) {
    return fail(Errc::kProtocol, std::string(kWhat) + " that cannot be read");
  }
  Reader reader;
  std::optional<ContextMessage> out;
  if (in.has_offer()) {
    out = StateOffer{reader.transfer(in.offer().transfer()), reader.text(in.offer().state(), kMostStateBytes)};
  } else if (in.has_received()) {
    out = StateReceived{reader.transfer(in.received())};
  } else if (in.has_verdict()) {
    out = reader.verdict(in.verdict());
  } else if (in.has_withdrawn()) {
    out = OfferWithdrawn{reader.transfer(in.withdrawn())};
  } else if (in.has_started()) {
    out = GenerationBegun{in.started().epoch()};
  } else if (in.has_stopped()) {
    out = GenerationEnded{in.stopped().epoch(), reader.text(in.stopped().reason(), kMostWhyBytes)};
  }
  return checked(reader, std::move(out), kWhat);
}

}  // namespace bellwether::cluster
