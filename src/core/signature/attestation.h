// An operator's statement of the abilities of one node, signed (Ed25519, RFC 8032), so that a node cannot give itself
// capabilities. A text, which people can read:
//
//   bellwether attestation 1
//   cluster flock/default
//   node m1
//   capability admin_election          one line each, in the order given; at least one
//   not after 2027-02-21T10:00:00.000Z
//   signature BASE64
//
// The signature is over all lines before it, with their line ends. Nothing may follow, and each attestation has one
// form.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/signature/keys.h"

namespace bellwether::signature {

inline constexpr std::size_t kMaxAttestationBytes = 4096;
inline constexpr std::size_t kMaxAttested = 32;  // capabilities
inline constexpr std::size_t kMaxAttestedBytes = 64;

struct Attestation {
  std::string cluster;  // CLUSTER/ENVIRONMENT
  std::string node;
  std::vector<std::string> capabilities;
  WallTime not_after;
};

// The text. kInvalid: a name that is empty, too long, or has other characters than printable ones without spaces; no
// capability, or too many; a time that a text cannot have.
Result<std::string> attest(const Attestation& attestation, const SigningKey& key);

// kTooLarge; kInvalid: no such text, or not in its one form; kRefused: that key has not signed it.
Result<Attestation> open_attestation(std::string_view text, const PublicKey& key);

// Why it does not count for this node of this cluster now, or nothing.
std::optional<std::string> why_not(const Attestation& attestation, std::string_view cluster, std::string_view node,
                                   WallTime now);

}  // namespace bellwether::signature
