#include "cli/cluster/cluster_format.h"
#include "cli/view.h"
#include "core/base/units.h"
#include "core/message/message.h"
#include "jobs/dispatch/codec/messages_codec.h"

namespace bellwether::cli {
namespace {

std::string moment(client::Moment at) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
  return ns == 0 ? "-" : format_wall(WallTime{ns});
}

double seconds(client::Span span) { return Duration::nanos(span.count()).seconds_f(); }
std::string span_text(client::Span span) { return format_duration(Duration::nanos(span.count())); }
double millis(client::Span span) { return seconds(span) * 1'000; }

std::string fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

Field count(const char* heading, const char* key, uint64_t value) { return {heading, key, value, format_count(value)}; }
Field rate(double per_s) { return {"PER SECOND", "rate_per_s", per_s, fixed(per_s, 1)}; }

std::string words_of(const client::Live& live) {
  std::string out = fmt::format("{}, {} failed, ", format_count(live.requests, "request"), format_count(live.failed));
  if (live.dropped > 0) out += format_count(live.dropped) + " dropped, ";
  return fmt::format("{}{} ({} ago)", out, format_count(static_cast<uint64_t>(live.vus), "user"), span_text(live.age));
}

Fields counts_of(const client::Live& live) {
  return {told("requests", live.requests), told("failed", live.failed), told("iterations", live.iterations),
          told("dropped", live.dropped), told("vus", live.vus)};
}

Value times_of(const client::Times& times) {
  return object_of({told("mean", millis(times.mean)), told("p50", millis(times.p50)), told("p95", millis(times.p95)),
                    told("p99", millis(times.p99)), told("max", millis(times.max))});
}

Fields fields_of(const client::StepFigures& one) {
  // Zero is the time of requests that were not sent.
  const auto shown_ms = [](const char* heading, client::Span span) {
    return shown(heading, span > client::Span() ? fixed(millis(span), 2) : "-");
  };
  return {told("workflow", one.workflow),
          {"STEP", "step", one.name},
          count("REQUESTS", "requests", one.requests),
          count("FAILED", "failed", one.failed),
          rate(one.rate_per_s),
          told("bytes_sent", one.bytes_sent),
          told("bytes_received", one.bytes_received),
          told("service_ms", times_of(one.service)),
          told("response_ms", times_of(one.response)),
          shown_ms("P50 MS", one.response.p50),
          shown_ms("P95 MS", one.response.p95),
          shown_ms("P99 MS", one.response.p99),
          shown_ms("MAX MS", one.response.max)};
}

Fields fields_of(const client::SeriesPoint& one) {
  return {{"SECOND", "t", seconds(one.from), fixed(seconds(one.from), 0)},
          told("covered_s", seconds(one.covered)),
          count("REQUESTS", "requests", one.requests),
          count("FAILED", "failed", one.failed),
          told("iterations", one.iterations),
          told("dropped", one.dropped),
          rate(one.rate_per_s),
          {"USERS", "vus", one.vus},
          told("service_p99_ms", millis(one.service_p99)),
          {"P99 MS", "response_p99_ms", millis(one.response_p99), fixed(millis(one.response_p99), 2)}};
}

struct Workflow {
  client::WorkflowStatus status;
  std::string workers;
};

Fields fields_of(const Workflow& one) {
  return {shown("WORKFLOW", one.status.name),   {"STATE", "state", to_string(one.status.state)},
          {"PARTS", "parts", one.status.parts}, shown("WORKERS", one.workers.empty() ? "-" : one.workers),
          told("retries", one.status.retries),  {"WHY", "why", one.status.why}};
}

Fields fields_of(const client::AssignmentStatus& one) {
  return {told("assignment", one.id), told("workflow", one.workflow),
          told("worker", one.worker), told("parts", one.parts),
          told("of", one.of),         told("state", one.state)};
}

Fields fields_of(const client::Event& one) {
  return {
      told("t", seconds(one.at)), told("kind", one.kind), told("detail", one.detail),
      shown(one.kind.ends_with("stopping") ? "stopped" : "", fmt::format("at {}: {}", span_text(one.at), one.detail))};
}

Fields fields_of(const client::Loss& one) {
  return {told("from", seconds(one.from)), told("to", seconds(one.to)), told("ratio", one.ratio),
          told("cause", one.cause),
          shown("lost", fmt::format("{} to {}, {}%: {}", span_text(one.from), span_text(one.to),
                                    fixed(one.ratio * 100, 0), one.cause))};
}

Fields fields_of(const client::Status& status) {
  const std::string_view state = to_string(status.state);
  Fields out{
      {"job", "job", status.job},
      {"scenario", "name", status.scenario},
      {"by", "by", status.by},
      {"state", "state", state, std::string(state) + (status.why.empty() ? "" : fmt::format(" ({})", status.why))},
      told("why", status.why),
      {"queue", "queue_position", status.queue_position,
       status.queue_position > 0 ? fmt::format("{}. in it", status.queue_position) : ""},
      {"manager", "manager", status.manager},
      {"submitted", "submitted", moment(status.submitted)},
      {"started", "started", moment(status.started)},
      {"ended", "ended", moment(status.ended)},
      told("elapsed_s", seconds(status.elapsed))};
  if (status.live) {
    Fields live = counts_of(*status.live);
    live.push_back(told("age_s", seconds(status.live->age)));
    out.emplace_back("now", "live", object_of(live), words_of(*status.live));
  }
  return out;
}

template <class One>
Rows rows_of(const std::vector<One>& list) {
  return {list, [](const One& one) { return fields_of(one); }};
}

// The list of that name in an answer, as its description has it.
std::string words_of(const dispatch::Response& answer, const char* name, bool json,
                     std::initializer_list<Column> columns) {
  const Value all = Value::parsed(message::to_json(answer)).at(name).at(name);
  return json ? all.document() : table_of(all, columns);
}

}  // namespace

std::string json_lines_of(const client::LiveNews& news) {
  std::string out;
  if (news.anew) out += object_of({told("anew", true)}).line();
  if (news.skipped > 0) out += object_of({told("skipped", news.skipped)}).line();
  for (const client::LiveWindow& one : news.windows) {
    Fields window{told("t", seconds(one.at)), told("revision", one.revision), told("assignments", one.told)};
    const Fields counts = counts_of(one.done);
    window.insert(window.end(), counts.begin(), counts.end());
    out += object_of(window).line();
  }
  return out + object_of({told("total", object_of(counts_of(news.total)))}).line();
}

std::string workers_of(const client::Status& status, std::size_t workflow) {
  std::vector<std::string> who;
  for (const client::AssignmentStatus& assignment : status.assignments) {
    if (assignment.workflow == workflow && assignment.live)
      who.push_back(fmt::format("{} ({})", assignment.worker, assignment.parts));
  }
  return joined(who);
}

std::string words_of(const client::Status& status, bool json, const Detail& detail) {
  std::vector<Workflow> all;
  for (std::size_t w = 0; w < status.workflows.size(); ++w) all.push_back({status.workflows[w], workers_of(status, w)});
  const Rows workflows = rows_of(all);
  const bool steps = detail.history != nullptr && detail.steps;
  const bool series = detail.history != nullptr && detail.series;
  Fields fields = fields_of(status);
  if (json) {
    fields.push_back(told("workflows", workflows.list()));
    fields.push_back(told("assignments", rows_of(status.assignments).list()));
    fields.push_back(told("events", rows_of(status.events).list()));
    fields.push_back(told("lost", rows_of(status.losses).list()));
    if (steps) fields.push_back(told("steps", rows_of(detail.history->figures.steps).list()));
    if (series) fields.push_back(told("series", rows_of(detail.history->series).list()));
    return object_of(fields).document();
  }
  std::string out = fmt::format("{}\n{}", lines_of(fields, 11), workflows.table());
  for (const client::Event& one : status.events) {
    if (one.kind.ends_with("stopping")) out += lines_of(fields_of(one), 11);
  }
  for (const client::Loss& one : status.losses) out += lines_of(fields_of(one), 11);
  if (steps) out += "\n" + rows_of(detail.history->figures.steps).table();
  if (series) out += "\n" + rows_of(detail.history->series).table();
  return out;
}

std::string words_of(const client::JobList& list, bool json) {
  const std::string out = words_of(list, "jobs", json,
                                   {{"JOB", "job"},
                                    {"STATE", "state"},
                                    {"SCENARIO", "name"},
                                    {"BY", "by"},
                                    {"SUBMITTED", "submitted"},
                                    {"MANAGER", "manager"},
                                    {"WHY", "why"}});
  return list.cut && !json ? fmt::format("{}(the newest {})\n", out, list.jobs.size()) : out;
}

std::string words_of(const std::vector<client::Worker>& workers, bool json) {
  return words_of(dispatch::WorkerList{workers}, "workers", json,
                  {{"WORKER", "worker"},
                   {"CORES", "cores"},
                   {"FREE", "free"},
                   {"STATE", "state"},
                   {"PROGRESS", "progress"},
                   {"ASSIGNMENTS", "assignments"},
                   {"WHY", "why"}});
}

std::string words_of(const std::vector<client::Datacenter>& datacenters, bool json) {
  return words_of(dispatch::DatacenterList{datacenters}, "datacenters", json,
                  {{"DATACENTER", "datacenter"},
                   {"MANAGERS", "managers"},
                   {"WORKERS", "workers"},
                   {"CORES", "cores"},
                   {"FREE", "free"},
                   {"HEALTH", "health"},
                   {"WHY", "why"}});
}

}  // namespace bellwether::cli
