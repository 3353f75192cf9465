#include "lead/context_driver/context_codec.h"

#include "core/base/enum_names.h"
#include "core/base/prng.h"
#include "core/message/describe.h"

// An id travels as 16 bytes, the high half first, and is never all zero.
namespace bellwether::context_lead {

static std::string wire_bytes(RequestId id) {
  std::string out;
  for (const uint64_t half : {id.high, id.low}) {
    for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(half >> shift));
  }
  return out;
}
static bool from_wire_bytes(std::string_view bytes, RequestId& to) {
  to = {};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    uint64_t& half = i < bytes.size() / 2 ? to.high : to.low;
    half = half << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return bytes.empty() || bytes.size() == 16;
}
static bool is_good_value(RequestId id) { return id != RequestId{}; }
static void draw_value(Prng& prng, RequestId& to) { to = {prng.next() | 1, prng.next()}; }

}  // namespace bellwether::context_lead

namespace bellwether::message {

using namespace cluster;       // NOLINT(google-build-using-namespace): each line of this file is made of these
using namespace context_lead;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kMaxQuestion = kMaxPayloadBytes + 4096;
constexpr std::size_t kMaxMessage = kMaxStateBytes + 64 * 1024;
constexpr Rule kId = text(16, "id of a request");
constexpr Rule kName = text(kMaxNameBytes);
constexpr Rule kBy = text(kMaxTextBytes);
constexpr Rule kWhy = cut(kMaxWhyBytes);
constexpr Rule kSpan = at_most(Duration::max());
constexpr Rule kRatio = between(0.0, 1.0);
constexpr Rule kError = between(static_cast<unsigned>(Errc::kInvalid), static_cast<unsigned>(Errc::kUnsupported));

}  // namespace

// --- asked of a node -------------------------------------------------------------------------------------------------

template <>
constexpr auto kDescription<Request> =
    describe<Request>("a request", field<&Request::id>(1, kId), field<&Request::priority>(2),
                      field<&Request::submitted_at>(3), field<&Request::payload>(4, text(kMaxQuestion)));

template <>
constexpr auto kDescription<AskOutcome> =
    describe<AskOutcome>("a request for an outcome", field<&AskOutcome::id>(1, kId));

template <>
constexpr auto kDescription<AskContextStatus> = describe<AskContextStatus>("a request for the status");

template <>
constexpr auto kDescription<AskTransfer> =
    describe<AskTransfer>("a transfer", field<&AskTransfer::target>(1, kName), field<&AskTransfer::by>(2, kBy),
                          field<&AskTransfer::reason>(3, kBy));

template <>
constexpr auto kDescription<AskGeneration> =
    describe<AskGeneration>("a start or stop", field<&AskGeneration::start>(1), field<&AskGeneration::by>(2, kBy));

template <>
constexpr auto kDescription<ContextQuestion> =
    describe<ContextQuestion>("a request about contexts", alternative<Request, ContextQuestion>(1, "submit"),
                              alternative<AskOutcome, ContextQuestion>(2, "outcome"),
                              alternative<AskContextStatus, ContextQuestion>(3, "status"),
                              alternative<AskTransfer, ContextQuestion>(4, "transfer"),
                              alternative<AskGeneration, ContextQuestion>(5, "generation"))
        .within(kMaxQuestion);

// --- answered --------------------------------------------------------------------------------------------------------

template <>
constexpr auto kDescription<ContextRefused> =
    describe<ContextRefused>("a refusal", field<&ContextRefused::code>(1, kError), field<&ContextRefused::why>(2, kWhy),
                             field<&ContextRefused::leader>(3, kName));

template <>
constexpr auto kDescription<ContextDone> = describe<ContextDone>("a confirmation", field<&ContextDone::text>(1, kWhy));

template <>
constexpr auto kDescription<OutcomeAnswer> = describe<OutcomeAnswer>(
    "an outcome",
    field<&OutcomeAnswer::state>(1, at_most(static_cast<unsigned>(OutcomeAnswer::State::kFailed))).as("state"),
    field<&OutcomeAnswer::attempts>(2).as("attempt"), field<&OutcomeAnswer::epoch>(3),
    field<&OutcomeAnswer::reason>(4, kWhy), field<&OutcomeAnswer::result>(5, text(kMaxResultBytes)),
    field<&OutcomeAnswer::result_gone>(6));

template <>
constexpr auto kDescription<ContextView::Node> = describe<ContextView::Node>(
    "a node", field<&ContextView::Node::name>(1, kName), field<&ContextView::Node::health>(2, kRatio));

template <>
constexpr auto kDescription<ContextView::Step> = describe<ContextView::Step>(
    "a step", field<&ContextView::Step::text>(1, kWhy).as("step"), field<&ContextView::Step::at>(2));

template <>
constexpr auto kDescription<ContextView::Failover> = describe<ContextView::Failover>(
    "a failover", field<&ContextView::Failover::from>(1, kName), field<&ContextView::Failover::to>(2, kName),
    field<&ContextView::Failover::took>(3, kSpan), field<&ContextView::Failover::ok>(4),
    field<&ContextView::Failover::why>(5, kWhy), field<&ContextView::Failover::steps>(6, list(64)));

template <>
constexpr auto kDescription<ContextView::Job> =
    describe<ContextView::Job>("a job", field<&ContextView::Job::id>(1, kId), field<&ContextView::Job::attempt>(2),
                               field<&ContextView::Job::runs_for>(3, kSpan));

template <>
constexpr auto kDescription<ContextFitness> = describe<ContextFitness>(
    "a fitness", field<&ContextFitness::score>(1, kRatio), field<&ContextFitness::disqualified>(2, list(64, kWhy)),
    field<&ContextFitness::lacks_preferred>(3, list(64, kName)));

template <>
constexpr auto kDescription<ContextView> = describe<ContextView>(
    "a status of contexts", field<&ContextView::answered_by>(1, kName), field<&ContextView::leader>(2, kName),
    field<&ContextView::epoch>(3), field<&ContextView::terms>(4), field<&ContextView::duty>(5, kName).as("state"),
    field<&ContextView::why>(6, kWhy), field<&ContextView::manager>(7, kBy), field<&ContextView::queued>(8),
    field<&ContextView::active>(9), field<&ContextView::completed>(10), field<&ContextView::failed>(11),
    field<&ContextView::oldest_waiting>(12, kSpan), field<&ContextView::leads_for>(13, kSpan),
    field<&ContextView::health>(14, kRatio), field<&ContextView::nodes>(15, list(1'000)),
    field<&ContextView::failover>(16).as("last_failover"), field<&ContextView::jobs>(17, list(kMaxRequests)),
    field<&ContextView::fitness>(18), field<&ContextView::failovers>(19), field<&ContextView::checked>(20));

template <>
constexpr auto kDescription<ContextAnswer> =
    describe<ContextAnswer>("an answer about contexts", alternative<ContextRefused, ContextAnswer>(1, "refused"),
                            alternative<ContextDone, ContextAnswer>(2, "done"),
                            alternative<OutcomeAnswer, ContextAnswer>(3, "outcome"),
                            alternative<ContextView, ContextAnswer>(4, "status"))
        .within(kMaxMessage);

// --- between nodes ---------------------------------------------------------------------------------------------------

template <>
constexpr auto kDescription<TransferId> =
    describe<TransferId>("a transfer", field<&TransferId::epoch>(1), field<&TransferId::number>(2));

template <>
constexpr auto kDescription<StateIssue> = describe<StateIssue>(
    "the dropped parts of a state", field<&StateIssue::field>(1, between(1U, static_cast<unsigned>(StateField::kForm))),
    field<&StateIssue::text>(2, kWhy));

template <>
constexpr auto kDescription<StateOffer> = describe<StateOffer>("an offer of a state", field<&StateOffer::id>(1),
                                                               field<&StateOffer::state>(2, text(kMaxStateBytes)));

// The id itself is the message.
template <>
constexpr auto kDescription<StateReceived> =
    describe<StateReceived>("a receipt of a state", field<&StateReceived::id, &TransferId::epoch>(1),
                            field<&StateReceived::id, &TransferId::number>(2));

template <>
constexpr auto kDescription<StateVerdict> =
    describe<StateVerdict>("a verdict on a state", field<&StateVerdict::id>(1), field<&StateVerdict::accepted>(2),
                           field<&StateVerdict::why>(3, kWhy), field<&StateVerdict::dropped>(4, list(64)));

template <>
constexpr auto kDescription<OfferWithdrawn> =
    describe<OfferWithdrawn>("the end of an offer", field<&OfferWithdrawn::id, &TransferId::epoch>(1),
                             field<&OfferWithdrawn::id, &TransferId::number>(2));

template <>
constexpr auto kDescription<GenerationBegun> =
    describe<GenerationBegun>("the start of generation", field<&GenerationBegun::epoch>(1));

template <>
constexpr auto kDescription<GenerationEnded> = describe<GenerationEnded>(
    "the end of generation", field<&GenerationEnded::epoch>(1), field<&GenerationEnded::reason>(2, kWhy));

template <>
constexpr auto kDescription<ContextMessage> =
    describe<ContextMessage>("a message of context leadership", alternative<StateOffer, ContextMessage>(1, "offer"),
                             alternative<StateReceived, ContextMessage>(2, "received"),
                             alternative<StateVerdict, ContextMessage>(3, "verdict"),
                             alternative<OfferWithdrawn, ContextMessage>(4, "withdrawn"),
                             alternative<GenerationBegun, ContextMessage>(5, "started"),
                             alternative<GenerationEnded, ContextMessage>(6, "stopped"))
        .within(kMaxMessage);

template const Message& message_of<ContextQuestion>();
template const Message& message_of<ContextAnswer>();
template const Message& message_of<ContextMessage>();

}  // namespace bellwether::message

namespace bellwether::cluster {

std::string_view to_string(OutcomeAnswer::State state) {
  return EnumNames<OutcomeAnswer::State>("unknown", "queued", "active", "completed", "failed")[state];
}

Result<ContextQuestion> decode_context_question(std::string_view bytes) {
  auto question = message::decode<ContextQuestion>(bytes);
  if (!question && question.error().code == Errc::kTooLarge) {
    return fail(Errc::kTooLarge, "a request may have at most {} bytes: send the location of larger data instead",
                context_lead::kMaxPayloadBytes);
  }
  return question;
}

}  // namespace bellwether::cluster
