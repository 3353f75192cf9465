// Points in time and spans of time, in nanoseconds. Nothing here reads a clock: the owner of a clock (a runtime) hands
// an Instant in, so every kernel is replayable.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace bellwether {

// A span of time, signed, in nanoseconds: up to 292 years either way.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration nanos(int64_t n) { return Duration(n); }
  static constexpr Duration micros(int64_t n) { return Duration(n * 1'000); }
  static constexpr Duration millis(int64_t n) { return Duration(n * 1'000'000); }
  static constexpr Duration seconds(int64_t n) { return Duration(n * 1'000'000'000); }
  static constexpr Duration minutes(int64_t n) { return seconds(n * 60); }
  static constexpr Duration hours(int64_t n) { return seconds(n * 3600); }
  static constexpr Duration from_seconds_f(double s) { return Duration(static_cast<int64_t>(s * 1e9)); }
  static constexpr Duration max() { return Duration(std::numeric_limits<int64_t>::max()); }
  static constexpr Duration zero() { return Duration(0); }

  constexpr int64_t ns() const { return ns_; }
  constexpr int64_t us() const { return ns_ / 1'000; }
  constexpr int64_t ms() const { return ns_ / 1'000'000; }
  constexpr double seconds_f() const { return static_cast<double>(ns_) * 1e-9; }
  constexpr double millis_f() const { return static_cast<double>(ns_) * 1e-6; }

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration o) const { return Duration(ns_ + o.ns_); }
  constexpr Duration operator-(Duration o) const { return Duration(ns_ - o.ns_); }
  constexpr Duration operator-() const { return Duration(-ns_); }
  constexpr Duration operator*(int64_t k) const { return Duration(ns_ * k); }
  constexpr Duration operator/(int64_t k) const { return Duration(ns_ / k); }
  constexpr int64_t operator/(Duration o) const { return ns_ / o.ns_; }
  constexpr Duration& operator+=(Duration o) {
    ns_ += o.ns_;
    return *this;
  }
  constexpr Duration& operator-=(Duration o) {
    ns_ -= o.ns_;
    return *this;
  }

 private:
  explicit constexpr Duration(int64_t ns) : ns_(ns) {}
  int64_t ns_ = 0;
};

// A point on one clock of one node. Instants of different nodes or clocks must never be compared.
class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant from_ns(int64_t ns) { return Instant(ns); }
  static constexpr Instant never() { return Instant(std::numeric_limits<int64_t>::max()); }

  constexpr int64_t ns() const { return ns_; }
  constexpr auto operator<=>(const Instant&) const = default;
  // Adding to never() stays never(); other additions saturate there too.
  constexpr Instant operator+(Duration d) const {
    int64_t sum = 0;
    return *this == never() || __builtin_add_overflow(ns_, d.ns(), &sum) ? never() : Instant(sum);
  }
  constexpr Instant operator-(Duration d) const { return *this == never() ? never() : Instant(ns_ - d.ns()); }
  constexpr Duration operator-(Instant o) const { return Duration::nanos(ns_ - o.ns_); }
  constexpr Instant& operator+=(Duration d) { return *this = *this + d; }

 private:
  explicit constexpr Instant(int64_t ns) : ns_(ns) {}
  int64_t ns_ = 0;
};

// Wall-clock time for humans and files, nanoseconds since 1970-01-01 UTC. Never used to measure a span.
struct WallTime {
  int64_t unix_ns = 0;
  constexpr auto operator<=>(const WallTime&) const = default;
};

}  // namespace bellwether
