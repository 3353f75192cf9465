// Bytes as a message about key shares: whatever decodes survives being encoded and decoded again, and what is sealed in
// it opens with no other key.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "cluster/vote/key_box.h"
#include "cluster/vote/key_share_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::cluster;
  static const BoxKey key = std::move(*BoxKey::draw());
  const auto message = decode_key_share_message({reinterpret_cast<const char*>(data), size});
  if (!message) return 0;
  const std::string encoded = encode(*message);
  const auto again = decode_key_share_message(encoded);
  check(again.has_value() && encode(*again) == encoded, "a message survives");
  if (const auto* answer = std::get_if<KeyShareAnswer>(&*message)) {
    check(!key.open(answer->key, "context", answer->sealed), "it was not sealed to this key");
  } else if (const auto& asked = std::get<KeyShareRequest>(*message); asked.key) {
    check(key.seal(*asked.key, "context", as_bytes("x")).value_or(std::string(17, 'x')).size() == 17, "sealed, or not");
  }
  return 0;
}
