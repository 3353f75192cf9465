// Writing windows of statistics.

#include "load/codec/window_codec.h"
#include "proto/stats.pb.h"

namespace bellwether::account {
namespace {

using metrics::Histogram;
using metrics::Window;

void put(const Histogram& from, wire::SparseHistogram& to) {
  uint32_t last = 0;
  from.each_bucket([&](uint32_t index, uint64_t count) {
    to.add_gaps(index - last);
    to.add_counts(count);
    last = index;
  });
  to.set_sum_low(static_cast<uint64_t>(from.sum_ns()));
  to.set_sum_high(static_cast<uint64_t>(from.sum_ns() >> 64));
  to.set_min_ns(from.min().ns());
  to.set_max_ns(from.max().ns());
}

// An empty one is not written, and so does not make its owner worth writing.
template <class Get>
bool put_unless_empty(const Histogram& from, Get get) {
  if (from.empty()) return false;
  put(from, *get());
  return true;
}

bool put(const metrics::StepWindow& from, wire::StepDelta& to) {
  bool any = (from.count | from.failed | from.bytes_sent | from.bytes_received | from.censored) != 0;
  to.set_count(from.count);
  to.set_failed(from.failed);
  to.set_bytes_sent(from.bytes_sent);
  to.set_bytes_received(from.bytes_received);
  to.set_censored(from.censored);
  any |= put_unless_empty(from.service, [&] { return to.mutable_service(); });
  any |= put_unless_empty(from.response, [&] { return to.mutable_response(); });
  for (uint32_t i = 0; i < metrics::kPhases; ++i) {
    any |= put_unless_empty(from.phases[i], [&] {
      wire::StepDelta::Phase* phase = to.add_phases();
      phase->set_phase(i);
      return phase->mutable_span();
    });
  }
  const auto tally = [&any](uint32_t key, uint64_t count, auto* list) {
    wire::Tally* one = list->Add();
    one->set_key(key);
    one->set_count(count);
    any = true;
  };
  for (const auto& [status, count] : from.status.entries()) tally(status, count, to.mutable_status());
  for (uint32_t i = 0; i < from.errors.size(); ++i) {
    if (from.errors[i] != 0) tally(i, from.errors[i], to.mutable_errors());
  }
  return any;
}

bool put(const metrics::WorkflowWindow& from, wire::WorkflowDelta& to) {
  to.set_iterations(from.iterations);
  to.set_interrupted(from.interrupted);
  to.set_scheduled(from.scheduled);
  to.set_on_time(from.on_time);
  to.set_late(from.late);
  to.set_dropped(from.dropped);
  to.set_vus_active(from.vus_active);
  to.set_vus_allocated(from.vus_allocated);
  bool any = (from.iterations | from.interrupted | from.scheduled | from.on_time | from.late | from.dropped) != 0 ||
             from.vus_active != 0 || from.vus_allocated != 0;
  any |= put_unless_empty(from.iteration, [&] { return to.mutable_iteration(); });
  any |= put_unless_empty(from.start_lag, [&] { return to.mutable_start_lag(); });
  return any;
}

void put(const metrics::MetricWindow& from, wire::MetricDelta& to) {
  to.set_count(from.count);
  to.set_refused(from.refused);
  to.set_sum_low(static_cast<uint64_t>(from.sum));
  to.set_sum_high(static_cast<uint64_t>(from.sum >> 64));
  to.set_trues(from.trues);
  to.set_last(from.last);
  to.set_last_at_ns(from.last_at.ns());
  to.set_least(from.least);
  to.set_greatest(from.greatest);
  put_unless_empty(from.trend, [&] { return to.mutable_trend(); });
}

}  // namespace

// Parts one after the other are the same bytes as all at once, and so a step's figures are held as a message only while
// it is written.
std::string encode_window(const Window& window) {
  std::string out;
  wire::WindowDelta part;
  const auto write = [&] {
    part.AppendToString(&out);
    part.Clear();
  };
  part.set_second(window.second);
  write();
  for (uint32_t i = 0; i < window.steps.size(); ++i) {
    wire::StepDelta* step = part.add_steps();
    step->set_step(i);
    if (!put(window.steps[i], *step)) part.mutable_steps()->RemoveLast();
    write();
  }
  for (uint32_t i = 0; i < window.workflows.size(); ++i) {
    wire::WorkflowDelta* workflow = part.add_workflows();
    workflow->set_workflow(i);
    if (!put(window.workflows[i], *workflow)) part.mutable_workflows()->RemoveLast();
  }
  for (uint32_t i = 0; i < window.checks.size(); ++i) {
    if (window.checks[i].passes == 0 && window.checks[i].fails == 0) continue;
    wire::CheckDelta* check = part.add_checks();
    check->set_check(i);
    check->set_passes(window.checks[i].passes);
    check->set_fails(window.checks[i].fails);
  }
  put_unless_empty(window.loop_lag, [&] { return part.mutable_loop_lag(); });
  part.set_cpu_ns(window.cpu.ns());
  part.set_covered_ns(window.covered.ns());
  write();
  for (uint32_t i = 0; i < window.series.size(); ++i) {
    if (window.series[i].empty()) continue;
    wire::MetricDelta* metric = part.add_metrics();
    metric->set_series(i);
    put(window.series[i], *metric);
    write();
  }
  return out;
}

}  // namespace bellwether::account
