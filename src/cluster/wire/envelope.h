// The envelope of everything that is not part of an established connection: datagrams, and the two frames of a
// handshake. A header that anybody can read and nobody can change, then the sealed text, then the tag.
//
//   offset  bytes
//    0       1    format, 1
//    1       1    kind, see Kind: also the direction
//    2       4    key id: which secret (keyring.h)
//    6       8    hash of cluster and environment (identity.h)
//   14       8    hash of the sender's node name
//   22      16    session: drawn anew at each start of a sender, or for each connection
//   38       8    number of the message in its session, from 1 on
//   46       8    tag: of a datagram, what its receiver has asked for (replay.h), 0 if nothing yet; of a challenge, the
//                 last 8 bytes of the session that it asks; else 0
//   54       n    sealed text
//   54+n    16    tag
//
// All numbers are big-endian. The key is HKDF-SHA256(secret, salt = session, info = "bellwether envelope 1", then bytes
// 1 and 6 to 21 of the header); the nonce is four zero bytes and the number; authenticated beside the text are the
// header and, where the kind asks for it, what it answers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cluster/wire/keyring.h"
#include "cluster/wire/refusal.h"
#include "core/base/bytes.h"
#include "core/base/prng.h"
#include "core/base/time.h"

namespace bellwether::wire {

inline constexpr std::size_t kHeaderBytes = 54;
inline constexpr std::size_t kEnvelopeOverhead = kHeaderBytes + kTagBytes;

// One start of a sender.
struct SessionId {
  std::array<std::byte, 16> bytes{};
  // Never the same twice: the time, and 64 random bits.
  static SessionId draw(WallTime now, Prng& prng);
  // Its last 8 bytes.
  uint64_t tag() const;
  auto operator<=>(const SessionId&) const = default;
};

struct EnvelopeHeader {
  enum class Kind : uint8_t { kDatagram = 1, kHello = 2, kWelcome = 3, kRefused = 4, kChallenge = 5 };
  Kind kind = Kind::kDatagram;
  KeyId key = 0;
  uint64_t cluster = 0;
  uint64_t sender = 0;
  SessionId session;
  uint64_t number = 0;
  uint64_t tag = 0;
};

using HeaderBytes = std::array<std::byte, kHeaderBytes>;

HeaderBytes encode(const EnvelopeHeader& header);

// The header at the front of `bytes`, or why there is none: kTruncated, kFormat, kGarbage. Costs no crypto.
struct HeaderRead {
  Refusal refusal = Refusal::kNone;
  EnvelopeHeader header;
};
HeaderRead read_header(Bytes bytes);

// The key of the envelopes of one session, kind and sender.
std::optional<Key> envelope_key(const Keyring& keyring, const EnvelopeHeader& header);

// Seals `text`, which lies in `envelope` behind the room for a header and before that for a tag. `answers`: what else
// is authenticated, at most 64 bytes.
void seal_envelope(Aead& aead, const EnvelopeHeader& header, MutableBytes envelope, Bytes answers = {});
// Opens an envelope whose header was read, in place. False: forged.
[[nodiscard]] bool open_envelope(Aead& aead, const EnvelopeHeader& header, MutableBytes envelope, Bytes answers = {});

inline MutableBytes envelope_text(MutableBytes envelope) {
  return envelope.subspan(kHeaderBytes, envelope.size() - kEnvelopeOverhead);
}

}  // namespace bellwether::wire
