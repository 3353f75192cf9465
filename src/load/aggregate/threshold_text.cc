#include "load/aggregate/threshold_text.h"

#include <algorithm>
#include <cmath>

#include "core/base/bytes.h"

namespace bellwether::aggregate {
namespace {

// Without exponent and trailing zeros.
std::string with_digits(double value, int digits) {
  const int whole = value == 0 ? 1 : 1 + static_cast<int>(std::floor(std::log10(std::abs(value))));
  std::string text = fmt::format("{:.{}f}", value, std::clamp(digits - whole, 0, 17));
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

int order(double a, double b) { return (a > b ? 1 : 0) - (a < b ? 1 : 0); }

}  // namespace

std::string threshold_text(std::string_view metric, std::string_view expression, plan::MetricKind kind,
                           std::string_view unit, double value, bool at_least) {
  using plan::MetricKind;
  static constexpr std::string_view kOperators = "<>=!";
  const std::size_t op = std::min(expression.find_first_of(kOperators), expression.size());
  const std::size_t after = std::min(expression.find_first_not_of(kOperators, op), expression.size());
  const std::string_view what = trim(expression.substr(0, op));
  const auto limit = parse_double(trim(expression.substr(after)));
  if (!limit) return fmt::format("{} {}: measured {:.6g}", metric, expression, value);

  std::string suffix(unit);
  if (kind == MetricKind::kCounter && what == "rate") suffix += "/s";
  if ((kind == MetricKind::kTrend && what == "count") || kind == MetricKind::kRate) suffix.clear();
  const bool percent = kind == MetricKind::kRate && what == "rate";
  if (percent) suffix = "%";
  if (!suffix.empty() && suffix != "ms" && suffix != "%" && suffix.front() != '/') suffix.insert(0, " ");
  const double factor = percent ? 100 : 1;

  int digits = 3;
  std::string measured = with_digits(value * factor, digits);
  while (digits < 17 && order(parse_double(measured).value_or(0), *limit * factor) != order(value, *limit)) {
    measured = with_digits(value * factor, ++digits);
  }
  return fmt::format("{} {}{}{}{}, limit {}{}{}{}", metric, what, at_least ? "≥" : "=", measured, suffix,
                     expression.substr(op, after - op), with_digits(*limit * factor, 15), suffix,
                     at_least && value < *limit ? " (requests without a response may be slower)" : "");
}

}  // namespace bellwether::aggregate
