#include "core/resilience/overload.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/enum_names.h"

namespace bellwether::resilience {

namespace {

bool ascend(const LoadBounds& bounds) { return 0 < bounds[0] && bounds[0] <= bounds[1] && bounds[1] <= bounds[2]; }

LoadState level(double value, const LoadBounds& bounds, double ratio) {
  if (value > bounds[2] * ratio) return LoadState::kOverloaded;
  if (value > bounds[1] * ratio) return LoadState::kStressed;
  return value > bounds[0] * ratio ? LoadState::kBusy : LoadState::kHealthy;
}

}  // namespace

std::string_view to_string(LoadState state) {
  static constexpr EnumNames<LoadState> kNames("healthy", "busy", "stressed", "overloaded");
  return kNames[state];
}

template <std::size_t kMaxValues>
void OverloadDetector::Recent<kMaxValues>::add(double value) {
  values_[next_] = value;
  next_ = (next_ + 1) % kMaxValues;
  size_ = std::min(size_ + 1, kMaxValues);
}

template <std::size_t kMaxValues>
double OverloadDetector::Recent<kMaxValues>::average() const {
  double sum = 0;
  for (std::size_t i = 0; i < size_; ++i) sum += values_[i];
  return size_ == 0 ? 0 : sum / static_cast<double>(size_);
}

// Least squares, with the samples at 0, 1, 2, …
template <std::size_t kMaxValues>
double OverloadDetector::Recent<kMaxValues>::slope() const {
  const double middle = (static_cast<double>(size_) - 1) / 2;
  const double mean = average();
  const std::size_t oldest = size_ < kMaxValues ? 0 : next_;
  double covariance = 0;
  double variance = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    const double x = static_cast<double>(i) - middle;
    covariance += x * (values_[(oldest + i) % kMaxValues] - mean);
    variance += x * x;
  }
  return covariance / variance;
}

OverloadDetector::OverloadDetector(const OverloadSettings& settings) : settings_(settings) {
  check(settings.learning > 0 && settings.learning <= 1 && settings.margin > 0 && settings.margin <= 1 &&
            settings.least_baseline > Duration::zero() && settings.worse_after > 0 && settings.better_after > 0,
        "settings of a detector make sense");
  check(ascend(settings.above) && ascend(settings.latency_ms) && ascend(settings.cpu) && ascend(settings.memory) &&
            ascend(settings.queue),
        "bounds of load ascend");
}

void OverloadDetector::resources(double cpu, double memory) {
  cpu_.add(cpu);
  memory_ = memory;
}

// The excess of the average over the baseline, relative to it. An average below it is no excess: a return to the
// baseline would else look like growth.
double OverloadDetector::excess() const {
  const double usual = std::max(baseline_ms_, settings_.least_baseline.millis_f());
  return std::max(0.0, (latency_ms_.average() - usual) / usual);
}

void OverloadDetector::latency(Duration latency) {
  const double sample = std::max(0.0, latency.millis_f());
  latency_ms_.add(sample);
  if (!has_baseline_) baseline_ms_ = sample;
  has_baseline_ = true;
  excess_.add(excess());
  const Verdict now = judge(1);
  settle(now, judge(settings_.margin));
  if (std::max(state_, now.state) < LoadState::kStressed) baseline_ms_ += settings_.learning * (sample - baseline_ms_);
}

// With all bounds at this share of their values.
OverloadDetector::Verdict OverloadDetector::judge(double ratio) const {
  Verdict worst;
  const auto consider = [&worst](LoadState state, std::string_view reason) {
    if (state > worst.state) worst = {state, reason};
  };
  if (latency_ms_.size() >= kMinSamples) consider(level(excess(), settings_.above, ratio), "latency");
  if (excess_.size() == kTrendOver && excess_.slope() > settings_.slope * ratio) {
    consider(LoadState::kOverloaded, "trend");
  }
  consider(level(latency_ms_.average(), settings_.latency_ms, ratio), "latency");
  consider(level(cpu_.average(), settings_.cpu, ratio), "cpu");
  consider(level(memory_, settings_.memory, ratio), "memory");
  consider(level(queue_, settings_.queue, ratio), "queue");
  return worst;
}

// `relaxed` is never milder than `now`. The state changes to the verdict of all samples in a row.
void OverloadDetector::settle(Verdict now, Verdict relaxed) {
  if (now.state > state_) {
    better_ = 0;
    if (worse_ == 0 || now.state < mildest_.state) mildest_ = now;
    if (++worse_ < settings_.worse_after) return;
    state_ = mildest_.state;
    reason_ = mildest_.reason;
    worse_ = 0;
  } else if (relaxed.state < state_) {
    worse_ = 0;
    if (better_ == 0 || relaxed.state > harshest_.state) harshest_ = relaxed;
    if (++better_ < settings_.better_after) return;
    state_ = harshest_.state;
    reason_ = harshest_.reason;
    better_ = 0;
  } else {
    worse_ = 0;
    better_ = 0;
    if (now.state == state_) reason_ = now.reason;
  }
}

std::string_view to_string(Urgency urgency) {
  static constexpr EnumNames<Urgency> kNames("critical", "high", "normal", "low");
  return kNames[urgency];
}

Duration shed_for(LoadState state) {
  switch (state) {
    case LoadState::kHealthy:
    case LoadState::kBusy: return Duration::seconds(1);
    case LoadState::kStressed: return Duration::seconds(2);
    case LoadState::kOverloaded: return Duration::seconds(5);
  }
  return Duration::seconds(5);
}

}  // namespace bellwether::resilience
