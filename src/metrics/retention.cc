#include "metrics/retention.h"

#include <algorithm>

#include "base/check.h"

namespace bellwether::metrics {
namespace {

constexpr uint64_t kTenSeconds = 10;
constexpr uint64_t kMinute = 60;
constexpr uint64_t kHour = 3'600;
constexpr uint64_t kDay = 24 * kHour;

}  // namespace

std::vector<Fold> Retention::add(uint64_t second) {
  check(second >= end_, "seconds come in their order");
  end_ = second + 1;
  std::vector<Fold> folds;
  for (; end_ - hot_ >= kMinute + kTenSeconds; hot_ += kTenSeconds) {
    // The oldest first, so that no tier is ever over its limit.
    for (; hot_ + kTenSeconds - warm_ > kHour; warm_ += kMinute) {
      if (warm_ + kMinute - cold_ > kDay) {
        cold_ += kMinute;
        folds.push_back({Tier::kArchive, 0, cold_});
      }
      folds.push_back({Tier::kCold, warm_, warm_ + kMinute});
    }
    folds.push_back({Tier::kWarm, hot_, hot_ + kTenSeconds});
  }
  return folds;
}

void append(Window& earlier, const Window& later) {
  check(earlier.workflows.size() == later.workflows.size(), "windows of one plan");
  std::vector<std::pair<int64_t, int64_t>> gauges;
  gauges.reserve(earlier.workflows.size());
  for (std::size_t w = 0; w < earlier.workflows.size(); ++w) {
    gauges.emplace_back(std::max(earlier.workflows[w].vus_active, later.workflows[w].vus_active),
                        std::max(earlier.workflows[w].vus_allocated, later.workflows[w].vus_allocated));
  }
  const Duration covered = earlier.covered + later.covered;
  const uint64_t second = earlier.second;
  earlier.merge(later);
  earlier.covered = covered;
  earlier.second = second;
  for (std::size_t w = 0; w < gauges.size(); ++w) {
    earlier.workflows[w].vus_active = gauges[w].first;
    earlier.workflows[w].vus_allocated = gauges[w].second;
  }
}

}  // namespace bellwether::metrics
