// Well-known ways to lose or to double what was measured, each as a switch of the simulated datacenter, which must find
// every one of them out.
#pragma once

#include <cstdint>
#include <string_view>

namespace bellwether::sim {

enum class DatacenterMistake : uint8_t {
  kNone,
  kCopiesNotDurable,  // what managers keep of the accounts of jobs is gone with the power of their machines
  kTellsTwice,        // a share tells some of its seconds twice
  kLosesSecond,       // a share does not tell some of its seconds
  kNeverDies,         // the process of a share outlives being killed
  kLosesValues,       // shares begin without the values of other workflows
};
inline constexpr int kDatacenterMistakes = static_cast<int>(DatacenterMistake::kLosesValues) + 1;

std::string_view to_string(DatacenterMistake mistake);

}  // namespace bellwether::sim
