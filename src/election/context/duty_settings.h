// What can be set about the duties of a context leader. Each name stands for one setting of the same name.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/time.h"
#include "election/context/request.h"

namespace bellwether::context_lead {

struct DutySettings {
  bool enable_context_leadership = true;
  bool require_context_capability = true;  // who lacks it is not fit, and is handed nothing
  bool auto_start_generation = true;       // else it waits for a command
  Duration generation_start_delay = Duration::seconds(5);
  Duration generation_stop_timeout =
      Duration::seconds(30);  // for jobs that were cancelled to end; then they are killed

  Duration context_failover_timeout = Duration::seconds(60);  // from the end of the last job to the target's take-over
  Duration state_transfer_timeout = Duration::seconds(30);    // for the state to be sent and accepted
  Duration take_over_timeout = Duration::seconds(30);         // for the target to lead; then the old leader takes back
  Duration validation_timeout = Duration::seconds(10);        // for the target to say what it thinks of the state
  bool require_state_validation = true;                       // else a state with faults is passed over in silence

  Duration context_health_check_interval = Duration::seconds(30);
  double cluster_health_threshold = 0.7;  // below it generation pauses
  double leader_health_threshold = 0.8;   // below it for leader_health_checks in a row the leader hands over
  uint32_t leader_health_checks = 2;

  uint64_t max_queue_transfer_size = kMostRequests;      // requests that are live at once
  Duration queue_drain_timeout = Duration::seconds(60);  // for jobs to end by themselves before a transfer or a stop
  bool preserve_completed_jobs = true;                   // finished requests go along with a transfer

  Duration coordination_timeout = Duration::seconds(10);  // for one question to another node or to the register
  uint64_t max_coordination_retries = 3;
  Duration coordination_backoff = Duration::seconds(2);

  uint8_t tries = 3;              // failures after which a request has failed
  uint32_t most_attempts = 1000;  // with those that no leader lived to see the end of
  // How far the clock of a submitter may be ahead.
  Duration most_clock_lead = Duration::minutes(1);

  // kInvalid, with what was expected and what to do.
  Status validate() const;
};

}  // namespace bellwether::context_lead
