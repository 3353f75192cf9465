// What a run did not do or does not know: load that was planned and not made, or made and not measured. A run with
// losses says so wherever it reports (docs/decisions/018-losses.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "core/base/time.h"

namespace bellwether::plan {

struct Loss {
  Duration from;      // since the start of the run
  Duration to;        // not before `from`
  double share = 0;   // of the planned load of its workflow in that time, 0 to 1
  std::string cause;  // in words, for people; ends with ", workflow 'browse'" where there may be several
  bool operator==(const Loss&) const = default;
};

// What was told of the iterations of a part of the load, for those who go on with it when it is lost.
struct Iterated {
  uint64_t ended = 0;      // completed or interrupted
  uint64_t last = 0;       // of these, in the last second that was told
  uint64_t under_way = 0;  // at most, in that second

  // How many may have been begun until so long after that second, at its pace.
  uint64_t begun(Duration after) const {
    const auto seconds = static_cast<uint64_t>((after + Duration::nanos(999'999'999)) / Duration::seconds(1));
    const uint64_t most = std::numeric_limits<uint64_t>::max() / 4;
    const uint64_t since = seconds == 0 || last < most / seconds ? last * seconds : most;
    return std::min(ended, most) + std::min(under_way, most) + since;
  }
  bool operator==(const Iterated&) const = default;
};

}  // namespace bellwether::plan
