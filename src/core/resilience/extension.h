// More time for a worker in the middle of something long: it asks before its deadline passes, with a reason. Each grant
// is half of the one before, so that no worker lives on grants:
//
//   30 s, and then 15, 7.5, 3.75, 1.875 and 1 s on request; at most five; with progress since the last one
//
// The last but one answer warns. Past the deadline the worker has ten seconds of grace to save its work; then it is
// evicted. Three refusals in a row begin the grace at once. A worker that completes or recovers starts again from
// nothing.
//
// A kernel: no clock.
#pragma once

#include <string_view>

#include "core/base/time.h"

namespace bellwether::resilience {

struct ExtensionSettings {
  Duration base = Duration::seconds(30);
  Duration least = Duration::seconds(1);
  unsigned most = 5;
  unsigned warn_at = 1;        // that remain
  unsigned refusals_most = 3;  // in a row
  Duration grace = Duration::seconds(10);
};

struct ExtensionRequest {
  enum class Reason : unsigned char { kLongWorkflow, kPause, kContention };
  Reason reason = Reason::kLongWorkflow;
  double progress = 0;     // of the whole, in [0, 1]
  Duration estimate;       // until it is done, for people; nothing is granted for it
  unsigned workflows = 0;  // that run
  bool operator==(const ExtensionRequest&) const = default;
};
inline constexpr std::size_t kExtensionReasons = 3;
std::string_view to_string(ExtensionRequest::Reason reason);  // "long workflow", "pause", "contention for resources"

struct ExtensionAnswer {
  enum class Denial : unsigned char { kNone, kExhausted, kNoProgress, kSuspect, kTooLate, kInvalid };
  Denial denial = Denial::kNone;
  Duration granted;  // zero unless it was
  Instant deadline;  // as it is with this answer
  unsigned remaining = 0;
  bool warning = false;  // nearly all were used: save the work
  Duration grace_left;   // zero: not in its grace
  bool ok() const { return denial == Denial::kNone; }
};
std::string_view to_string(ExtensionAnswer::Denial denial);

// Of one node, or one piece of work.
class ExtensionTracker {
 public:
  enum class Phase : unsigned char { kInTime, kInGrace, kEvict };

  // REQUIRES a base, and a least grant that is neither zero nor above it.
  explicit ExtensionTracker(Instant now, const ExtensionSettings& settings = {});
  // Of work that has its own deadline, and was given more time `granted` times before.
  ExtensionTracker(Instant deadline, unsigned granted, const ExtensionSettings& settings);

  // `suspect`: others doubt that it lives.
  ExtensionAnswer ask(Instant now, const ExtensionRequest& request, bool suspect);
  // It has completed a workflow, or answers again.
  void recovered(Instant now);

  Phase phase(Instant now) const;
  Instant deadline() const { return deadline_; }
  Instant evicted_at() const { return deadline_ + settings_.grace; }
  unsigned granted() const { return granted_; }

 private:
  ExtensionAnswer::Denial deny(Instant now, const ExtensionRequest& request, bool suspect) const;
  Duration next_grant() const;

  ExtensionSettings settings_;
  Instant deadline_;
  unsigned granted_ = 0;
  unsigned refused_ = 0;  // in a row
  double progress_ = 0;   // at the last grant
};

}  // namespace bellwether::resilience
