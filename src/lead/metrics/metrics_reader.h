// Reads the text format of Prometheus, as far as our own pages need it, and derives the pressure on a lock: who waits
// for it and for how long. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bellwether::lead {

struct MetricSample {
  std::string name;
  std::map<std::string, std::string, std::less<>> labels;  // without escapes
  double value = 0;

  std::string_view label(std::string_view which) const;
};

// Skips unreadable lines, and all after the first 100,000 samples.
std::vector<MetricSample> parse_metrics(std::string_view text);

struct LockPressure {
  std::size_t processes = 0;  // that report on this lock
  std::size_t holders = 0;    // that say they hold it now
  uint64_t waits = 0;         // how often the store was asked for the lock since they began
  uint64_t renewal_failures = 0;
  // The wait that 99 % did not exceed, in seconds, as precise as the buckets; infinite beyond the last one.
  std::optional<double> wait_p99_s;
  std::optional<double> stale_jobs;  // as the ticks counted them, added up

  std::size_t waiting() const { return processes - holders; }
};

// `pages`: one of each process. `loop`: of the sheet; `key`: its lock key.
LockPressure pressure_of(const std::vector<std::vector<MetricSample>>& pages, std::string_view loop,
                         std::string_view key);

}  // namespace bellwether::lead
