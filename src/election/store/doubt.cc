#include "election/store/doubt.h"

#include <algorithm>

#include "core/base/units.h"

namespace bellwether::store {

using election::Epoch;
using election::Observation;

void judge_absence(const ServerLife& life, const std::string& server_name, Observation& seen) {
  if (life.born_ms == 0) {
    seen.may_have_lost_data = true;
    seen.floor = Epoch(life.now_ms);
    seen.evidence = fmt::format("this {} has never stored leases, or has lost all its data", server_name);
    return;
  }
  if (life.marked_in != life.now_in) {
    seen.may_have_lost_data = true;
    seen.floor = Epoch(std::max(life.now_ms, life.born_ms + 1));
    seen.evidence = fmt::format("this {} was restarted or replaced: its last writes may be lost", server_name);
    return;
  }
  seen.present = true;
  seen.record.epoch = Epoch(life.born_ms);
  seen.record.cause = "no candidate has held the key yet";
  const Duration age = Duration::millis(static_cast<int64_t>(life.now_ms) - static_cast<int64_t>(life.born_ms));
  if (age < kDoubtFor) {
    seen.may_have_lost_data = true;
    seen.evidence =
        fmt::format("this {} is new, or was restarted or replaced within {}", server_name, format_duration(kDoubtFor));
  }
}

void judge_record(const ServerLife& life, const std::string& written_in, const std::string& server_name,
                  Observation& seen) {
  if (written_in == life.now_in) return;
  seen.may_have_lost_data = true;
  seen.record.lease = Duration::zero();  // a later one, now lost, may have been longer
  seen.floor = Epoch(std::max(life.now_ms, seen.record.epoch.value() + 1));
  seen.evidence = server_name + " was restarted or replaced after this write: its last writes may be lost";
}

}  // namespace bellwether::store
