// Takes arbitrary bytes for an envelope, and for the header of one that is properly sealed: only sealed ones open, the
// guard against replays answers the same twice, and takes a message once at most.
//
// The input: a byte whose lowest bit says whether the rest is sealed first, a byte to flip a bit with, the rest.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cluster/wire/envelope.h"
#include "cluster/wire/wire_testing.h"

namespace bellwether::wire {
namespace {

bool opens(const Keyring& ring, const EnvelopeHeader& header, std::vector<std::byte> envelope) {
  const auto key = envelope_key(ring, header);
  if (!key) return false;
  Aead aead(Aead::Direction::kOpen, *key);
  return open_envelope(aead, header, envelope);
}

void judge(ReplayGuard& guard, const EnvelopeHeader& header) {
  const Refusal looked = guard.look(header);
  check(looked == guard.take(header), "looking first gives the same answer");
  check(guard.take(header) != Refusal::kNone, "nothing is taken twice");
}

}  // namespace
}  // namespace bellwether::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether::wire;  // NOLINT(google-build-using-namespace)
  static const Keyring ring = keyring_of();
  if (size < 2) return 0;
  const auto rest = std::as_bytes(std::span(data + 2, size - 2));
  std::vector<std::byte> envelope(rest.begin(), rest.end());
  const bool sealed = (data[0] & 1U) != 0 && envelope.size() >= kEnvelopeOverhead;
  if (sealed) {
    envelope[0] = std::byte{1};
    envelope[1] = static_cast<std::byte>(1 + data[0] / 2 % 5);
    std::memset(envelope.data() + 2, 0, 4);
    auto header = read_header(envelope).header;
    header.key = ring.in_use();
    Aead aead(Aead::Direction::kSeal, *envelope_key(ring, header));
    seal_envelope(aead, header, envelope);
  }
  ReplayGuard guard(4, bellwether::Prng(1));
  const HeaderRead read = read_header(envelope);
  if (read.refusal != Refusal::kNone) return 0;
  bellwether::check(opens(ring, read.header, envelope) == sealed, "what opens was sealed, what was sealed opens");
  judge(guard, read.header);
  EnvelopeHeader proven = read.header;
  proven.tag = guard.tag();
  judge(guard, proven);
  EnvelopeHeader next = read.header;
  next.number += data[1];
  guard.take(next);
  if (sealed) {
    envelope[data[1] % envelope.size()] ^= std::byte{4};
    const HeaderRead changed = read_header(envelope);
    bellwether::check(changed.refusal != Refusal::kNone || !opens(ring, changed.header, envelope), "changes show");
  }
  return 0;
}
