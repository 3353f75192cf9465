// Any page of metrics is read or left out, and never breaks anything.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lead/metrics/lease_figures.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto samples = bellwether::lead::parse_metrics(text);
  const auto pressure = bellwether::lead::pressure_of({samples}, "loop", "key");
  if (pressure.holders > pressure.processes) __builtin_trap();
  return 0;
}
