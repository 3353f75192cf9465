#include "jobs/client/client_format.h"

#include <algorithm>
#include <utility>

#include "core/base/enum_names.h"
#include "jobs/client/job_follower.h"
#include "load/report/reports.h"

namespace bellwether::client {

std::string_view to_string(Code code) {
  return EnumNames<Code>("invalid", "scenario", "not_found", "conflict", "refused", "unreachable", "unavailable",
                         "unconfirmed", "timeout", "in_callback", "closed")[code];
}

}  // namespace bellwether::client

namespace bellwether::client::detail {

namespace {

using metrics::Histogram;

Moment moment_of(WallTime at) {
  return Moment(std::chrono::duration_cast<Moment::duration>(std::chrono::nanoseconds(at.unix_ns)));
}

double per_second(uint64_t count, Duration covered) {
  return covered > Duration::zero() ? static_cast<double>(count) / covered.seconds_f() : 0;
}

Times times_of(const Histogram& histogram) {
  Times out;
  if (histogram.empty()) return out;
  out.count = histogram.count();
  out.min = span_of(histogram.min());
  out.mean = span_of(histogram.mean());
  out.p50 = span_of(histogram.percentile(50));
  out.p90 = span_of(histogram.percentile(90));
  out.p95 = span_of(histogram.percentile(95));
  out.p99 = span_of(histogram.percentile(99));
  out.max = span_of(histogram.max());
  return out;
}

StepFigures step_of(const plan::Plan& plan, const metrics::Window& window, std::size_t s, Duration covered) {
  const metrics::StepWindow& step = window.steps[s];
  StepFigures out;
  out.name = plan.steps[s].name;
  out.workflow = plan.workflows[plan.steps[s].workflow].name;
  out.requests = step.count;
  out.failed = step.failed;
  out.bytes_sent = step.bytes_sent;
  out.bytes_received = step.bytes_received;
  out.rate_per_s = per_second(step.count, covered);
  out.service = times_of(step.service);
  out.response = times_of(step.response.waits());
  return out;
}

WorkflowFigures workflow_of(const plan::Plan& plan, const metrics::Window& window, std::size_t w) {
  const metrics::WorkflowWindow& from = window.workflows[w];
  return {plan.workflows[w].name, from.iterations, from.interrupted, from.scheduled,
          from.on_time,           from.late,       from.dropped,     from.vus_active};
}

}  // namespace

Error error_of(const bellwether::Error& error) {
  const auto code = [&] {
    switch (error.code) {
      case Errc::kInvalid:
      case Errc::kTooLarge: return Code::kInvalid;
      case Errc::kNotFound: return Code::kNotFound;
      case Errc::kExists: return Code::kConflict;
      case Errc::kRefused:
      case Errc::kUnsupported: return Code::kRefused;
      case Errc::kExhausted: return Code::kUnavailable;
      case Errc::kCancelled: return Code::kClosed;
      default: return Code::kUnreachable;
    }
  };
  return {code(), error.message, {}};
}

Error error_of(Code code, std::string message, const std::vector<yaml::Diagnostic>& diagnostics) {
  Error out{code, std::move(message), {}};
  for (const yaml::Diagnostic& one : diagnostics) {
    out.diagnostics.push_back({one.file, one.line, one.column, one.message, yaml::format(one)});
  }
  return out;
}

Span span_of(Duration duration) { return Span(duration.ns()); }

Duration duration_of(Span span) { return Duration::nanos(span.count()); }

std::vector<Loss> losses_of(const std::vector<plan::Loss>& losses) {
  std::vector<Loss> out;
  for (const plan::Loss& one : losses) out.push_back({span_of(one.from), span_of(one.to), one.ratio, one.cause});
  return out;
}

Status status_of(const dispatch::JobRecord& record, uint32_t position, const std::string& owner,
                 const plan::Plan* plan) {
  Status out;
  out.job = record.id;
  out.scenario = record.name;
  out.by = record.by;
  out.state = record.state;
  out.why = record.why;
  out.queue_position = position;
  out.manager = owner;
  out.submitted = moment_of(record.submitted);
  out.started = moment_of(record.started);
  out.ended = moment_of(record.ended);
  out.elapsed = span_of(record.elapsed);
  out.stopping = record.stop.has_value();
  for (std::size_t w = 0; w < record.workflows.size(); ++w) {
    const dispatch::WorkflowRecord& one = record.workflows[w];
    out.workflows.push_back({plan != nullptr && w < plan->workflows.size() ? plan->workflows[w].name : std::string(),
                             one.state, one.why, one.parts, one.retries});
  }
  for (const dispatch::AssignmentRecord& one : record.assignments) {
    out.assignments.push_back({one.id.value(), one.workflow, one.worker, one.parts.count, one.parts.of,
                               std::string(to_string(one.state)), dispatch::is_live(one)});
  }
  for (const dispatch::JobEvent& one : node::events_of(record))
    out.events.push_back({span_of(one.at), one.kind, one.detail});
  out.losses = losses_of(record.losses);
  return out;
}

Status status_of(const dispatch::Watched& watched, const plan::Plan* plan) {
  Status out = status_of(watched.record, watched.position, watched.owner, plan);
  if (watched.live != Live()) out.live = watched.live;
  return out;
}

Figures figures_of(const plan::Plan& plan, const metrics::Window& window, Duration covered) {
  Figures out;
  Histogram service;
  metrics::ResponseTimes response;
  out.covered = span_of(covered);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (!plan.steps[s].measured) continue;
    out.steps.push_back(step_of(plan, window, s, covered));
    out.requests += out.steps.back().requests;
    out.failed += out.steps.back().failed;
    service.merge(window.steps[s].service);
    response.merge(window.steps[s].response);
  }
  out.rate_per_s = per_second(out.requests, covered);
  out.service = times_of(service);
  out.response = times_of(response.waits());
  for (std::size_t w = 0; w < plan.workflows.size(); ++w) out.workflows.push_back(workflow_of(plan, window, w));
  return out;
}

Figures figures_of(const aggregate::Totals& totals) {
  Figures out = figures_of(totals.plan(), totals.sum(), totals.elapsed());
  for (std::size_t w = 0; w < out.workflows.size(); ++w) {
    out.workflows[w].vus = totals.vus(static_cast<uint16_t>(w)).active.peak;
  }
  const plan::Plan& plan = totals.plan();
  auto step = out.steps.begin();
  for (const plan::StepInfo& info : plan.steps) {
    if (!info.measured) continue;
    step->rate_per_s = per_second(step->requests, totals.elapsed(info.workflow));
    ++step;
  }
  return out;
}

History history_of(const aggregate::Totals& totals) {
  History out;
  out.figures = figures_of(totals);
  for (const aggregate::SeriesPoint& one : totals.series()) {
    out.series.push_back({span_of(Duration::seconds(static_cast<int64_t>(one.second))), span_of(one.covered),
                          one.requests, one.failed, one.iterations, one.dropped, one.vus, one.rate_per_s(),
                          span_of(one.service.p99), span_of(one.response.p99)});
  }
  return out;
}

bool all_counted(const dispatch::JobRecord& record, uint16_t workflow, const aggregate::Totals& totals) {
  const uint64_t reached = totals.empty() ? 0 : totals.last().second + 1;
  return std::all_of(record.assignments.begin(), record.assignments.end(),
                     [&](const dispatch::AssignmentRecord& assignment) {
                       return assignment.workflow != workflow || !assignment.streams || !assignment.end ||
                              assignment.from + assignment.end->last_number <= reached;
                     });
}

WorkflowResult workflow_result_of(const aggregate::Totals& totals, const dispatch::JobRecord& record,
                                  uint16_t workflow) {
  const plan::Plan& plan = totals.plan();
  WorkflowResult out;
  out.name = plan.workflows[workflow].name;
  out.state = record.workflows[workflow].state;
  out.why = record.workflows[workflow].why;
  const Duration ran = node::ran_of(record, workflow);
  out.elapsed = span_of(ran);
  out.figures = workflow_of(plan, totals.sum(), workflow);
  out.figures.vus = totals.vus(workflow).active.peak;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].workflow != workflow || !plan.steps[s].measured) continue;
    out.steps.push_back(step_of(plan, totals.sum(), s, totals.elapsed(workflow)));
  }
  return out;
}

Result result_of(const report::RunReport& report, const dispatch::JobRecord& record, Status status) {
  const aggregate::Totals& totals = *report.totals;
  Result out;
  out.status = std::move(status);
  out.verdict = to_string(report.verdict.outcome);
  out.exit_code = report.verdict.exit_code;
  out.reason = report.verdict.reason;
  out.failed_thresholds = report.verdict.failed_thresholds;
  out.confirmed = report.confirmed;
  out.elapsed = span_of(report.elapsed);
  out.totals = figures_of(totals);
  for (std::size_t w = 0; w < record.workflows.size() && w < totals.plan().workflows.size(); ++w) {
    out.workflows.push_back(workflow_result_of(totals, record, static_cast<uint16_t>(w)));
  }
  for (std::size_t t = 0; t < report.thresholds.size(); ++t) {
    const plan::Threshold& threshold = totals.plan().thresholds[t];
    out.thresholds.push_back(
        {threshold.metric_text, threshold.expression, report.thresholds[t].value, report.thresholds[t].ok});
  }
  out.losses = losses_of(report.losses);
  out.json = report::to_json(report);
  return out;
}

}  // namespace bellwether::client::detail
