#include "report/charts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "report/markup.h"

namespace bellwether::report {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 190;
constexpr double kLeft = 58;
constexpr double kRight = 12;
constexpr double kTop = 12;
constexpr double kBottom = 24;
constexpr std::size_t kMostMarks = 40;
constexpr double kRest = 0.1;  // seconds: what is shorter has no rate worth the name

std::string number(double value) {
  char out[40];
  std::snprintf(out, sizeof out, "%.1f", value);
  std::string text = out;
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string label(double value) {
  char out[40];
  if (value >= 1e6) {
    std::snprintf(out, sizeof out, "%gM", value / 1e6);
  } else if (value >= 1e4) {
    std::snprintf(out, sizeof out, "%gk", value / 1e3);
  } else {
    std::snprintf(out, sizeof out, "%g", value);
  }
  return out;
}

std::string clock_label(double seconds, double tick) {
  char out[40];
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (tick < 1) {
    std::snprintf(out, sizeof out, "%gs", seconds);
  } else if (whole < 60 || tick < 60) {
    if (whole < 60) {
      std::snprintf(out, sizeof out, "%llds", whole);
    } else {
      std::snprintf(out, sizeof out, "%lld:%02lld", whole / 60, whole % 60);
    }
  } else if (whole % 3600 == 0 && whole > 0) {
    std::snprintf(out, sizeof out, "%lldh", whole / 3600);
  } else if (whole > 3600) {
    std::snprintf(out, sizeof out, "%lldh%02lld", whole / 3600, whole / 60 % 60);
  } else {
    std::snprintf(out, sizeof out, "%lldm", whole / 60);
  }
  return out;
}

// On a clock, steps are of sixty.
double time_tick(double length) {
  for (const double tick : {0.1,   0.2,   0.5,   1.0,    2.0,    5.0,    10.0,    15.0,    30.0,    60.0,   120.0,
                            300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 21600.0, 43200.0, 86400.0}) {
    if (length / tick <= 9) return tick;
  }
  return tick_for(length, 8);
}

struct Line {
  std::string name;  // of its colour in the page's style, and in the legend
  double Column::*value = nullptr;
  double PointTimes::*time = nullptr;
  double at(const Column& column) const { return time != nullptr ? column.longest.*time : column.*value; }
};

class Chart {
 public:
  Chart(const ResultFile& run, const std::vector<Column>& columns, double most)
      : run_(run), columns_(columns), tick_(tick_for(most, 4)), most_(tick_ * std::max(1.0, std::ceil(most / tick_))) {
    length_ = std::max(columns.back().to, 1e-3);
  }

  double x(double t) const { return kLeft + std::clamp(t / length_, 0.0, 1.0) * (kWidth - kLeft - kRight); }
  double y(double value) const {
    return kHeight - kBottom - std::clamp(value / most_, 0.0, 1.0) * (kHeight - kTop - kBottom);
  }

  std::string grid() const {
    std::string out;
    for (double value = 0; value <= most_ * 1.001; value += tick_) {
      out += "<line class=\"grid\" x1=\"" + number(kLeft) + "\" x2=\"" + number(kWidth - kRight) + "\" y1=\"" +
             number(y(value)) + "\" y2=\"" + number(y(value)) + "\"/><text x=\"" + number(kLeft - 6) + "\" y=\"" +
             number(y(value) + 4) + "\" text-anchor=\"end\">" + label(value) + "</text>";
    }
    const double tick = time_tick(length_);
    for (double t = 0; t <= length_ * 1.001; t += tick) {
      out += "<text x=\"" + number(x(t)) + "\" y=\"" + number(kHeight - 7) + "\" text-anchor=\"middle\">" +
             clock_label(t, tick) + "</text>";
    }
    return out;
  }

  // Stretches whose figures are missing, and what happened.
  std::string marks() const {
    std::string out;
    for (std::size_t i = 0; i < std::min(run_.lost.size(), kMostMarks); ++i) {
      const ResultLoss& loss = run_.lost[i];
      const double width = std::max(2.0, x(loss.to) - x(loss.from));
      out += "<rect class=\"lost\" x=\"" + number(x(loss.from)) + "\" width=\"" + number(width) + "\" y=\"" +
             number(kTop) + "\" height=\"" + number(kHeight - kTop - kBottom) +
             "\"><title>lost: " + escaped(loss.cause) + "</title></rect>";
    }
    for (std::size_t i = 0; i < std::min(run_.events.size(), kMostMarks); ++i) {
      const ResultEvent& event = run_.events[i];
      const std::string at = number(x(event.t));
      out += "<g class=\"event\"><title>" + escaped(event.kind + ": " + event.detail) + "</title><line x1=\"" + at +
             "\" x2=\"" + at + "\" y1=\"" + number(kTop) + "\" y2=\"" + number(kHeight - kBottom) + "\"/><text x=\"" +
             at + "\" y=\"" + number(kTop - 2) + "\" text-anchor=\"middle\">" + std::to_string(i + 1) + "</text></g>";
    }
    return out;
  }

  // A line for each stretch without a gap. A single point is a dot.
  std::string line(const Line& line, bool only_timed) const {
    std::string path;
    bool drawing = false;
    const auto close = [&] {
      if (drawing) path += "h1";
      drawing = false;
    };
    double end = 0;
    for (const Column& column : columns_) {
      if (only_timed && !column.timed) {
        close();
        continue;
      }
      if (drawing && column.from > end + (column.to - column.from)) close();
      path += (drawing ? "L" : "M") + number(x((column.from + column.to) / 2)) + " " + number(y(line.at(column)));
      drawing = true;
      end = column.to;
    }
    close();
    return "<path class=\"line " + line.name + "\" d=\"" + path + "\"/>";
  }

  std::string band(double Column::*least, double Column::*most, const std::string& name) const {
    std::string path;
    for (const Column& column : columns_) {
      path += (path.empty() ? "M" : "L") + number(x((column.from + column.to) / 2)) + " " + number(y(column.*most));
    }
    for (std::size_t i = columns_.size(); i-- > 0;) {
      const Column& column = columns_[i];
      path += "L" + number(x((column.from + column.to) / 2)) + " " + number(least == nullptr ? y(0) : y(column.*least));
    }
    return "<path class=\"band " + name + "\" d=\"" + path + "Z\"/>";
  }

  std::string wrap(const std::string& title, const std::string& legend, const std::string& kind,
                   const std::string& inside) const {
    return "<figure><figcaption><b>" + title + "</b>" + legend + "<output></output></figcaption><svg data-kind=\"" +
           kind + "\" data-length=\"" + number(length_ * 1000) +
           "\" viewBox=\"0 0 720 190\" role=\"img\" aria-label=\"" + title + " over time\">" + grid() + inside +
           marks() + "<line class=\"cursor\" y1=\"" + number(kTop) + "\" y2=\"" + number(kHeight - kBottom) +
           "\" x1=\"-9\" x2=\"-9\"/></svg></figure>\n";
  }

 private:
  const ResultFile& run_;
  const std::vector<Column>& columns_;
  double tick_;
  double most_;
  double length_ = 1;
};

double most_of(const std::vector<Column>& columns, double Column::*which) {
  double most = 0;
  for (const Column& column : columns) most = std::max(most, column.*which);
  return most;
}

std::string legend(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out;
  for (const auto& [name, text] : entries) out += "<span class=\"key " + name + "\">" + text + "</span>";
  return out;
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
  double covered = 0;
  for (std::size_t i = first; i < end; ++i) {
    const ResultPoint& point = run.series[i];
    add(column, point);
    requests += point.requests;
    failed += point.failed;
    covered += point.covered_s;
    column.to = point.t + std::max(point.covered_s, 1e-3);
  }
  column.rate = covered > 0 ? static_cast<double>(requests) / covered : 0;
  column.failed = covered > 0 ? static_cast<double>(failed) / covered : 0;
  return column;
}

}  // namespace

double tick_for(double most, int parts) {
  if (!(most > 0)) return 1;
  const double rough = most / parts;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (rough <= times * power * 1.0001) return times * power;
  }
  return 10 * power;
}

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
    const Chart chart(run, columns, most_of(columns, &Column::rate_most));
    out += chart.wrap("Requests per second", spread ? legend({{"rate", "mean"}, {"rate soft", "least to most"}}) : "",
                      "rate",
                      chart.band(&Column::rate_least, &Column::rate_most, "rate") +
                          chart.line({"rate", &Column::rate, nullptr}, false));
  }
  {
    double most = 0;
    for (const Column& column : columns) most = std::max(most, column.longest.p99);
    const Chart chart(run, columns, most);
    out += chart.wrap("Response time, ms", legend({{"p50", "p50"}, {"p95", "p95"}, {"p99", "p99"}}), "times",
                      chart.line({"p99", nullptr, &PointTimes::p99}, true) +
                          chart.line({"p95", nullptr, &PointTimes::p95}, true) +
                          chart.line({"p50", nullptr, &PointTimes::p50}, true));
  }
  {
    const Chart chart(run, columns, most_of(columns, &Column::failed_most));
    out += chart.wrap(
        "Failed requests per second", spread ? legend({{"failed", "mean"}, {"failed soft", "most"}}) : "", "failed",
        chart.band(nullptr, &Column::failed_most, "failed") + chart.line({"failed", &Column::failed, nullptr}, false));
  }
  {
    std::vector<Column> users = columns;
    for (Column& column : users) column.rate = static_cast<double>(column.vus);
    const Chart chart(run, users, most_of(users, &Column::rate));
    out += chart.wrap("Active virtual users", "", "vus", chart.line({"vus", &Column::rate, nullptr}, false));
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
