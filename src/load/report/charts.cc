#include "load/report/charts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "load/report/chart.h"

namespace bellwether::report {
namespace {

template <class Get>
Values values_of(const std::vector<Column>& columns, Get get) {
  Values out;
  out.reserve(columns.size());
  for (const Column& column : columns) out.push_back(get(column));
  return out;
}

Values values_of(const std::vector<Column>& columns, double Column::*which) {
  return values_of(columns, [&](const Column& column) { return column.*which; });
}

Values times_of(const std::vector<Column>& columns, double PointTimes::*which) {
  return values_of(columns, [&](const Column& column) {
    return column.timed ? column.longest.*which : std::numeric_limits<double>::quiet_NaN();
  });
}

double most_of(const std::vector<Column>& columns, double Column::*which) {
  double most = 0;
  for (const Column& column : columns) most = std::max(most, column.*which);
  return most;
}

void add(Column& column, const ResultPoint& point) {
  if (point.covered_s >= kRest) {
    column.rate_least = std::min(column.rate_least, point.rate_per_s);
    column.rate_most = std::max(column.rate_most, point.rate_per_s);
    column.failed_most = std::max(column.failed_most, static_cast<double>(point.failed) / point.covered_s);
  }
  column.vus = std::max(column.vus, point.vus);
  const std::optional<PointTimes>& times = point.response ? point.response : point.service;
  if (!times) return;
  column.timed = true;
  column.longest.p50 = std::max(column.longest.p50, times->p50);
  column.longest.p95 = std::max(column.longest.p95, times->p95);
  column.longest.p99 = std::max(column.longest.p99, times->p99);
}

Column column_of(const ResultFile& run, std::size_t first, std::size_t end) {
  Column column;
  column.from = run.series[first].t;
  column.rate_least = run.series[first].rate_per_s;
  uint64_t requests = 0;
  uint64_t failed = 0;
  for (std::size_t i = first; i < end; ++i) {
    const ResultPoint& point = run.series[i];
    add(column, point);
    requests += point.requests;
    failed += point.failed;
    column.covered += point.covered_s;
    column.to = point.t + std::max(point.covered_s, 1e-3);
  }
  column.rate = column.covered > 0 ? static_cast<double>(requests) / column.covered : 0;
  column.failed = column.covered > 0 ? static_cast<double>(failed) / column.covered : 0;
  return column;
}

}  // namespace

std::vector<Column> columns_of(const ResultFile& run) {
  std::vector<Column> out;
  // The last moment of a run belongs to the second before it; alone it would look like a collapse.
  const std::size_t all = run.series.size();
  const std::size_t points = all > 1 && run.series.back().covered_s < kRest ? all - 1 : all;
  if (points == 0) return out;
  const double length = run.series.back().t + run.series.back().covered_s;
  const double each = std::max(1.0, std::ceil(length / static_cast<double>(kMostColumns)));
  for (std::size_t first = 0; first < points;) {
    std::size_t end = first + 1;
    while (end < points && std::floor(run.series[end].t / each) == std::floor(run.series[first].t / each)) ++end;
    if (end == points) end = all;
    out.push_back(column_of(run, first, end));
    first = end;
  }
  return out;
}

std::string charts(const ResultFile& run, const std::vector<Column>& columns) {
  if (columns.empty()) return {};
  std::string out;
  const bool spread = std::any_of(columns.begin(), columns.end(), [](const Column& c) {
    return c.rate_least != c.rate_most || c.failed != c.failed_most;
  });
  {
    const Chart chart(run, columns, 0, most_of(columns, &Column::rate_most));
    out += chart.wrap(
        "Requests per second", spread ? legend({{"rate", "mean"}, {"rate soft", "least to most"}}) : "", "rate",
        chart.band("rate", values_of(columns, &Column::rate_least), values_of(columns, &Column::rate_most)) +
            chart.line("rate", values_of(columns, &Column::rate)));
  }
  {
    double most = 0;
    for (const Column& column : columns) most = std::max(most, column.longest.p99);
    const Chart chart(run, columns, 0, most);
    out += chart.wrap("Response time, ms", legend({{"p50", "p50"}, {"p95", "p95"}, {"p99", "p99"}}), "times",
                      chart.line("p99", times_of(columns, &PointTimes::p99)) +
                          chart.line("p95", times_of(columns, &PointTimes::p95)) +
                          chart.line("p50", times_of(columns, &PointTimes::p50)));
  }
  {
    const Chart chart(run, columns, 0, most_of(columns, &Column::failed_most));
    out += chart.wrap("Failed requests per second", spread ? legend({{"failed", "mean"}, {"failed soft", "most"}}) : "",
                      "failed",
                      chart.band("failed", Values(columns.size(), 0), values_of(columns, &Column::failed_most)) +
                          chart.line("failed", values_of(columns, &Column::failed)));
  }
  {
    const Values users = values_of(columns, [](const Column& column) { return static_cast<double>(column.vus); });
    const Chart chart(run, columns, 0, *std::max_element(users.begin(), users.end()));
    out += chart.wrap("Active virtual users", "", "vus", chart.line("vus", users));
  }
  return out;
}

std::string columns_script(const std::vector<Column>& columns) {
  std::string out = "[";
  char text[320];
  for (const Column& c : columns) {
    std::snprintf(text, sizeof text, "[%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%llu", c.from, c.to, c.rate, c.rate_least,
                  c.rate_most, c.failed, c.failed_most, static_cast<unsigned long long>(c.vus));
    out += (out.size() > 1 ? "," : "") + std::string(text);
    if (c.timed) {
      std::snprintf(text, sizeof text, ",%.4g,%.4g,%.4g", c.longest.p50, c.longest.p95, c.longest.p99);
      out += text;
    }
    out += "]";
  }
  return out + "]";
}

}  // namespace bellwether::report
