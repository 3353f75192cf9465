// The experiment that compares failure detectors with suspicion (Lifeguard, section V): a group of 128 in which C
// members at a time are slow, for D at a stretch with I between, over a grid of C, D and I. It counts the members
// wrongly declared dead, the members that declare it, and the messages of the group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/membership/profile.h"
#include "sim/membership/member_world.h"

namespace bellwether::sim {

// The time until a group notices a crash, and the cost of a group without events.
struct DetectionCase {
  std::size_t members = 100;
  std::size_t crashes = 20;  // one after the other, each in a whole group
  uint64_t seed = 1;
  double loss = 0;
};

// Seconds from the crash until the first member, and until all others, hold the crashed one dead.
struct Detection {
  double first_p50 = 0;
  double first_p99 = 0;
  double all_p50 = 0;
  double all_p99 = 0;
  uint64_t missed = 0;           // not noticed by all within two minutes
  uint64_t false_positives = 0;  // deaths of others meanwhile
};
Detection measure_detection(const membership::Figures& figures, const DetectionCase& one);

// The average traffic of one node of an idle group in a second: everything included.
struct IdleCost {
  double messages = 0;
  double bytes = 0;
};
IdleCost measure_idle(const membership::Figures& figures, std::size_t members, Duration over, uint64_t seed);

struct AnomalyCase {
  std::size_t members = 128;
  std::size_t slow = 1;                     // C, drawn anew in each case
  Duration lasts = Duration::seconds(1);    // D
  Duration between = Duration::seconds(1);  // I
  Stall kind = Stall::kBlocked;
  Duration quiet = Duration::seconds(15);  // before the first
  Duration over = Duration::seconds(120);  // from the first on
  uint64_t seed = 1;
};

struct AnomalyCounts {
  uint64_t runs = 0;
  uint64_t false_positives = 0;             // deaths of members that were not slow, counted at every member
  uint64_t false_positives_at_healthy = 0;  // of these, at members that were not slow
  uint64_t deaths_of_slow = 0;              // for information: slow for longer than the detector allows
  uint64_t messages = 0;
  uint64_t bytes = 0;
  AnomalyCounts& operator+=(const AnomalyCounts& other);
};

AnomalyCounts run_anomaly(const AnomalyCase& one, const membership::Figures& figures);

// The grid: C of 1…32, D of 128 ms … 32.8 s, I of 1 ms … 16.4 s. `every` thins it: only each `every`-th case.
std::vector<AnomalyCase> anomaly_grid(Stall kind, uint64_t seed, std::size_t every = 1);

// Runs it for plain SWIM, Lifeguard as published and the profile `lan`; the table, as text.
std::string anomaly_table(Stall kind, uint64_t seed, std::size_t every);

}  // namespace bellwether::sim
