// All settings of context leadership: the requirements of a leader, and the times and limits of its work and hand-over.
// docs/advanced/contexts.md explains each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "core/base/result.h"
#include "core/base/time.h"
#include "election/context/fitness.h"
#include "election/context/request_queue.h"

namespace bellwether::context_lead {

// Fixed values.
inline constexpr Duration kTakeOverTimeout = Duration::seconds(30);  // for the target to lead; then the old one stays
inline constexpr uint32_t kLeaderHealthChecks = 2;                   // of a leader that is poor, in a row
inline constexpr uint8_t kTries = 3;                                 // failures after which a request has failed
inline constexpr uint32_t kMaxAttempts = 1000;                       // also those whose end no leader has seen
inline constexpr Duration kMaxClockLead = Duration::minutes(1);      // of the clock of another node

struct ContextSettings {
  bool enable_context_leadership = true;
  double context_leadership_weight = 0.3;  // of fitness for context, in the score of a candidate for admin
  bool require_context_capability = true;  // a node without it is not fit, and receives no transfer
  bool auto_start_generation = true;       // otherwise it waits for a command
  Duration generation_start_delay = Duration::seconds(5);
  Duration generation_stop_timeout = Duration::seconds(30);  // for jobs that were cancelled; then they are killed

  Duration context_failover_timeout = Duration::seconds(60);  // from the end of the last job to the target's take-over
  Duration state_transfer_timeout = Duration::seconds(30);    // for the state to be sent and accepted
  Duration validation_timeout = Duration::seconds(10);        // for the target to judge the state
  bool require_state_validation = true;                       // otherwise a target drops a state with faults silently

  Duration context_health_check_interval = Duration::seconds(30);
  double cluster_health_threshold = 0.7;  // below it generation pauses
  double leader_health_threshold = 0.8;   // below it for kLeaderHealthChecks the leader hands over

  uint64_t max_queue_transfer_size = kMaxRequests;       // requests that are live at once
  Duration queue_drain_timeout = Duration::seconds(60);  // for jobs to end by themselves before a transfer or a stop
  bool preserve_completed_jobs = true;                   // finished requests go along with a transfer

  Duration coordination_timeout = Duration::seconds(10);  // for one question to another node or to the register
  uint64_t max_coordination_retries = 3;
  Duration coordination_backoff = Duration::seconds(2);

  ContextWeights weights;
  Requirements requirements;

  // Errors: kInvalid (outside of the limits, or times that do not fit together, with the arithmetic).
  Status validate() const;

  // The requirements that candidates are held to.
  Requirements requirements_in_force() const;
};

// The settings of one value each, and their limits.
struct ContextSetting {
  std::string_view name;  // as of the member
  std::variant<bool ContextSettings::*, uint64_t ContextSettings::*, double ContextSettings::*,
               Duration ContextSettings::*>
      member;
  double least = 0;  // seconds for a time; unused for a switch
  double most = 1;
};
std::span<const ContextSetting> context_settings();

}  // namespace bellwether::context_lead
