// What the small cluster of the job kernel's tests is made of.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/job.h"

namespace bellwether::dispatch {

inline WorkflowSpec load_spec(std::string name, Duration length, std::vector<uint16_t> depends = {}) {
  WorkflowSpec spec;
  spec.name = std::move(name);
  spec.vus = 1000;
  spec.length = length;
  spec.depends = std::move(depends);
  spec.graceful_stop = Duration::seconds(5);
  return spec;
}

struct TestShare {
  uint16_t workflow = 0;
  PartRange parts;
  uint32_t cores = 0;
  SharePhase phase = SharePhase::kReady;
  Instant clock;
  Instant began;
  uint64_t from = 0;
  uint64_t told = 0;   // numbers that the account has
  uint64_t until = 0;  // it hands over then
  std::optional<ShareEnd> end;
};
struct TestWorker {
  uint64_t life = 1;
  uint32_t cores = 1;
  bool alive = true;
  bool refuses = false;
  bool busy = false;  // has no cores, whatever it says
  bool breaks = false;
  bool leaves = false;
  bool silent = false;  // nothing reaches it
  std::map<ShareId, TestShare> shares;
  uint32_t used() const {
    uint32_t sum = 0;
    for (const auto& [id, one] : shares) sum += one.phase == SharePhase::kEnded ? 0 : one.cores;
    return sum;
  }
};
// Seconds of a part that are in the account.
struct TestPart {
  uint64_t seconds = 0;
  uint64_t twice = 0;
  std::map<uint64_t, int> by_second;
};

inline uint64_t measured_of(const TestShare& share, Instant now) {
  if (share.end) return share.end->last_number;
  const Duration ran = now - std::max(share.began, share.clock);
  return ran < Duration::zero() ? 0 : static_cast<uint64_t>(ran.ns() / 1'000'000'000);
}

inline std::vector<ShareSight> sights_of(const TestWorker& worker, Instant now) {
  std::vector<ShareSight> sights;
  for (const auto& [id, one] : worker.shares) {
    ShareSight& sight = sights.emplace_back();
    sight.share = id;
    sight.phase = one.phase;
    if (one.phase != SharePhase::kReady) {
      sight.clock = now - one.clock;
      sight.from = one.from;
      sight.measured = measured_of(one, now);
      sight.until = one.until;
    }
    if (one.end) sight.end = *one.end;
  }
  return sights;
}

// As the worker's desk does it: whether it takes over, or hands over, at that second.
inline bool take_over(TestShare& share, Instant now, Instant clock, Instant at, uint64_t from) {
  if (share.phase == SharePhase::kReady && now < at) {
    share.phase = SharePhase::kRunning;
    share.clock = clock;
    share.began = at;
    share.from = from;
  }
  return share.phase == SharePhase::kRunning;
}
inline bool hand_over(TestShare& share, Instant now, Instant at, uint64_t until) {
  const bool in_time = now + Duration::millis(100) <= at;
  if (share.until == 0 && share.phase == SharePhase::kRunning && in_time) share.until = until;
  return share.until == until;
}

// How many run a part.
inline int runs_of(const std::map<std::string, TestWorker>& workers, Instant now, uint16_t workflow, uint32_t part) {
  int runs = 0;
  for (const auto& [name, worker] : workers) {
    for (const auto& [id, one] : worker.shares) {
      const bool has = one.workflow == workflow && part >= one.parts.first && part < one.parts.first + one.parts.count;
      runs += has && worker.alive && one.phase == SharePhase::kRunning && one.began <= now ? 1 : 0;
    }
  }
  return runs;
}

// What happens to a letter to a worker.
enum class Fate : uint8_t { kArrives, kIsLost, kAnswerIsLost };

}  // namespace bellwether::dispatch
