// Bytes as a bundle of a scenario: accepted bytes survive a second round trip, and make a plan or an error with a text.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "load/plan/load.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  const auto bundle = dispatch::decode_bundle({reinterpret_cast<const char*>(data), size});
  if (!bundle) return 0;
  const auto bytes = dispatch::encode_bundle(*bundle);
  check(bytes.has_value(), "what was accepted can travel on");
  const auto again = dispatch::decode_bundle(*bytes);
  check(again.has_value() && *dispatch::encode_bundle(*again) == *bytes, "a bundle survives");
  const auto plan = plan::plan_of(*bundle);
  check(plan.has_value() ? !plan->workflows.empty() : !plan.error().message.empty(), "a plan, or what is wrong");
  return 0;
}
