#include "core/base/units.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "core/base/bytes.h"

namespace bellwether {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 8> kTimeUnits{
    {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}}};
constexpr std::array<Unit, 9> kSizeUnits{{{"", 1},
                                          {"B", 1},
                                          {"KB", 1e3},
                                          {"kB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"KiB", 1024.0},
                                          {"MiB", 1024.0 * 1024},
                                          {"GiB", 1024.0 * 1024 * 1024}}};

std::size_t number_length(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && ((text[n] >= '0' && text[n] <= '9') || text[n] == '.')) ++n;
  return n;
}

template <std::size_t N>
const Unit* find_unit(const std::array<Unit, N>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

std::string quoted(std::string_view text) { return fmt::format("'{}'", text); }

std::string print(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

// 1.53, 12.3, 123: three significant digits.
std::string three_digits(double value) {
  if (value >= 99.95) return print("%.0f", value);
  if (value >= 9.995) return print("%.1f", value);
  return print("%.2f", value);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text == "0") return Duration::zero();
  double total_ns = 0;
  std::string_view rest = text;
  if (rest.empty()) return fail(Errc::kInvalid, "a duration is missing; write for example 250ms, 30s or 1h30m");
  while (!rest.empty()) {
    const std::size_t digits = number_length(rest);
    const auto value = parse_double(rest.substr(0, digits));
    if (!value) return fail(Errc::kInvalid, quoted(text) + " is no duration; write for example 250ms, 30s or 1h30m");
    rest.remove_prefix(digits);
    const std::size_t unit_length = std::min(rest.find_first_of("0123456789."), rest.size());
    const Unit* unit = find_unit(kTimeUnits, rest.substr(0, unit_length));
    if (unit == nullptr) {
      return fail(Errc::kInvalid, unit_length == 0
                                      ? fmt::format("{} has no unit; write for example {}s", quoted(text), text)
                                      : fmt::format("{} in {} is no unit of time; use ns, us, ms, s, m, h or d",
                                                    quoted(rest.substr(0, unit_length)), quoted(text)));
    }
    total_ns += *value * unit->factor;
    rest.remove_prefix(unit_length);
  }
  if (total_ns > 9.2e18) return fail(Errc::kInvalid, quoted(text) + " is longer than 292 years");
  return Duration::nanos(static_cast<int64_t>(std::llround(total_ns)));
}

Result<uint64_t> parse_size(std::string_view text) {
  const std::size_t digits = number_length(text);
  const auto value = parse_double(text.substr(0, digits));
  const Unit* unit = find_unit(kSizeUnits, trim(text.substr(digits)));
  if (!value || unit == nullptr || *value * unit->factor > 9e18) {
    return fail(Errc::kInvalid, quoted(text) + " is no size; write for example 512, 64KiB or 10MB");
  }
  return static_cast<uint64_t>(std::llround(*value * unit->factor));
}

Result<double> parse_rate(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto count = parse_double(trim(text.substr(0, slash)));
  if (!count || *count < 0 || !std::isfinite(*count)) {
    return fail(Errc::kInvalid, quoted(text) + " is no rate; write for example 500/s or 30/m");
  }
  if (slash == std::string_view::npos) return *count;
  const std::string_view per = trim(text.substr(slash + 1));
  const bool bare_unit = !per.empty() && number_length(per) == 0;
  const auto span = parse_duration(bare_unit ? "1" + std::string(per) : std::string(per));
  if (!span || *span <= Duration::zero()) {
    return fail(Errc::kInvalid, quoted(text) + " is no rate; write for example 500/s, 30/m or 100/250ms");
  }
  const double rate = *count / span->seconds_f();
  if (!std::isfinite(rate)) return fail(Errc::kInvalid, quoted(text) + " is a rate beyond all measure");
  return rate;
}

std::string format_duration(Duration span) {
  const int64_t ns = span.ns();
  if (ns < 0) return "-" + format_duration(ns == INT64_MIN ? Duration::max() : -span);
  if (ns < 1'000) return fmt::format("{}ns", ns);
  const double value = static_cast<double>(ns);
  if (value < 999.5e3) return three_digits(value / 1e3) + "µs";
  if (value < 999.5e6) return three_digits(value / 1e6) + "ms";
  if (ns < 60'000'000'000) {
    return ns % 1'000'000'000 == 0 ? fmt::format("{}s", ns / 1'000'000'000) : three_digits(value / 1e9) + "s";
  }
  const int64_t whole = ns / 1'000'000'000 + (ns % 1'000'000'000 >= 500'000'000 ? 1 : 0);
  std::string out;
  if (whole >= 3600) out += fmt::format("{}h", whole / 3600);
  if (whole % 3600 >= 60) out += fmt::format("{}m", whole % 3600 / 60);
  if (whole % 60 != 0) out += fmt::format("{}s", whole % 60);
  return out;
}

std::string format_bytes(double bytes) {
  static constexpr std::array<const char*, 6> kNames{" B", " kB", " MB", " GB", " TB", " PB"};
  std::size_t step = 0;
  while (bytes >= 999.5 && step + 1 < kNames.size()) {
    bytes /= 1000;
    ++step;
  }
  return (step == 0 ? print("%.0f", bytes) : three_digits(bytes)) + kNames[step];
}

std::string format_count(uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string format_count(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

}  // namespace bellwether
