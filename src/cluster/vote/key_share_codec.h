// The messages by which an elected admin gets key shares, as bytes (proto/key_share.proto).
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "election/epoch.h"

namespace bellwether::cluster {

using BoxPublicKey = std::array<std::byte, 32>;

inline constexpr std::size_t kMostRefusedTold = 16;
inline constexpr std::size_t kMostRefusalBytes = 256;

// How far an admin is with its key.
struct KeyProgress {
  enum class Stage : uint8_t { kCollecting, kReady, kFailed };
  Stage stage = Stage::kCollecting;
  std::size_t held = 0;
  std::size_t needed = 0;                      // in all
  std::map<std::string, std::string> refused;  // why, by the name of the node
  bool operator==(const KeyProgress&) const = default;
};

// "collecting", "ready", "failed".
std::string_view to_string(KeyProgress::Stage stage);

struct KeyShareRequest {
  election::Term term;
  std::optional<BoxPublicKey> key;  // nothing: it only tells how far it is
  KeyProgress progress;
};
struct KeyShareAnswer {
  election::Term term;
  BoxPublicKey key{};
  std::string sealed;
};
using KeyShareMessage = std::variant<KeyShareRequest, KeyShareAnswer>;

// What is more than the limits is left out.
std::string encode(const KeyShareMessage& message);
// kProtocol: it cannot be read, or is out of its bounds; kUnsupported: of a kind that is not known.
Result<KeyShareMessage> decode_key_share_message(std::string_view bytes);

}  // namespace bellwether::cluster
