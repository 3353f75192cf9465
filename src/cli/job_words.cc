#include "cli/job_words.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/base/wall_text.h"
#include "core/message/to_json.h"
#include "jobs/dispatch/codec/letters_codec.h"

namespace bellwether::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string moment(client::Moment at) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
  return ns == 0 ? "-" : format_wall(WallTime{ns});
}

double seconds(client::Span span) { return Duration::nanos(span.count()).seconds_f(); }

std::string word(client::JobState state) { return std::string(to_string(state)); }

std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

// The list of that name in an answer.
std::string lines_of(const char* name, const dispatch::Response& answer) {
  return text_of(Json::parse(message::to_json(answer)).front()[name]);
}

std::string words_of(const client::Live& live) {
  std::string out = format_count(live.requests, "request") + ", " + format_count(live.failed) + " failed, ";
  if (live.dropped > 0) out += format_count(live.dropped) + " dropped, ";
  return out + format_count(static_cast<uint64_t>(live.vus), "user") + " (" +
         format_duration(Duration::nanos(live.age.count())) + " ago)";
}

std::string line(const char* name, const std::string& text) {
  std::string out = name;
  out.resize(11, ' ');
  return out + printable(text) + "\n";
}

Json workflows_json(const client::Status& status) {
  Json out = Json::array();
  for (const client::WorkflowStatus& one : status.workflows) {
    out.push_back({{"state", to_string(one.state)}, {"why", one.why}, {"parts", one.parts}, {"retries", one.retries}});
  }
  return out;
}

Json shares_json(const client::Status& status) {
  Json out = Json::array();
  for (const client::ShareStatus& one : status.shares) {
    out.push_back({{"share", one.id},
                   {"workflow", one.workflow},
                   {"worker", one.worker},
                   {"parts", one.parts},
                   {"of", one.of},
                   {"state", one.state}});
  }
  return out;
}

double millis(client::Span span) { return seconds(span) * 1'000; }

Json counts_json(const client::Live& live) {
  return {{"requests", live.requests},
          {"failed", live.failed},
          {"iterations", live.iterations},
          {"dropped", live.dropped},
          {"vus", live.vus}};
}

Json times_json(const client::Times& times) {
  return {{"mean", millis(times.mean)},
          {"p50", millis(times.p50)},
          {"p95", millis(times.p95)},
          {"p99", millis(times.p99)},
          {"max", millis(times.max)}};
}

Json steps_json(const client::History& history) {
  Json out = Json::array();
  for (const client::StepFigures& one : history.figures.steps) {
    out.push_back({{"workflow", one.workflow},
                   {"step", one.name},
                   {"requests", one.requests},
                   {"failed", one.failed},
                   {"rate_per_s", one.rate_per_s},
                   {"bytes_sent", one.bytes_sent},
                   {"bytes_received", one.bytes_received},
                   {"service_ms", times_json(one.service)},
                   {"response_ms", times_json(one.response)}});
  }
  return out;
}

Json series_json(const client::History& history) {
  Json out = Json::array();
  for (const client::SeriesPoint& one : history.series) {
    out.push_back({{"t", seconds(one.from)},
                   {"covered_s", seconds(one.covered)},
                   {"requests", one.requests},
                   {"failed", one.failed},
                   {"iterations", one.iterations},
                   {"dropped", one.dropped},
                   {"vus", one.vus},
                   {"rate_per_s", one.rate_per_s},
                   {"service_p99_ms", millis(one.service_p99)},
                   {"response_p99_ms", millis(one.response_p99)}});
  }
  return out;
}

std::string fixed(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string steps_text(const client::History& history) {
  Table table({"STEP", "REQUESTS", "FAILED", "PER SECOND", "P50 MS", "P95 MS", "P99 MS", "MAX MS"});
  for (const client::StepFigures& one : history.figures.steps) {
    table.add({one.name, format_count(one.requests), format_count(one.failed), fixed(one.rate_per_s, 1),
               fixed(millis(one.response.p50), 2), fixed(millis(one.response.p95), 2),
               fixed(millis(one.response.p99), 2), fixed(millis(one.response.max), 2)});
  }
  return "\n" + table.text();
}

std::string series_text(const client::History& history) {
  Table table({"SECOND", "REQUESTS", "FAILED", "PER SECOND", "USERS", "P99 MS"});
  for (const client::SeriesPoint& one : history.series) {
    table.add({fixed(seconds(one.from), 0), format_count(one.requests), format_count(one.failed),
               fixed(one.rate_per_s, 1), std::to_string(one.vus), fixed(millis(one.response_p99), 2)});
  }
  return "\n" + table.text();
}

}  // namespace

std::string json_lines_of(const client::LiveNews& news) {
  const auto line_of = [](const Json& json) { return json.dump() + "\n"; };
  std::string out;
  if (news.anew) out += line_of({{"anew", true}});
  if (news.skipped > 0) out += line_of({{"skipped", news.skipped}});
  for (const client::LiveWindow& one : news.windows) {
    Json window = {{"t", seconds(one.at)}, {"revision", one.revision}, {"shares", one.told}};
    window.update(counts_json(one.done));
    out += line_of(window);
  }
  return out + line_of({{"total", counts_json(news.total)}});
}

std::string json_of(const client::Status& status, const Detail& detail) {
  Json out = {{"job", status.job},
              {"name", status.scenario},
              {"by", status.by},
              {"state", to_string(status.state)},
              {"why", status.why},
              {"queue_position", status.queue_position},
              {"manager", status.manager},
              {"submitted", moment(status.submitted)},
              {"started", moment(status.started)},
              {"ended", moment(status.ended)},
              {"elapsed_s", seconds(status.elapsed)}};
  if (status.live) {
    const client::Live& live = *status.live;
    out["live"] = counts_json(live);
    out["live"]["age_s"] = seconds(live.age);
  }
  Json events = Json::array();
  for (const client::Event& one : status.events) {
    events.push_back({{"t", seconds(one.at)}, {"kind", one.kind}, {"detail", one.detail}});
  }
  Json lost = Json::array();
  for (const client::Loss& one : status.losses) {
    lost.push_back({{"from", seconds(one.from)}, {"to", seconds(one.to)}, {"share", one.share}, {"cause", one.cause}});
  }
  out["workflows"] = workflows_json(status);
  out["shares"] = shares_json(status);
  out["events"] = std::move(events);
  out["lost"] = std::move(lost);
  if (detail.history != nullptr && detail.steps) out["steps"] = steps_json(*detail.history);
  if (detail.history != nullptr && detail.series) out["series"] = series_json(*detail.history);
  return text_of(out);
}

std::string workers_of(const client::Status& status, std::size_t workflow) {
  std::string who;
  for (const client::ShareStatus& share : status.shares) {
    if (share.workflow != workflow || !share.live) continue;
    who += (who.empty() ? "" : ", ") + share.worker + " (" + std::to_string(share.parts) + ")";
  }
  return who;
}

std::string text_of(const client::Status& status, const Detail& detail) {
  std::string out = line("job", status.job) + line("scenario", status.scenario) + line("by", status.by) +
                    line("state", word(status.state) + (status.why.empty() ? "" : " (" + status.why + ")"));
  if (status.queue_position > 0) out += line("queue", std::to_string(status.queue_position) + ". in it");
  out += line("manager", status.manager) + line("submitted", moment(status.submitted)) +
         line("started", moment(status.started)) + line("ended", moment(status.ended));
  if (status.live) out += line("now", words_of(*status.live));
  Table workflows({"WORKFLOW", "STATE", "PARTS", "WORKERS", "WHY"});
  for (std::size_t w = 0; w < status.workflows.size(); ++w) {
    const client::WorkflowStatus& one = status.workflows[w];
    const std::string who = workers_of(status, w);
    workflows.add(
        {one.name, std::string(to_string(one.state)), std::to_string(one.parts), who.empty() ? "-" : who, one.why});
  }
  out += "\n" + workflows.text();
  for (const client::Event& one : status.events) {
    if (!one.kind.ends_with("stopping")) continue;
    char text[80];
    std::snprintf(text, sizeof text, "at %.1f s: ", seconds(one.at));
    out += line("stopped", text + one.detail);
  }
  for (const client::Loss& one : status.losses) {
    char text[80];
    std::snprintf(text, sizeof text, "%.1f s to %.1f s, %.0f%%: ", seconds(one.from), seconds(one.to), one.share * 100);
    out += line("lost", text + one.cause);
  }
  if (detail.history != nullptr && detail.steps) out += steps_text(*detail.history);
  if (detail.history != nullptr && detail.series) out += series_text(*detail.history);
  return out;
}

std::string json_of(const client::JobList& list) { return lines_of("jobs", list); }

std::string text_of(const client::JobList& list) {
  Table table({"JOB", "STATE", "SCENARIO", "BY", "SUBMITTED", "MANAGER", "WHY"});
  for (const client::JobLine& one : list.jobs) {
    table.add({one.id, word(one.state), one.name, one.by, moment(one.submitted), one.manager, one.why});
  }
  return table.text() + (list.cut ? "(the newest " + std::to_string(list.jobs.size()) + ")\n" : "");
}

std::string json_of(const std::vector<client::Worker>& workers) {
  return lines_of("workers", dispatch::WorkerList{workers});
}

std::string text_of(const std::vector<client::Worker>& workers) {
  Table table({"WORKER", "CORES", "FREE", "STATE", "PROGRESS", "SHARES", "WHY"});
  for (const client::Worker& one : workers) {
    table.add({one.name, std::to_string(one.cores), std::to_string(one.free), one.state, one.progress,
               std::to_string(one.shares), one.reason});
  }
  return table.text();
}

std::string json_of(const std::vector<client::Datacenter>& datacenters) {
  return lines_of("datacenters", dispatch::DatacenterList{datacenters});
}

std::string text_of(const std::vector<client::Datacenter>& datacenters) {
  Table table({"DATACENTER", "MANAGERS", "WORKERS", "CORES", "FREE", "HEALTH", "WHY"});
  for (const client::Datacenter& one : datacenters) {
    table.add({one.name, std::to_string(one.managers), std::to_string(one.workers), std::to_string(one.cores),
               std::to_string(one.free), one.health, one.reason});
  }
  return table.text();
}

std::string json_of_job(const std::string& job, bool cancelled) {
  Json out = {{"job", job}};
  if (cancelled) out["cancelled"] = true;
  return text_of(out);
}

}  // namespace bellwether::cli
