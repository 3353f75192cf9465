#include "load/metrics/response_times.h"

#include <algorithm>

namespace bellwether::metrics {
namespace {

// A hundredth: more than the width of buckets, less than readers care for.
constexpr double kKnown = 1.01;

}  // namespace

bool ResponseFigure::known() const { return most && most->millis_f() <= value.millis_f() * kKnown; }

void ResponseTimes::merge(const ResponseTimes& other) {
  answered.merge(other.answered);
  unanswered.merge(other.unanswered);
  unfinished.merge(other.unfinished);
}

void ResponseTimes::clear() {
  answered.clear();
  unanswered.clear();
  unfinished.clear();
}

Histogram ResponseTimes::waits() const {
  const Duration longest = answered.max();
  Histogram out;
  out.merge(answered);
  out.merge(unfinished);
  unanswered.each_bucket([&](uint32_t index, uint64_t times) {
    const Duration waited =
        std::clamp(Duration::nanos(Histogram::middle_of(index)), unanswered.min(), unanswered.max());
    out.record(std::max(waited, longest), times);
  });
  return out;
}

ResponseFigure ResponseTimes::percentile_among(double percent, const Histogram* all) const {
  const Duration of_responses = answered.percentile(percent);
  if (all == nullptr) return {of_responses, of_responses};
  ResponseFigure out{std::max(all->percentile(percent), of_responses), {}};
  const double rank = percent / 100 * static_cast<double>(count());
  const auto responses = static_cast<double>(answered.count());
  if (responses > 0 && rank <= responses) out.most = std::max(answered.percentile(rank / responses * 100), out.value);
  return out;
}

ResponseFigure ResponseTimes::mean() const {
  if (all_answered()) return {answered.mean(), answered.mean()};
  return {std::max(waits().mean(), answered.mean()), {}};
}

ResponseFigure ResponseTimes::max() const {
  if (all_answered()) return {answered.max(), answered.max()};
  return {waits().max(), {}};
}

}  // namespace bellwether::metrics
