// The load generator watches itself: readings of its load and its machine come in about once a second, findings go out
// (load/plan/finding.h). docs/load/guides/generator.md has the table of signals, thresholds and remedies for users.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/time.h"
#include "load/plan/finding.h"

namespace bellwether::aggregate {

using plan::Finding;
using plan::kMaxFindings;
using plan::kSaturations;
using plan::lasted;
using plan::remedy;
using plan::Saturation;
using plan::text_of;

// The readings of the operating system. Counters began before the run; missing ones are left out.
struct MachineReading {
  struct Processors {
    uint64_t stolen = 0;  // ticks, over all processors: taken by the hypervisor
    uint64_t wanted = 0;  // busy or stolen
    uint64_t all = 0;     // with the idle ones
  };
  struct Quota {
    uint64_t periods = 0;
    uint64_t throttled = 0;  // of those, in which the group used up its quota
  };
  std::optional<Processors> processors;
  std::optional<Quota> quota;              // of the control group that may use the least
  std::optional<double> memory_ratio;      // used, of the machine's or of a group's limit, whichever is nearer; 0 to 1
  std::optional<double> descriptor_ratio;  // open, of those it may open; 0 to 1
};

// The measurements of the load threads in a second.
struct LoadReading {
  Duration covered;        // > 0
  double cpu_ratio = 0;    // of the processors that the load threads have; 0 to 1
  Duration loop_lag_p99;   // the time that a ready event waited for its turn
  Duration loop_lag_most;  // the longest of these
  uint64_t exhausted = 0;  // requests that failed for want of ports or descriptors
};

// From this value on a second is bad.
inline constexpr double kSaturationCpu = 0.95;
inline constexpr Duration kSaturationLag = Duration::millis(50);
// A loop that waited so long stood still, which no percentile need show. Once makes a second bad, and begins a finding.
inline constexpr Duration kSaturationStandstill = Duration::seconds(1);
inline constexpr double kSaturationDescriptors = 0.95;
inline constexpr double kSaturationThrottled = 0.10;
inline constexpr double kSaturationStolen = 0.10;       // of the wanted time…
inline constexpr double kSaturationStolenOfAll = 0.02;  // …where the same time is also this part of all time
inline constexpr double kSaturationMemory = 0.90;
// This number of consecutive bad readings begins a finding (one request without a port is enough), and this number of
// good ones ends it.
inline constexpr int kSaturationBegins = 3;
inline constexpr int kSaturationEnds = 3;
// Findings about the machine that last for this part of a run in total make it saturated.
inline constexpr double kSaturatedRatio = 0.01;

class SelfMonitor {
 public:
  // The changes of a reading: a finding that began, or one that is over.
  using Changes = std::vector<Finding>;

  // A second is over, at `now` since the start of the run. `machine`: nullptr: not read this time.
  Changes second(Duration now, const LoadReading& load, const MachineReading* machine);
  // The run has ended, and its open findings with it.
  void end(Duration now);

  const std::vector<Finding>& findings() const { return findings_; }

 private:
  struct Signal {
    int bad = 0;                      // readings, one after the other
    int good = 0;                     // the same
    Duration begin;                   // of the first of the bad ones
    double worst = 0;                 // of them
    std::optional<std::size_t> open;  // its finding
    bool told = false;                // it is a new finding, not the last one continued
  };
  void judge(Saturation saturation, Duration from, Duration now, double value, bool is_bad, int begins, Changes& out);
  void begin(Signal& signal, Saturation saturation, Duration now, Changes& out);
  void judge_machine(Duration now, const MachineReading& machine, Changes& out);

  std::array<Signal, kSaturations> signals_;
  std::vector<Finding> findings_;
  MachineReading before_;  // with the counters of the last reading
  Duration read_at_;
};

}  // namespace bellwether::aggregate
