#include "cluster/vote/vote_codec.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cluster/wire/crypto.h"
#include "cluster/wire/identity.h"
#include "core/base/encoding.h"
#include "core/base/enum_names.h"
#include "core/message/describe.h"
#include "core/secret/key_codec.h"
#include "election/vote/vote_timing.h"

namespace bellwether::message {

using namespace vote;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject

namespace {

constexpr std::size_t kMaxVoteBytes = 8192;
// Beyond the reach of elections, and far from an overflow of the next term.
constexpr Rule kTerm = at_most(uint64_t{1} << 48);
constexpr Rule kLongExperience = at_most(kLongestExperience);

}  // namespace

template <>
constexpr auto kDescription<Claim> = describe<Claim>(
    "a claim", field<&Claim::capabilities>(1, list(kMaxCapabilities, text(kMaxCapabilityBytes, 1))),
    field<&Claim::uptime>(2, kLongExperience), field<&Claim::experience>(3, kLongExperience),
    field<&Claim::resources, &Resources::cpu_used>(4), field<&Claim::resources, &Resources::memory_used>(5),
    field<&Claim::resources, &Resources::disk_used>(6), field<&Claim::resources, &Resources::network_quality>(7),
    field<&Claim::score>(8), field<&Claim::attestation>(9, text(kMaxAttestationBytes)), field<&Claim::fitness>(10));

template <>
constexpr auto kDescription<Permission> =
    describe<Permission>("a permission", field<&Permission::term>(1, kTerm), field<&Permission::heir>(2, fixed()));

template <>
constexpr auto kDescription<DiscoveryRequest> = describe<DiscoveryRequest>("a request for the admin");

template <>
constexpr auto kDescription<DiscoveryResponse> = describe<DiscoveryResponse>(
    "an answer about the admin", field<&DiscoveryResponse::admin>(1, fixed()),
    field<&DiscoveryResponse::admin_term>(2, kTerm), field<&DiscoveryResponse::start_seen>(3),
    field<&DiscoveryResponse::mark_seen>(4, fixed()));

template <>
constexpr auto kDescription<ElectionStarted> = describe<ElectionStarted>(
    "the start of an election", field<&ElectionStarted::term>(1, kTerm),
    field<&ElectionStarted::trigger>(2, one_of(kTriggers)), field<&ElectionStarted::permission>(3));

// Without a claim it takes part, and does not stand.
template <>
constexpr auto kDescription<Candidacy> = describe<Candidacy>("a candidacy", field<&Candidacy::term>(1, kTerm),
                                                             field_if<&Candidacy::stands, &Candidacy::claim>(2));

template <>
constexpr auto kDescription<Vote> =
    describe<Vote>("a vote", field<&Vote::term>(1, kTerm), field<&Vote::candidate>(2, fixed()));

template <>
constexpr auto kDescription<Winner> =
    describe<Winner>("a victory", field<&Winner::term>(1, kTerm), field<&Winner::round>(2),
                     field<&Winner::voters>(3, list(kMaxNodes, fixed())));

template <>
constexpr auto kDescription<Heartbeat> =
    describe<Heartbeat>("a heartbeat", field<&Heartbeat::term>(1, kTerm), field<&Heartbeat::round>(2));

template <>
constexpr auto kDescription<HeartbeatAnswer> = describe<HeartbeatAnswer>(
    "an answer to a heartbeat", field<&HeartbeatAnswer::term>(1, kTerm), field<&HeartbeatAnswer::round>(2),
    field<&HeartbeatAnswer::admin_mark>(3, fixed()), field<&HeartbeatAnswer::stands>(4),
    field<&HeartbeatAnswer::score>(5), field<&HeartbeatAnswer::promise>(6));

template <>
constexpr auto kDescription<vote::Message> =
    describe<vote::Message>("a message of the vote", field<&vote::Message::from>(1, fixed(kSome)),
                            field<&vote::Message::start>(2, kSome), field<&vote::Message::mark>(3, fixed(kSome)),
                            field<&vote::Message::sequence>(4, kSome), field<&vote::Message::term>(5, kTerm),
                            alternative<DiscoveryRequest, &vote::Message::body>(6, "discovery_request"),
                            alternative<DiscoveryResponse, &vote::Message::body>(7, "discovery_response"),
                            alternative<ElectionStarted, &vote::Message::body>(8, "election_started"),
                            alternative<Candidacy, &vote::Message::body>(9, "candidacy"),
                            alternative<Vote, &vote::Message::body>(10, "vote"),
                            alternative<Winner, &vote::Message::body>(11, "winner"),
                            alternative<Heartbeat, &vote::Message::body>(12, "heartbeat"),
                            alternative<HeartbeatAnswer, &vote::Message::body>(13, "heartbeat_answer"))
        .within(kMaxVoteBytes);

template <>
constexpr auto kDescription<Record> =
    describe<Record>("a record of votes", field<&Record::version>(1, kSome), field<&Record::start>(2, kSome),
                     field<&Record::term>(3, kTerm), field<&Record::vote>(4, fixed()),
                     field<&Record::promised>(5, kTerm),
                     // With room for the drift of clocks.
                     field<&Record::longest_promise>(6, at_most(kLongestHeartbeatTimeout * 2)), field<&Record::lost>(7),
                     field<&Record::promised_mark>(8, fixed()))
        .within(kMaxVoteBytes, Errc::kInvalid);

template const Message& message_of<vote::Message>();
template const Message& message_of<vote::Record>();

}  // namespace bellwether::message

namespace bellwether::cluster {

std::string_view to_string(KeyProgress::Stage stage) {
  return EnumNames<KeyProgress::Stage>("collecting", "ready", "failed")[stage];
}

}  // namespace bellwether::cluster

namespace bellwether::message {

using namespace cluster;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject

namespace {

constexpr Rule kKeyTerm = at_most(uint64_t{1} << 48);  // beyond what elections can reach
constexpr Rule kShares = at_most(secret::kMaxKeyShares);
constexpr Rule kName = text(wire::kMaxName, "name", &wire::is_name, "aZ0._-");
constexpr Rule kSealed = text(secret::kMaxKeyShareBytes + wire::kTagBytes, wire::kTagBytes + 1);

std::string_view keyless(const KeyShareAnswer& of) { return of.key == BoxPublicKey{} ? "no key" : ""; }

}  // namespace

template <>
constexpr auto kDescription<KeyRefusal> = describe<KeyRefusal>(
    "a refusal of a key share", field<&KeyRefusal::from>(1, kName), field<&KeyRefusal::why>(2, cut(256)));

template <>
constexpr auto kDescription<KeyShareRequest> = describe<KeyShareRequest>(
    "a request for key shares", field<&KeyShareRequest::term>(1, kKeyTerm), field<&KeyShareRequest::key>(2),
    field<&KeyShareRequest::progress, &KeyProgress::held>(3, kShares),
    field<&KeyShareRequest::progress, &KeyProgress::needed>(4, kShares),
    field<&KeyShareRequest::progress, &KeyProgress::stage>(5, one_of(3)),
    field<&KeyShareRequest::progress, &KeyProgress::refused>(6, list(kMaxRefusedTold)));

template <>
constexpr auto kDescription<KeyShareAnswer> =
    describe<KeyShareAnswer, &keyless>("a sealed key share", field<&KeyShareAnswer::term>(1, kKeyTerm),
                                       field<&KeyShareAnswer::key>(2), field<&KeyShareAnswer::sealed>(3, kSealed));

template <>
constexpr auto kDescription<KeyShareMessage> =
    describe<KeyShareMessage>("a message about key shares", alternative<KeyShareRequest, KeyShareMessage>(1, "request"),
                              alternative<KeyShareAnswer, KeyShareMessage>(2, "answer"))
        .within(16'384);

template const Message& message_of<KeyShareMessage>();

}  // namespace bellwether::message

namespace bellwether::cluster {
namespace {

constexpr std::size_t kMaxSealed = 16384;
constexpr std::size_t kMaxSealedContext = std::size_t{4} << 20;  // the state of a leader with its requests

struct Sealed {
  std::string message;
  std::array<unsigned char, 64> signature{};
};

std::string_view name_of(VoteSeal::About about) {
  return EnumNames<VoteSeal::About>("bellwether-vote-1\n", "bellwether-key-share-1\n", "bellwether-context-1\n")[about];
}

}  // namespace
}  // namespace bellwether::cluster

template <>
constexpr auto bellwether::message::kDescription<bellwether::cluster::Sealed> =
    bellwether::message::describe<bellwether::cluster::Sealed>(
        "a signed message",
        bellwether::message::field<&bellwether::cluster::Sealed::message>(
            1, bellwether::message::text(bellwether::cluster::kMaxSealedContext)),
        bellwether::message::field<&bellwether::cluster::Sealed::signature>(2))
        .within(bellwether::cluster::kMaxSealedContext);

namespace bellwether::cluster {

VoteSeal::VoteSeal(std::string group, signature::SigningKey own, std::map<std::string, signature::PublicKey> keys)
    : group_(std::move(group)), own_(std::move(own)), keys_(std::move(keys)) {}

std::string VoteSeal::signed_bytes(std::string_view message, About about) const {
  return fmt::format("{}{}\n{}", name_of(about), group_, message);
}

std::string VoteSeal::seal(std::string message, About about) const {
  const auto signature = own_.sign(signed_bytes(message, about));
  Sealed out{std::move(message), {}};
  std::copy(signature.begin(), signature.end(), out.signature.begin());
  return message::encode(out);
}

Result<std::string> VoteSeal::open(std::string_view bytes, const std::string& sender, About about) const {
  if (about != About::kContext && bytes.size() > kMaxSealed) {
    return fail(Errc::kProtocol, "the signed message is too large");
  }
  BW_TRY(auto in, message::decode<Sealed>(bytes));
  const auto key = keys_.find(sender);
  if (key == keys_.end()) {
    return fail(Errc::kRefused,
                fmt::format("this node has no key of '{}', so it ignores its messages", printable(sender)));
  }
  if (!signature::verify(key->second, signed_bytes(in.message, about), in.signature)) {
    return fail(
        Errc::kRefused,
        fmt::format("a message that names '{}' as its sender is not signed with that node's key", printable(sender)));
  }
  return std::move(in.message);
}

}  // namespace bellwether::cluster
