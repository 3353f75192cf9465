// A saturation of a load generator or of its machine: the cause that kept it from making its load, its begin and end,
// and its worst value. docs/self-observation.md has the table of signals and remedies for users.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"

namespace bellwether::plan {

enum class Saturation : uint8_t {
  kCpu,          // its load threads used their processors fully
  kLoopLag,      // ready work waited for its turn
  kExhausted,    // requests found no free port or descriptor
  kDescriptors,  // its limit of open files is nearly reached
  kThrottled,    // its control group throttled it, because its processor quota was used
  kStolen,       // the hypervisor gave the processors to others
  kMemory,       // the memory of the machine, or of its control group, is nearly full
};
inline constexpr std::size_t kSaturations = 7;
// "cpu", "loop_lag", "exhausted", "descriptors", "throttled", "stolen", "memory": the words of result files.
std::string_view to_string(Saturation saturation);
// The remedy, a clause without a full stop.
std::string_view remedy(Saturation saturation);

struct Finding {
  Saturation saturation = Saturation::kCpu;
  Duration begin;    // since the start of the run
  Duration end;      // of the last bad second; while it goes on, of the last one so far
  double worst = 0;  // share of 0 to 1; kLoopLag: seconds; kExhausted: requests in a second
  bool over = false;
  std::string worker = {};  // its worker, in a run on several machines
  bool operator==(const Finding&) const = default;
};
// "its control group held it up in 80 % of its periods, for its processor quota was used".
std::string text_of(const Finding& finding);

// Whether these figures are possible: data from elsewhere may have any.
bool is_possible(const Finding& finding);

// Of one machine, and of a run on several ones.
inline constexpr std::size_t kMaxFindings = 64;

// The time that a saturation lasted in all: of several workers, on the one where it lasted longest.
Duration lasted(std::span<const Finding> findings, Saturation saturation);
// The worst of a saturation on the worker where it lasted longest, from its first begin to its last end.
// REQUIRES one of that saturation.
Finding sum_of(std::span<const Finding> findings, Saturation saturation);
// Adds a worker's finding at its end. Beyond kMaxFindings a saturation that comes back extends the worker's last
// finding of it, if it has one.
void add(std::vector<Finding>& findings, Finding finding);
// One text for each cause, for a later reader.
std::vector<std::string> summed_up(std::span<const Finding> findings);

// A part of the run that was not done or is unknown: planned load that was not made, or not measured. A run with losses
// says so in every report (docs/decisions/018-losses.md).
struct Loss {
  Duration from;      // since the start of the run
  Duration to;        // not before `from`
  double ratio = 0;   // of the planned load of its workflow in that time, 0 to 1
  std::string cause;  // in words, for people; ends with ", workflow 'browse'" if the run may have several
  bool operator==(const Loss&) const = default;
};

// The reported iterations of a part of the load, for the part that takes over when it is lost.
struct Iterated {
  uint64_t ended = 0;      // completed or interrupted
  uint64_t last = 0;       // of these, in the last reported second
  uint64_t under_way = 0;  // at most, in that second

  // The most iterations that may have begun within `after` of that second, at its pace.
  uint64_t begun(Duration after) const {
    const auto seconds = static_cast<uint64_t>((after + Duration::nanos(999'999'999)) / Duration::seconds(1));
    const uint64_t most = std::numeric_limits<uint64_t>::max() / 4;
    const uint64_t since = seconds == 0 || last < most / seconds ? last * seconds : most;
    return std::min(ended, most) + std::min(under_way, most) + since;
  }
  bool operator==(const Iterated&) const = default;
};

}  // namespace bellwether::plan
