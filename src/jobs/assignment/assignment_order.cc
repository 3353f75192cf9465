#include "jobs/assignment/assignment_order.h"

#include "jobs/dispatch/codec/parts.h"
#include "load/codec/window_codec.h"

namespace bellwether::node {
namespace {

static_assert(kMaxAssignmentFrame > ingest::kMaxWindowBytes && kMaxAssignmentFrame > kMaxBundleBytes);

std::string_view wrong_parts(const ChildOrder& order) {
  return order.count <= order.of && order.first <= order.of - order.count ? "" : "impossible parts";
}

}  // namespace
}  // namespace bellwether::node

namespace bellwether::message {

using namespace node;  // the messages of this room are this file's subject

namespace {

constexpr uint32_t kPartsOfAll = 1 << 16;
constexpr int kProcessors = 1 << 16;
// Far beyond any run, and far from overflow in sums.
constexpr Rule kLength = at_most(Duration::nanos(int64_t{1} << 61));
constexpr Rule kFigure = at_most(ingest::kMaxCount);
constexpr Rule kToldText = cut(kMaxAssignmentText);

}  // namespace

// --- to the child ----------------------------------------------------------------------------------------------------

template <>
constexpr auto kDescription<ChildFile> = describe<ChildFile>("a data file", field<&ChildFile::sha256>(1, text(64, 1)),
                                                             field<&ChildFile::path>(2, text(kMaxAssignmentText, 1)));

template <>
constexpr auto kDescription<ChildOrder> = describe<ChildOrder, &wrong_parts>(
    "an order of an assignment", field<&ChildOrder::bundle>(1, text(node::kMaxBundleBytes)),
    field<&ChildOrder::workflow>(2), field<&ChildOrder::first>(3),
    field<&ChildOrder::count>(4, between(std::size_t{1}, kMaxAssignmentThreads)),
    field<&ChildOrder::of>(5, between(1U, kPartsOfAll)),
    field<&ChildOrder::cpus>(6, list(kMaxAssignmentThreads, between(0, kProcessors - 1))), field<&ChildOrder::seed>(7),
    field<&ChildOrder::given>(8, list(plan::kMaxProvided)), field<&ChildOrder::trusted>(9, list(signature::kMaxKeys)),
    field<&ChildOrder::iterations>(10), field<&ChildOrder::vus>(11),
    field<&ChildOrder::files>(12, list(kMaxChildFiles)));

template <>
constexpr auto kDescription<ChildBegin> =
    describe<ChildBegin>("a start message of an assignment", field<&ChildBegin::start>(1, kLength),
                         field<&ChildBegin::resume_at>(2, kLength), field<&ChildBegin::rows, &plan::RowPoint::rows>(3),
                         field<&ChildBegin::rows, &plan::RowPoint::at>(4, kLength));

template <>
constexpr auto kDescription<ChildStop> =
    describe<ChildStop>("a stop message of an assignment", field<&ChildStop::graceful>(1));

template <>
constexpr auto kDescription<ChildHandOver> =
    describe<ChildHandOver>("a hand-over message of an assignment", field<&ChildHandOver::at>(1, kLength));

template <>
constexpr auto kDescription<ChildSave> = describe<ChildSave>("a request for results");

template <>
constexpr auto kDescription<ChildScale> = describe<ChildScale>("a number of users", field<&ChildScale::vus>(1));

template <>
constexpr auto kDescription<ChildApplied> =
    describe<ChildApplied>("what the owner of an assignment has", field<&ChildApplied::seconds>(1, kFigure));

template <>
constexpr auto kDescription<ToChild> =
    describe<ToChild>("a message to an assignment", alternative<ChildOrder, ToChild>(1, "order"),
                      alternative<ChildBegin, ToChild>(2, "begin"), alternative<ChildStop, ToChild>(3, "stop"),
                      alternative<ChildHandOver, ToChild>(4, "hand_over"), alternative<ChildSave, ToChild>(5, "save"),
                      alternative<ChildScale, ToChild>(6, "scale"), alternative<ChildApplied, ToChild>(7, "applied"))
        .within(kMaxAssignmentFrame);

// --- from the child --------------------------------------------------------------------------------------------------

template <>
constexpr auto kDescription<ChildPrepared> = describe<ChildPrepared>(
    "the outcome of an order", field<&ChildPrepared::code>(1, at_most(static_cast<unsigned>(Errc::kUnsupported))),
    field<&ChildPrepared::error>(2, kToldText));

template <>
constexpr auto kDescription<ChildSecond> =
    describe<ChildSecond>("a second of an assignment", field<&ChildSecond::second>(1, kFigure),
                          field<&ChildSecond::covered>(2, between(Duration::nanos(1), Duration::seconds(1))),
                          field<&ChildSecond::window>(3, text(kMaxAssignmentFrame)));

template <>
constexpr auto kDescription<ChildCounters> = describe<ChildCounters>(
    "counters of an assignment", field<&ChildCounters::tally, &vuser::Tally::requests>(1),
    field<&ChildCounters::tally, &vuser::Tally::failed>(2), field<&ChildCounters::tally, &vuser::Tally::iterations>(3),
    field<&ChildCounters::tally, &vuser::Tally::dropped>(4), field<&ChildCounters::tally, &vuser::Tally::vus_active>(5),
    field<&ChildCounters::loops>(6, at_most(kMaxAssignmentThreads)),
    field<&ChildCounters::headway, &vuser::Headway::turned>(7, kFigure),
    field<&ChildCounters::headway, &vuser::Headway::could_begin>(8, kFigure),
    field<&ChildCounters::headway, &vuser::Headway::begun>(9, kFigure),
    field<&ChildCounters::headway, &vuser::Headway::due>(10, kFigure),
    field<&ChildCounters::headway, &vuser::Headway::served>(11, kFigure));

template <>
constexpr auto kDescription<ChildEnded> = describe<ChildEnded>(
    "the end of an assignment", field<&ChildEnded::how>(1, at_most(static_cast<unsigned>(ChildEnded::How::kFenced))),
    field<&ChildEnded::step>(2, kToldText), field<&ChildEnded::elapsed>(3, kLength),
    field<&ChildEnded::provided>(4, list(plan::kMaxTold)),
    field<&ChildEnded::notes>(5, list(dispatch::kMaxNotes, kToldText)),
    field<&ChildEnded::findings>(6, list(plan::kMaxFindings)));

template <>
constexpr auto kDescription<FromChild> =
    describe<FromChild>("a message of an assignment", alternative<ChildPrepared, FromChild>(1, "prepared"),
                        alternative<ChildSecond, FromChild>(2, "second"),
                        alternative<ChildCounters, FromChild>(3, "counters"),
                        alternative<ChildEnded, FromChild>(4, "ended"))
        .within(kMaxAssignmentFrame);

template const Message& message_of<ToChild>();
template const Message& message_of<FromChild>();

}  // namespace bellwether::message

namespace bellwether::node {

std::string encode(const ToChild& message) { return message::encode(message); }
std::string encode(const FromChild& message) { return message::encode(message); }
Result<ToChild> decode_to_child(std::string_view bytes) { return message::decode<ToChild>(bytes); }
Result<FromChild> decode_from_child(std::string_view bytes) { return message::decode<FromChild>(bytes); }

}  // namespace bellwether::node
