// A saturation of a load generator or of its machine: the cause that kept it from making its load, its begin and end,
// and its worst value. docs/load/guides/generator.md has the table of signals and remedies for users.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
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
// says so in every report (docs/contributing/decisions/018-losses.md).
struct Loss {
  Duration from;      // since the start of the run
  Duration to;        // not before `from`
  double ratio = 0;   // of the planned load of its workflow in that time, 0 to 1
  std::string cause;  // in words, for people; ends with ", workflow 'browse'" if the run may have several
  bool operator==(const Loss&) const = default;
};

// The reports of an assignment, for the one that takes over when it is lost. Each iteration takes a row of each data
// file.
struct Iterated {
  uint64_t ended = 0;  // completed or interrupted
  uint64_t begun = 0;
  uint64_t taken = 0;  // rows, by the part that has taken the most, with those of the assignments before it
  uint64_t pace = 0;   // see begun_within(); 0: not reported
  Duration idle;       // the time of its last second in which it made no load
  bool operator==(const Iterated&) const = default;
};

// The rows that a part may have taken of each data file by `at` of its workflow's clock.
struct RowPoint {
  uint64_t rows = 0;
  Duration at;
  bool operator==(const RowPoint&) const = default;
};

// The pace of a part that has not reported one yet.
inline constexpr uint64_t kFirstPace = 10'000;

// The most iterations that a part may begin within `after` of a reported second. The part keeps to it, and so its owner
// knows what it may have begun when it is lost. `pace`: a second, as the part last reported; `users`: of the part.
inline uint64_t begun_within(uint64_t pace, uint64_t users, Duration after) {
  constexpr double kMaxUsers = 1e18;
  const double most = static_cast<double>(pace == 0 ? kFirstPace : pace) * std::max(after.seconds_f(), 0.0);
  return users + static_cast<uint64_t>(std::min(std::ceil(most), kMaxUsers));
}

}  // namespace bellwether::plan
