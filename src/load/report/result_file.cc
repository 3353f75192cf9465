#include "load/report/result_file.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace bellwether::report {
namespace {

using Json = nlohmann::ordered_json;
using metrics::Histogram;

constexpr std::string_view kFormat = "bellwether.result/1";
constexpr double kMaxNumber = 1e15;
constexpr uint64_t kMaxResultCount = uint64_t{1} << 53;  // the most that every reader of JSON holds exactly
constexpr uint64_t kMaxInBuckets = uint64_t{1} << 50;    // so that the sum of all buckets cannot overflow
constexpr uint32_t kBuckets = Histogram::kBuckets;

// Thrown within this file only: the problem, and its place.
struct Wrong {
  Errc code;
  std::string what;
};

// A value of the document, and the way to it.
class Value {
 public:
  Value(const Json& json, std::string at) : json_(json), at_(std::move(at)) {}

  [[noreturn]] void refuse(const std::string& what, Errc code = Errc::kInvalid) const {
    throw Wrong{code, fmt::format("{} {}", at_, what)};
  }

  Value operator[](const char* key) const {
    if (!json_.is_object()) refuse("is no object");
    const auto found = json_.find(key);
    if (found == json_.end()) refuse(fmt::format("has no '{}'", key));
    return {*found, fmt::format("{}.{}", at_, key)};
  }
  bool null() const { return json_.is_null(); }
  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }

  uint64_t count() const {
    if (!json_.is_number_unsigned() || json_.get<uint64_t>() > kMaxResultCount) refuse("is no count");
    return json_.get<uint64_t>();
  }
  double number() const {
    if (!json_.is_number()) refuse("is no number");
    const double value = json_.get<double>();
    if (!std::isfinite(value) || std::abs(value) > kMaxNumber) refuse("is beyond all measure");
    return value;
  }
  double length() const {
    const double value = number();
    if (value < 0) refuse("is negative");
    return value;
  }
  bool flag() const {
    if (!json_.is_boolean()) refuse("is neither true nor false");
    return json_.get<bool>();
  }
  std::string text() const {
    if (!json_.is_string()) refuse("is no text");
    const auto& text = json_.get_ref<const std::string&>();
    if (text.size() > kMaxResultText) refuse("is too long", Errc::kTooLarge);
    return text;
  }
  template <class Visit>
  void each(std::size_t most, Visit visit) const {
    if (!json_.is_array()) refuse("is no list");
    if (json_.size() > most) refuse("has too many entries", Errc::kTooLarge);
    for (std::size_t i = 0; i < json_.size(); ++i) visit(Value(json_[i], fmt::format("{}[{}]", at_, i)));
  }
  template <class Visit>
  void each_member(std::size_t most, Visit visit) const {
    if (!json_.is_object()) refuse("is no object");
    if (json_.size() > most) refuse("has too many members", Errc::kTooLarge);
    for (const auto& [key, value] : json_.items()) {
      if (key.size() > kMaxResultText) refuse("has too long a name", Errc::kTooLarge);
      visit(key, Value(value, fmt::format("{}.{}", at_, key)));
    }
  }

 private:
  const Json& json_;
  std::string at_;
};

Histogram buckets_of(const Value& from) {
  std::vector<Histogram::Bucket> buckets;
  from["buckets"].each(kBuckets, [&](const Value& pair) {
    uint64_t both[2] = {};
    std::size_t at = 0;
    pair.each(2, [&](const Value& one) { both[at++] = one.count(); });
    if (at != 2 || both[0] > Histogram::kMaxTracked || both[1] == 0 || both[1] > kMaxInBuckets / kBuckets) {
      pair.refuse("is no bucket");
    }
    const uint32_t index = Histogram::index_of(both[0]);
    if (Histogram::lowest_of(index) != static_cast<int64_t>(both[0])) pair.refuse("begins where no bucket does");
    if (!buckets.empty() && buckets.back().index >= index) pair.refuse("is out of turn");
    buckets.push_back({index, both[1]});
  });
  const double sum = from["sum"].number();
  const auto min = static_cast<int64_t>(from["min"].count());
  const auto max = static_cast<int64_t>(from["max"].count());
  if (buckets.empty()) from.refuse("is empty");
  if (sum < 0 || max > Histogram::kMaxTracked ||
      Histogram::index_of(static_cast<uint64_t>(min)) != buckets.front().index ||
      Histogram::index_of(static_cast<uint64_t>(max)) != buckets.back().index) {
    from.refuse("contradicts itself");
  }
  Histogram out;
  out.assign(buckets, static_cast<unsigned __int128>(sum), min, max);
  return out;
}

Histogram histogram_of(const Value& stats) { return stats.null() ? Histogram() : buckets_of(stats["histogram"]); }

metrics::ResponseTimes response_of(const Value& from) {
  metrics::ResponseTimes out;
  if (from.null()) return out;
  const auto read = [&](const char* key, Histogram& into) {
    if (from.has(key)) into = buckets_of(from[key]);
  };
  read("histogram", out.answered);
  read("unanswered", out.unanswered);
  read("unfinished", out.unfinished);
  return out;
}

Counted counted(const Value& from) {
  Counted out;
  from.each_member(1'000, [&](const std::string& key, const Value& value) { out.emplace_back(key, value.count()); });
  return out;
}

void read_run(const Value& run, ResultFile& out) {
  out.id = run["id"].text();
  out.scenario = run["scenario"].text();
  out.started_at = run["started_at"].text();
  out.elapsed_s = run["elapsed_s"].length();
  out.verdict = run["verdict"].text();
  const uint64_t code = run["exit_code"].count();
  if (code > 255) run["exit_code"].refuse("is no exit code");
  out.exit_code = static_cast<int>(code);
  out.reason = run["reason"].text();
  if (run.has("failed_thresholds")) {
    run["failed_thresholds"].each(kMaxResultEntries,
                                  [&](const Value& one) { out.failed_thresholds.push_back(one.text()); });
  }
  if (run.has("confirmed")) out.confirmed = run["confirmed"].flag();
  if (run.has("targets")) {
    run["targets"].each(kMaxResultSteps, [&](const Value& one) { out.targets.push_back(one.text()); });
  }
  if (run.has("tags")) {
    run["tags"].each_member(
        kMaxResultSteps, [&](const std::string& key, const Value& value) { out.tags.emplace_back(key, value.text()); });
  }
  const Value generator = run["generator"];
  out.saturated = generator["saturated"].flag();
  if (generator.has("reason")) out.saturation = generator["reason"].text();
  if (generator.has("remedy")) out.remedy = generator["remedy"].text();
  out.cores = generator["cores"].count();
  out.cpu_cores = generator["cpu_cores"].length();
  out.loop_lag_p99_ms = generator["loop_lag_p99_ms"].length();
}

void read_totals(const Value& totals, ResultFile& out) {
  out.requests = totals["requests"].count();
  out.failed = totals["failed"].count();
  out.rate_per_s = totals["rate_per_s"].length();
  out.bytes_sent = totals["bytes_sent"].count();
  out.bytes_received = totals["bytes_received"].count();
  if (totals.has("repeated")) out.repeated = totals["repeated"].count();
  out.iterations = totals["iterations"].count();
  out.dropped = totals["dropped_iterations"].count();
}

std::optional<PointTimes> times_of(const Value& from) {
  if (from.null()) return std::nullopt;
  return PointTimes{from["p50"].length(), from["p95"].length(), from["p99"].length()};
}

ResultPoint step_point_of(const Value& from) {
  ResultPoint out{.t = from["t"].length(),
                  .covered_s = from["covered_s"].length(),
                  .requests = from["requests"].count(),
                  .failed = from["failed"].count(),
                  .response = times_of(from["duration_ms"])};
  if (out.covered_s > 0) out.rate_per_s = static_cast<double>(out.requests) / out.covered_s;
  return out;
}

// Reads a series, which rises.
void read_series(const Value& from, ResultPoint (*read)(const Value&), std::vector<ResultPoint>& out) {
  from.each(kMaxResultEntries, [&](const Value& one) {
    ResultPoint point = read(one);
    if (!out.empty() && out.back().t >= point.t) one.refuse("is out of turn");
    out.push_back(point);
  });
}

ResultStep step_of(const std::string& name, const Value& from) {
  ResultStep out;
  out.name = name;
  out.count = from["count"].count();
  out.failed = from["failed"].count();
  out.rate_per_s = from["rate_per_s"].length();
  out.bytes_sent = from["bytes_sent"].count();
  out.bytes_received = from["bytes_received"].count();
  if (from.has("repeated")) out.repeated = from["repeated"].count();
  out.service = histogram_of(from["service_ms"]);
  out.response = response_of(from["response_ms"]);
  out.status = counted(from["status"]);
  out.errors = counted(from["errors"]);
  if (from.has("due_times")) out.due_times = from["due_times"].flag();
  if (from.has("series")) read_series(from["series"], step_point_of, out.series);
  return out;
}

std::optional<ResultSpread> spread_of(const Value& from) {
  if (from.null()) return std::nullopt;
  return ResultSpread{from["mean"].length(), from["p50"].length(), from["p95"].length(), from["p99"].length(),
                      from["max"].length()};
}

ResultWorkflow workflow_of(const Value& from) {
  ResultWorkflow out;
  out.name = from["name"].text();
  out.status = from["status"].text();
  if (!from["skipped_because"].null()) out.skipped_because = from["skipped_because"].text();
  out.elapsed_s = from["elapsed_s"].length();
  const Value iterations = from["iterations"];
  out.completed = iterations["completed"].count();
  out.interrupted = iterations["interrupted"].count();
  out.scheduled = iterations["scheduled"].count();
  out.on_time = iterations["on_time"].count();
  out.late = iterations["late"].count();
  out.dropped = iterations["dropped"].count();
  out.iteration = spread_of(from["iteration_ms"]);
  out.start_lag = spread_of(from["start_lag_ms"]);
  out.vus_peak = from["vus"]["peak"].count();
  out.vus_allocated = from["vus"]["allocated"].count();
  if (from.has("executor")) out.executor = from["executor"].text();
  if (from.has("load")) out.load = from["load"].text();
  return out;
}

ResultMetricPoint metric_point_of(const std::string& kind, const Value& from) {
  ResultMetricPoint out;
  out.t = from["t"].length();
  if (kind == "counter") {
    out.count = from["count"].length();
    out.rate = from["rate"].length();
  } else if (kind == "gauge") {
    out.value = from["value"].number();
    out.least = from["min"].number();
    out.greatest = from["max"].number();
  } else if (kind == "rate") {
    out.rate = from["rate"].length();
    out.matches = from["matches"].count();
    out.total = from["total"].count();
    if (out.matches > out.total || out.rate > 1) from.refuse("contradicts itself");
  } else if (kind == "trend") {
    out.count = from["count"].length();
    out.median = from["med"].length();
    out.p95 = from["p(95)"].length();
  } else {
    from.refuse("is of a metric of no known kind");
  }
  return out;
}

// Empty for a metric of the product: its values are elsewhere in the file, too.
std::optional<ResultMetric> metric_of(const std::string& name, const Value& from) {
  if (!from.has("custom") || !from["custom"].flag()) return std::nullopt;
  ResultMetric out;
  out.name = name;
  out.kind = from["kind"].text();
  out.unit = from["unit"].text();
  out.refused = from["refused"].count();
  for (const char* figure :
       {"count", "rate", "matches", "total", "value", "avg", "min", "med", "max", "p(90)", "p(95)", "p(99)"}) {
    if (!from.has(figure) || from[figure].null()) continue;
    out.figures.emplace_back(figure, from[figure].number());
  }
  if (!from.has("series")) return out;
  from["series"].each(kMaxResultEntries, [&](const Value& one) {
    const ResultMetricPoint point = metric_point_of(out.kind, one);
    if (!out.series.empty() && out.series.back().t >= point.t) one.refuse("is out of turn");
    out.series.push_back(point);
  });
  return out;
}

ResultPoint point_of(const Value& from) {
  return {.t = from["t"].length(),
          .covered_s = from["covered_s"].length(),
          .requests = from["requests"].count(),
          .failed = from["failed"].count(),
          .rate_per_s = from["rate_per_s"].length(),
          .iterations = from["iterations"].count(),
          .dropped = from["dropped"].count(),
          .vus = from["vus"].count(),
          .service = times_of(from["service_ms"]),
          .response = times_of(from["response_ms"])};
}

void read_lists(const Value& document, ResultFile& out) {
  constexpr std::size_t kMaxEntries = kMaxResultEntries;
  document["steps"].each_member(
      kMaxResultSteps, [&](const std::string& name, const Value& step) { out.steps.push_back(step_of(name, step)); });
  if (document.has("by_tag")) {
    document["by_tag"].each_member(
        kMaxResultSteps, [&](const std::string& name, const Value& tag) { out.by_tag.push_back(step_of(name, tag)); });
  }
  if (document.has("tags_left_out")) out.tags_left_out = document["tags_left_out"].count();
  document["workflows"].each(kMaxEntries, [&](const Value& one) { out.workflows.push_back(workflow_of(one)); });
  read_series(document["series"], point_of, out.series);
  document["checks"].each(kMaxEntries, [&](const Value& one) {
    out.checks.push_back({one["name"].text(), one["step"].text(), one["passes"].count(), one["fails"].count()});
  });
  if (document.has("metrics")) {
    document["metrics"].each_member(kMaxEntries, [&](const std::string& name, const Value& one) {
      if (auto metric = metric_of(name, one)) out.metrics.push_back(std::move(*metric));
    });
  }
  document["thresholds"].each(kMaxEntries, [&](const Value& one) {
    std::optional<double> value;
    if (!one["value"].null()) value = one["value"].number();
    out.thresholds.push_back({one["metric"].text(), one["expression"].text(), value, one["ok"].flag()});
    if (one.has("at_least")) out.thresholds.back().at_least = one["at_least"].flag();
    if (one.has("limit")) out.thresholds.back().limit = one["limit"].number();
    if (one.has("unit")) out.thresholds.back().unit = one["unit"].text();
  });
  document["lost"].each(kMaxEntries, [&](const Value& one) {
    out.lost.push_back({one["from"].length(), one["to"].length(), one["ratio"].length(), one["cause"].text()});
  });
  document["events"].each(kMaxEntries, [&](const Value& one) {
    out.events.push_back({one["t"].length(), one["kind"].text(), one["detail"].text()});
  });
  document["datacenters"].each(kMaxEntries, [&](const Value& datacenter) {
    datacenter["errors"].each(kMaxEntries, [&](const Value& one) {
      out.errors.push_back({one["kind"].text(), one["count"].count(), one["detail"].text()});
    });
  });
  document["generators"].each(kMaxEntries, [&](const Value& one) {
    out.workers.push_back({one["name"].text(), one["cores"].count(), one["assignments"].count(), one["state"].text()});
  });
}

}  // namespace

Result<ResultFile> read_result(std::string_view text) {
  if (text.size() > kMaxResultBytes) return fail(Errc::kTooLarge, "longer than any result file");
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return fail(Errc::kInvalid, "no result file of this product: it is not JSON");
  try {
    const Value root(document, "$");
    if (const std::string format = root["format"].text(); format != kFormat) {
      return fail(Errc::kUnsupported, "of the format '{}'; this program reads {}", format, kFormat);
    }
    ResultFile out;
    read_run(root["run"], out);
    read_totals(root["totals"], out);
    read_lists(root, out);
    return out;
  } catch (const Wrong& wrong) {
    return fail(wrong.code, "no result file of this product: " + wrong.what);
  }
}

metrics::ResponseTimes all_response(const ResultFile& run) {
  metrics::ResponseTimes out;
  for (const ResultStep& step : run.steps) out.merge(step.response);
  return out;
}

Histogram all_service(const ResultFile& run) {
  Histogram out;
  for (const ResultStep& step : run.steps) out.merge(step.service);
  return out;
}

}  // namespace bellwether::report
