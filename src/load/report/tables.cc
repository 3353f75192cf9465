// Runs as tables for other programs: comma-separated values, and the percentile text of HdrHistogram.
#include <array>
#include <cmath>

#include "core/base/bytes.h"
#include "load/report/reports.h"

namespace bellwether::report {
namespace {

constexpr double kTicksPerHalving = 5;

double deviation_ms(const metrics::Histogram& histogram) {
  const double mean = histogram.mean().millis_f();
  double sum = 0;
  histogram.each_bucket([&](uint32_t index, uint64_t count) {
    const double off = static_cast<double>(metrics::Histogram::middle_of(index)) / 1e6 - mean;
    sum += off * off * static_cast<double>(count);
  });
  return histogram.empty() ? 0 : std::sqrt(sum / static_cast<double>(histogram.count()));
}

}  // namespace

std::string percentile_text(const metrics::Histogram& histogram) {
  std::string out = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
  const auto total = static_cast<double>(histogram.count());
  const std::vector<metrics::Histogram::Bucket> buckets = histogram.buckets();
  uint64_t upto = 0;
  std::size_t next = 0;
  for (double ratio = 0; !buckets.empty();) {
    while (next < buckets.size() && (upto == 0 || static_cast<double>(upto) < ratio * total))
      upto += buckets[next++].count;
    const double value = histogram.percentile(ratio * 100).millis_f();
    if (upto == histogram.count()) break;
    out += fmt::format("{:12.3f} {:2.12f} {:10} {:14.2f}\n", value, ratio, upto, 1 / (1 - ratio));
    // Ticks are closer near the end: the same number for each halving of the rest.
    const double ticks = kTicksPerHalving * std::exp2(std::floor(std::log2(1 / (1 - ratio))) + 1);
    ratio += 1 / ticks;
  }
  const double most = histogram.max().millis_f();
  if (!buckets.empty()) out += fmt::format("{:12.3f} {:2.12f} {:10}\n", most, 1.0, histogram.count());
  return out + fmt::format(
                   "#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n"
                   "#[Max     = {:12.3f}, Total count    = {:12}]\n"
                   "#[Buckets = {:12}, SubBuckets     = {:12}]\n",
                   histogram.mean().millis_f(), deviation_ms(histogram), most, histogram.count(),
                   metrics::Histogram::kMagnitudes, metrics::Histogram::kSubBuckets);
}

Result<std::string> to_hdr(const ResultFile& run, std::string_view step) {
  if (step.empty()) return percentile_text(all_response(run).waits());
  std::vector<std::string_view> names;
  for (const ResultStep& one : run.steps) {
    if (one.name == step) return percentile_text(one.response.waits());
    names.emplace_back(one.name);
  }
  const std::string_view near = nearest(step, names);
  const std::string hint = near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  return fail(Errc::kNotFound, "there is no step '{}' that makes requests{}", step, hint);
}

namespace {

constexpr std::array kPercents{50.0, 90.0, 95.0, 99.0, 99.9};
constexpr std::string_view kHeader =
    "row,name,t_s,covered_s,requests,failed,rate_per_s,bytes_sent,bytes_received,repeated,iterations,"
    "dropped_iterations,vus,service_min_ms,service_mean_ms,service_p50_ms,service_p90_ms,service_p95_ms,"
    "service_p99_ms,service_p99_9_ms,service_max_ms,response_min_ms,response_mean_ms,response_p50_ms,response_p90_ms,"
    "response_p95_ms,response_p99_ms,response_p99_9_ms,response_max_ms,figure,value,unit\r\n";
constexpr int kCellsBeforeFigure = 27;  // after the name: those of the load
constexpr int kCellsAfterCovered = 25;
constexpr int kCellsOfFigure = 3;

std::string quoted(const std::string& text) {
  std::string out;
  // Text of a scenario must not become a formula in the reader's spreadsheet.
  const bool formula = !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
  if (formula) out += '\'';
  bool special = false;
  for (const char c : text) {
    if (c == '"') out += '"';
    special |= c == '"' || c == ',' || c == '\n' || c == '\r';
    out += c;
  }
  return special ? fmt::format("\"{}\"", out) : out;
}

class CsvRow {
 public:
  explicit CsvRow(const std::string& kind) : text_(kind) {}
  CsvRow& text(const std::string& value) { return put(quoted(value)); }
  CsvRow& count(uint64_t value) { return put(std::to_string(value)); }
  CsvRow& number(double value) {
    // Six digits are the precision of a time; a large rate has every digit before the point.
    return put(std::abs(value) >= 1e6 ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value));
  }
  CsvRow& none(int cells) {
    text_.append(static_cast<std::size_t>(cells), ',');
    return *this;
  }
  CsvRow& times(const metrics::Histogram& histogram) {
    if (histogram.empty()) return none(3 + static_cast<int>(kPercents.size()));
    number(histogram.min().millis_f()).number(histogram.mean().millis_f());
    for (const double percent : kPercents) number(histogram.percentile(percent).millis_f());
    return number(histogram.max().millis_f());
  }
  CsvRow& times(const metrics::ResponseTimes& times) {
    if (times.empty()) return none(3 + static_cast<int>(kPercents.size()));
    number(times.min().millis_f()).number(times.mean().value.millis_f());
    for (const double percent : kPercents) number(times.percentile(percent).value.millis_f());
    return number(times.max().value.millis_f());
  }
  CsvRow& times(const std::optional<PointTimes>& times) {
    if (!times) return none(3 + static_cast<int>(kPercents.size()));
    return none(2).number(times->p50).none(1).number(times->p95).number(times->p99).none(2);
  }
  std::string end() { return std::move(text_) + "\r\n"; }

 private:
  CsvRow& put(const std::string& cell) {
    text_ += ',';
    text_ += cell;
    return *this;
  }
  std::string text_;
};

// A row for each figure of each point in which the metric has values.
void put_series(const ResultFile& run, const ResultMetric& metric, std::string& out) {
  std::size_t at = 0;
  for (const ResultMetricPoint& point : metric.series) {
    while (at < run.series.size() && run.series[at].t < point.t) ++at;
    const auto put = [&](const char* figure, double value) {
      CsvRow row("metric_second");
      row.text(metric.name).number(point.t);
      if (at < run.series.size() && run.series[at].t == point.t) {
        row.number(run.series[at].covered_s);
      } else {
        row.none(1);
      }
      out += row.none(kCellsAfterCovered).text(figure).number(value).text(metric.unit).end();
    };
    if (metric.kind == "counter") {
      put("count", point.count);
      put("rate", point.rate);
    } else if (metric.kind == "gauge") {
      put("value", point.value);
      put("min", point.least);
      put("max", point.greatest);
    } else if (metric.kind == "rate") {
      put("rate", point.rate);
      put("matches", static_cast<double>(point.matches));
      put("total", static_cast<double>(point.total));
    } else {
      put("count", point.count);
      put("med", point.median);
      put("p(95)", point.p95);
    }
  }
}

}  // namespace

std::string to_csv(const ResultFile& run) {
  double covered = 0;
  uint64_t peak = 0;
  for (const ResultPoint& point : run.series) {
    covered += point.covered_s;
    peak = std::max(peak, point.vus);
  }
  std::string out(kHeader);
  CsvRow whole("run");
  whole.text(run.scenario).number(0).number(covered).count(run.requests).count(run.failed).number(run.rate_per_s);
  whole.count(run.bytes_sent).count(run.bytes_received).count(run.repeated).count(run.iterations).count(run.dropped);
  whole.count(peak);
  out += whole.times(all_service(run)).times(all_response(run)).none(kCellsOfFigure).end();
  for (const auto& [key, value] : run.tags) {
    CsvRow row("tag");
    out += row.text(key).none(kCellsBeforeFigure + 1).text(value).none(1).end();
  }
  const auto put_steps = [&](const char* kind, const std::vector<ResultStep>& steps) {
    for (const ResultStep& step : steps) {
      CsvRow row(kind);
      row.text(step.name).none(2).count(step.count).count(step.failed).number(step.rate_per_s);
      row.count(step.bytes_sent).count(step.bytes_received).count(step.repeated).none(3);
      out += row.times(step.service).times(step.response).none(kCellsOfFigure).end();
    }
  };
  put_steps("step", run.steps);
  put_steps("by_tag", run.by_tag);
  for (const ResultMetric& metric : run.metrics) {
    for (const auto& [figure, value] : metric.figures) {
      CsvRow row("metric");
      row.text(metric.name).none(kCellsBeforeFigure).text(figure).number(value);
      out += row.text(metric.unit).end();
    }
  }
  for (const ResultPoint& point : run.series) {
    CsvRow row("second");
    row.none(1).number(point.t).number(point.covered_s).count(point.requests).count(point.failed);
    row.number(point.rate_per_s).none(3).count(point.iterations).count(point.dropped).count(point.vus);
    out += row.times(point.service).times(point.response).none(kCellsOfFigure).end();
  }
  for (const ResultMetric& metric : run.metrics) put_series(run, metric, out);
  return out;
}

}  // namespace bellwether::report
