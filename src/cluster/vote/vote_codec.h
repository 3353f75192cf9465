// The messages of a scored vote, and the record that its nodes keep, as bytes (core/message/describe.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/message/message.h"
#include "core/signature/keys.h"
#include "election/epoch.h"
#include "election/vote/vote_events.h"

namespace bellwether::message {
extern template const Message& message_of<vote::Message>();
extern template const Message& message_of<vote::Record>();
}  // namespace bellwether::message

namespace bellwether::cluster {

// The messages by which an elected admin gets key shares, as bytes (core/message/describe.h). Each travels as its
// sender has signed it (VoteSeal).

using BoxPublicKey = std::array<std::byte, 32>;

inline constexpr std::size_t kMaxRefusedTold = 16;

struct KeyRefusal {
  std::string from;  // the name of a node
  std::string why;
};

// The progress of an admin with its key.
struct KeyProgress {
  enum class Stage : uint8_t { kCollecting, kReady, kFailed };
  Stage stage = Stage::kCollecting;
  std::size_t held = 0;
  std::size_t needed = 0;  // in all
  std::vector<KeyRefusal> refused;
};

// "collecting", "ready", "failed".
std::string_view to_string(KeyProgress::Stage stage);

// From the elected node to all others.
struct KeyShareRequest {
  election::Term term;
  std::optional<BoxPublicKey> key;  // for this term alone; nothing: it only reports its progress
  KeyProgress progress;
};
// From a node that has promised to follow in that term to the node that has asked.
struct KeyShareAnswer {
  election::Term term;
  BoxPublicKey key{};  // for this answer alone
  std::string sealed;  // the key share
};
using KeyShareMessage = std::variant<KeyShareRequest, KeyShareAnswer>;

// Messages of a scored vote, and of the work that its winner leads, as signed by their senders (Ed25519, RFC 8032), so
// that no node can send in the name of another node, by any way. The signature is over a context, which names the
// message's subject and the group, and the bytes of the message.
class VoteSeal {
 public:
  // `group`: the subject of the vote; a message of another group is refused. `keys`: of all nodes, by their names.
  VoteSeal(std::string group, signature::SigningKey own, std::map<std::string, signature::PublicKey> keys);

  // The subject of a message. A message of the vote is never taken for one about another subject, nor the other way
  // round.
  enum class About : uint8_t { kVote, kKeyShare, kContext };

  std::string seal(std::string message, About about = About::kVote) const;
  // The message that `sender` has signed. kProtocol: it cannot be read; kRefused: no key of that sender is known, or it
  // is not signed by it.
  Result<std::string> open(std::string_view bytes, const std::string& sender, About about = About::kVote) const;

 private:
  std::string signed_bytes(std::string_view message, About about) const;

  std::string group_;
  signature::SigningKey own_;
  std::map<std::string, signature::PublicKey> keys_;
};

}  // namespace bellwether::cluster

namespace bellwether::message {
extern template const Message& message_of<cluster::KeyShareMessage>();
}  // namespace bellwether::message
