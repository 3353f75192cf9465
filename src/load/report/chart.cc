#include "load/report/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "load/report/markup.h"

namespace bellwether::report {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 190;
constexpr double kLeft = 58;
constexpr double kRight = 12;
constexpr double kTop = 12;
constexpr double kBottom = 24;
constexpr std::size_t kMostMarks = 40;

std::string number(double value) {
  char out[40];
  std::snprintf(out, sizeof out, "%.1f", value);
  std::string text = out;
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string label(double value) {
  char out[40];
  const double size = std::abs(value);
  if (size >= 1e9) {
    std::snprintf(out, sizeof out, "%gG", value / 1e9);
  } else if (size >= 1e6) {
    std::snprintf(out, sizeof out, "%gM", value / 1e6);
  } else if (size >= 1e4) {
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

std::string legend(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out;
  for (const auto& [look, text] : entries) out += "<span class=\"key " + look + "\">" + text + "</span>";
  return out;
}

Chart::Chart(const ResultFile& run, const std::vector<Column>& columns, double least, double most)
    : run_(run), columns_(columns), tick_(tick_for(most - least, 4)), length_(std::max(columns.back().to, 1e-3)) {
  least_ = tick_ * std::floor(least / tick_);
  most_ = tick_ * std::max(least_ / tick_ + 1, std::ceil(most / tick_));
}

double Chart::x(double t) const { return kLeft + std::clamp(t / length_, 0.0, 1.0) * (kWidth - kLeft - kRight); }

double Chart::y(double value) const {
  const double part = std::clamp((value - least_) / (most_ - least_), 0.0, 1.0);
  return kHeight - kBottom - part * (kHeight - kTop - kBottom);
}

std::string Chart::grid() const {
  std::string out;
  const double ticks = std::round((most_ - least_) / tick_);
  for (double i = 0; i <= ticks; ++i) {
    const double value = (std::round(least_ / tick_) + i) * tick_;
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

std::string Chart::marks() const {
  std::string out;
  for (std::size_t i = 0; i < std::min(run_.lost.size(), kMostMarks); ++i) {
    const ResultLoss& loss = run_.lost[i];
    const double width = std::max(2.0, x(loss.to) - x(loss.from));
    out += "<rect class=\"lost\" x=\"" + number(x(loss.from)) + "\" width=\"" + number(width) + "\" y=\"" +
           number(kTop) + "\" height=\"" + number(kHeight - kTop - kBottom) + "\"><title>lost: " + escaped(loss.cause) +
           "</title></rect>";
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
    part += (points > 0 ? "L" : "M") + number(middle(i)) + " " + number(y(values[i]));
    ++points;
    end = column.to;
  }
  close();
  std::string out = "<path class=\"line " + look + "\" d=\"" + path + "\"/>";
  if (!dots.empty()) out += "<path class=\"line dots " + look + "\" d=\"" + dots + "\"/>";
  return out;
}

std::string Chart::band(const std::string& look, const Values& least, const Values& most) const {
  std::string path;
  for (std::size_t first = 0; first < columns_.size(); ++first) {
    if (std::isnan(most[first])) continue;
    std::size_t end = first;
    for (; end < columns_.size() && !std::isnan(most[end]); ++end) {
      path += (end == first ? "M" : "L") + number(middle(end)) + " " + number(y(most[end]));
    }
    for (std::size_t i = end; i-- > first;) path += "L" + number(middle(i)) + " " + number(y(least[i]));
    path += "Z";
    first = end;
  }
  return "<path class=\"band " + look + "\" d=\"" + path + "\"/>";
}

std::string Chart::wrap(const std::string& title, const std::string& legend, const std::string& kind,
                        const std::string& inside, const std::string& metric) const {
  const std::string name = escaped(title);
  return "<figure><figcaption><b>" + name + "</b>" + legend + "<output></output></figcaption><svg data-kind=\"" + kind +
         "\"" + (metric.empty() ? "" : " data-metric=\"" + metric + "\"") + " data-length=\"" + number(length_ * 1000) +
         "\" viewBox=\"0 0 720 190\" role=\"img\" aria-label=\"" + name + " over time\">" + grid() + inside + marks() +
         "<line class=\"cursor\" y1=\"" + number(kTop) + "\" y2=\"" + number(kHeight - kBottom) +
         "\" x1=\"-9\" x2=\"-9\"/></svg></figure>\n";
}

double Chart::middle(std::size_t column) const { return x((columns_[column].from + columns_[column].to) / 2); }

}  // namespace bellwether::report
