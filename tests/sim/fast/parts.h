// The parts of a plan as engines run them, in one process or in many, and a server that tells which arrivals and which
// virtual users reached it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "load/plan/plan.h"
#include "load/vuser/engine.h"
#include "sim/world.h"

namespace bellwether::sim {

// What somebody tells an engine while it runs.
struct Order {
  Duration at;
  enum class What : uint8_t { kPause, kResume, kStop, kScale, kApplied } what = What::kPause;
  uint32_t number = 0;  // kScale: users of the first workflow; kApplied: seconds
};

// One engine's life, and what it counted.
struct Piece {
  vuser::EngineAssignment assignment;
  vuser::Resume resume;
  std::optional<Duration> killed_at;
  std::optional<Duration> hands_over_at;
  Duration told;  // so long before it takes over, or hands over
  std::vector<Order> orders;

  std::vector<uint64_t> seconds;  // of its windows
  std::vector<uint64_t> begun;    // in each of them, by the first workflow
  std::vector<uint64_t> taken;    // up to its end
  std::vector<uint64_t> paces;
  uint64_t scheduled = 0;
  uint64_t foreign = 0;  // samples of other workflows than its own
  int64_t users = 0;     // that there were at most
  vuser::Tally counted;  // in all windows
  vuser::Tally tally;    // as it says itself at its end
  Duration ended;        // since the start of the run
  // Of those that were ended by their timeouts, each time that is said.
  std::vector<uint16_t> timed_out = {};
  uint64_t interrupted = 0;  // iterations
  uint64_t charged = 0;      // waits of arrivals that found no user
  // Of each series of the plan: its values, and the greatest of them.
  std::vector<std::pair<uint64_t, Duration>> times = {};
  std::vector<Duration> ran = {};  // each workflow, in all windows
  // The longest of all requests.
  Duration response = {};
  Duration service = {};
};

plan::Plan plan_of(const std::string& yaml);

struct Ground {
  Ground(uint64_t seed, const std::string& yaml) : world(seed), plan(plan_of(yaml)) {}
  // To the end of all engines.
  void live(Duration at_most);

  Duration answers_after;
  std::vector<Duration> answers;  // in place of this, to arrivals that come `apart` from each other
  Duration apart;
  vuser::SpareUsers* spare = nullptr;  // of all pieces
  World world;
  plan::Plan plan;
  std::vector<Piece> pieces;
  Instant start;                                                    // world time
  std::vector<std::pair<std::string, Duration>> requests;           // target of each, and when it came
  std::map<std::string, std::vector<Duration>> by_target() const {  // in the order of their coming
    std::map<std::string, std::vector<Duration>> sorted;
    for (const auto& [target, at] : requests) sorted[target].push_back(at);
    return sorted;
  }
};

}  // namespace bellwether::sim
