// Bytes as letters about jobs and as their answers: whatever decodes encodes and decodes to the same.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "dispatch/codec/letters_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::dispatch;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto letter = decode_letter(bytes)) {
    const auto again = decode_letter(encode(*letter));
    check(again.has_value() && *again == *letter, "a letter survives");
  }
  if (const auto response = decode_response(bytes)) {
    const auto again = decode_response(encode(*response));
    check(again.has_value() && *again == *response, "an answer survives");
  }
  return 0;
}
