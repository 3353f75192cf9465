#include "load/report/distribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "load/report/plot.h"
#include "load/report/text.h"

namespace bellwether::report {
namespace {

using metrics::Histogram;

// The times of one kind, and their look and name.
struct TimeKind {
  Histogram times;
  std::string look;
  std::string name;
};

constexpr std::size_t kDistributionBars = 60;
constexpr double kMinMillis = 1e-6;  // a logarithmic axis has no zero

double millis_of(int64_t ns) { return std::max(static_cast<double>(ns) / 1e6, kMinMillis); }

// The percentage of the values in each of the bars, which share the axis.
std::vector<double> shares_of(const Histogram& times, const Axis& axis) {
  std::vector<double> out(kDistributionBars, 0);
  times.each_bucket([&](uint32_t index, uint64_t count) {
    const double part = axis.part(millis_of(Histogram::middle_of(index)));
    out[std::min(static_cast<std::size_t>(part * kDistributionBars), kDistributionBars - 1)] +=
        static_cast<double>(count);
  });
  for (double& share : out) share *= 100 / static_cast<double>(times.count());
  return out;
}

std::string histogram_plot(const std::vector<TimeKind>& kinds, const Axis& time, const std::string& keys) {
  std::vector<std::vector<double>> shares;
  double most = 0;
  for (const TimeKind& kind : kinds) {
    shares.push_back(shares_of(kind.times, time));
    most = std::max(most, *std::max_element(shares.back().begin(), shares.back().end()));
  }
  const Axis share = linear_axis(0, most);
  std::string inside = grid_of(share);
  for (const double tick : time.ticks) inside += level_label(time.part(tick), label(tick));
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    std::string path = fmt::format("M{} {}", number(across(0)), number(upward(0)));
    for (std::size_t bar = 0; bar < kDistributionBars; ++bar) {
      path += fmt::format("V{}H{}", number(upward(share.part(shares[k][bar]))),
                          number(across(static_cast<double>(bar + 1) / kDistributionBars)));
    }
    path += fmt::format("V{}", number(upward(0)));
    inside +=
        fmt::format("<path class=\"band {0}\" d=\"{1}Z\"/><path class=\"line {0}\" d=\"{1}\"/>", kinds[k].look, path);
  }
  return plot_figure("Fraction of requests, %, by time, ms, log scale", keys, "", inside);
}

std::string percentile_plot(const std::vector<TimeKind>& kinds, const Axis& time, const std::string& keys) {
  uint64_t most = 2;
  for (const TimeKind& kind : kinds) most = std::max(most, kind.times.count());
  // By the number of requests of which one takes longer: 2 is the median, 100 the 99th percentile.
  const Axis rank{.least = 1, .most = static_cast<double>(most), .log = true};
  std::string inside = grid_of(time) + level_label(0, "min");
  static constexpr std::array<std::pair<double, const char*>, 7> kRanks{
      {{2, "p50"}, {10, "p90"}, {100, "p99"}, {1e3, "p99.9"}, {1e4, "p99.99"}, {1e5, "p99.999"}, {1e6, "p99.9999"}}};
  for (const auto& [at, name] : kRanks) {
    // Labels side by side need a tenth of the width; the end of the axis is the maximum.
    if (rank.part(at) > 0.12 && rank.part(at) < 0.9) inside += level_label(rank.part(at), name);
  }
  inside += level_label(1, "max");
  constexpr int kPoints = 80;
  for (const TimeKind& kind : kinds) {
    std::string path;
    for (int i = 0; i <= kPoints; ++i) {
      const double part = static_cast<double>(i) / kPoints;
      const double percent = 100 - 100 / std::pow(rank.most, part);
      const Duration value = i == 0         ? kind.times.min()
                             : i == kPoints ? kind.times.max()
                                            : kind.times.percentile(percent);
      path += fmt::format("{}{} {}", i == 0 ? "M" : "L", number(across(part)),
                          number(upward(time.part(millis_of(value.ns())))));
    }
    inside += fmt::format("<path class=\"line {}\" d=\"{}\"/>", kind.look, path);
  }
  return plot_figure("Time, ms, by percentile, log scales", keys, "", inside);
}

}  // namespace

std::string distribution_plots(const ResultFile& run) {
  Histogram response = all_response(run).waits();
  Histogram service = all_service(run);
  const bool due = std::ranges::any_of(run.steps, &ResultStep::due_times);
  std::vector<TimeKind> kinds;
  if (!response.empty()) kinds.push_back({std::move(response), "p95", "response time"});
  if (due && !service.empty()) kinds.push_back({std::move(service), "rate", "service time"});
  if (kinds.empty()) return {};
  double least = HUGE_VAL;
  double most = 0;
  std::vector<std::pair<std::string, std::string>> keys;
  for (const TimeKind& kind : kinds) {
    least = std::min(least, millis_of(kind.times.min().ns()));
    most = std::max(most, millis_of(kind.times.max().ns()));
    keys.emplace_back(kind.look, kind.name);
  }
  const Axis time = log_axis(least, most);
  return histogram_plot(kinds, time, legend(keys)) + percentile_plot(kinds, time, legend(keys));
}

}  // namespace bellwether::report
