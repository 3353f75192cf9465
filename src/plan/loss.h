// What a run did not do or does not know: load that was planned and not made, or made and not measured. A run with
// losses says so wherever it reports (docs/decisions/018-losses.md).
#pragma once

#include <string>

#include "base/time.h"

namespace bellwether::plan {

struct Loss {
  Duration from;      // since the start of the run
  Duration to;        // not before `from`
  double share = 0;   // of the planned load of its workflow in that time, 0 to 1
  std::string cause;  // in words, for people; ends with ", workflow 'browse'" where there may be several
  bool operator==(const Loss&) const = default;
};

}  // namespace bellwether::plan
