#include "results/compare/batches.h"

#include <algorithm>

namespace bellwether::results {

Batcher::Batcher(std::vector<Step> steps, uint64_t seconds, uint64_t coarsest)
    : steps_(std::move(steps)), seconds_(seconds) {
  const uint64_t unit = std::max<uint64_t>(1, coarsest);
  // A whole number of the longest stretches, so that each of them lies in one batch.
  const uint64_t units = std::max<uint64_t>(1, seconds / unit);
  batch_ = unit * ((units + kMostBatches - 1) / kMostBatches);
  for (const Step& step : steps_) out_.steps.push_back(step.name);
  out_.of.resize(steps_.size() + 1);
}

void Batcher::add(const metrics::Window& window, uint64_t span) {
  if (window.second >= seconds_ || window.covered < Duration::millis(100)) return;
  const auto at = static_cast<std::size_t>(window.second / batch_);
  if (at >= out_.covered.size()) {
    out_.covered.resize(at + 1);
    spans_.resize(at + 1);
    for (auto& batches : out_.of) batches.resize(at + 1);
  }
  out_.covered[at] += window.covered;
  spans_[at] += span;
  StepBatch& all = out_.of.back()[at];
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const metrics::StepWindow& from = window.steps[steps_[s].index];
    StepBatch& to = out_.of[s][at];
    to.count += from.count;
    to.failed += from.failed;
    all.count += from.count;
    all.failed += from.failed;
    (steps_[s].open_model ? from.response : from.service).each_bucket([&](uint32_t bucket, uint64_t count) {
      to.times[bucket] += count;
      all.times[bucket] += count;
    });
  }
}

Batches Batcher::take() {
  if (spans_.size() > 1 && 2 * spans_.back() < batch_) {
    out_.covered.pop_back();
    for (auto& batches : out_.of) batches.pop_back();
  }
  return std::move(out_);
}

}  // namespace bellwether::results
