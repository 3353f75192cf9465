#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "load/report/chart.h"
#include "load/report/metric_charts.h"
#include "load/report/reports.h"
#include "load/report/text.h"

namespace bellwether::report {
namespace {

// The constant parts of every HTML report: its style, and the script that displays figures under a pointer.

inline constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--back:#fff;--card:#f6f7f9;--ink:#1b2430;--dim:#5c6773;--rule:#dde2e8;--good:#0f7b3f;
--bad:#c0262d;--warn:#94600a;--blue:#1f6feb;--teal:#0d8a8a;--amber:#b7730b;--red:#c0262d;--violet:#7b4bd1}
@media(prefers-color-scheme:dark){:root{--back:#12161c;--card:#1a2029;--ink:#e4e9ef;--dim:#98a4b1;--rule:#2d3642;
--good:#4cc780;--bad:#ff7b72;--warn:#e3b341;
--blue:#6cb0ff;--teal:#4fd0cf;--amber:#f0b040;--red:#ff7b72;--violet:#b58cff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:20px;background:var(--back);color:var(--ink);
font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
h1{font-size:24px;margin:0 0 4px}h2{font-size:17px;margin:30px 0 8px}p{margin:4px 0}.dim{color:var(--dim)}
.verdict{border-left:6px solid var(--warn);background:var(--card);padding:12px 16px;border-radius:6px;margin:14px 0}
.verdict b{font-size:19px;text-transform:uppercase;letter-spacing:.04em;color:var(--warn)}
.verdict.pass{border-color:var(--good)}.verdict.pass b{color:var(--good)}
.verdict.fail{border-color:var(--bad)}.verdict.fail b{color:var(--bad)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px}
.tiles div{background:var(--card);border-radius:6px;padding:10px 12px}
.tiles b{display:block;font-size:20px;font-variant-numeric:tabular-nums}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:14px}
figure{margin:0;background:var(--card);border-radius:6px;padding:10px;break-inside:avoid}
figcaption{display:flex;flex-wrap:wrap;gap:2px 12px;font-size:13px}
output{color:var(--dim);margin-left:auto;min-height:1.45em;font-variant-numeric:tabular-nums}
svg{display:block;width:100%;height:auto;touch-action:pan-y}svg text{font-size:11px;fill:var(--dim)}
.grid{stroke:var(--rule)}.line{fill:none;stroke:var(--c);stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}
.dots{stroke-width:5}
.band{fill:var(--c);opacity:.2}.key::before{content:"";display:inline-block;width:14px;height:3px;background:var(--c);
vertical-align:middle;margin-right:5px}.key.soft::before{height:9px;opacity:.3}
.rate{--c:var(--blue)}.p50{--c:var(--teal)}.p95{--c:var(--amber)}.p99{--c:var(--red)}.failed{--c:var(--red)}
.vus{--c:var(--violet)}.share{--c:var(--teal)}.lost{fill:var(--bad);opacity:.16}
.event line{stroke:var(--dim);stroke-dasharray:3 3}
.cursor{stroke:var(--dim)}@media(max-width:600px){svg text{font-size:17px}}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:5px 8px;border-bottom:1px solid var(--rule);white-space:nowrap}
th{color:var(--dim);font-weight:600}th:first-child,td:first-child,td.text,th.text{text-align:left;white-space:normal}
td:first-child{min-width:9em}.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
footer{margin-top:30px;color:var(--dim);font-size:13px}
@media print{body{max-width:none;padding:0;font-size:11px}.wide{overflow:visible}
table{font-size:9px}th,td{padding:2px 4px}
.charts{grid-template-columns:1fr 1fr}output{display:none}tr,.verdict,.tiles{break-inside:avoid}}
)css";

// C is the list of columns, as load/report/chart.h writes it; M the values of each metric in them
// (load/report/metric_charts.h).
inline constexpr std::string_view kScript = R"js(
const f=v=>Math.abs(v)>=1000?Math.round(v).toLocaleString("en"):String(+v.toPrecision(3));
const span=v=>v[1]!==v[2]?" ("+f(v[1])+" to "+f(v[2])+")":"";
const say={rate:c=>f(c[2])+"/s"+(c[3]!==c[4]?" ("+f(c[3])+" to "+f(c[4])+")":""),failed:c=>f(c[5])+"/s, most "+f(c[6]),
vus:c=>String(c[7]),times:c=>c.length>8?"p50 "+f(c[8])+", p95 "+f(c[9])+", p99 "+f(c[10]):"none",
counter:v=>f(v[0])+"/s"+span(v),gauge:v=>f(v[0])+span(v),share:v=>f(v[0])+"% of "+f(v[1]),
trend:v=>"p50 "+f(v[0])+", p95 "+f(v[1])};
for(const s of document.querySelectorAll("svg[data-kind]")){
const length=s.dataset.length/1000,line=s.querySelector(".cursor"),
out=s.parentNode.querySelector("output");
s.addEventListener("pointermove",e=>{const b=s.getBoundingClientRect(),x=(e.clientX-b.left)/b.width*720;
const t=(x-58)/650*length,n=C.findIndex(c=>t<c[1]),i=n<0?C.length-1:n,c=C[i];
const own=s.dataset.metric,v=own?M[own][i]:c;
const at=58+650*(c[0]+c[1])/2/length;line.setAttribute("x1",at);line.setAttribute("x2",at);
out.textContent=f(c[0])+" s: "+(v?say[s.dataset.kind](v):"none");});
s.addEventListener("pointerleave",()=>{line.setAttribute("x1",-9);line.setAttribute("x2",-9);out.textContent="";});}
)js";

using metrics::Histogram;

constexpr std::size_t kMaxRows = 2'000;  // of one table

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
    if (++rows_ <= kMaxRows) text_ += row("td", cells);
  }
  // Nothing for a table without rows.
  std::string under(const std::string& heading, const std::string& note = {}) const {
    if (rows_ == 0) return {};
    std::string out = fmt::format("<section><h2>{}</h2>", heading);
    if (!note.empty()) out += fmt::format("<p class=\"dim\">{}</p>", note);
    out += fmt::format("<div class=\"wide\"><table><thead>{}</thead><tbody>{}</tbody></table></div>", heads_, text_);
    if (rows_ > kMaxRows)
      out += fmt::format("<p class=\"dim\">{} more rows are left out.</p>", whole(rows_ - kMaxRows));
    return out + "</section>\n";
  }

 private:
  static std::string row(const std::string& tag, const std::vector<Cell>& cells) {
    std::string out = "<tr>";
    for (const Cell& cell : cells) {
      const std::string look = cell.look.empty() ? "" : fmt::format(" class=\"{}\"", cell.look);
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
  std::string out =
      fmt::format("<h1>{}</h1><p class=\"dim\">Run {}, started {}, {} s on {}</p>\n", escaped(run.scenario),
                  escaped(run.id), escaped(run.started_at), escaped(decimal(run.elapsed_s)),
                  run.cores == 1 ? std::string("1 core") : fmt::format("{} cores", run.cores));
  out += fmt::format("<div class=\"verdict {}\"><b>{}</b> (exit code {})<p>{}</p>", look, escaped(run.verdict),
                     run.exit_code, escaped(run.reason));
  if (run.saturated) {
    out += fmt::format("<p class=\"warn\">The load generator was saturated: {}.", escaped(run.saturation));
    if (!run.remedy.empty()) out += fmt::format(" What helps: {}.", escaped(run.remedy));
    out += "</p>";
  }
  out += "</div>\n<div class=\"tiles\">";
  const Histogram times = all_response(run);
  uint64_t vus = 0;
  for (const Column& column : columns) vus = std::max(vus, column.vus);
  const auto tile = [&](const std::string& name, const std::string& value) {
    out += fmt::format("<div><span class=\"dim\">{}</span><b>{}</b></div>", name, escaped(value));
  };
  tile("Requests", whole(run.requests));
  tile("Per second", decimal(run.rate_per_s));
  tile("Failed", percent(run.failed, run.requests));
  for (const double p : {50.0, 95.0, 99.0}) {
    tile(fmt::format("p{}, ms", plain(p)), times.empty() ? "-" : millis(times.percentile(p)));
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
  return fmt::format("<h2>Over time</h2><p class=\"dim\">{}</p><div class=\"charts\">{}</div>\n", note,
                     charts(run, columns));
}

std::string metric_section(const MetricCharts& made) {
  if (made.figures.empty()) return {};
  std::string note =
      "All steps together. A gauge keeps its value until it is set again; where several seconds share a point, "
      "percentiles are the greatest of theirs.";
  if (made.left_out > 0) {
    note += fmt::format(" The first {} metrics are shown; {} more are in the result file and in the csv report.",
                        kMaxMetricCharts, whole(made.left_out));
  }
  return fmt::format("<h2>Own metrics over time</h2><p class=\"dim\">{}</p><div class=\"charts\">{}</div>\n", note,
                     made.figures);
}

std::string thresholds(const ResultFile& run) {
  Table table({{"Threshold"}, {"Value"}, {"", "text"}});
  for (const ResultThreshold& one : run.thresholds) {
    const std::string said = one.ok ? "✓ met" : (one.value ? "✗ not met" : "✗ no samples");
    table.add({{fmt::format("{} {}", one.metric, one.expression)},
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
    lost.add({{one.cause}, {plain(one.from, "%.1f")}, {plain(one.to, "%.1f")}, {plain(one.ratio * 100, "%.3g") + "%"}});
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
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>{}: {}</title><style>{}</style></head><body>\n",
      escaped(run.scenario), escaped(run.verdict), kStyle);
  out += head(run, columns) + chart_section(run, columns) + metric_section(own) + thresholds(run) + steps(run) +
         checks(run) + metrics(run) + answers(run) + workflows(run) + course(run);
  out += fmt::format(
      "<footer>Load generator: {} of {} cores busy, event loop late by {} ms (p99). Made by Bellwether from "
      "bellwether.result/1.</footer>\n",
      decimal(run.cpu_cores), run.cores, decimal(run.loop_lag_p99_ms));
  if (!columns.empty()) {
    out += fmt::format("<script>const C={},M={};{}</script>\n", columns_script(columns), own.script, kScript);
  }
  return out + "</body></html>\n";
}

}  // namespace bellwether::report
