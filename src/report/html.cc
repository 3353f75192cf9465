#include "report/html.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "report/charts.h"
#include "report/html_style.h"
#include "report/markup.h"
#include "report/metric_charts.h"
#include "report/text.h"
#include "report/threshold_text.h"

namespace bellwether::report {
namespace {

using metrics::Histogram;

constexpr std::size_t kMostRows = 2'000;  // of one table

std::string plain(double value, const char* format = "%.6g") {
  char out[48];
  std::snprintf(out, sizeof out, format, value);
  return out;
}

std::string whole(uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string millis(Duration value) { return decimal(value.millis_f()); }

std::string bytes(uint64_t value) {
  static constexpr std::array<const char*, 5> kUnits{" B", " KiB", " MiB", " GiB", " TiB"};
  double scaled = static_cast<double>(value);
  std::size_t unit = 0;
  for (; scaled >= 1024 && unit + 1 < kUnits.size(); ++unit) scaled /= 1024;
  return (unit == 0 ? whole(value) : decimal(scaled)) + kUnits[unit];
}

// A table that grows row by row. Cells are text, escaped here.
class Table {
 public:
  struct Cell {
    std::string text;
    std::string look = {};  // classes of the style
  };
  explicit Table(const std::vector<Cell>& heads) : heads_(row("th", heads)) {}
  void add(const std::vector<Cell>& cells) {
    if (++rows_ <= kMostRows) text_ += row("td", cells);
  }
  // Nothing for a table without rows.
  std::string under(const std::string& heading, const std::string& note = {}) const {
    if (rows_ == 0) return {};
    std::string out = "<section><h2>" + heading + "</h2>";
    if (!note.empty()) out += "<p class=\"dim\">" + note + "</p>";
    out += "<div class=\"wide\"><table><thead>" + heads_ + "</thead><tbody>" + text_ + "</tbody></table></div>";
    if (rows_ > kMostRows) out += "<p class=\"dim\">" + whole(rows_ - kMostRows) + " more rows are left out.</p>";
    return out + "</section>\n";
  }

 private:
  static std::string row(const std::string& tag, const std::vector<Cell>& cells) {
    std::string out = "<tr>";
    for (const Cell& cell : cells) {
      const std::string look = cell.look.empty() ? "" : " class=\"" + cell.look + "\"";
      out.append("<")
          .append(tag)
          .append(look)
          .append(">")
          .append(escaped(cell.text))
          .append("</")
          .append(tag)
          .append(">");
    }
    return out + "</tr>\n";
  }
  std::string heads_;
  std::string text_;
  std::size_t rows_ = 0;
};

std::string head(const ResultFile& run, const std::vector<Column>& columns) {
  std::string look = run.verdict == "pass" || run.verdict == "fail" ? run.verdict : "other";
  std::string out = "<h1>" + escaped(run.scenario) + "</h1><p class=\"dim\">Run " + escaped(run.id) + ", started " +
                    escaped(run.started_at) + ", " + escaped(decimal(run.elapsed_s)) + " s on " +
                    (run.cores == 1 ? std::string("1 core") : std::to_string(run.cores) + " cores") + "</p>\n";
  out += "<div class=\"verdict " + look + "\"><b>" + escaped(run.verdict) + "</b> (exit code " +
         std::to_string(run.exit_code) + ")<p>" + escaped(run.reason) + "</p>";
  if (run.saturated) {
    out += "<p class=\"warn\">The load generator was saturated: " + escaped(run.saturation) + ".";
    if (!run.remedy.empty()) out += " What helps: " + escaped(run.remedy) + ".";
    out += "</p>";
  }
  out += "</div>\n<div class=\"tiles\">";
  const Histogram times = all_response(run);
  uint64_t vus = 0;
  for (const Column& column : columns) vus = std::max(vus, column.vus);
  const auto tile = [&](const std::string& name, const std::string& value) {
    out += "<div><span class=\"dim\">" + name + "</span><b>" + escaped(value) + "</b></div>";
  };
  tile("Requests", whole(run.requests));
  tile("Per second", decimal(run.rate_per_s));
  tile("Failed", percent(run.failed, run.requests));
  for (const double p : {50.0, 95.0, 99.0}) {
    tile("p" + plain(p) + ", ms", times.empty() ? "-" : millis(times.percentile(p)));
  }
  tile("Longest, ms", times.empty() ? "-" : millis(times.max()));
  tile("Most users", whole(vus));
  if (run.dropped > 0) tile("Dropped iterations", whole(run.dropped));
  return out + "</div>\n";
}

std::string chart_section(const ResultFile& run, const std::vector<Column>& columns) {
  if (columns.empty()) return {};
  std::string note = "One point a second.";
  const std::size_t each = (run.series.size() + columns.size() - 1) / columns.size();
  const bool coarse = run.series.size() > 1 && run.series[1].t - run.series[0].t > 1.5;
  if (each > 1 || coarse) {
    note =
        "Several seconds share a point: rates are the mean with the least and the most beside it, times and users "
        "those of the worst second.";
  }
  if (!run.lost.empty()) note += " Red: figures are missing.";
  if (!run.events.empty()) note += " Dashed: an event, by its number.";
  return "<h2>Over time</h2><p class=\"dim\">" + note + "</p><div class=\"charts\">" + charts(run, columns) +
         "</div>\n";
}

std::string metric_section(const MetricCharts& made) {
  if (made.figures.empty()) return {};
  std::string note =
      "All steps together. A gauge keeps its value until it is set again; where several seconds share a point, "
      "percentiles are the greatest of theirs.";
  if (made.left_out > 0) {
    note += " The first " + std::to_string(kMostMetricCharts) + " metrics are shown; " + whole(made.left_out) +
            " more are in the result file and in the csv report.";
  }
  return "<h2>Own metrics over time</h2><p class=\"dim\">" + note + "</p><div class=\"charts\">" + made.figures +
         "</div>\n";
}

std::string thresholds(const ResultFile& run) {
  Table table({{"Threshold"}, {"Value"}, {"", "text"}});
  for (const ResultThreshold& one : run.thresholds) {
    const std::string said = one.ok ? "✓ met" : (one.value ? "✗ not met" : "✗ no samples");
    table.add({{one.metric + " " + one.expression},
               {one.value ? plain(*one.value) : "-"},
               {said, one.ok ? "text good" : "text bad"}});
  }
  return table.under("Thresholds");
}

std::string checks(const ResultFile& run) {
  Table table({{"Check"}, {"Step", "text"}, {"Passed"}, {"Failed"}, {"Share"}});
  for (const ResultCheck& one : run.checks) {
    const bool good = one.fails == 0 && one.passes > 0;
    table.add({{one.name},
               {one.step, "text"},
               {whole(one.passes)},
               {whole(one.fails), one.fails > 0 ? "bad" : ""},
               {percent(one.passes, one.passes + one.fails), good ? "good" : "bad"}});
  }
  return table.under("Checks");
}

std::string metrics(const ResultFile& run) {
  Table table({{"Metric"}, {"Kind", "text"}, {"Figures", "text"}});
  for (const ResultMetric& one : run.metrics) {
    table.add({{title_text(one)}, {one.kind, "text"}, {figures_text(one), "text"}});
  }
  return table.under("Own metrics");
}

std::string steps(const ResultFile& run) {
  Table table({{"Step"},
               {"Requests"},
               {"Per s"},
               {"Failed"},
               {"Least"},
               {"Mean"},
               {"p50"},
               {"p90"},
               {"p95"},
               {"p99"},
               {"p99.9"},
               {"Longest"},
               {"Service p95"},
               {"Received"}});
  for (const ResultStep& step : run.steps) {
    std::vector<Table::Cell> cells{{step.name},
                                   {whole(step.count)},
                                   {decimal(step.rate_per_s)},
                                   {percent(step.failed, step.count), step.failed > 0 ? "bad" : ""}};
    const Histogram& times = step.response;
    const auto time = [](const Histogram& of, Duration value) { return Table::Cell{of.empty() ? "-" : millis(value)}; };
    cells.push_back(time(times, times.min()));
    cells.push_back(time(times, times.mean()));
    for (const double p : {50.0, 90.0, 95.0, 99.0, 99.9}) cells.push_back(time(times, times.percentile(p)));
    cells.push_back(time(times, times.max()));
    cells.push_back(time(step.service, step.service.percentile(95)));
    cells.push_back({bytes(step.bytes_received)});
    table.add(cells);
  }
  return table.under("Steps",
                     "Milliseconds, from the moment a request was due to its whole answer. Service: from the "
                     "moment it was sent.");
}

std::string answers(const ResultFile& run) {
  Table table({{"Step"}, {"Answer or error", "text"}, {"Count"}, {"Share"}});
  for (const ResultStep& step : run.steps) {
    for (const auto& [status, count] : step.status) {
      table.add({{step.name}, {"status " + status, "text"}, {whole(count)}, {percent(count, step.count)}});
    }
    for (const auto& [kind, count] : step.errors) {
      table.add({{step.name}, {kind, "text bad"}, {whole(count)}, {percent(count, step.count)}});
    }
  }
  return table.under("Answers and errors");
}

std::string workflows(const ResultFile& run) {
  Table table({{"Workflow"}, {"State", "text"}, {"Seconds"}, {"Iterations"}, {"Dropped"}, {"Most users"}});
  for (const ResultWorkflow& one : run.workflows) {
    const std::string state = one.status + (one.skipped_because.empty() ? "" : ": " + one.skipped_because);
    table.add({{one.name},
               {state, "text"},
               {decimal(one.elapsed_s)},
               {whole(one.completed)},
               {whole(one.dropped), one.dropped > 0 ? "bad" : ""},
               {whole(one.vus_peak)}});
  }
  return table.under("Workflows");
}

std::string course(const ResultFile& run) {
  Table events({{"Event"}, {"At, s"}, {"What", "text"}, {"", "text"}});
  for (std::size_t i = 0; i < run.events.size(); ++i) {
    const ResultEvent& one = run.events[i];
    events.add({{std::to_string(i + 1)}, {plain(one.t, "%.1f")}, {one.kind, "text"}, {one.detail, "text"}});
  }
  Table lost({{"Cause"}, {"From, s"}, {"To, s"}, {"Share of the load"}});
  for (const ResultLoss& one : run.lost) {
    lost.add({{one.cause}, {plain(one.from, "%.1f")}, {plain(one.to, "%.1f")}, {plain(one.share * 100, "%.3g") + "%"}});
  }
  Table workers({{"Worker"}, {"Cores"}, {"State", "text"}});
  for (const ResultWorker& one : run.workers) {
    workers.add({{one.name}, {std::to_string(one.cores)}, {one.state, one.state == "lost" ? "text bad" : "text"}});
  }
  return events.under("Events") + lost.under("What was lost") + workers.under("Workers");
}

}  // namespace

std::string to_html(const ResultFile& run) {
  const std::vector<Column> columns = columns_of(run);
  const MetricCharts own = metric_charts(run, columns);
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<title>" +
      escaped(run.scenario) + ": " + escaped(run.verdict) + "</title><style>" + std::string(kStyle) +
      "</style></head><body>\n";
  out += head(run, columns) + chart_section(run, columns) + metric_section(own) + thresholds(run) + steps(run) +
         checks(run) + metrics(run) + answers(run) + workflows(run) + course(run);
  out += "<footer>Load generator: " + decimal(run.cpu_cores) + " of " + std::to_string(run.cores) +
         " cores busy, event loop late by " + decimal(run.loop_lag_p99_ms) +
         " ms (p99). Made by Bellwether from bellwether.result/1.</footer>\n";
  if (!columns.empty()) {
    out +=
        "<script>const C=" + columns_script(columns) + ",M=" + own.script + ";" + std::string(kScript) + "</script>\n";
  }
  return out + "</body></html>\n";
}

}  // namespace bellwether::report
