// Why something from another node was not taken. Each reason is counted; a stranger never learns one of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/enum_names.h"

namespace bellwether::wire {

enum class Refusal : uint8_t {
  kNone,
  // Before any crypto, about an unknown sender:
  kRateLimited,  // the source sent more than its share
  kTruncated,    // shorter than its own header, or cut in the middle
  kOversized,    // longer than the limit
  kGarbage,      // no frame, envelope or message of ours
  kFormat,       // an envelope of an unknown version
  kUnknownKey,   // sealed with a secret that is not in the keyring
  kForged,       // does not open: wrong secret, or changed on the way
  // About a sender that knows the secret:
  kReplayed,        // seen before, or too old for the window
  kUnproven,        // of a session that has not shown yet that it is there now; it is asked to
  kBomb,            // would inflate beyond the limits
  kCluster,         // of another cluster
  kEnvironment,     // of another environment
  kVersion,         // of another major version of the protocol
  kRole,            // its role may not connect to this one
  kCertificate,     // its certificate does not permit what it claims
  kName,            // its certificate is that of another node
  kOwnName,         // it has this node's own name
  kSender,          // a message that is not for its sender to send
  kUnknownMessage,  // one that this version does not know
  kUnexpected,      // authentic, but not expected at this point of the protocol
  kTimeout,         // an incomplete frame or handshake that was given up
  kCrowded,         // no room for one more
};
inline constexpr std::size_t kRefusalKinds = static_cast<std::size_t>(Refusal::kCrowded) + 1;

// A short stable name ("rate_limited", "forged"): a label of metrics and logs.
inline constexpr EnumNames<Refusal> kRefusalNames("none", "rate_limited", "truncated", "oversized", "garbage", "format",
                                                  "unknown_key", "forged", "replayed", "unproven", "bomb", "cluster",
                                                  "environment", "version", "role", "certificate", "name", "own_name",
                                                  "sender", "unknown_message", "unexpected", "timeout", "crowded");
inline std::string_view to_string(Refusal refusal) { return kRefusalNames[refusal]; }
inline std::optional<Refusal> refusal_named(std::string_view name) { return kRefusalNames.find(name); }

// The mismatch of a refusal that compares two names: of the cluster, of the environment, the roles of the opener and
// the acceptor, the node's name in its certificate and in its hello. Else empty.
struct Mismatch {
  std::string expected;
  std::string received;
};

// How often each happened.
class RefusalCounts {
 public:
  void add(Refusal refusal) { ++counts_[static_cast<std::size_t>(refusal)]; }
  uint64_t of(Refusal refusal) const { return counts_[static_cast<std::size_t>(refusal)]; }
  uint64_t total() const {
    uint64_t sum = 0;
    for (const uint64_t count : counts_) sum += count;
    return sum;
  }

 private:
  std::array<uint64_t, kRefusalKinds> counts_{};
};

}  // namespace bellwether::wire
