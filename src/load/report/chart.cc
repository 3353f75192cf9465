#include "load/report/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "load/report/text.h"

namespace bellwether::report {
namespace {

// The nearest of 1, 2 and 5 times a power of ten that is not above `value`.
double round_below(double value) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
  for (const double times : {5.0, 2.0}) {
    if (value >= times * power * 0.9999) return times * power;
  }
  return power;
}

double next_round(double round) { return round_below(round * 2.5); }

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
  const std::optional<PointTimes>& times = point.response;
  if (!times) return;
  column.timed = true;
  column.longest.p50 = std::max(column.longest.p50, times->p50);
  column.longest.p95 = std::max(column.longest.p95, times->p95);
  column.longest.p99 = std::max(column.longest.p99, times->p99);
}

Column column_of(const std::vector<ResultPoint>& series, std::size_t first, std::size_t end) {
  Column column;
  column.from = series[first].t;
  column.rate_least = series[first].rate_per_s;
  uint64_t requests = 0;
  uint64_t failed = 0;
  bool rated = false;
  for (std::size_t i = first; i < end; ++i) {
    const ResultPoint& point = series[i];
    add(column, point);
    rated = rated || point.covered_s >= kRest;
    requests += point.requests;
    failed += point.failed;
    column.covered += point.covered_s;
    column.to = point.t + std::max(point.covered_s, 1e-3);
  }
  column.rate = column.covered > 0 ? static_cast<double>(requests) / column.covered : 0;
  column.failed = column.covered > 0 ? static_cast<double>(failed) / column.covered : 0;
  if (!rated) {
    // A run shorter than a rest has only its mean; without it the axis would end below the point.
    column.rate_least = column.rate_most = column.rate;
    column.failed_most = column.failed;
  }
  return column;
}

constexpr std::size_t kMaxMarks = 40;
constexpr double kMarkWidth = 56;  // of "10–12", in the letters of a phone

std::string clock_label(double seconds, double tick) {
  const auto whole = std::llround(seconds);
  if (tick < 1) return fmt::format("{:g}s", seconds);
  if (whole < 60) return fmt::format("{}s", whole);
  if (tick < 60) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  if (whole % 3600 == 0) return fmt::format("{}h", whole / 3600);
  if (whole > 3600) return fmt::format("{}h{:02}", whole / 3600, whole / 60 % 60);
  return fmt::format("{}m", whole / 60);
}

// On a clock, steps are of sixty.
double time_tick(double length) {
  if (length < 0.1) return tick_for(length, 4);  // a run of one request
  for (const double tick : {0.1,   0.2,   0.5,   1.0,    2.0,    5.0,    10.0,    15.0,    30.0,    60.0,   120.0,
                            300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 21600.0, 43200.0, 86400.0}) {
    if (length / tick <= 7) return tick;
  }
  return tick_for(length, 6);
}

}  // namespace

double Axis::part(double value) const {
  const double part =
      log ? std::log(std::max(value, least) / least) / std::log(most / least) : (value - least) / (most - least);
  return std::clamp(part, 0.0, 1.0);
}

Axis linear_axis(double least, double most) {
  const double tick = tick_for(most - least, 4);
  const double first = std::floor(least / tick);
  const double last = std::max(first + 1, std::ceil(most / tick));
  Axis out{first * tick, last * tick};
  for (double i = first; i <= last; ++i) out.ticks.push_back(i * tick);
  return out;
}

Axis log_axis(double least, double most) {
  Axis out{.least = round_below(least), .most = round_below(most), .log = true};
  while (out.most < most || out.most <= out.least) out.most = next_round(out.most);
  // Powers of ten alone where there are many.
  const bool wide = out.most / out.least > 101;
  for (double tick = out.least; tick <= out.most * 1.001; tick = next_round(tick)) {
    const double exponent = std::log10(tick);
    if (!wide || std::abs(exponent - std::round(exponent)) < 1e-6) out.ticks.push_back(tick);
  }
  return out;
}

double tick_for(double most, int parts) {
  if (!(most > 0)) return 1;
  const double rough = most / parts;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (rough <= times * power * 1.0001) return times * power;
  }
  return 10 * power;
}

double across(double part) { return kPlotLeft + part * (kPlotWidth - kPlotLeft - kPlotRight); }
double upward(double part) { return kPlotHeight - kPlotBottom - part * (kPlotHeight - kPlotTop - kPlotBottom); }

std::string grid_of(const Axis& axis) {
  std::string out;
  for (const double tick : axis.ticks) {
    const double at = upward(axis.part(tick));
    out += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/><text x=\"{}\" y=\"{}\" "
        "text-anchor=\"end\">{}</text>",
        number(kPlotLeft), number(kPlotWidth - kPlotRight), number(at), number(at), number(kPlotLeft - 6),
        number(at + 4), label(tick));
  }
  return out;
}

std::string level_label(double part, const std::string& text) {
  // The labels at both ends stay within the plot.
  const bool first = part < 0.02;
  const bool last = part > 0.96;
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
                     number(last ? kPlotWidth - 2 : across(part)), number(kPlotHeight - 7),
                     first  ? "start"
                     : last ? "end"
                            : "middle",
                     text);
}

std::string number(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string label(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return fmt::format("{:g}G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:g}", value);
}

std::string legend(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out;
  for (const auto& [look, text] : entries) out += fmt::format("<span class=\"key {}\">{}</span>", look, text);
  return out;
}

std::string plot_figure(const std::string& title, const std::string& legend, const std::string& attributes,
                        const std::string& inside) {
  const std::string name = escaped(title);
  return fmt::format(
      "<figure><figcaption><b>{}</b>{}{}</figcaption><svg{} viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}\">{}</svg></figure>\n",
      name, legend, attributes.empty() ? "" : "<output></output>", attributes, number(kPlotWidth), number(kPlotHeight),
      name, inside);
}

std::vector<Column> columns_of(const std::vector<ResultPoint>& series) {
  std::vector<Column> out;
  // The last moment of a run belongs to the second before it; alone it would look like a collapse.
  const std::size_t all = series.size();
  const std::size_t points = all > 1 && series.back().covered_s < kRest ? all - 1 : all;
  if (points == 0) return out;
  const double length = series.back().t + series.back().covered_s;
  const double each = std::max(1.0, std::ceil(length / static_cast<double>(kMaxColumns)));
  for (std::size_t first = 0; first < points;) {
    std::size_t end = first + 1;
    while (end < points && std::floor(series[end].t / each) == std::floor(series[first].t / each)) ++end;
    if (end == points) end = all;
    out.push_back(column_of(series, first, end));
    first = end;
  }
  return out;
}

namespace {

// A logarithmic axis where a stall would flatten the rest.
std::string times_chart(const ResultFile& run, const std::vector<Column>& columns, const std::string& title,
                        const std::string& attributes) {
  double least = 0;
  double most = 0;
  for (const Column& column : columns) {
    if (!column.timed) continue;
    most = std::max(most, column.longest.p99);
    if (column.longest.p50 > 0) least = least > 0 ? std::min(least, column.longest.p50) : column.longest.p50;
  }
  constexpr double kFlat = 30;
  const bool log = least > 0 && most > kFlat * least;
  const Chart chart(run, columns, log ? log_axis(least, most) : linear_axis(0, most));
  return chart.wrap(
      title + (log ? ", ms, log scale" : ", ms"), legend({{"p50", "p50"}, {"p95", "p95"}, {"p99", "p99"}}), "times",
      chart.line("p99", times_of(columns, &PointTimes::p99)) + chart.line("p95", times_of(columns, &PointTimes::p95)) +
          chart.line("p50", times_of(columns, &PointTimes::p50)),
      attributes);
}

}  // namespace

std::string charts(const ResultFile& run, const std::vector<Column>& columns) {
  if (columns.empty()) return {};
  std::string out;
  const bool spread = std::ranges::any_of(
      columns, [](const Column& c) { return c.rate_least != c.rate_most || c.failed != c.failed_most; });
  {
    const Chart chart(run, columns, linear_axis(0, most_of(columns, &Column::rate_most)));
    out +=
        chart.wrap("Requests per second", spread ? legend({{"rate", "mean"}, {"rate soft", "min to max"}}) : "", "rate",
                   chart.band("rate", values_of(columns, &Column::rate_least), values_of(columns, &Column::rate_most)) +
                       chart.line("rate", values_of(columns, &Column::rate)));
  }
  out += times_chart(run, columns, "Response time", "");
  {
    const Chart chart(run, columns, linear_axis(0, most_of(columns, &Column::failed_most)));
    out += chart.wrap("Failed requests per second", spread ? legend({{"failed", "mean"}, {"failed soft", "max"}}) : "",
                      "failed",
                      chart.band("failed", Values(columns.size(), 0), values_of(columns, &Column::failed_most)) +
                          chart.line("failed", values_of(columns, &Column::failed)));
  }
  {
    const Values users = values_of(columns, [](const Column& column) { return static_cast<double>(column.vus); });
    const Chart chart(run, columns, linear_axis(0, *std::max_element(users.begin(), users.end())));
    out += chart.wrap("Active virtual users", "", "vus", chart.line("vus", users));
  }
  return out;
}

std::string step_charts(const ResultFile& run, const ResultStep& step, const std::vector<Column>& columns,
                        std::size_t data) {
  const std::string attributes = fmt::format(" data-of=\"{}\"", data);
  const Chart chart(run, columns, linear_axis(0, most_of(columns, &Column::rate)));
  const Values failed = values_of(columns, &Column::failed);
  return times_chart(run, columns, step.name + ": response time", attributes) +
         chart.wrap(step.name + ": requests per second", legend({{"rate", "all"}, {"failed", "failed"}}), "step",
                    // The rate above the failures: where all requests fail, both lines are one.
                    chart.band("failed", Values(columns.size(), 0), failed) + chart.line("failed", failed) +
                        chart.line("rate", values_of(columns, &Column::rate)),
                    attributes);
}

std::string columns_script(const std::vector<Column>& columns) {
  std::string out = "[";
  for (const Column& c : columns) {
    if (out.size() > 1) out += ",";
    out += fmt::format("[{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{}", c.from, c.to, c.rate, c.rate_least,
                       c.rate_most, c.failed, c.failed_most, c.vus);
    if (c.timed) out += fmt::format(",{:.4g},{:.4g},{:.4g}", c.longest.p50, c.longest.p95, c.longest.p99);
    out += "]";
  }
  return out + "]";
}

Chart::Chart(const ResultFile& run, const std::vector<Column>& columns, Axis axis)
    : run_(run), columns_(columns), axis_(std::move(axis)), length_(std::max(columns.back().to, 1e-3)) {}

double Chart::x(double t) const { return across(std::clamp(t / length_, 0.0, 1.0)); }

std::string Chart::marks() const {
  std::string out;
  for (std::size_t i = 0; i < std::min(run_.lost.size(), kMaxMarks); ++i) {
    const ResultLoss& loss = run_.lost[i];
    const double width = std::max(2.0, x(loss.to) - x(loss.from));
    out +=
        fmt::format("<rect class=\"lost\" x=\"{}\" width=\"{}\" y=\"{}\" height=\"{}\"><title>lost: {}</title></rect>",
                    number(x(loss.from)), number(width), number(kPlotTop), number(kPlotHeight - kPlotTop - kPlotBottom),
                    escaped(loss.cause));
  }
  const std::size_t events = std::min(run_.events.size(), kMaxMarks);
  std::size_t named = 0;  // the events before it have their number
  for (std::size_t i = 0; i < events; ++i) {
    const ResultEvent& event = run_.events[i];
    const std::string at = number(x(event.t));
    std::string text;
    if (i == named) {
      // Numbers that would overlap become one range, at the first of them.
      while (named < events && std::abs(x(run_.events[named].t) - x(event.t)) < kMarkWidth) ++named;
      const std::string numbers = named > i + 1 ? fmt::format("{}–{}", i + 1, named) : std::to_string(i + 1);
      text = fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", at, number(kPlotTop - 2), numbers);
    }
    out += fmt::format("<g class=\"event\"><title>{}</title><line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>{}</g>",
                       escaped(fmt::format("{}: {}", event.kind, event.detail)), at, at, number(kPlotTop),
                       number(kPlotHeight - kPlotBottom), text);
  }
  return out;
}

std::string Chart::line(const std::string& look, const Values& values) const {
  std::string path;
  std::string dots;
  std::string part;
  std::size_t points = 0;
  const auto close = [&] {
    (points == 1 ? dots : path) += part + (points == 1 ? "h0" : "");
    part.clear();
    points = 0;
  };
  double end = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const bool there = !std::isnan(values[i]);
    if (points > 0 && (!there || column.from > end + (column.to - column.from))) close();
    if (!there) continue;
    part += fmt::format("{}{} {}", points > 0 ? "L" : "M", number(middle(i)), number(y(values[i])));
    ++points;
    end = column.to;
  }
  close();
  std::string out = fmt::format("<path class=\"line {}\" d=\"{}\"/>", look, path);
  if (!dots.empty()) out += fmt::format("<path class=\"line dots {}\" d=\"{}\"/>", look, dots);
  return out;
}

std::string Chart::band(const std::string& look, const Values& least, const Values& most) const {
  std::string path;
  for (std::size_t first = 0; first < columns_.size(); ++first) {
    if (std::isnan(most[first])) continue;
    std::size_t end = first;
    for (; end < columns_.size() && !std::isnan(most[end]); ++end) {
      path += fmt::format("{}{} {}", end == first ? "M" : "L", number(middle(end)), number(y(most[end])));
    }
    for (std::size_t i = end; i-- > first;) path += fmt::format("L{} {}", number(middle(i)), number(y(least[i])));
    path += "Z";
    first = end;
  }
  return fmt::format("<path class=\"band {}\" d=\"{}\"/>", look, path);
}

std::string Chart::wrap(const std::string& title, const std::string& legend, const std::string& kind,
                        const std::string& inside, const std::string& attributes) const {
  std::string times;
  const double tick = time_tick(length_);
  for (double t = 0; t <= length_ * 1.001; t += tick) times += level_label(t / length_, clock_label(t, tick));
  return plot_figure(
      title, legend, fmt::format(" data-kind=\"{}\"{} data-length=\"{}\"", kind, attributes, number(length_ * 1000)),
      fmt::format("{}{}{}{}<line class=\"cursor\" y1=\"{}\" y2=\"{}\" x1=\"-9\" x2=\"-9\"/>", grid_of(axis_), times,
                  inside, marks(), number(kPlotTop), number(kPlotHeight - kPlotBottom)));
}

double Chart::middle(std::size_t column) const { return x((columns_[column].from + columns_[column].to) / 2); }

}  // namespace bellwether::report
