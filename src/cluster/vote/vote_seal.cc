#include "cluster/vote/vote_seal.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/printable.h"
#include "proto/vote.pb.h"

namespace bellwether::cluster {
namespace {

constexpr std::size_t kBytesMost = 16384;
constexpr std::size_t kContextBytesMost = std::size_t{4} << 20;  // the state of a leader with its requests
constexpr std::size_t kSignatureBytes = 64;

std::string_view name_of(VoteSeal::About about) {
  switch (about) {
    case VoteSeal::About::kVote: return "bellwether-vote-1\n";
    case VoteSeal::About::kKeyShare: return "bellwether-key-share-1\n";
    case VoteSeal::About::kContext: return "bellwether-context-1\n";
  }
  return "";
}

}  // namespace

VoteSeal::VoteSeal(std::string group, signature::SigningKey own, std::map<std::string, signature::PublicKey> keys)
    : group_(std::move(group)), own_(std::move(own)), keys_(std::move(keys)) {}

std::string VoteSeal::signed_bytes(std::string_view message, About about) const {
  return std::string(name_of(about)) + group_ + "\n" + std::string(message);
}

std::string VoteSeal::seal(std::string message, About about) const {
  const auto signature = own_.sign(signed_bytes(message, about));
  wire::SignedVoteMessage out;
  out.set_signature(signature.data(), signature.size());
  out.set_message(std::move(message));
  return out.SerializeAsString();
}

Result<std::string> VoteSeal::open(std::string_view bytes, const std::string& sender, About about) const {
  wire::SignedVoteMessage in;
  const std::size_t most = about == About::kContext ? kContextBytesMost : kBytesMost;
  if (bytes.size() > most || !in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kProtocol, "a signed message that cannot be read");
  }
  const auto key = keys_.find(sender);
  if (key == keys_.end()) {
    return fail(Errc::kRefused,
                "no key of '" + printable(sender) + "' is known here, so that its messages count for nothing");
  }
  if (in.signature().size() != kSignatureBytes) {
    return fail(Errc::kRefused, "a message of '" + printable(sender) + "' that is not signed");
  }
  std::array<unsigned char, kSignatureBytes> signature{};
  std::copy(in.signature().begin(), in.signature().end(), signature.begin());
  if (!signature::verify(key->second, signed_bytes(in.message(), about), signature)) {
    return fail(Errc::kRefused,
                "a message that is said to be of '" + printable(sender) + "', and is not signed by its key");
  }
  return std::move(*in.mutable_message());
}

}  // namespace bellwether::cluster
