#include "core/base/wall_text.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>

namespace bellwether {
namespace {

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
  bool at_digit() const { return peek() >= '0' && peek() <= '9'; }
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

std::string format_wall(WallTime time) {
  const int64_t ns = time.unix_ns < 0 ? 0 : time.unix_ns;
  const int64_t seconds = ns / kSecond;
  const std::chrono::year_month_day date{Days(std::chrono::days(seconds / kDay))};
  const auto of_day = static_cast<int>(seconds % kDay);
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", int(date.year()),
                                 unsigned(date.month()), unsigned(date.day()), of_day / 3600, of_day / 60 % 60,
                                 of_day % 60, static_cast<int>(ns % kSecond / 1'000'000));
  return std::string(text.data(), static_cast<std::size_t>(size));
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
