// What an acceptor makes of arbitrary first frames, and an opener of arbitrary answers: raw bytes, which get no answer,
// and texts that are properly sealed, as somebody could send who knows the secret and writes its own messages.
//
// The input: a byte that chooses, the bytes.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cluster/wire/wire_testing.h"

namespace bellwether::wire {
namespace {

const Keyring& ring() {
  static const Keyring one = keyring_of();
  return one;
}

std::vector<std::byte> sealed(EnvelopeHeader::Kind kind, Bytes text, Bytes answers) {
  EnvelopeHeader header{.kind = kind, .key = ring().in_use(), .cluster = 1, .sender = 2, .number = 1};
  std::vector<std::byte> envelope(kEnvelopeOverhead + text.size());
  if (!text.empty()) std::memcpy(envelope.data() + kHeaderBytes, text.data(), text.size());
  Aead aead(Aead::Direction::kSeal, *envelope_key(ring(), header));
  seal_envelope(aead, header, envelope, answers);
  return envelope;
}

void at_acceptor(std::vector<std::byte> hello, bool authentic) {
  static const HandshakeSettings self = node_of("m1", Role::kManager);
  const auto answer = Acceptor::on_hello(self, ring(), hello, SessionId(), {});
  check(authentic || answer.frame.empty(), "a stranger gets no answer");
  if (!answer.agreed) {
    check(answer.agreed.error().refusal != Refusal::kNone, "a refusal has a reason");
    return;
  }
  const Identity& peer = answer.agreed->peer.identity;
  check(authentic && peer.cluster == self.self.identity.cluster && check_identity(peer).has_value(), "only nodes pass");
}

void at_opener(Bytes bytes, uint8_t choice) {
  static const HandshakeSettings self = node_of("w1", Role::kWorker);
  const Opener opener(self, ring(), SessionId());
  const auto kind = (choice & 4U) != 0 ? EnvelopeHeader::Kind::kRefused : EnvelopeHeader::Kind::kWelcome;
  const bool authentic = (choice & 2U) != 0;
  auto answer = authentic ? sealed(kind, bytes, sha256(opener.hello())) : std::vector(bytes.begin(), bytes.end());
  const auto agreed = opener.on_answer(ring(), answer, {});
  check(!agreed || (authentic && kind == EnvelopeHeader::Kind::kWelcome), "only a welcome is one");
  check(agreed || agreed.error().refusal != Refusal::kNone, "a refusal has a reason");
}

}  // namespace
}  // namespace bellwether::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether::wire;  // NOLINT(google-build-using-namespace)
  if (size < 1) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  if ((data[0] & 1U) != 0) {
    at_opener(bytes, data[0]);
  } else if ((data[0] & 2U) != 0) {
    at_acceptor(sealed(EnvelopeHeader::Kind::kHello, bytes, {}), true);
  } else {
    at_acceptor({bytes.begin(), bytes.end()}, false);
  }
  return 0;
}
