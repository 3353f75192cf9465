#include "core/base/units.h"

#include <array>
#include <chrono>
#include <cmath>

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
  while (n < text.size() && (is_digit(text[n]) || text[n] == '.')) ++n;
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

// 1.53, 12.3, 123: three significant digits.
std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

using Days = std::chrono::sys_days;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kDay = 86'400;

// Reads from the front of a text; after a mismatch all later reads fail too.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  int digits(std::size_t count) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value * 10 + digit();
    return value;
  }
  void literal(char a, char b) {
    if (peek() != a && peek() != b) ok_ = false;
    skip();
  }
  bool skip_if(char c) {
    if (peek() != c) return false;
    skip();
    return true;
  }
  bool at_digit() const { return is_digit(peek()); }
  int digit() {
    if (!at_digit()) ok_ = false;
    const int value = peek() - '0';
    skip();
    return ok_ ? value : 0;
  }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  bool complete() const { return ok_ && rest_.empty(); }

 private:
  void skip() {
    if (!rest_.empty()) rest_.remove_prefix(1);
  }
  std::string_view rest_;
  bool ok_ = true;
};

// Nanoseconds of "20.091".
int64_t read_seconds(Reader& in, bool& in_range) {
  const int64_t seconds = in.digits(2);
  in_range = in_range && seconds <= 60;  // 60: a leap second
  int64_t ns = seconds * kSecond;
  if (!in.skip_if('.')) return ns;
  int64_t unit = kSecond / 10;
  do {
    ns += unit * in.digit();
    unit /= 10;
  } while (in.at_digit());
  return ns;
}

// Seconds east of UTC.
int64_t read_offset(Reader& in, bool& in_range) {
  if (in.skip_if('Z') || in.skip_if('z')) return 0;
  const bool west = in.peek() == '-';
  in.literal('+', '-');
  const int hours = in.digits(2);
  in.literal(':', ':');
  const int minutes = in.digits(2);
  in_range = in_range && hours < 24 && minutes < 60;
  return (west ? -1 : 1) * (hours * 3600 + minutes * 60);
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
  return (step == 0 ? fmt::format("{:.0f}", bytes) : three_digits(bytes)) + kNames[step];
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

std::string format_wall(WallTime time) {
  const int64_t ns = time.unix_ns < 0 ? 0 : time.unix_ns;
  const int64_t seconds = ns / kSecond;
  const std::chrono::year_month_day date{Days(std::chrono::days(seconds / kDay))};
  const auto of_day = static_cast<int>(seconds % kDay);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int(date.year()), unsigned(date.month()),
                     unsigned(date.day()), of_day / 3600, of_day / 60 % 60, of_day % 60, ns % kSecond / 1'000'000);
}

std::optional<WallTime> parse_wall(std::string_view text) {
  Reader in(text);
  bool in_range = true;
  const int year = in.digits(4);
  in.literal('-', '-');
  const auto month = static_cast<unsigned>(in.digits(2));
  in.literal('-', '-');
  const auto day = static_cast<unsigned>(in.digits(2));
  in.literal('T', 't');
  const int hour = in.digits(2);
  in.literal(':', ':');
  const int minute = in.digits(2);
  in.literal(':', ':');
  const int64_t ns = read_seconds(in, in_range);
  const int64_t offset = read_offset(in, in_range);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!in.complete() || !in_range || !date.ok() || hour > 23 || minute > 59 || year < 1970 || year > 2261) {
    return std::nullopt;
  }
  const int64_t days = Days(date).time_since_epoch().count();
  const int64_t seconds = days * kDay + hour * 3600 + minute * 60 - offset;
  if (seconds < 0) return std::nullopt;
  return WallTime{seconds * kSecond + ns};
}

}  // namespace bellwether
