#include "load/metrics/retention.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::metrics {
namespace {

constexpr uint64_t kTenSeconds = 10;
constexpr uint64_t kMinute = 60;
constexpr uint64_t kHour = 3'600;
constexpr uint64_t kDay = 24 * kHour;

}  // namespace

bool Retention::reach(uint64_t second) {
  if (second < end_) return false;
  end_ = second + 1;
  const uint64_t before = hot_;
  // The least border with at most `most` seconds plus less than a interval between it and `to`.
  const auto border = [this](uint64_t to, uint64_t most, uint64_t interval) {
    const uint64_t long_ago = to - begin_;
    return long_ago <= most ? begin_ : begin_ + (long_ago - most + interval - 1) / interval * interval;
  };
  hot_ = border(end_, hot_seconds_ + kTenSeconds - 1, kTenSeconds);
  warm_ = border(hot_, kHour, kMinute);
  cold_ = border(warm_, kDay, kMinute);
  return hot_ != before;
}

uint64_t Retention::interval_of(uint64_t second) const {
  if (second >= hot_ || second < begin_) return second;
  if (second < cold_) return 0;
  const uint64_t length = second >= warm_ ? kTenSeconds : kMinute;
  return begin_ + (second - begin_) / length * length;
}

std::vector<Fold> Retention::add(uint64_t second) {
  check(second >= end_, "seconds come in their order");
  const Retention before = *this;
  reach(second);
  std::vector<Fold> folds;
  // The oldest first, so that no tier is ever over its limit. The time between the old end and the second is empty.
  if (cold_ > before.cold_) folds.push_back({Tier::kArchive, 0, cold_});
  for (uint64_t at = std::max(before.warm_, cold_); at < std::min(warm_, before.end_); at += kMinute) {
    folds.push_back({Tier::kCold, at, at + kMinute});
  }
  for (uint64_t at = std::max(before.hot_, warm_); at < std::min(hot_, before.end_); at += kTenSeconds) {
    folds.push_back({Tier::kWarm, at, at + kTenSeconds});
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
    earlier.workflows[w].ran += later.workflows[w].ran;
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
