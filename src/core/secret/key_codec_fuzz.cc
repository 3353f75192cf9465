// Bytes as a key share, and as a commitment: what is accepted has these bytes and no others, and a collector takes no
// key share but those that were committed to.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/secret/key_codec.h"
#include "core/secret/secret_testing.h"
#include "core/secret/sharing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::secret;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);

  auto share = decode_key_share(bytes);
  check(share || !share.error().message.empty(), "a key share, or what is wrong");
  if (share) {
    check(as_text(encode(*share).bytes()) == as_text(bytes), "a key share has one form");
    static const Splitting known = split_text("x", {2, 3});
    const bool genuine = std::any_of(known.shares.begin(), known.shares.end(), [&](const KeyShare& one) {
      return as_text(encode(one).bytes()) == as_text(bytes);
    });
    Collector collector(known.commitment);
    check(collector.take(1, std::move(*share)).has_value() == genuine, "only what was committed to is taken");
    check(collector.held() == (genuine ? 1 : 0), "and nothing else is held");
  }

  const auto commitment = decode_commitment(bytes);
  check(commitment || !commitment.error().message.empty(), "a commitment, or what is wrong");
  if (commitment) {
    check(encode(*commitment) == as_text(bytes), "a commitment has one form");
    check(check_split(commitment->head().secret_bytes, commitment->head().rule).has_value(), "and can be");
    check(!commitment->check(KeyShare{}), "nothing is no key share of it");
  }
  return 0;
}
