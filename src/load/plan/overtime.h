// What becomes of a workflow that runs for longer than it may, after it was given all the time that there is for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bellwether::plan {

enum class OnOvertime : uint8_t {
  kKill,
  kPause,   // it starts nothing new, and is ended with the rest of its job
  kNotify,  // it is said in the report
};
inline constexpr std::size_t kOnOvertimes = 3;

}  // namespace bellwether::plan
