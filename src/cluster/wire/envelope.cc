#include "cluster/wire/envelope.h"

#include <algorithm>
#include <cstring>

#include "cluster/wire/big_endian.h"
#include "core/base/check.h"

namespace bellwether::wire {

namespace {

constexpr uint8_t kFormat = 1;
constexpr std::size_t kMaxAnswers = 64;
constexpr std::string_view kInfo = "bellwether envelope 1";

using Also = std::array<std::byte, kHeaderBytes + kMaxAnswers>;

// The data that is authenticated beside the text.
Bytes also(Also& into, Bytes header, Bytes answers) {
  check(answers.size() <= kMaxAnswers, "what is answered is a digest");
  std::memcpy(into.data(), header.data(), kHeaderBytes);
  if (!answers.empty()) std::memcpy(into.data() + kHeaderBytes, answers.data(), answers.size());
  return Bytes(into).first(kHeaderBytes + answers.size());
}

}  // namespace

SessionId SessionId::draw(WallTime now, Prng& prng) {
  SessionId id;
  store_be(id.bytes.data(), static_cast<uint64_t>(now.unix_ns / 1'000'000));
  store_be(id.bytes.data() + 8, prng.next());
  return id;
}

uint64_t SessionId::tag() const { return load_be<uint64_t>(bytes.data() + 8); }

HeaderBytes encode(const EnvelopeHeader& header) {
  HeaderBytes bytes{};
  FixedWriter out(bytes);
  out.put(kFormat);
  out.put(static_cast<uint8_t>(header.kind));
  out.put(header.key);
  out.put(header.cluster);
  out.put(header.sender);
  out.put(Bytes(header.session.bytes));
  out.put(header.number);
  out.put(header.tag);
  return bytes;
}

HeaderRead read_header(Bytes bytes) {
  HeaderRead read;
  if (bytes.size() < kEnvelopeOverhead) {
    read.refusal = Refusal::kTruncated;
    return read;
  }
  FixedReader in(bytes);
  const auto format = in.get<uint8_t>();
  const auto kind = in.get<uint8_t>();
  if (format != kFormat) {
    read.refusal = Refusal::kFormat;
    return read;
  }
  if (kind < 1 || kind > 5) {
    read.refusal = Refusal::kGarbage;
    return read;
  }
  read.header.kind = static_cast<EnvelopeHeader::Kind>(kind);
  read.header.key = in.get<uint32_t>();
  read.header.cluster = in.get<uint64_t>();
  read.header.sender = in.get<uint64_t>();
  read.header.session.bytes = in.get_bytes<16>();
  read.header.number = in.get<uint64_t>();
  read.header.tag = in.get<uint64_t>();
  return read;
}

std::optional<Key> envelope_key(const Keyring& keyring, const EnvelopeHeader& header) {
  std::array<std::byte, kInfo.size() + 1 + 8 + 8> info{};
  FixedWriter out(info);
  out.put(as_bytes(kInfo));
  out.put(static_cast<uint8_t>(header.kind));
  out.put(header.cluster);
  out.put(header.sender);
  return keyring.derive(header.key, header.session.bytes, info);
}

void seal_envelope(Aead& aead, const EnvelopeHeader& header, MutableBytes envelope, Bytes answers) {
  check(envelope.size() >= kEnvelopeOverhead);
  const HeaderBytes front = encode(header);
  std::memcpy(envelope.data(), front.data(), front.size());
  Also beside;
  aead.seal(header.number, also(beside, front, answers), envelope_text(envelope), envelope.last<kTagBytes>());
}

bool open_envelope(Aead& aead, const EnvelopeHeader& header, MutableBytes envelope, Bytes answers) {
  Also beside;
  const Bytes authenticated = also(beside, envelope.first(kHeaderBytes), answers);
  return aead.open(header.number, authenticated, envelope_text(envelope), envelope.last<kTagBytes>());
}

Refusal ReplayWindow::look(uint64_t number) const {
  if (number == 0) return Refusal::kReplayed;
  if (number > highest_) return Refusal::kNone;
  if (highest_ - number >= kWidth) return Refusal::kReplayed;
  const bool seen = (seen_[number / 64 % kWords] >> (number % 64) & 1U) != 0;
  return seen ? Refusal::kReplayed : Refusal::kNone;
}

Refusal ReplayWindow::take(uint64_t number) {
  const Refusal refusal = look(number);
  if (refusal != Refusal::kNone) return refusal;
  if (number > highest_) {
    // The words between the old front and the new one belong to numbers that were never seen.
    const uint64_t from = highest_ / 64;
    const uint64_t to = number / 64;
    for (uint64_t i = 1; i <= std::min<uint64_t>(to - from, kWords); ++i) seen_[(from + i) % kWords] = 0;
    highest_ = number;
  }
  seen_[number / 64 % kWords] |= uint64_t{1} << (number % 64);
  return Refusal::kNone;
}

ReplayGuard::ReplayGuard(std::size_t senders_max, Prng prng) : senders_max_(senders_max), prng_(prng) { change_tag(); }

Refusal ReplayGuard::look(const EnvelopeHeader& header) const {
  if (header.number == 0) return Refusal::kReplayed;
  const auto found = senders_.find(header.sender);
  if (found != senders_.end() && found->second.session == header.session) {
    return found->second.window.look(header.number);
  }
  return header.tag == tag_ ? Refusal::kNone : Refusal::kUnproven;
}

Refusal ReplayGuard::take(const EnvelopeHeader& header) {
  const Refusal refusal = look(header);
  if (refusal != Refusal::kNone) return refusal;
  return remember(header.sender, header.session).window.take(header.number);
}

ReplayGuard::Sender& ReplayGuard::remember(uint64_t sender, const SessionId& session) {
  const auto found = senders_.find(sender);
  if (found != senders_.end() && found->second.session == session) {
    touch(sender, found->second);
    return found->second;
  }
  if (found != senders_.end()) change_tag();
  if (found == senders_.end() && senders_.size() >= senders_max_) {
    change_tag();
    const auto oldest = by_heard_.begin();
    senders_.erase(oldest->second);
    by_heard_.erase(oldest);
  }
  Sender& entry = senders_[sender];
  const uint64_t heard = entry.heard;
  entry = Sender{.session = session, .window = {}, .heard = heard};
  touch(sender, entry);
  return entry;
}

void ReplayGuard::touch(uint64_t sender, Sender& entry) {
  if (entry.heard == heard_ && heard_ != 0) return;
  if (entry.heard != 0) by_heard_.erase(entry.heard);
  entry.heard = ++heard_;
  by_heard_[entry.heard] = sender;
}

}  // namespace bellwether::wire
