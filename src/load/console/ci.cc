#include "load/console/ci.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/base/units.h"

namespace bellwether::console {
namespace {

constexpr std::size_t kFailuresShown = 2;

template <class... Values>
std::string print(const char* format, Values... values) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, values...);
  return buffer.data();
}

}  // namespace

Snapshot snapshot_of(const aggregate::Totals& totals, const Snapshot& before, Duration planned,
                     std::string_view state) {
  const aggregate::Counts counts = totals.counts();
  Snapshot now;
  now.elapsed = totals.elapsed();
  now.planned = planned;
  now.state = state;
  now.vus = totals.vus().active.last;
  now.requests = counts.requests;
  now.failed = counts.failed;
  now.dropped = counts.dropped;
  now.open_model = std::ranges::any_of(totals.plan().workflows, [](const plan::Workflow& workflow) {
    return plan::facts_of(workflow.executor).open_model;
  });
  const Duration since = now.elapsed - before.elapsed;
  if (since > Duration::zero()) {
    now.rate_per_s = static_cast<double>(now.requests - before.requests) / since.seconds_f();
  }
  const aggregate::Percentiles& last = totals.last().response;
  now.p50 = last.p50;
  now.p99 = last.p99;
  now.failures = aggregate::failures_of(totals);
  return now;
}

std::string ci_line(const Snapshot& now) {
  const auto whole_seconds = static_cast<long long>(now.elapsed.ns() / Duration::seconds(1).ns());
  std::string line = print("%5llds", whole_seconds);
  if (now.planned > Duration::zero()) {
    const double ratio = std::clamp(now.elapsed.seconds_f() / now.planned.seconds_f(), 0.0, 1.0);
    line += print("  %3d%%", static_cast<int>(ratio * 100));
  }
  line += fmt::format("  {}  vus {}", now.state, now.vus);
  line += fmt::format("  {} req/s ({} total)", format_count(static_cast<uint64_t>(std::llround(now.rate_per_s))),
                      format_count(now.requests));
  if (now.p99 > Duration::zero()) {
    // Zero is the time of a request that was not sent.
    const std::string p50 = now.p50 > Duration::zero() ? format_duration(now.p50) : "-";
    line += fmt::format("  p50 {} p99 {}", p50, format_duration(now.p99));
  }
  const double failed = now.requests == 0 ? 0 : static_cast<double>(now.failed) / static_cast<double>(now.requests);
  line += print("  failed %.2f%%", failed * 100);
  for (std::size_t i = 0; i < std::min(now.failures.size(), kFailuresShown); ++i) {
    line += fmt::format("{}{} {}", i == 0 ? " (" : ", ", now.failures[i].cause, format_count(now.failures[i].count));
  }
  if (!now.failures.empty()) line += now.failures.size() > kFailuresShown ? ", …)" : ")";
  if (now.open_model) line += "  dropped " + format_count(now.dropped);
  return line;
}

}  // namespace bellwether::console
