#include "load/console/view.h"

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "load/aggregate/metric.h"
#include "load/report/text.h"

namespace bellwether::console {
namespace {

constexpr std::size_t kTargetsShown = 2;

std::string target_text(const plan::Plan& plan) {
  const std::vector<std::string> origins = plan::targets_of(plan);
  std::string text;
  for (std::size_t i = 0; i < std::min(origins.size(), kTargetsShown); ++i) text += (i > 0 ? ", " : "") + origins[i];
  if (origins.size() > kTargetsShown) text += fmt::format(" and {} more", origins.size() - kTargetsShown);
  return text;
}

double rate(uint64_t count, Duration over) {
  return over > Duration::zero() ? static_cast<double>(count) / over.seconds_f() : 0;
}

// The counts of another owner of a job may be less for a moment.
uint64_t more(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

void update_thresholds(View& view, const aggregate::Totals& totals) {
  using Verdict = ThresholdRow::Verdict;
  const auto results = aggregate::evaluate(totals);
  for (std::size_t t = 0; t < results.size(); ++t) {
    ThresholdRow& row = view.thresholds[t];
    const bool empty = results[t].no_samples();
    row.value = empty ? "no samples"
                      : (results[t].at_least ? "≥" : "") +
                            report::threshold_value(totals.plan(), totals.plan().thresholds[t], *results[t].value);
    row.verdict = empty ? Verdict::kNoSamples : (results[t].ok ? Verdict::kHolds : Verdict::kFails);
  }
}

void update_points(View& view, const aggregate::Totals& totals) {
  view.points.clear();
  for (const aggregate::SeriesPoint& one : totals.series()) {
    view.points.push_back({Duration::seconds(static_cast<int64_t>(one.second)),
                           std::max(one.covered, Duration::seconds(1)), one.response});
  }
}

}  // namespace

void ViewMaker::begin(View& view, const plan::Plan& plan, Duration planned) {
  places_.clear();
  steps_.clear();
  next_step_ = 0;
  marks_.assign(1, {Duration::zero(), std::vector<uint64_t>(plan.steps.size())});
  workflows_before_.assign(plan.workflows.size(), {});

  view.scenario = plan.name;
  view.target = target_text(plan);
  view.planned = planned;
  view.workflows.assign(plan.workflows.size(), {});
  view.open_model = false;
  for (std::size_t w = 0; w < plan.workflows.size(); ++w) {
    view.workflows[w].name = plan.workflows[w].name;
    view.workflows[w].open_model = plan::facts_of(plan.workflows[w].executor).open_model;
    view.open_model |= view.workflows[w].open_model;
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const plan::StepInfo& step = plan.steps[s];
    if (!step.measured) continue;
    WorkflowRow& workflow = view.workflows[step.workflow];
    places_.push_back({step.workflow, workflow.steps.size()});
    steps_.push_back(static_cast<plan::StepId>(s));
    workflow.steps.push_back({.name = step.name.substr(workflow.name.size() + 1)});
  }
  view.thresholds.clear();
  for (const plan::Threshold& threshold : plan.thresholds) {
    view.thresholds.push_back({fmt::format("{}  {}", threshold.metric_text, threshold.expression), "no samples", {}});
    view.thresholds.back().verdict = ThresholdRow::Verdict::kNoSamples;
  }
}

void ViewMaker::update(View& view, const aggregate::Totals& totals) {
  view.elapsed = totals.elapsed();
  view.counts = totals.counts();
  view.failures = aggregate::failures_of(totals);
  view.users = totals.vus().active.last;
  view.rate_total_per_s = rate(view.counts.requests, view.elapsed);
  view.last = totals.last().response;

  while (marks_.size() > 1 && view.elapsed - marks_[1].at >= kWindow) marks_.pop_front();
  const Mark& before = marks_.front();
  uint64_t requests_before = 0;
  for (const uint64_t count : before.requests) requests_before += count;
  view.rate_per_s = rate(more(view.counts.requests, requests_before), view.elapsed - before.at);
  for (std::size_t w = 0; w < view.workflows.size(); ++w) {
    const auto id = static_cast<uint16_t>(w);
    const aggregate::Counts counts = totals.counts(id);
    WorkflowRow& row = view.workflows[w];
    row.iterations = counts.iterations;
    row.dropped = counts.dropped;
    row.active = counts.requests != workflows_before_[w].requests ||
                 counts.iterations != workflows_before_[w].iterations || counts.dropped != workflows_before_[w].dropped;
    row.users = row.active ? totals.vus(id).active.last : 0;
    workflows_before_[w] = counts;
  }
  update_steps(view, totals, before);
  update_thresholds(view, totals);
  update_points(view, totals);

  if (view.elapsed > marks_.back().at) {
    Mark mark{view.elapsed, {}};
    mark.requests.reserve(totals.sum().steps.size());
    for (const metrics::StepWindow& step : totals.sum().steps) mark.requests.push_back(step.count);
    marks_.push_back(std::move(mark));
  }
}

void ViewMaker::update_steps(View& view, const aggregate::Totals& totals, const Mark& before) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const metrics::StepWindow& step = totals.sum().steps[steps_[i]];
    StepRow& row = view.workflows[places_[i].workflow].steps[places_[i].row];
    row.count = step.count;
    row.failed = step.failed;
    row.rate_per_s = rate(more(step.count, before.requests[steps_[i]]), view.elapsed - before.at);
  }
  for (std::size_t n = 0; n < std::min(kStepsAtOnce, steps_.size()); ++n) {
    const std::size_t i = next_step_;
    next_step_ = (next_step_ + 1) % steps_.size();
    view.workflows[places_[i].workflow].steps[places_[i].row].duration =
        aggregate::percentiles_of(totals.sum().steps[steps_[i]].response);
  }
}

namespace {

constexpr std::size_t kFailuresShown = 2;

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
  std::string line = fmt::format("{:5}s", now.elapsed.ns() / Duration::seconds(1).ns());
  if (now.planned > Duration::zero()) {
    const double ratio = std::clamp(now.elapsed.seconds_f() / now.planned.seconds_f(), 0.0, 1.0);
    line += fmt::format("  {:3}%", static_cast<int>(ratio * 100));
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
  line += fmt::format("  failed {:.2f}%", failed * 100);
  for (std::size_t i = 0; i < std::min(now.failures.size(), kFailuresShown); ++i) {
    line += fmt::format("{}{} {}", i == 0 ? " (" : ", ", now.failures[i].cause, format_count(now.failures[i].count));
  }
  if (!now.failures.empty()) line += now.failures.size() > kFailuresShown ? ", …)" : ")";
  if (now.open_model) line += "  dropped " + format_count(now.dropped);
  return line;
}

}  // namespace bellwether::console
