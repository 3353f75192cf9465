#include "cli/lease_bounds.h"

#include <CLI/CLI.hpp>

#include "cli/durations.h"
#include "core/base/units.h"

namespace bellwether::cli {

void add_lease_bounds(CLI::App* command, LeaseBounds& bounds, const char* help_least, const char* help_most) {
  add_duration(command, "--ttl-min", bounds.least, help_least);
  add_duration(command, "--ttl-max", bounds.most, help_most);
}

Result<election::AdaptiveSettings> settings_within(const LeaseBounds& bounds, Duration first, Duration usual_most) {
  election::AdaptiveSettings settings;
  settings.lease_min = bounds.least.value_or(first);
  settings.lease_max = bounds.most.value_or(usual_most);
  if (settings.lease_min > first || first > settings.lease_max) {
    return fail(Errc::kInvalid, "the lease must lie within its bounds: --ttl-min " +
                                    format_duration(settings.lease_min) + ", --ttl " + format_duration(first) +
                                    ", --ttl-max " + format_duration(settings.lease_max));
  }
  if (const auto good = election::LeaseTiming::of(settings.lease_min).validate(); !good) {
    return fail(Errc::kInvalid, "--ttl-min: " + good.error().message);
  }
  return settings;
}

}  // namespace bellwether::cli
