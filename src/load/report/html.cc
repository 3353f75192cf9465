#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/units.h"
#include "load/report/chart.h"
#include "load/report/html_style.h"
#include "load/report/metric_charts.h"
#include "load/report/reports.h"
#include "load/report/text.h"

namespace bellwether::report {
namespace {

using metrics::Histogram;

constexpr std::size_t kMaxFacts = 8;  // lines of one fact in the head
constexpr std::size_t kMaxStepCharts = 24;

std::string plain(double value, int digits = 6) { return fmt::format("{:.{}g}", value, digits); }

std::string whole(uint64_t value) { return format_count(value); }

// Three digits or more, without an exponent.
std::string digits(double value) {
  if (value >= 1 || value == 0) return decimal(value);
  return value < 0.001 ? fmt::format("{:.6f}", value) : plain(value, 3);
}

std::string millis(Duration value) { return digits(value.millis_f()); }
std::string millis(const metrics::ResponseFigure& figure) {
  if (says_nothing(figure)) return "-";
  return (figure.known() ? "" : "≥") + millis(figure.value);
}

std::string span_text(double value) {
  constexpr double kMaxSeconds = 9e9;  // of a Duration
  return format_duration(Duration::nanos(static_cast<int64_t>(std::min(value, kMaxSeconds) * 1e9)));
}

// A value of a threshold with its unit (text.h, unit_of). `exact`: with all its digits.
std::string quantity(double value, const std::string& unit, bool exact) {
  const bool is_whole = value >= 0 && value < 1e15 && value == std::floor(value);
  if (unit == "fraction") return plain(value * 100, exact ? 9 : 3) + "%";
  std::string text = exact || value < 0 ? plain(value, exact ? 9 : 6)
                     : is_whole         ? whole(static_cast<uint64_t>(value))
                                        : digits(value);
  if (unit == "per_s") return text + "/s";
  if (unit == "count" || unit.empty()) return text;
  return text + " " + unit;
}

// The words of a threshold: its limit, "p(95) < 200 ms", and its value, "111.2 ms".
struct ThresholdText {
  std::string limit;
  std::string value;
};
ThresholdText text_of(const ResultThreshold& one) {
  ThresholdText out{one.expression, one.value ? plain(*one.value) : "no samples"};
  const std::size_t op = one.expression.find_first_of("<>=!");
  if (!one.limit || op == std::string::npos) return out;
  const std::size_t end = std::min(one.expression.find_first_not_of("<>=!", op), one.expression.size());
  std::string figure = one.expression.substr(0, op);
  while (figure.ends_with(' ')) figure.pop_back();
  // A value beside its limit must not look like it.
  const bool exact =
      one.value && *one.value != *one.limit && std::abs(*one.value - *one.limit) < 0.001 * std::abs(*one.limit);
  out.limit =
      fmt::format("{} {} {}", figure, one.expression.substr(op, end - op), quantity(*one.limit, one.unit, false));
  if (one.value) out.value = (one.at_least ? "≥" : "") + quantity(*one.value, one.unit, exact);
  return out;
}

// Nothing without content.
std::string section(const std::string& heading, const std::string& note, const std::string& content) {
  if (content.empty()) return {};
  const std::string under = note.empty() ? "" : fmt::format("<p class=\"dim\">{}</p>", note);
  return fmt::format("<section><h2>{}</h2>{}{}</section>\n", heading, under, content);
}

std::string charts_box(const std::string& charts) {
  return charts.empty() ? "" : fmt::format("<div class=\"charts\">{}</div>", charts);
}

std::string verdict(const ResultFile& run) {
  const std::string look = run.verdict == "pass" || run.verdict == "fail" ? run.verdict : "other";
  std::string out =
      fmt::format("<div class=\"verdict {}\"><b>{}{}</b> (exit code {})<p>{}</p>", look, escaped(run.verdict),
                  run.confirmed ? "" : ", unconfirmed", run.exit_code, escaped(run.reason));
  const std::vector<std::string>& all = run.failed_thresholds;
  std::string failed;
  for (std::size_t i = 0; i < std::min(all.size(), kMaxFacts); ++i) failed += "<li>" + escaped(all[i]) + "</li>";
  if (all.size() > kMaxFacts) failed += fmt::format("<li>and {} more</li>", whole(all.size() - kMaxFacts));
  if (!failed.empty()) out += fmt::format("<ul>{}</ul>", failed);
  if (run.saturated) {
    out += fmt::format("<p class=\"warn\">The load generator was saturated: {}.", escaped(run.saturation));
    if (!run.remedy.empty()) out += fmt::format(" What helps: {}.", escaped(run.remedy));
    out += "</p>";
  }
  return out + "</div>\n";
}

// "2026-07-01T12:00:00.123Z" as people write it; any other text as it is.
std::string date_text(const std::string& text) {
  constexpr std::size_t kSeconds = 19;
  if (text.size() <= kSeconds || text[10] != 'T' || text.back() != 'Z') return text;
  return fmt::format("{} {} UTC", text.substr(0, 10), text.substr(11, 8));
}

std::string load_of(const ResultWorkflow& one) {
  if (one.executor.empty()) return one.load;
  const bool open = one.executor.ends_with("arrival-rate");
  return fmt::format("{} ({}, {} model)", one.load, one.executor, open ? "open" : "closed");
}

std::string facts(const ResultFile& run) {
  std::string out = "<dl class=\"facts\">";
  const auto fact = [&](const char* name, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out += fmt::format("<dt>{}</dt><dd>", name);
    for (std::size_t i = 0; i < std::min(lines.size(), kMaxFacts); ++i)
      out += (i > 0 ? "<br>" : "") + escaped(lines[i]);
    if (lines.size() > kMaxFacts) out += fmt::format("<br>and {} more", whole(lines.size() - kMaxFacts));
    out += "</dd>";
  };
  fact("Target", run.targets);
  std::vector<std::string> loads;
  for (const ResultWorkflow& one : run.workflows) {
    if (one.load.empty()) continue;
    loads.push_back(run.workflows.size() > 1 ? fmt::format("{}: {}", one.name, load_of(one)) : load_of(one));
  }
  fact("Load", loads);
  std::vector<std::string> tags;
  for (const auto& [key, value] : run.tags) tags.push_back(fmt::format("{}: {}", key, value));
  fact("Tags", tags);
  fact("Started", {date_text(run.started_at)});
  fact("Duration", {span_text(run.elapsed_s)});
  fact("Generator",
       {fmt::format("{}{}, {} of them busy; event loop lag p99 {} ms",
                    run.workers.empty() ? "" : format_count(run.workers.size(), "worker") + ", ",
                    format_count(run.cores, "core"), decimal(run.cpu_cores), digits(run.loop_lag_p99_ms))});
  fact("Run", {run.id});
  return out + "</dl>\n";
}

std::string tiles(const ResultFile& run, const std::vector<Column>& columns) {
  std::string out = "<div class=\"tiles\">";
  const metrics::ResponseTimes times = all_response(run);
  uint64_t vus = 0;
  double rate = 0;
  for (const Column& column : columns) {
    vus = std::max(vus, column.vus);
    rate = std::max(rate, column.rate_most);
  }
  const auto tile = [&](const std::string& name, const std::string& value, const std::string& more = {}) {
    out += fmt::format("<div><span class=\"dim\">{}</span><b>{}</b>{}</div>", name, value,
                       more.empty() ? "" : fmt::format("<small>{}</small>", more));
  };
  // Always eight, so that none stands alone in a row.
  tile("Requests", whole(run.requests), run.dropped > 0 ? whole(run.dropped) + " iterations dropped" : "");
  tile("Rate", decimal(run.rate_per_s) + "/s", columns.size() > 1 ? fmt::format("peak {}/s", decimal(rate)) : "");
  tile("Failed", percent(run.failed, run.requests), format_count(run.failed, "request"));
  tile("Peak VUs", whole(vus), "virtual users");
  const auto time = [&](const metrics::ResponseFigure& figure) {
    return times.empty() || says_nothing(figure) ? "-" : millis(figure) + " ms";
  };
  for (const double p : {50.0, 95.0, 99.0}) {
    tile(fmt::format("p{}", plain(p)), time(times.percentile(p)), "response time");
  }
  tile("Max", time(times.max()), "response time");
  return out + "</div>\n";
}

std::string thresholds(const ResultFile& run) {
  Table table({{"Threshold"}, {"Limit", "text"}, {"Measured"}});
  // The failed ones first.
  for (const bool ok : {false, true}) {
    for (const ResultThreshold& one : run.thresholds) {
      if (one.ok != ok) continue;
      const ThresholdText text = text_of(one);
      const std::string look = one.ok ? "good" : "bad";
      table.add({{(one.ok ? "✓ " : "✗ ") + one.metric, look}, {text.limit, "text"}, {text.value, look}});
    }
  }
  return section("Thresholds", "", table.text());
}

std::string chart_section(const ResultFile& run, const std::vector<Column>& columns) {
  if (columns.empty()) return {};
  std::string note = "All steps together, one point a second.";
  double widest = 0;
  for (const Column& column : columns) widest = std::max(widest, column.to - column.from);
  // The last second may include a short rest.
  if (widest > 1.5) {
    note =
        "All steps together. Several seconds share a point: rates are the mean, with minimum and maximum; times and "
        "users are those of the worst second.";
  }
  if (!run.lost.empty()) note += " Red: figures are missing.";
  if (!run.events.empty()) note += " Dashed: an event, by its number.";
  return section("Over time", note, charts_box(charts(run, columns)));
}

// The response times of each step, and the service times of those whose requests have due times.
std::string latency(const ResultFile& run) {
  Table table({{"Step or tag"},
               {"Time", "text"},
               {"Min", "", "ms"},
               {"Mean", "", "ms"},
               {"p50", "", "ms"},
               {"p90", "", "ms"},
               {"p95", "", "ms"},
               {"p99", "", "ms"},
               {"p99.9", "", "ms"},
               {"Max", "", "ms"}});
  const auto add = [&](const std::string& name, const char* kind, const metrics::ResponseTimes& times) {
    if (times.empty()) return;
    const metrics::Histogram& known = times.answered;
    std::vector<Table::Cell> cells{{name}, {kind, "text"}, {known.empty() ? "-" : millis(known.min())}};
    cells.push_back({millis(times.mean())});
    for (const double p : {50.0, 90.0, 95.0, 99.0, 99.9}) cells.push_back({millis(times.percentile(p))});
    cells.push_back({millis(times.max())});
    table.add(cells);
  };
  const auto add_service = [&](const std::string& name, const metrics::Histogram& service) {
    metrics::ResponseTimes times;
    times.answered.merge(service);
    add(name, "service", times);
  };
  const auto due = [](const ResultStep& step) { return step.due_times; };
  if (run.steps.size() > 1) {
    add("All steps", "response", all_response(run));
    if (std::ranges::any_of(run.steps, due)) add_service("All steps", all_service(run));
  }
  uint64_t unanswered = 0;
  uint64_t unfinished = 0;
  for (const ResultStep& step : run.steps) {
    add(step.name, "response", step.response);
    if (step.due_times) add_service(step.name, step.service);
    unanswered += step.response.unanswered.count();
    unfinished += step.response.unfinished.count();
  }
  for (const ResultStep& tag : run.by_tag) add(fmt::format("{{{}}}", tag.name), "response", tag.response);
  std::string note =
      "Response time: from the moment a request was due to the end of its response. Service time: from the moment it "
      "was sent.";
  if (unanswered + unfinished > 0) note += " ≥: a lower bound.";
  if (unanswered > 0) {
    note +=
        fmt::format(" {} without a response count as slower than every response.", format_count(unanswered, "request"));
  }
  if (unfinished > 0) {
    note += fmt::format(" The waits of {}, dropped or cut off by the end of the run, are lower bounds.",
                        format_count(unfinished, "request"));
  }
  if (!std::ranges::all_of(run.steps, due)) {
    std::string closed;
    for (const ResultStep& step : run.steps) {
      const std::string workflow = fmt::format("'{}'", escaped(step.name.substr(0, step.name.find('.'))));
      const bool listed = closed.find(workflow) != std::string::npos;
      if (!due(step) && !listed) closed += (closed.empty() ? "" : ", ") + workflow;
    }
    note += fmt::format(
        " Closed model in {}: while the target stalls, these users send nothing, so the percentiles lack the requests "
        "that would have waited (coordinated omission).",
        closed);
  }
  return section("Latency", note, charts_box(distribution_plots(run)) + table.text());
}

std::string requests_of(const std::vector<ResultStep>& steps, const char* what, const std::string& note) {
  Table table(
      {{what}, {"Requests"}, {"Rate", "", "/s"}, {"Failed"}, {"Failed ratio"}, {"Repeated"}, {"Sent"}, {"Received"}});
  for (const ResultStep& step : steps) {
    const std::string look = step.failed > 0 ? "bad" : "";
    table.add({{step.name},
               {whole(step.count)},
               {decimal(step.rate_per_s)},
               {whole(step.failed), look},
               {percent(step.failed, step.count), look},
               {whole(step.repeated)},
               {format_bytes(static_cast<double>(step.bytes_sent))},
               {format_bytes(static_cast<double>(step.bytes_received))}});
  }
  return section(fmt::format("{}s", what), note, table.text());
}

// The charts of each step, and their columns as JavaScript. A single step has those of the run.
struct StepCharts {
  std::string text;
  std::string script;
};
StepCharts steps_over_time(const ResultFile& run) {
  StepCharts out;
  if (run.steps.size() < 2) return out;
  std::string figures;
  std::size_t shown = 0;
  std::size_t left = 0;
  double length = 1;
  for (const ResultStep& step : run.steps) {
    const std::vector<Column> columns = columns_of(step.series);
    if (columns.empty()) continue;
    if (shown == kMaxStepCharts) {
      ++left;
      continue;
    }
    length = std::max(length, columns[0].to - columns[0].from);
    figures += step_charts(run, step, columns, ++shown);
    out.script += "," + columns_script(columns);
  }
  std::string note =
      length > 1 ? fmt::format("A point is {}: the mean rate, and the times of the worst second.", span_text(length))
                 : "One point a second.";
  if (left > 0)
    note += fmt::format(" The first {} steps are shown; {} more are in the result file.", shown, whole(left));
  out.text = section("Each step over time", note, charts_box(figures));
  return out;
}

std::string outcomes(const ResultFile& run) {
  struct OutcomeCount {
    std::string name;
    bool error = false;
    uint64_t count = 0;
    std::vector<std::pair<std::string, uint64_t>> steps = {};
  };
  std::map<std::pair<bool, std::string>, OutcomeCount> found;
  for (const ResultStep& step : run.steps) {
    for (const bool error : {false, true}) {
      for (const auto& [name, count] : error ? step.errors : step.status) {
        OutcomeCount& one = found[{error, name}];
        one.name = name;
        one.error = error;
        one.count += count;
        one.steps.emplace_back(step.name, count);
      }
    }
  }
  std::vector<OutcomeCount> sorted;
  for (auto& [key, one] : found) sorted.push_back(std::move(one));
  std::ranges::stable_sort(sorted, [](const OutcomeCount& a, const OutcomeCount& b) { return a.count > b.count; });
  Table all({{"Status or error"}, {"Requests"}, {"Share"}, {"Meaning", "text"}});
  Table by_step({{"Step"}, {"Status or error", "text"}, {"Requests"}, {"Ratio in the step"}});
  for (const OutcomeCount& one : sorted) {
    all.add({{one.error ? one.name : "status " + one.name},
             {whole(one.count), one.error ? "bad" : ""},
             {percent(one.count, run.requests)},
             {one.error ? std::string(error_meaning(one.name)) : "", "long text"}});
  }
  for (const ResultStep& step : run.steps) {
    for (const OutcomeCount& one : sorted) {
      for (const auto& [name, count] : one.steps) {
        if (name != step.name) continue;
        by_step.add({{name},
                     {one.error ? one.name : "status " + one.name, one.error ? "text bad" : "text"},
                     {whole(count)},
                     {percent(count, step.count)}});
      }
    }
  }
  return section("Statuses and errors", "", all.text()) +
         (run.steps.size() > 1 ? section("Statuses and errors by step", "", by_step.text()) : "");
}

std::string checks(const ResultFile& run) {
  Table table({{"Check"}, {"Step", "text"}, {"Passed"}, {"Failed"}, {"Share passed"}});
  for (const ResultCheck& one : run.checks) {
    const bool good = one.fails == 0 && one.passes > 0;
    table.add({{one.name},
               {one.step, "text name"},
               {whole(one.passes)},
               {whole(one.fails), one.fails > 0 ? "bad" : ""},
               {percent(one.passes, one.passes + one.fails), good ? "good" : "bad"}});
  }
  return section("Checks", "", table.text());
}

std::string metrics(const ResultFile& run, const MetricCharts& made) {
  Table table({{"Metric"}, {"Kind", "text"}, {"Figures", "text long"}});
  for (const ResultMetric& one : run.metrics) {
    table.add({{one.name}, {one.kind, "text"}, {figures_text(one), "text long"}});
  }
  std::string note =
      "All steps together. A gauge keeps its value until it is set again; where several seconds share a point, "
      "percentiles are the greatest of theirs.";
  if (made.left_out > 0) {
    note += fmt::format(" The first {} metrics are shown; {} more are in the result file and in the csv report.",
                        kMaxMetricCharts, whole(made.left_out));
  }
  return section("Custom metrics", "", table.text()) +
         section("Custom metrics over time", note, charts_box(made.figures));
}

std::string workflows(const ResultFile& run) {
  Table table({{"Workflow"},
               {"State", "text"},
               {"Load", "text long"},
               {"Duration"},
               {"Iterations"},
               {"Dropped"},
               {"Peak VUs"}});
  for (const ResultWorkflow& one : run.workflows) {
    const std::string state = one.status + (one.skipped_because.empty() ? "" : ": " + one.skipped_because);
    table.add({{one.name},
               {state, "text"},
               {load_of(one), "text long"},
               {span_text(one.elapsed_s)},
               {whole(one.completed)},
               {whole(one.dropped), one.dropped > 0 ? "bad" : ""},
               {whole(one.vus_peak)}});
  }
  return section("Workflows", "", table.text());
}

std::string course(const ResultFile& run) {
  Table events({{"Event"}, {"At", "", "s"}, {"Kind", "text"}, {"Detail", "text long"}});
  for (std::size_t i = 0; i < run.events.size(); ++i) {
    const ResultEvent& one = run.events[i];
    events.add(
        {{std::to_string(i + 1)}, {fmt::format("{:.1f}", one.t)}, {one.kind, "text"}, {one.detail, "text long"}});
  }
  Table lost({{"Cause"}, {"From", "", "s"}, {"To", "", "s"}, {"Fraction of the load"}});
  for (const ResultLoss& one : run.lost) {
    lost.add({{one.cause},
              {fmt::format("{:.1f}", one.from)},
              {fmt::format("{:.1f}", one.to)},
              {plain(one.ratio * 100, 3) + "%"}});
  }
  Table workers({{"Worker"}, {"Cores"}, {"State", "text"}});
  for (const ResultWorker& one : run.workers) {
    workers.add({{one.name}, {std::to_string(one.cores)}, {one.state, one.state == "lost" ? "text bad" : "text"}});
  }
  return section("Losses", "Load that was not made, or whose figures were lost.", lost.text()) +
         section("Events", "", events.text()) + section("Workers", "", workers.text());
}

}  // namespace

std::string to_html(const ResultFile& run) {
  const std::vector<Column> columns = columns_of(run.series);
  const MetricCharts own = metric_charts(run, columns);
  const StepCharts each = steps_over_time(run);
  std::string tag_note = "Of all steps with the tag. Latency has the times.";
  if (run.tags_left_out > 0) tag_note += fmt::format(" {} have no row.", format_count(run.tags_left_out, "more tag"));
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>{}: {}</title><style>{}</style></head><body>\n"
      "<header><span class=\"dim\">Load test report</span><h1>{}</h1></header>\n",
      escaped(run.scenario), escaped(run.verdict), kStyle, escaped(run.scenario));
  out += verdict(run) + facts(run) + tiles(run, columns) + thresholds(run) + chart_section(run, columns) +
         latency(run) + requests_of(run.steps, "Step", "") + each.text + requests_of(run.by_tag, "Tag", tag_note) +
         outcomes(run) + checks(run) + metrics(run, own) + workflows(run) + course(run);
  out += "<footer>Made by Bellwether from bellwether.result/1.</footer>\n";
  if (!columns.empty()) {
    out += fmt::format("<script>const D=[{}{}],M={};{}</script>\n", columns_script(columns), each.script, own.script,
                       kScript);
  }
  return out + "</body></html>\n";
}

}  // namespace bellwether::report
