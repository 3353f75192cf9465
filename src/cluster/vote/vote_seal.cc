#include "cluster/vote/vote_seal.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/enum_names.h"
#include "core/message/describe.h"

namespace bellwether::cluster {
namespace {

constexpr std::size_t kSealedMost = 16384;
constexpr std::size_t kSealedContextMost = std::size_t{4} << 20;  // the state of a leader with its requests

struct Sealed {
  std::string message;
  std::array<unsigned char, 64> signature{};
};

std::string_view name_of(VoteSeal::About about) {
  static constexpr EnumNames<VoteSeal::About> kNames("bellwether-vote-1\n", "bellwether-key-share-1\n",
                                                     "bellwether-context-1\n");
  return kNames[about];
}

}  // namespace
}  // namespace bellwether::cluster

template <>
constexpr auto bellwether::message::kDescription<bellwether::cluster::Sealed> =
    bellwether::message::describe<bellwether::cluster::Sealed>(
        "a signed message",
        bellwether::message::field<&bellwether::cluster::Sealed::message>(
            1, bellwether::message::text(bellwether::cluster::kSealedContextMost)),
        bellwether::message::field<&bellwether::cluster::Sealed::signature>(2))
        .within(bellwether::cluster::kSealedContextMost);

namespace bellwether::cluster {

VoteSeal::VoteSeal(std::string group, signature::SigningKey own, std::map<std::string, signature::PublicKey> keys)
    : group_(std::move(group)), own_(std::move(own)), keys_(std::move(keys)) {}

std::string VoteSeal::signed_bytes(std::string_view message, About about) const {
  return std::string(name_of(about)) + group_ + "\n" + std::string(message);
}

std::string VoteSeal::seal(std::string message, About about) const {
  const auto signature = own_.sign(signed_bytes(message, about));
  Sealed out{std::move(message), {}};
  std::copy(signature.begin(), signature.end(), out.signature.begin());
  return message::encode(out);
}

Result<std::string> VoteSeal::open(std::string_view bytes, const std::string& sender, About about) const {
  if (about != About::kContext && bytes.size() > kSealedMost) {
    return fail(Errc::kProtocol, "a signed message that is too large");
  }
  BW_TRY(auto in, message::decode<Sealed>(bytes));
  const auto key = keys_.find(sender);
  if (key == keys_.end()) {
    return fail(Errc::kRefused,
                "no key of '" + printable(sender) + "' is known here, so that its messages count for nothing");
  }
  if (!signature::verify(key->second, signed_bytes(in.message, about), in.signature)) {
    return fail(Errc::kRefused,
                "a message that is said to be of '" + printable(sender) + "', and is not signed by its key");
  }
  return std::move(in.message);
}

}  // namespace bellwether::cluster
