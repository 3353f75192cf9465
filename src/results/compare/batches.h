// A run cut into batches of equal time. Neighbouring requests are alike, because a slow moment slows all of them, so
// they are no independent samples; means over long enough batches nearly are (the method of batch means: B. Schmeiser,
// Batch Size Effects in the Analysis of Simulation Output, Operations Research 30, 1982, who recommends 10 to 30).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "metrics/window.h"

namespace bellwether::results {

inline constexpr std::size_t kMostBatches = 30;
inline constexpr std::size_t kLeastBatches = 8;  // with fewer nothing is said

// What one step did in one batch.
struct StepBatch {
  uint64_t count = 0;
  uint64_t failed = 0;
  std::map<uint32_t, uint64_t> times;  // of the histogram: count by bucket
};

// A run, in batches.
struct Batches {
  std::vector<std::string> steps;  // names
  // By step, then by batch; a last entry holds all steps together.
  std::vector<std::vector<StepBatch>> of;
  std::vector<Duration> covered;  // by batch
};

// Puts stretches of a run together. A stretch is never cut: a run of stretches of 10 s has batches of 10 s or more.
class Batcher {
 public:
  // What is to be compared: names of steps, their indices in a window, and whether response times count or service
  // times.
  struct Step {
    std::string name;
    std::size_t index = 0;
    bool open_model = false;
  };
  // `seconds`: the length of the run; `coarsest`: of its longest stretch.
  Batcher(std::vector<Step> steps, uint64_t seconds, uint64_t coarsest);

  // Stretches in their order. What begins beyond `seconds`, or has measured nearly nothing, is left out.
  void add(const metrics::Window& window, uint64_t span);
  // Without the batch at the end that is shorter than half of the others.
  Batches take();

  uint64_t batch_seconds() const { return batch_; }

 private:
  std::vector<Step> steps_;
  uint64_t seconds_;
  uint64_t batch_;
  std::vector<uint64_t> spans_;  // seconds in each batch
  Batches out_;
};

}  // namespace bellwether::results
