// Bytes as a job record: an accepted record can be encoded, and decodes to an equal one.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "jobs/dispatch/codec/sheet_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::dispatch;
  const auto sheet = read_sheet({reinterpret_cast<const char*>(data), size});
  if (!sheet) return 0;
  const auto bytes = encode_sheet(*sheet);
  check(bytes.has_value(), "what was read is good");
  const auto whole = read_sheet(bytes->large.empty() ? bytes->value : bytes->large);
  check(whole.has_value() && *whole == *sheet, "a record survives its register");
  const auto again = read_sheet(sheet_bytes(*sheet));
  check(again.has_value() && *again == *sheet, "a sheet survives");
  return 0;
}
