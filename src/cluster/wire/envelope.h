// The envelope of everything that is not part of an established connection: datagrams, and the two frames of a
// handshake. A header, readable but authenticated, then the sealed text, then the tag.
//
//   offset  bytes
//    0       1    format, 1
//    1       1    kind, see Kind: also the direction
//    2       4    key id: which secret (keyring.h)
//    6       8    hash of cluster and environment (identity.h)
//   14       8    hash of the sender's node name
//   22      16    session: drawn anew at each start of a sender, or for each connection
//   38       8    number of the message in its session, from 1 on
//   46       8    tag: of a datagram, what its receiver has asked for (ReplayGuard), 0 if nothing yet; of a
//                 challenge, the last 8 bytes of the session that it asks; else 0
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
#include <map>
#include <unordered_map>

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

// The header at the front of `bytes`, or why it has none: kTruncated, kFormat, kGarbage. Costs no crypto.
struct HeaderRead {
  Refusal refusal = Refusal::kNone;
  EnvelopeHeader header;
};
HeaderRead read_header(Bytes bytes);

// The key of the envelopes of one session, kind and sender.
std::optional<Key> envelope_key(const Keyring& keyring, const EnvelopeHeader& header);

// Seals `text`, which lies in `envelope` behind the room for a header and before that for a tag. `answers`: further
// authenticated data, at most 64 bytes.
void seal_envelope(Aead& aead, const EnvelopeHeader& header, MutableBytes envelope, Bytes answers = {});
// Opens an envelope whose header was read, in place. False: forged.
[[nodiscard]] bool open_envelope(Aead& aead, const EnvelopeHeader& header, MutableBytes envelope, Bytes answers = {});

inline MutableBytes envelope_text(MutableBytes envelope) {
  return envelope.subspan(kHeaderBytes, envelope.size() - kEnvelopeOverhead);
}

// Which authentic datagrams are new: one window of message numbers for each sender (RFC 6479's idea of a bitmap behind
// the highest number), for its latest start only.
//
// After a restart of either side a window does not suffice, and a challenge decides; no clock is asked. A receiver has
// a tag that cannot be guessed. It takes a datagram of an unknown session only when it carries the tag; else it sends
// the tag to the sender, which must show that it is there now. A tag is replaced when a session is, or when a sender is
// forgotten for lack of room. So a datagram to an earlier start of the receiver, by an earlier start of the sender, or
// by a sender that was forgotten, carries an invalid tag. A connection's handshake proves the same as an answered
// challenge.

// The numbers of one session that were seen.
class ReplayWindow {
 public:
  static constexpr uint64_t kWidth = 1024;  // how far behind the highest number a message may arrive

  // kNone, and remembers it; kReplayed for one that was seen or is behind the window, and for number 0.
  Refusal take(uint64_t number);
  // The same without remembering.
  Refusal look(uint64_t number) const;
  uint64_t highest() const { return highest_; }

 private:
  static constexpr std::size_t kWords = kWidth / 64 + 1;
  uint64_t highest_ = 0;
  std::array<uint64_t, kWords> seen_{};
};

class ReplayGuard {
 public:
  // `prng`: gives the tags; a private copy.
  ReplayGuard(std::size_t senders_max, Prng prng);

  // The verdict on a datagram with this header, before it is opened: a kReplayed one needs no crypto.
  Refusal look(const EnvelopeHeader& header) const;
  // Decides on an authentic one, and remembers it. kUnproven: its sender needs the tag.
  Refusal take(const EnvelopeHeader& header);
  // A connection's handshake has shown that `sender` is there now, with this session.
  void introduce(uint64_t sender, const SessionId& session) { remember(sender, session); }

  // The tag that a first datagram of a session must carry. Never 0.
  uint64_t tag() const { return tag_; }
  std::size_t senders() const { return senders_.size(); }

 private:
  struct Sender {
    SessionId session;
    ReplayWindow window;
    uint64_t heard = 0;  // order of last messages: the oldest is forgotten first
  };
  Sender& remember(uint64_t sender, const SessionId& session);
  void touch(uint64_t sender, Sender& entry);
  void change_tag() { tag_ = prng_.next() | 1U; }

  std::size_t senders_max_;
  Prng prng_;
  uint64_t tag_ = 0;
  uint64_t heard_ = 0;
  std::unordered_map<uint64_t, Sender> senders_;
  std::map<uint64_t, uint64_t> by_heard_;
};

}  // namespace bellwether::wire
