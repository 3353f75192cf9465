// Bytes as a job record: an accepted record can be encoded, and decodes to an equal one.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "jobs/dispatch/codec/job_record_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::dispatch;
  const auto record = read_record({reinterpret_cast<const char*>(data), size});
  if (!record) return 0;
  const auto bytes = encode_record(*record);
  check(bytes.has_value(), "what was read is good");
  const auto whole = read_record(bytes->large.empty() ? bytes->value : bytes->large);
  check(whole.has_value() && *whole == *record, "a record survives its register");
  const auto again = read_record(record_bytes(*record));
  check(again.has_value() && *again == *record, "a record survives");
  return 0;
}
