#include <cmath>
#include <cstdio>

#include "core/base/bytes.h"
#include "load/report/reports.h"

namespace bellwether::report {
namespace {

constexpr double kTicksPerHalving = 5;

double deviation_ms(const metrics::Histogram& histogram) {
  const double mean = histogram.mean().millis_f();
  double sum = 0;
  histogram.each_bucket([&](uint32_t index, uint64_t count) {
    const double off = static_cast<double>(metrics::Histogram::middle_of(index)) / 1e6 - mean;
    sum += off * off * static_cast<double>(count);
  });
  return histogram.empty() ? 0 : std::sqrt(sum / static_cast<double>(histogram.count()));
}

}  // namespace

std::string percentile_text(const metrics::Histogram& histogram) {
  std::string out = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
  char line[128];
  const auto total = static_cast<double>(histogram.count());
  const std::vector<metrics::Histogram::Bucket> buckets = histogram.buckets();
  uint64_t upto = 0;
  std::size_t next = 0;
  for (double ratio = 0; !buckets.empty();) {
    while (next < buckets.size() && (upto == 0 || static_cast<double>(upto) < ratio * total))
      upto += buckets[next++].count;
    const double value = histogram.percentile(ratio * 100).millis_f();
    if (upto == histogram.count()) break;
    std::snprintf(line, sizeof line, "%12.3f %2.12f %10llu %14.2f\n", value, ratio,
                  static_cast<unsigned long long>(upto), 1 / (1 - ratio));
    out += line;
    // Ticks are closer near the end: the same number for each halving of the rest.
    const double ticks = kTicksPerHalving * std::exp2(std::floor(std::log2(1 / (1 - ratio))) + 1);
    ratio += 1 / ticks;
  }
  if (!buckets.empty()) {
    std::snprintf(line, sizeof line, "%12.3f %2.12f %10llu\n", histogram.max().millis_f(), 1.0,
                  static_cast<unsigned long long>(histogram.count()));
    out += line;
  }
  std::snprintf(line, sizeof line, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", histogram.mean().millis_f(),
                deviation_ms(histogram));
  out += line;
  std::snprintf(line, sizeof line, "#[Max     = %12.3f, Total count    = %12llu]\n", histogram.max().millis_f(),
                static_cast<unsigned long long>(histogram.count()));
  out += line;
  std::snprintf(line, sizeof line, "#[Buckets = %12u, SubBuckets     = %12u]\n", metrics::Histogram::kMagnitudes,
                metrics::Histogram::kSubBuckets);
  return out + line;
}

Result<std::string> to_hdr(const ResultFile& run, std::string_view step) {
  if (step.empty()) return percentile_text(all_response(run).waits());
  std::vector<std::string_view> names;
  for (const ResultStep& one : run.steps) {
    if (one.name == step) return percentile_text(one.response.waits());
    names.emplace_back(one.name);
  }
  const std::string_view near = nearest(step, names);
  const std::string hint = near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  return fail(Errc::kNotFound, "there is no step '{}' that makes requests{}", step, hint);
}

}  // namespace bellwether::report
