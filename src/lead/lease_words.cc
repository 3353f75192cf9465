#include "lead/lease_words.h"

#include "core/base/units.h"

namespace bellwether::lead {

using election::LeaseRecord;
using election::Observation;

Duration between(WallTime from, WallTime to) { return Duration::nanos(to.unix_ns) - Duration::nanos(from.unix_ns); }

Duration left_of(const Observation& seen, WallTime now) {
  if (seen.left) return *seen.left;
  return seen.record.lease - between(seen.record.renewed_at, now);
}

std::string left_text(const Observation& seen, WallTime now) {
  if (!seen.record.held() || seen.record.lease <= Duration::zero()) return "-";
  const int64_t ms = left_of(seen, now).ms();
  return ms > 0 ? std::to_string(ms) + " ms" : "overdue";
}

std::string ago(WallTime then, WallTime now) {
  if (then.unix_ns == 0) return "-";
  const Duration span = between(then, now);
  return span < Duration::zero() ? "in the future" : format_duration(Duration::millis(span.ms())) + " ago";
}

std::string status_of(const Observation& seen) {
  const LeaseRecord& record = seen.record;
  if (!seen.present) return seen.evidence.empty() ? "never held" : "unknown: " + seen.evidence;
  if (!record.held()) return "free: " + (record.cause.empty() ? "released" : record.cause);
  std::string status = seen.foreign ? "held by a program that keeps no epoch" : "held";
  if (seen.sight == election::HolderSight::kDead) status = "holder is dead: " + seen.evidence;
  if (!record.heir.empty())
    status += ", asked to hand over" + (record.heir == election::kAnybody ? "" : " to " + record.heir);
  if (seen.may_have_lost_data) status += "; the store may have lost data";
  return status;
}

}  // namespace bellwether::lead
