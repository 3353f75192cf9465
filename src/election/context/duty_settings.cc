#include "election/context/duty_settings.h"

#include <string>
#include <utility>

#include "base/units.h"

namespace bellwether::context_lead {

Status DutySettings::validate() const {
  const std::pair<const char*, Duration> spans[] = {
      {"generation_stop_timeout", generation_stop_timeout},
      {"context_failover_timeout", context_failover_timeout},
      {"state_transfer_timeout", state_transfer_timeout},
      {"take_over_timeout", take_over_timeout},
      {"validation_timeout", validation_timeout},
      {"context_health_check_interval", context_health_check_interval},
      {"queue_drain_timeout", queue_drain_timeout},
      {"coordination_timeout", coordination_timeout},
      {"coordination_backoff", coordination_backoff},
  };
  for (const auto& [name, span] : spans) {
    if (span <= Duration::zero() || span > Duration::hours(24)) {
      return fail(Errc::kInvalid, std::string(name) + " is " + format_duration(span) + ": give it up to 24h");
    }
  }
  if (generation_start_delay < Duration::zero() || generation_start_delay > Duration::hours(24)) {
    return fail(Errc::kInvalid, "generation_start_delay: give it 0 to 24h");
  }
  const std::pair<const char*, double> shares[] = {{"cluster_health_threshold", cluster_health_threshold},
                                                   {"leader_health_threshold", leader_health_threshold}};
  for (const auto& [name, share] : shares) {
    if (!(share >= 0 && share <= 1)) {
      return fail(Errc::kInvalid, std::string(name) + " is " + std::to_string(share) + ": give it 0 to 1");
    }
  }
  if (max_queue_transfer_size == 0 || max_queue_transfer_size > kMostRequests) {
    return fail(Errc::kInvalid, "max_queue_transfer_size is " + std::to_string(max_queue_transfer_size) +
                                    ": give it 1 to " + std::to_string(kMostRequests));
  }
  if (tries == 0 || most_attempts == 0 || leader_health_checks == 0) {
    return fail(Errc::kInvalid, "tries, most_attempts and leader_health_checks are at least 1");
  }
  if (most_clock_lead < Duration::zero()) return fail(Errc::kInvalid, "most_clock_lead is negative: give it 0 or more");
  if (state_transfer_timeout + take_over_timeout > context_failover_timeout) {
    return fail(Errc::kInvalid,
                "state_transfer_timeout and take_over_timeout (" + format_duration(state_transfer_timeout) + " + " +
                    format_duration(take_over_timeout) + ") do not fit into context_failover_timeout (" +
                    format_duration(context_failover_timeout) + "): lengthen it");
  }
  return {};
}

}  // namespace bellwether::context_lead
