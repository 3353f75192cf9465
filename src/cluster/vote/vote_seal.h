// Messages of a scored vote as their senders have signed them (Ed25519, RFC 8032), so that nobody can say something in
// the name of another node, whichever way it came. The signature is over a context that names the group, and the bytes
// of the message.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "signature/keys.h"

namespace bellwether::cluster {

class VoteSeal {
 public:
  // `group`: what is voted about; a message of another group is not one of this. `keys`: of all nodes, by their names.
  VoteSeal(std::string group, signature::SigningKey own, std::map<std::string, signature::PublicKey> keys);

  std::string seal(std::string message) const;
  // The message that `sender` has signed. kProtocol: it cannot be read; kRefused: nobody knows a key of that sender, or
  // it is not signed by it.
  Result<std::string> open(std::string_view bytes, const std::string& sender) const;

 private:
  std::string signed_bytes(std::string_view message) const;

  std::string context_;
  signature::SigningKey own_;
  std::map<std::string, signature::PublicKey> keys_;
};

}  // namespace bellwether::cluster
