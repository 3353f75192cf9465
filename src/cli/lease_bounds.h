// The options --ttl-min and --ttl-max: between which bounds a lease follows its store.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "election/adaptive_timing.h"

namespace CLI {
class App;
}

namespace bellwether::cli {

struct LeaseBounds {
  std::optional<Duration> least;  // not given: the lease that it begins with
  std::optional<Duration> most;
};

void add_lease_bounds(CLI::App* command, LeaseBounds& bounds, const char* help_least, const char* help_most);

// kInvalid, naming the options, when `first` does not lie within them or the shortest lease has no room for its times.
Result<election::AdaptiveSettings> settings_within(const LeaseBounds& bounds, Duration first, Duration usual_most);

}  // namespace bellwether::cli
