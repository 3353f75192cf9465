// The units that people write and read: durations (250ms, 1h30m), sizes (64KiB), rates (500/s).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether {

// "250ms", "30s", "5m", "1h30m", "1.5s", "0". Units ns, us (or µs), ms, s, m, h, d. A bare number other than 0 is an
// error that says which unit is missing. Negative spans are refused.
Result<Duration> parse_duration(std::string_view text);

// "64KiB", "10MB", "512", "1.5MiB": bytes. KB/MB/GB are powers of 1000, KiB/MiB/GiB of 1024.
Result<uint64_t> parse_size(std::string_view text);

// "500/s", "30/m", "2.5/s", "100/250ms", and a bare "500" (per second). Per-second rate.
Result<double> parse_rate(std::string_view text);

// The shortest exact-enough form for people: "1m30s", "250ms", "1.53ms", "42µs". Three significant digits under 1 s.
std::string format_duration(Duration span);
// "1.21 GB", "64 kB": decimal units, as network people count.
std::string format_bytes(double bytes);
// "1,234,567"
std::string format_count(uint64_t count);
// "1 step", "2,000 steps". For nouns whose plural takes an s.
std::string format_count(uint64_t count, std::string_view noun);

// Times of the wall clock as RFC 3339 text, the form that lock files and lease files of other programs use too.

// "2026-01-04T19:32:20.091Z", cut to milliseconds.
std::string format_wall(WallTime time);
// With any number of decimals and any offset ("+00:00"). Nothing when it is no such text, or before 1970 or after 2261.
std::optional<WallTime> parse_wall(std::string_view text);

}  // namespace bellwether
