// The messages by which an elected admin gets key shares, as bytes (core/message/describe.h). Each travels as its
// sender has signed it (vote_seal.h).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/message/message.h"
#include "election/epoch.h"

namespace bellwether::cluster {

using BoxPublicKey = std::array<std::byte, 32>;

inline constexpr std::size_t kMostRefusedTold = 16;

struct KeyRefusal {
  std::string from;  // the name of a node
  std::string why;
};

// How far an admin is with its key.
struct KeyProgress {
  enum class Stage : uint8_t { kCollecting, kReady, kFailed };
  Stage stage = Stage::kCollecting;
  std::size_t held = 0;
  std::size_t needed = 0;  // in all
  std::vector<KeyRefusal> refused;
};

// "collecting", "ready", "failed".
std::string_view to_string(KeyProgress::Stage stage);

// Of who is elected, to all others.
struct KeyShareRequest {
  election::Term term;
  std::optional<BoxPublicKey> key;  // for this term alone; nothing: it only tells how far it is
  KeyProgress progress;
};
// Of a node that has promised to follow in that term, to who has asked.
struct KeyShareAnswer {
  election::Term term;
  BoxPublicKey key{};  // for this answer alone
  std::string sealed;  // the key share
};
using KeyShareMessage = std::variant<KeyShareRequest, KeyShareAnswer>;

}  // namespace bellwether::cluster

namespace bellwether::message {
template <>
const Message& message_of<cluster::KeyShareMessage>();
}  // namespace bellwether::message
