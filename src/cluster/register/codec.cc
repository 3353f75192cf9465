#include "cluster/register/codec.h"

#include <algorithm>

#include "cluster/wire/identity.h"
#include "core/base/encoding.h"
#include "core/message/describe.h"

namespace bellwether::registers {
namespace {

constexpr std::size_t kMaxSmallBytes = kMaxValueBytes + 4096;
constexpr std::size_t kMaxLargeBytes = blobs::kPieceBytes + 64 * 1024;

std::string fit_why(std::string_view why) { return printable(why).substr(0, kMaxWhyBytes); }

std::string_view wrong_ask(const Ask& ask) {
  return ask.claim.fence == JobFence() || ask.claim.owner == quorum::kNobody ? "a claim without an owner" : "";
}
std::string_view wrong_record(const RegisterRecord& record) {
  return record.accepted.fence > record.promised.fence ? "a write newer than every promise" : "";
}
std::string_view wrong_set(const ReplicaSet& set) {
  if (set.names.empty()) return "no replicas";
  const auto ascends = [](const std::vector<std::string>& names) {
    return std::adjacent_find(names.begin(), names.end(), std::greater_equal<>()) == names.end();
  };
  return ascends(set.names) && ascends(set.next) ? "" : "names that are not in order";
}
std::string_view wrong_head(const blobs::BlobHead& head) {
  return head.pieces.size() == blobs::pieces_of(head.size) ? "" : "a number of chunks that does not match its size";
}

}  // namespace
}  // namespace bellwether::registers

namespace bellwether::message {

using namespace registers;  // NOLINT(google-build-using-namespace): the words of registers are this file's subject

namespace {

constexpr Rule kKindOrNone = or_empty(text(blobs::kMaxKindBytes, "kind of a blob", &blobs::is_blob_kind, "abz09-"));
constexpr Rule kKey = not_empty(text(kMaxKeyBytes));
constexpr Rule kValue = text(kMaxValueBytes);
constexpr Rule kKnownFence = at_most(UINT64_MAX / 2);  // so that a next one always exists
constexpr Rule kWhy = fitted(kMaxWhyBytes, &fit_why);
constexpr Rule kReplicas = list(kMaxReplicas, text(wire::kMaxName, "name of a node", &wire::is_name, "abz09-"));
constexpr Rule kPiece = at_most(static_cast<uint32_t>(blobs::kMaxPieces - 1));

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
constexpr auto kDescription<Prepare> = describe<Prepare>("a request to own a register");
template <>
constexpr auto kDescription<Accept> =
    describe<Accept>("a write of a register", field<&Accept::write>(1), field<&Accept::value>(2, kValue));
template <>
constexpr auto kDescription<Confirm> = describe<Confirm>("a confirmation of a register");
template <>
constexpr auto kDescription<Release> = describe<Release>("a release of a register", field<&Release::write>(1));
template <>
constexpr auto kDescription<Ask> = describe<Ask, &wrong_ask>(
    "a request about a register", field<&Ask::key>(1, kKey), field<&Ask::number>(2),
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
constexpr auto kDescription<Freed> = describe<Freed>("a free register", field<&Freed::key>(1, kKey));
template <>
constexpr auto kDescription<Unable> =
    describe<Unable>("a refusal of a register", field<&Unable::key>(1, kKey), field<&Unable::why>(2, kWhy));

template <>
constexpr auto kDescription<ReplicaSet> =
    describe<ReplicaSet, &wrong_set>("a set of replicas", field<&ReplicaSet::number>(1, at_most(UINT64_MAX / 2)),
                                     field<&ReplicaSet::names>(2, kReplicas), field<&ReplicaSet::next>(3, kReplicas))
        .within(kMaxSmallBytes, Errc::kInvalid);
template <>
constexpr auto kDescription<SetIs> = describe<SetIs>("news of the set of replicas", field<&SetIs::set>(1));

template <>
constexpr auto kDescription<registers::Message> =
    describe<registers::Message>("a message about registers", field<&registers::Message::names>(1, fixed()),
                                 alternative<Ask, &registers::Message::body>(2, "ask"),
                                 alternative<registers::Answer, &registers::Message::body>(3, "answer"),
                                 alternative<Freed, &registers::Message::body>(4, "freed"),
                                 alternative<Unable, &registers::Message::body>(5, "unable"),
                                 field<&registers::Message::set>(6),
                                 alternative<SetIs, &registers::Message::body>(7, "set"))
        .within(kMaxSmallBytes);

template <>
constexpr auto kDescription<RegisterRecord> =
    describe<RegisterRecord, &wrong_record>(
        "the record of a register", field<&RegisterRecord::key>(1, kKey), field<&RegisterRecord::promised>(2),
        field<&RegisterRecord::accepted>(3), field<&RegisterRecord::value>(4, kValue),
        field<&RegisterRecord::longest_lease>(5, at_most(kLongestJobLease)), field<&RegisterRecord::unsettled>(6))
        .within(kMaxSmallBytes, Errc::kInvalid);

// --- between replicas ------------------------------------------------------------------------------------------------

template <>
constexpr auto kDescription<ReadRecords> =
    describe<ReadRecords>("a request for records", field<&ReadRecords::after>(1, text(kMaxKeyBytes)));
template <>
constexpr auto kDescription<ReadSet> = describe<ReadSet>("a request for the set of replicas");
template <>
constexpr auto kDescription<registers::Request> =
    describe<registers::Request>("a request to a replica", field<&registers::Request::set>(1),
                                 field<&registers::Request::names>(2, fixed()),
                                 alternative<ReadRecords, &registers::Request::body>(3, "records"),
                                 alternative<ReadSet, &registers::Request::body>(4, "set"))
        .within(kMaxSmallBytes);

template <>
constexpr auto kDescription<Records> = describe<Records>(
    "records of a replica", field<&Records::records>(1, list(kMaxPageRecords)), field<&Records::more>(2));
template <>
constexpr auto kDescription<SetState> =
    describe<SetState>("the state of a replica", field<&SetState::set>(1), field<&SetState::read>(2));
template <>
constexpr auto kDescription<registers::Response> =
    describe<registers::Response>("an answer of a replica", field<&registers::Response::set>(1),
                                  alternative<Records, &registers::Response::body>(2, "records"),
                                  alternative<SetState, &registers::Response::body>(3, "state"),
                                  alternative<SetIs, &registers::Response::body>(4, "set"))
        .within(kMaxLargeBytes);

// --- large values ----------------------------------------------------------------------------------------------------

template <>
constexpr auto kDescription<blobs::BlobKey> = describe<blobs::BlobKey>(
    "the key of a blob", field<&blobs::BlobKey::job>(1, kKey),
    field<&blobs::BlobKey::kind>(2, text(blobs::kMaxKindBytes, "kind of a blob", &blobs::is_blob_kind, "abz09-")));
template <>
constexpr auto kDescription<blobs::Version> = describe<blobs::Version>(
    "the version of a blob", field<&blobs::Version::fence>(1, kKnownFence), field<&blobs::Version::number>(2));
template <>
constexpr auto kDescription<blobs::BlobHead> =
    describe<blobs::BlobHead, &wrong_head>("the head of a blob", field<&blobs::BlobHead::version>(1),
                                           field<&blobs::BlobHead::size>(2, at_most(uint64_t{blobs::kMaxBlobBytes})),
                                           field<&blobs::BlobHead::pieces>(3, list(blobs::kMaxPieces)));

template <>
constexpr auto kDescription<blobs::Look> =
    describe<blobs::Look>("a look at a blob", field<&blobs::Look::key>(1), field<&blobs::Look::fence>(2, kKnownFence));
template <>
constexpr auto kDescription<blobs::Offer> = describe<blobs::Offer>(
    "an offer of a blob", field<&blobs::Offer::key>(1), field<&blobs::Offer::head>(2), field<&blobs::Offer::again>(3));
template <>
constexpr auto kDescription<blobs::Piece> =
    describe<blobs::Piece>("a chunk of a blob", field<&blobs::Piece::key>(1), field<&blobs::Piece::version>(2),
                           field<&blobs::Piece::index>(3, kPiece), field<&blobs::Piece::again>(4),
                           field<&blobs::Piece::bytes>(5, text(blobs::kPieceBytes)));
template <>
constexpr auto kDescription<blobs::Fetch> =
    describe<blobs::Fetch>("a fetch of a chunk", field<&blobs::Fetch::key>(1), field<&blobs::Fetch::version>(2),
                           field<&blobs::Fetch::index>(3, kPiece));
template <>
constexpr auto kDescription<blobs::Drop> =
    describe<blobs::Drop>("a drop of blobs", field<&blobs::Drop::job>(1, kKey), field<&blobs::Drop::leftover>(2));

template <>
constexpr auto kDescription<blobs::List> = describe<blobs::List>(
    "a list of blobs", field<&blobs::List::job>(1, text(kMaxKeyBytes)), field<&blobs::List::kind>(2, kKindOrNone));

template <>
constexpr auto kDescription<blobs::Asked> =
    describe<blobs::Asked>("a request about blobs", field<&blobs::Asked::names>(1, fixed()),
                           alternative<blobs::Look, &blobs::Asked::question>(2, "look"),
                           alternative<blobs::Offer, &blobs::Asked::question>(3, "offer"),
                           alternative<blobs::Piece, &blobs::Asked::question>(4, "piece"),
                           alternative<blobs::Fetch, &blobs::Asked::question>(5, "fetch"),
                           alternative<blobs::Drop, &blobs::Asked::question>(6, "drop"), field<&blobs::Asked::set>(7),
                           alternative<blobs::List, &blobs::Asked::question>(8, "list"))
        .within(kMaxLargeBytes);

template <>
constexpr auto kDescription<blobs::Listed> = describe<blobs::Listed>(
    "a blob of a list", field<&blobs::Listed::job>(1, kKey), field<&blobs::Listed::kind>(2, kKindOrNone),
    field<&blobs::Listed::version>(3), field<&blobs::Listed::fence>(4, kKnownFence), field<&blobs::Listed::dropped>(5));
template <>
constexpr auto kDescription<blobs::Answer> =
    describe<blobs::Answer>(
        "an answer about blobs", field<&blobs::Answer::verdict>(1, one_of(blobs::kVerdicts, blobs::Verdict::kUnable)),
        field<&blobs::Answer::head>(2), field<&blobs::Answer::wanted>(3, list(blobs::kMaxPieces, kPiece)),
        field<&blobs::Answer::bytes>(4, text(blobs::kPieceBytes)), field<&blobs::Answer::fence>(5, kKnownFence),
        field<&blobs::Answer::why>(6, kWhy), field<&blobs::Answer::listed>(7, list(blobs::kMaxListed)),
        field<&blobs::Answer::more>(8), field<&blobs::Answer::set>(9))
        .within(kMaxLargeBytes);

template <>
constexpr auto kDescription<blobs::BlobRecord> =
    describe<blobs::BlobRecord>("the record of a blob", field<&blobs::BlobRecord::key>(1),
                                field<&blobs::BlobRecord::head>(2), field<&blobs::BlobRecord::slot>(3, fixed()))
        .within(kMaxLargeBytes, Errc::kInvalid);

template const Message& message_of<registers::Message>();
template const Message& message_of<registers::Request>();
template const Message& message_of<registers::Response>();
template const Message& message_of<ReplicaSet>();
template const Message& message_of<RegisterRecord>();
template const Message& message_of<blobs::Asked>();
template const Message& message_of<blobs::Answer>();
template const Message& message_of<blobs::BlobRecord>();

}  // namespace bellwether::message
