#include "account/totals_codec.h"

#include "account/window_codec.h"
#include "proto/stats.pb.h"

namespace bellwether::account {
namespace {

using aggregate::Gauge;
using aggregate::Percentiles;
using aggregate::SeriesPoint;
using aggregate::Totals;
using aggregate::TotalsState;
using aggregate::VuGauges;
using Copy = wire::TotalsCopy;

// --- writing ---------------------------------------------------------------------------------------------------------

void put(const Gauge& from, Copy::Gauge& to) {
  to.set_last(from.last);
  to.set_peak(from.peak);
}

void put(const VuGauges& from, Copy::Gauges& to) {
  put(from.active, *to.mutable_active());
  put(from.allocated, *to.mutable_allocated());
}

void put(const Percentiles& from, Copy::Spread& to) {
  to.set_p50(from.p50.ns());
  to.set_p95(from.p95.ns());
  to.set_p99(from.p99.ns());
}

void put(const SeriesPoint& from, Copy::Point& to) {
  to.set_second(from.second);
  to.set_covered_ns(from.covered.ns());
  to.set_requests(from.requests);
  to.set_failed(from.failed);
  to.set_iterations(from.iterations);
  to.set_dropped(from.dropped);
  to.set_vus(from.vus);
  put(from.service, *to.mutable_service());
  put(from.response, *to.mutable_response());
}

// --- reading ---------------------------------------------------------------------------------------------------------

// Reads parts, and remembers the first thing that was wrong.
class Reader {
 public:
  const char* wrong = nullptr;

  VuGauges gauges(const Copy::Gauges& from) { return {gauge(from.active()), gauge(from.allocated())}; }

  SeriesPoint point(const Copy::Point& from) {
    return {.second = count(from.second()),
            .covered = span(from.covered_ns()),
            .requests = count(from.requests()),
            .failed = count(from.failed()),
            .iterations = count(from.iterations()),
            .dropped = count(from.dropped()),
            .vus = vus(from.vus()),
            .service = percentiles(from.service()),
            .response = percentiles(from.response())};
  }

  // After `last`, which says how old they are.
  void series(const Copy& from, TotalsState& to) {
    if (static_cast<std::size_t>(from.series_size()) > Totals::kSeriesMax) return fail("a series that is too long");
    for (const Copy::Point& one : from.series()) to.series.push_back(point(one));
    const metrics::Retention retention = aggregate::retention_of(to);
    for (std::size_t i = 1; i < to.series.size(); ++i) {
      if (retention.stretch_of(to.series[i].second) <= retention.stretch_of(to.series[i - 1].second)) {
        return fail("a series that does not rise");
      }
    }
  }

  Duration span(int64_t ns) {
    if (ns < 0 || ns > kLongestNs) fail("a time that cannot be");
    return Duration::nanos(ns);
  }

  void fail(const char* why) {
    if (wrong == nullptr) wrong = why;
  }

 private:
  static constexpr int64_t kLongestNs = int64_t{1} << 62;

  uint64_t count(uint64_t value) {
    if (value > kMostSumCount) fail("a count that cannot be");
    return value;
  }
  int64_t vus(int64_t value) {
    if (static_cast<uint64_t>(value) > kMostSumCount) fail("a number of virtual users that cannot be");
    return value;
  }
  Gauge gauge(const Copy::Gauge& from) {
    if (from.peak() < from.last()) fail("a peak below the last value");
    return {vus(from.last()), vus(from.peak())};
  }
  Percentiles percentiles(const Copy::Spread& from) { return {span(from.p50()), span(from.p95()), span(from.p99())}; }
};

}  // namespace

Result<std::string> encode_totals(const TotalsState& state) {
  Copy to;
  to.set_sum(encode_window(state.sum));
  to.set_elapsed_ns(state.elapsed.ns());
  put(state.all_vus, *to.mutable_all_vus());
  for (const VuGauges& gauges : state.workflow_vus) put(gauges, *to.add_workflow_vus());
  for (const SeriesPoint& point : state.series) put(point, *to.add_series());
  put(state.last, *to.mutable_last());
  const std::size_t bytes = to.ByteSizeLong();
  if (bytes > kMostTotalsBytes) {
    return fail(Errc::kTooLarge, "the statistics of the run have " + std::to_string(bytes >> 20) + " MiB; at most " +
                                     std::to_string(kMostTotalsBytes >> 20) +
                                     " can be copied: give the scenario fewer steps");
  }
  return to.SerializeAsString();
}

Result<TotalsState> decode_totals(std::string_view bytes, const plan::Plan& plan) {
  Copy from;
  if (bytes.size() > kMostTotalsBytes || !from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kProtocol, "these bytes are no statistics of a run");
  }
  auto sum = decode_sum(from.sum(), aggregate::shape_of(plan));
  if (!sum) return tl::unexpected(std::move(sum.error()));
  Reader reader;
  TotalsState out{.sum = std::move(*sum)};
  out.elapsed = reader.span(from.elapsed_ns());
  out.all_vus = reader.gauges(from.all_vus());
  for (const Copy::Gauges& gauges : from.workflow_vus()) out.workflow_vus.push_back(reader.gauges(gauges));
  if (out.workflow_vus.size() != plan.workflows.size()) reader.fail("they belong to another plan");
  out.last = reader.point(from.last());
  reader.series(from, out);
  if (reader.wrong != nullptr) {
    return fail(Errc::kProtocol, std::string("the statistics of a run are refused: ") + reader.wrong);
  }
  return out;
}

}  // namespace bellwether::account
