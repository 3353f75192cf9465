#include "load/report/metric_charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "load/report/text.h"

namespace bellwether::report {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The values of a metric in each column. A counter: the mean rate, its least and its most. A gauge: the last value, the
// least and the greatest. A rate: its percentage and the number of its values. A trend: median and p95, each the
// greatest of the points that share the column.
struct Lines {
  explicit Lines(std::size_t columns) : first(columns, kNone), second(columns, kNone), third(columns, kNone) {}
  Values first;
  Values second;
  Values third;
};

void raise(double& value, double other) { value = std::isnan(value) ? other : std::max(value, other); }
void lower(double& value, double other) { value = std::isnan(value) ? other : std::min(value, other); }

// Visits the points of the run by column, each with the metric's value there, or null.
template <class Visit>
void each_point(const ResultFile& run, const std::vector<Column>& columns, const ResultMetric& metric, Visit visit) {
  std::size_t column = 0;
  std::size_t at = 0;
  for (const ResultPoint& point : run.series) {
    while (column + 1 < columns.size() && point.t >= columns[column + 1].from) ++column;
    while (at < metric.series.size() && metric.series[at].t < point.t) ++at;
    const bool seen = at < metric.series.size() && metric.series[at].t == point.t;
    visit(column, point, seen ? &metric.series[at] : nullptr);
  }
}

// A missing count is zero: a counter has no gaps.
Lines of_counter(const ResultFile& run, const std::vector<Column>& columns, const ResultMetric& metric) {
  Lines out(columns.size());
  Values sums(columns.size(), 0);
  each_point(run, columns, metric, [&](std::size_t c, const ResultPoint& point, const ResultMetricPoint* seen) {
    if (seen != nullptr) sums[c] += seen->count;
    if (point.covered_s < kRest) return;
    const double rate = seen != nullptr ? seen->rate : 0;
    lower(out.second[c], rate);
    raise(out.third[c], rate);
  });
  for (std::size_t c = 0; c < columns.size(); ++c) {
    out.first[c] = columns[c].covered > 0 ? sums[c] / columns[c].covered : 0;
    lower(out.second[c], out.first[c]);
    raise(out.third[c], out.first[c]);
  }
  return out;
}

// A gauge has its value until it is set again.
Lines of_gauge(const ResultFile& run, const std::vector<Column>& columns, const ResultMetric& metric) {
  Lines out(columns.size());
  each_point(run, columns, metric, [&](std::size_t c, const ResultPoint&, const ResultMetricPoint* seen) {
    if (seen == nullptr) return;
    out.first[c] = seen->value;
    lower(out.second[c], seen->least);
    raise(out.third[c], seen->greatest);
  });
  for (std::size_t c = 1; c < columns.size(); ++c) {
    if (std::isnan(out.first[c])) out.first[c] = out.second[c] = out.third[c] = out.first[c - 1];
  }
  return out;
}

Lines of_rate(const ResultFile& run, const std::vector<Column>& columns, const ResultMetric& metric) {
  Lines out(columns.size());
  Values matches(columns.size(), 0);
  Values totals(columns.size(), 0);
  each_point(run, columns, metric, [&](std::size_t c, const ResultPoint&, const ResultMetricPoint* seen) {
    if (seen == nullptr) return;
    matches[c] += static_cast<double>(seen->matches);
    totals[c] += static_cast<double>(seen->total);
  });
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (totals[c] == 0) continue;
    out.first[c] = matches[c] / totals[c] * 100;
    out.second[c] = totals[c];
  }
  return out;
}

Lines of_trend(const ResultFile& run, const std::vector<Column>& columns, const ResultMetric& metric) {
  Lines out(columns.size());
  each_point(run, columns, metric, [&](std::size_t c, const ResultPoint&, const ResultMetricPoint* seen) {
    if (seen == nullptr) return;
    raise(out.first[c], seen->median);
    raise(out.second[c], seen->p95);
  });
  return out;
}

double least_of(const Values& values) {
  double out = 0;
  for (const double value : values) out = std::min(out, std::isnan(value) ? out : value);
  return out;
}

double most_of(const Values& values) {
  double out = 0;
  for (const double value : values) out = std::max(out, std::isnan(value) ? out : value);
  return out;
}

// "[[1,0,2],0,…]": an entry for each column, 0 for an empty one.
std::string script_of(const Lines& lines) {
  std::string out = "[";
  for (std::size_t c = 0; c < lines.first.size(); ++c) {
    if (c > 0) out += ",";
    if (std::isnan(lines.first[c])) {
      out += "0";
      continue;
    }
    out += fmt::format("[{:.6g},{:.6g}", lines.first[c], lines.second[c]);
    if (!std::isnan(lines.third[c])) out += fmt::format(",{:.6g}", lines.third[c]);
    out += "]";
  }
  return out + "]";
}

std::string with_band(const Chart& chart, const std::string& look, const Lines& lines) {
  return chart.band(look, lines.second, lines.third) + chart.line(look, lines.first);
}

std::string chart_of(const ResultFile& run, const std::vector<Column>& columns, const ResultMetric& metric,
                     const std::string& attributes, std::string& script) {
  if (metric.kind == "counter") {
    const Lines lines = of_counter(run, columns, metric);
    script = script_of(lines);
    const Chart chart(run, columns, linear_axis(0, most_of(lines.third)));
    return chart.wrap(title_text(metric) + " per second",
                      lines.second == lines.third ? "" : legend({{"rate", "mean"}, {"rate soft", "min to max"}}),
                      "counter", with_band(chart, "rate", lines), attributes);
  }
  if (metric.kind == "gauge") {
    const Lines lines = of_gauge(run, columns, metric);
    script = script_of(lines);
    const Chart chart(run, columns, linear_axis(least_of(lines.second), most_of(lines.third)));
    return chart.wrap(title_text(metric), legend({{"vus", "last"}, {"vus soft", "min to max"}}), "gauge",
                      with_band(chart, "vus", lines), attributes);
  }
  if (metric.kind == "rate") {
    const Lines lines = of_rate(run, columns, metric);
    script = script_of(lines);
    const Chart chart(run, columns, linear_axis(0, 100));
    return chart.wrap(title_text(metric) + ", % true", "", "share", chart.line("share", lines.first), attributes);
  }
  const Lines lines = of_trend(run, columns, metric);
  script = script_of(lines);
  const Chart chart(run, columns, linear_axis(0, most_of(lines.second)));
  return chart.wrap(title_text(metric), legend({{"p50", "p50"}, {"p95", "p95"}}), "trend",
                    chart.line("p95", lines.second) + chart.line("p50", lines.first), attributes);
}

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
  constexpr double kLetter = 11;  // the widest, on a phone
  double taken = across(0) + 4 * kLetter;
  const double end = across(1) - 3 * kLetter;
  for (const auto& [at, name] : kRanks) {
    const double middle = across(rank.part(at));
    const double half = static_cast<double>(std::string_view(name).size() + 1) * kLetter / 2;
    if (middle - half < taken || middle + half > end) continue;
    inside += level_label(rank.part(at), name);
    taken = middle + half;
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

MetricCharts metric_charts(const ResultFile& run, const std::vector<Column>& columns) {
  MetricCharts out;
  out.script = "[";
  std::size_t shown = 0;
  for (const ResultMetric& metric : run.metrics) {
    if (metric.series.empty() || columns.empty()) continue;
    if (shown == kMaxMetricCharts) {
      ++out.left_out;
      continue;
    }
    std::string script;
    out.figures += chart_of(run, columns, metric, fmt::format(" data-metric=\"{}\"", shown), script);
    out.script += (shown == 0 ? "" : ",") + script;
    ++shown;
  }
  out.script += "]";
  return out;
}

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
