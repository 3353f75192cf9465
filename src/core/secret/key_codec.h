// Key shares and commitments as bytes, for disks and messages. All numbers are big-endian.
//
//   key share     "bwks", version 1 (1 byte), id of the secret (8), salt (16), index (1), bytes of the value (2), value
//   commitment    "bwkc", version 1 (1 byte), id of the secret (8), salt (16), threshold (1), number of key shares (1),
//                 bytes of the secret (2), digest of the secret (32), digests of the key shares (32 each)
//
// Nothing may follow. Each value has one form, so that equal ones have equal bytes.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/secret/commitment.h"

namespace bellwether::secret {

inline constexpr std::size_t kMaxKeyShareBytes = 4 + 1 + 8 + 16 + 1 + 2 + kMaxSecretBytes + kBlindBytes;
inline constexpr std::size_t kMaxCommitmentBytes = 4 + 1 + 8 + 16 + 1 + 1 + 2 + 32 * (1 + kMaxKeyShares);

// REQUIRES a key share that was split off or decoded, and not moved from.
SecretBytes encode(const KeyShare& share);
std::string encode(const Commitment& commitment);

// Errors, which repeat none of the bytes: kTooLarge; kUnsupported: of a later version; kInvalid: not such bytes, cut
// short, too long, or with a field out of its bounds. That a key share is the right one is for Commitment::check().
Result<KeyShare> decode_key_share(Bytes bytes);
Result<Commitment> decode_commitment(Bytes bytes);

}  // namespace bellwether::secret
