// The live lines of `--ui ci`: one line every few seconds that reads well in a log, without escape codes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "load/aggregate/totals.h"

namespace bellwether::console {

// The state of a run at one moment.
struct Snapshot {
  Duration elapsed;
  Duration planned;        // length of the run as planned; zero: not known
  std::string_view state;  // "running", "stopping"
  int64_t vus = 0;
  uint64_t requests = 0;    // since the start
  uint64_t failed = 0;      // since the start
  uint64_t dropped = 0;     // since the start
  bool open_model = false;  // whether iterations can be dropped at all
  double rate_per_s = 0;    // since the snapshot before
  Duration p50;             // of the last second; zero: no request ended in it
  Duration p99;
  std::vector<aggregate::Failure> failures = {};  // the most frequent first
};

// Takes a snapshot of the totals. `before` is that of the line before, Snapshot{} for the first.
Snapshot snapshot_of(const aggregate::Totals& totals, const Snapshot& before, Duration planned, std::string_view state);

// "  12s  40%  running  vus 50  1,234 req/s (14,808 total)  p50 1.20ms p99 4.50ms  failed 0.00%  dropped 0"
std::string ci_line(const Snapshot& now);

}  // namespace bellwether::console
