#include "cluster/register/codec.h"

#include "core/base/encoding.h"
#include "core/message/describe.h"

namespace bellwether::registers {
namespace {

constexpr std::size_t kMostSmallBytes = kMostValueBytes + 4096;
constexpr std::size_t kMostLargeBytes = copies::kPieceBytes + 64 * 1024;

std::string fit_why(std::string_view why) { return printable(why).substr(0, kMostWhyBytes); }

std::string_view wrong_ask(const Ask& ask) {
  return ask.claim.fence == JobFence() || ask.claim.owner == quorum::kNobody ? "a claim of nobody" : "";
}
std::string_view wrong_record(const JobRecord& record) {
  return record.accepted.fence > record.promised.fence ? "a write that is newer than every promise" : "";
}
std::string_view wrong_head(const copies::CopyHead& head) {
  return head.pieces.size() == copies::pieces_of(head.size) ? "" : "another number of pieces than its size has";
}

}  // namespace
}  // namespace bellwether::registers

namespace bellwether::message {

using namespace registers;  // NOLINT(google-build-using-namespace): the words of registers are this file's subject

namespace {

constexpr Rule kKey = not_empty(text(kMostKeyBytes));
constexpr Rule kValue = text(kMostValueBytes);
constexpr Rule kKnownFence = at_most(UINT64_MAX / 2);  // so that a next one always exists
constexpr Rule kWhy = fitted(kMostWhyBytes, &fit_why);
constexpr Rule kPiece = at_most(static_cast<uint32_t>(copies::kMostPieces - 1));

}  // namespace

// --- small values ----------------------------------------------------------------------------------------------------

template <>
constexpr auto kDescription<Claim> =
    describe<Claim>("a claim of a register", field<&Claim::fence>(1, kKnownFence), field<&Claim::owner>(2, fixed()),
                    field<&Claim::nonce>(3, fixed()));
template <>
constexpr auto kDescription<Place> =
    describe<Place>("the place of a write", field<&Place::fence>(1, kKnownFence), field<&Place::write>(2));

template <>
constexpr auto kDescription<Prepare> = describe<Prepare>("a wish to own a register");
template <>
constexpr auto kDescription<Accept> =
    describe<Accept>("a write of a register", field<&Accept::write>(1), field<&Accept::value>(2, kValue));
template <>
constexpr auto kDescription<Confirm> = describe<Confirm>("a confirmation of a register");
template <>
constexpr auto kDescription<Release> = describe<Release>("a release of a register", field<&Release::write>(1));
template <>
constexpr auto kDescription<Ask> = describe<Ask, &wrong_ask>(
    "a question about a register", field<&Ask::key>(1, kKey), field<&Ask::number>(2),
    field<&Ask::lease>(3, between(Duration::nanos(1), kLongestJobLease)), field<&Ask::claim>(4),
    alternative<Prepare, &Ask::body>(5, "prepare"), alternative<Accept, &Ask::body>(6, "accept"),
    alternative<Confirm, &Ask::body>(7, "confirm"), alternative<Release, &Ask::body>(8, "release"));

// A replica counts from its own clock, which may run fast: a little more than the longest lease is possible. A refusal
// of a newer version is one all the same.
template <>
constexpr auto kDescription<registers::Answer> = describe<registers::Answer>(
    "an answer about a register", field<&registers::Answer::key>(1, kKey), field<&registers::Answer::number>(2),
    field<&registers::Answer::verdict>(3, one_of(registers::kVerdicts, registers::Verdict::kUnable)),
    field<&registers::Answer::promised>(4), field<&registers::Answer::again_after>(5, at_most(kLongestJobLease * 2)),
    field<&registers::Answer::accepted>(6), field<&registers::Answer::value>(7, kValue));
template <>
constexpr auto kDescription<Freed> = describe<Freed>("a register that is free", field<&Freed::key>(1, kKey));
template <>
constexpr auto kDescription<Unable> =
    describe<Unable>("a refusal of a register", field<&Unable::key>(1, kKey), field<&Unable::why>(2, kWhy));

template <>
constexpr auto kDescription<registers::Message> =
    describe<registers::Message>("a message about registers", field<&registers::Message::peers>(1, fixed()),
                                 alternative<Ask, &registers::Message::body>(2, "ask"),
                                 alternative<registers::Answer, &registers::Message::body>(3, "answer"),
                                 alternative<Freed, &registers::Message::body>(4, "freed"),
                                 alternative<Unable, &registers::Message::body>(5, "unable"))
        .within(kMostSmallBytes);

template <>
constexpr auto kDescription<JobRecord> =
    describe<JobRecord, &wrong_record>(
        "the record of a register", field<&JobRecord::key>(1, kKey), field<&JobRecord::promised>(2),
        field<&JobRecord::accepted>(3), field<&JobRecord::value>(4, kValue),
        field<&JobRecord::longest_lease>(5, at_most(kLongestJobLease)), field<&JobRecord::unsettled>(6))
        .within(kMostSmallBytes, Errc::kInvalid);

// --- large values ----------------------------------------------------------------------------------------------------

template <>
constexpr auto kDescription<copies::CopyKey> = describe<copies::CopyKey>(
    "the key of a copy", field<&copies::CopyKey::job>(1, kKey),
    field<&copies::CopyKey::kind>(2, text(copies::kMostKindBytes, "kind of a copy", &copies::is_copy_kind, "abz09-")));
template <>
constexpr auto kDescription<copies::Version> = describe<copies::Version>(
    "the version of a copy", field<&copies::Version::fence>(1, kKnownFence), field<&copies::Version::number>(2));
template <>
constexpr auto kDescription<copies::CopyHead> = describe<copies::CopyHead, &wrong_head>(
    "the head of a copy", field<&copies::CopyHead::version>(1),
    field<&copies::CopyHead::size>(2, at_most(uint64_t{copies::kMostCopyBytes})),
    field<&copies::CopyHead::pieces>(3, list(copies::kMostPieces)));

template <>
constexpr auto kDescription<copies::Look> = describe<copies::Look>("a look at a copy", field<&copies::Look::key>(1),
                                                                   field<&copies::Look::fence>(2, kKnownFence));
template <>
constexpr auto kDescription<copies::Offer> =
    describe<copies::Offer>("an offer of a copy", field<&copies::Offer::key>(1), field<&copies::Offer::head>(2),
                            field<&copies::Offer::again>(3));
template <>
constexpr auto kDescription<copies::Piece> =
    describe<copies::Piece>("a piece of a copy", field<&copies::Piece::key>(1), field<&copies::Piece::version>(2),
                            field<&copies::Piece::index>(3, kPiece), field<&copies::Piece::again>(4),
                            field<&copies::Piece::bytes>(5, text(copies::kPieceBytes)));
template <>
constexpr auto kDescription<copies::Fetch> =
    describe<copies::Fetch>("a fetch of a piece", field<&copies::Fetch::key>(1), field<&copies::Fetch::version>(2),
                            field<&copies::Fetch::index>(3, kPiece));
template <>
constexpr auto kDescription<copies::Drop> =
    describe<copies::Drop>("a drop of copies", field<&copies::Drop::job>(1, kKey), field<&copies::Drop::leftover>(2));

template <>
constexpr auto kDescription<copies::Asked> =
    describe<copies::Asked>("a question about copies", field<&copies::Asked::peers>(1, fixed()),
                            alternative<copies::Look, &copies::Asked::question>(2, "look"),
                            alternative<copies::Offer, &copies::Asked::question>(3, "offer"),
                            alternative<copies::Piece, &copies::Asked::question>(4, "piece"),
                            alternative<copies::Fetch, &copies::Asked::question>(5, "fetch"),
                            alternative<copies::Drop, &copies::Asked::question>(6, "drop"))
        .within(kMostLargeBytes);

template <>
constexpr auto kDescription<copies::Answer> =
    describe<copies::Answer>("an answer about copies",
                             field<&copies::Answer::verdict>(1, one_of(copies::kVerdicts, copies::Verdict::kUnable)),
                             field<&copies::Answer::head>(2),
                             field<&copies::Answer::wanted>(3, list(copies::kMostPieces, kPiece)),
                             field<&copies::Answer::bytes>(4, text(copies::kPieceBytes)),
                             field<&copies::Answer::fence>(5, kKnownFence), field<&copies::Answer::why>(6, kWhy))
        .within(kMostLargeBytes);

template <>
constexpr auto kDescription<copies::CopyRecord> =
    describe<copies::CopyRecord>("the record of a copy", field<&copies::CopyRecord::key>(1),
                                 field<&copies::CopyRecord::head>(2), field<&copies::CopyRecord::slot>(3, fixed()))
        .within(kMostLargeBytes, Errc::kInvalid);

template <>
const Message& message_of<registers::Message>() {
  return described<registers::Message>();
}
template <>
const Message& message_of<JobRecord>() {
  return described<JobRecord>();
}
template <>
const Message& message_of<copies::Asked>() {
  return described<copies::Asked>();
}
template <>
const Message& message_of<copies::Answer>() {
  return described<copies::Answer>();
}
template <>
const Message& message_of<copies::CopyRecord>() {
  return described<copies::CopyRecord>();
}

}  // namespace bellwether::message
