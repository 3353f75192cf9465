#include "load/report/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

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

std::string legend(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out;
  for (const auto& [look, text] : entries) out += fmt::format("<span class=\"key {}\">{}</span>", look, text);
  return out;
}

std::string plot_figure(const std::string& title, const std::string& legend, const std::string& attributes,
                        const std::string& inside) {
  const std::string name = escaped(title);
  return fmt::format(
      "<figure><figcaption><b>{}</b>{}<output></output></figcaption><svg{} viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}\">{}</svg></figure>\n",
      name, legend, attributes, number(kPlotWidth), number(kPlotHeight), name, inside);
}

}  // namespace bellwether::report
