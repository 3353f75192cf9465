// Bytes as the statistics of a run: an accepted text can be encoded and decoded again, and continued.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "load/codec/totals_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  plan::Plan plan;
  plan.workflows.resize(2);
  plan.steps.resize(3);
  plan.steps[2].workflow = 1;
  plan.checks.resize(2);
  plan.metrics = {{"orders", plan::MetricKind::kCounter, ""}, {"took", plan::MetricKind::kTrend, "ms"}};
  plan.series = {{0, 0}, {1, 2}};
  auto state = ingest::decode_totals({reinterpret_cast<const char*>(data), size}, plan);
  if (!state) return 0;
  const auto bytes = ingest::encode_totals(*state);
  check(bytes.has_value(), "what was accepted can be copied on");
  const auto again = ingest::decode_totals(*bytes, plan);
  check(again.has_value() && *ingest::encode_totals(*again) == *bytes, "totals survive");
  aggregate::Totals totals = aggregate::Totals::restore(plan, std::move(*state));
  metrics::Window window({3, 2, 2, 2});
  window.second = totals.sum().second;
  window.series[0].add(1);
  window.series[1].record(5, plan.metrics[1].scale());
  totals.add(window);
  totals.amend(window);
  check(totals.series().size() <= aggregate::Totals::kMaxSeries);
  check(totals.step_series().covered.size() <= aggregate::kMaxStepIntervals);
  for (std::size_t m = 0; m < plan.metrics.size(); ++m) check(totals.series_of(m).size() <= totals.series().size());
  return 0;
}
