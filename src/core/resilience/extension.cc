#include "core/resilience/extension.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/enum_names.h"

namespace bellwether::resilience {

std::string_view to_string(ExtensionRequest::Reason reason) {
  static constexpr EnumNames<ExtensionRequest::Reason> kNames("long workflow", "pause", "contention for resources");
  return kNames[reason];
}

std::string_view to_string(ExtensionAnswer::Denial denial) {
  static constexpr EnumNames<ExtensionAnswer::Denial> kNames(
      "granted", "all extensions are used", "no progress since the last extension",
      "other nodes suspect that its worker is dead", "its time limit has passed",
      "the progress is not between 0 and 1");
  return kNames[denial];
}

ExtensionTracker::ExtensionTracker(Instant now, const ExtensionSettings& settings)
    : settings_(settings), deadline_(now + settings.base) {
  check(settings.least > Duration::zero() && settings.least <= settings.base, "a grant is some time");
}

ExtensionTracker::ExtensionTracker(Instant deadline, unsigned granted, const ExtensionSettings& settings)
    : ExtensionTracker(deadline - settings.base, settings) {
  granted_ = granted;
}

void ExtensionTracker::recovered(Instant now) { *this = ExtensionTracker(now, settings_); }

ExtensionTracker::Phase ExtensionTracker::phase(Instant now) const {
  if (now < deadline_) return Phase::kInTime;
  return now < evicted_at() ? Phase::kInGrace : Phase::kEvict;
}

Duration ExtensionTracker::next_grant() const {
  Duration grant = settings_.base;
  for (unsigned i = 0; i <= granted_ && grant > settings_.least; ++i) grant = grant / 2;
  return std::max(grant, settings_.least);
}

ExtensionAnswer::Denial ExtensionTracker::deny(Instant now, const ExtensionRequest& request, bool suspect) const {
  using Denial = ExtensionAnswer::Denial;
  const bool is_ratio = request.progress >= 0 && request.progress <= 1;  // false for NaN
  if (!is_ratio) return Denial::kInvalid;
  if (suspect) return Denial::kSuspect;
  if (granted_ >= settings_.most) return Denial::kExhausted;
  if (phase(now) != Phase::kInTime) return Denial::kTooLate;
  // The first one has nothing to be compared with.
  return granted_ > 0 && request.progress <= progress_ ? Denial::kNoProgress : Denial::kNone;
}

ExtensionAnswer ExtensionTracker::ask(Instant now, const ExtensionRequest& request, bool suspect) {
  ExtensionAnswer answer;
  answer.denial = deny(now, request, suspect);
  if (answer.ok()) {
    answer.granted = next_grant();
    deadline_ += answer.granted;
    progress_ = request.progress;
    ++granted_;
    refused_ = 0;
  } else if (++refused_ >= settings_.refusals_most) {
    deadline_ = std::min(deadline_, now);
  }
  answer.deadline = deadline_;
  answer.remaining = settings_.most - std::min(granted_, settings_.most);
  answer.warning = answer.remaining <= settings_.warn_at;
  if (phase(now) == Phase::kInGrace) answer.grace_left = evicted_at() - now;
  return answer;
}

}  // namespace bellwether::resilience
