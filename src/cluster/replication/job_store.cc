#include "cluster/replication/job_store.h"

#include "core/base/units.h"

namespace bellwether::jobs {

Status check_key(const std::string& key) {
  if (!key.empty() && key.size() <= kMaxKeyBytes) return {};
  return fail(Errc::kInvalid, "the key of a job must have 1 to {} bytes; this one has {}", kMaxKeyBytes, key.size());
}

Error too_large(const std::string& key, std::size_t bytes) {
  return {Errc::kTooLarge,
          fmt::format("the state of job '{}' has {} bytes; the limit is {}", key, bytes, kMaxStateBytes)};
}

Status check_settings(const JobSettings& settings) {
  if (settings.lease < Duration::seconds(2) || settings.lease > registers::kLongestJobLease) {
    return fail(Errc::kInvalid, fmt::format("the lease of jobs is {}; it must be between 2 s and 5 min",
                                            format_duration(settings.lease)));
  }
  if (settings.drift < 0 || settings.drift > 0.2) {
    return fail(Errc::kInvalid, "the drift of clocks must be a ratio between 0 and 0.2");
  }
  return {};
}

}  // namespace bellwether::jobs
