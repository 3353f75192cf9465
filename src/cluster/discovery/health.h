// How well requests to one peer go, from their outcomes alone: a smoothed latency, the share of errors of late, and how
// many failed in a row.
#pragma once

#include <bitset>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/time.h"

namespace bellwether::discovery {

class PeerHealth {
 public:
  static constexpr std::size_t kOutcomes = 100;       // that the error rate is of
  static constexpr std::size_t kOutcomesNeeded = 20;  // before which there is no error rate and no percentile
  static constexpr std::size_t kLatencies = 100;      // that the percentile is of

  explicit PeerHealth(double alpha) : alpha_(alpha) {}

  void succeeded(Duration latency);
  void failed();

  // The exponentially weighted moving average, ewma = alpha · latency + (1 − alpha) · ewma; zero before the first.
  Duration ewma() const { return ewma_; }
  double error_rate() const;  // in [0, 1]; 0 while too little is known
  unsigned consecutive_failures() const { return consecutive_failures_; }
  // The 99th percentile (nearest rank) of the last latencies; nothing while too little is known.
  std::optional<Duration> p99() const;

 private:
  void count(bool error);
  double alpha_;
  Duration ewma_;
  unsigned consecutive_failures_ = 0;
  std::bitset<kOutcomes> errors_;  // rings
  std::size_t outcomes_ = 0;
  std::vector<Duration> latencies_;  // empty until the first, since most peers are never asked anything
  std::size_t latencies_seen_ = 0;
};

}  // namespace bellwether::discovery
