// Any field that a server may send as its challenge.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/http1/digest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether::http1;
  ResponseHead head;
  head.field_count = 1;
  head.fields[0] = {"WWW-Authenticate", {reinterpret_cast<const char*>(data), size}};
  const auto challenge = digest_challenge(head);
  if (!challenge) return 0;
  std::string value;
  append_digest(*challenge, {"user", "secret", "GET", "/", "0123", 1}, value);
  bellwether::check(value.find_first_of("\r\n") == std::string::npos, "an answer is one line");
  return 0;
}
