#include "cluster/vote/key_share_codec.h"

#include "cluster/wire/crypto.h"
#include "cluster/wire/identity.h"
#include "core/base/enum_names.h"
#include "core/message/describe.h"
#include "core/secret/key_codec.h"

namespace bellwether::cluster {

std::string_view to_string(KeyProgress::Stage stage) {
  static constexpr EnumNames<KeyProgress::Stage> kNames("collecting", "ready", "failed");
  return kNames[stage];
}

}  // namespace bellwether::cluster

namespace bellwether::message {

using namespace cluster;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject

namespace {

constexpr Rule kKeyTerm = at_most(uint64_t{1} << 48);  // beyond what elections can reach
constexpr Rule kShares = at_most(secret::kMostKeyShares);
constexpr Rule kName = text(wire::kNameMax, "name", &wire::is_name, "aZ0._-");
constexpr Rule kSealed = text(secret::kMostKeyShareBytes + wire::kTagBytes, wire::kTagBytes + 1);

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
    field<&KeyShareRequest::progress, &KeyProgress::refused>(6, list(kMostRefusedTold)));

template <>
constexpr auto kDescription<KeyShareAnswer> =
    describe<KeyShareAnswer, &keyless>("a sealed key share", field<&KeyShareAnswer::term>(1, kKeyTerm),
                                       field<&KeyShareAnswer::key>(2), field<&KeyShareAnswer::sealed>(3, kSealed));

template <>
constexpr auto kDescription<KeyShareMessage> =
    describe<KeyShareMessage>("a message about key shares", alternative<KeyShareRequest, KeyShareMessage>(1, "request"),
                              alternative<KeyShareAnswer, KeyShareMessage>(2, "answer"))
        .within(16'384);

template <>
const Message& message_of<KeyShareMessage>() {
  return described<KeyShareMessage>();
}

}  // namespace bellwether::message
