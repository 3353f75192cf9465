// Messages of a scored vote, and of what is led by who wins it, as their senders have signed them (Ed25519, RFC 8032),
// so that nobody can say something in the name of another node, whichever way it came. The signature is over a context,
// which names what the message is about and the group, and the bytes of the message.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/signature/keys.h"

namespace bellwether::cluster {

class VoteSeal {
 public:
  // `group`: what is voted about; a message of another group is not one of this. `keys`: of all nodes, by their names.
  VoteSeal(std::string group, signature::SigningKey own, std::map<std::string, signature::PublicKey> keys);

  // What one is about that is no message of the vote itself is never taken for one, nor the other way round.
  enum class About : uint8_t { kVote, kKeyShare, kContext };

  std::string seal(std::string message, About about = About::kVote) const;
  // The message that `sender` has signed. kProtocol: it cannot be read; kRefused: nobody knows a key of that sender, or
  // it is not signed by it.
  Result<std::string> open(std::string_view bytes, const std::string& sender, About about = About::kVote) const;

 private:
  std::string signed_bytes(std::string_view message, About about) const;

  std::string group_;
  signature::SigningKey own_;
  std::map<std::string, signature::PublicKey> keys_;
};

}  // namespace bellwether::cluster
