// All settings of context leadership: who is fit, and the times and limits within which it is led and handed over.
// docs/leadership/context.md says what each is for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "base/time.h"
#include "election/context/context_score.h"
#include "election/context/requirements.h"

namespace bellwether::context_lead {

struct ContextSettings {
  bool enable_context_leadership = true;
  double context_leadership_weight = 0.3;  // of fitness for context, in the score of who stands for admin
  bool require_context_capability = true;  // false: nobody is disqualified for a capability

  bool auto_start_generation = true;
  Duration generation_start_delay = Duration::seconds(5);
  Duration generation_stop_timeout = Duration::seconds(30);

  Duration context_failover_timeout = Duration::seconds(60);  // for the whole of a failover
  Duration state_transfer_timeout = Duration::seconds(30);
  Duration validation_timeout = Duration::seconds(10);
  bool require_state_validation = true;

  Duration context_health_check_interval = Duration::seconds(30);
  double cluster_health_threshold = 0.7;
  double leader_health_threshold = 0.8;

  uint64_t max_queue_transfer_size = 1000;  // requests
  Duration queue_drain_timeout = Duration::seconds(60);
  bool preserve_completed_jobs = true;

  Duration coordination_timeout = Duration::seconds(10);  // of one attempt
  uint64_t max_coordination_retries = 3;                  // after the first attempt
  Duration coordination_backoff = Duration::seconds(2);   // between two attempts

  ContextWeights weights;
  Requirements requirements;

  // Errors: kInvalid (outside of the limits, or times that do not fit together, with the arithmetic).
  Status validate() const;

  // The requirements that candidates are held to.
  Requirements requirements_in_force() const;
  // The score with which a node stands for admin, of both scores from 0 to 1: the admin is who leads the context too.
  double standing(double admin_score, double context_score) const;
};

// The settings of one value each, for whoever reads or prints them by name.
struct ContextSetting {
  std::string_view name;  // as of the member
  std::variant<bool ContextSettings::*, uint64_t ContextSettings::*, double ContextSettings::*,
               Duration ContextSettings::*>
      member;
  double least = 0;  // seconds for a time; nothing for what is on or off
  double most = 1;
};
std::span<const ContextSetting> context_settings();

}  // namespace bellwether::context_lead
