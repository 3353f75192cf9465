#include "load/results/shape.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace bellwether::results {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMetricKinds = 4;

bool is_list(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_array() && json[key].size() <= kMaxShapeEntries;
}

bool is_below(const Json& json, const char* key, std::size_t bound) {
  return json.is_object() && json.contains(key) && json[key].is_number_unsigned() && json[key].get<uint64_t>() < bound;
}

bool is_named(const Json& json) { return json.is_object() && json.contains("name") && json["name"].is_string(); }

bool is_flag(const Json& json, const char* key) { return json.contains(key) && json[key].is_boolean(); }

}  // namespace

std::string encode_shape(const plan::Plan& plan) {
  Json workflows = Json::array();
  for (const plan::Workflow& workflow : plan.workflows) {
    workflows.push_back({{"name", workflow.name}, {"start_ns", workflow.start_time.ns()}});
  }
  Json steps = Json::array();
  for (const plan::StepInfo& step : plan.steps) {
    steps.push_back(
        {{"name", step.name}, {"workflow", step.workflow}, {"index", step.index}, {"measured", step.measured}});
  }
  Json checks = Json::array();
  for (const plan::CheckInfo& one : plan.checks) checks.push_back({{"name", one.name}, {"step", one.step}});
  Json metrics = Json::array();
  for (const plan::CustomMetric& one : plan.metrics) {
    metrics.push_back({{"name", one.name}, {"kind", static_cast<int>(one.kind)}, {"unit", one.unit}});
  }
  Json series = Json::array();
  for (const plan::Series& one : plan.series) series.push_back({{"metric", one.metric}, {"step", one.step}});
  const Json shape{{"name", plan.name},           {"workflows", std::move(workflows)}, {"steps", std::move(steps)},
                   {"checks", std::move(checks)}, {"metrics", std::move(metrics)},     {"series", std::move(series)}};
  return shape.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<plan::Plan> decode_shape(std::string_view text) {
  const auto wrong = [] { return fail(Errc::kInvalid, "the stored plan is damaged"); };
  if (text.size() > kMaxShapeBytes) return wrong();
  const Json shape = Json::parse(text, nullptr, false);
  if (shape.is_discarded() || !is_named(shape)) return wrong();
  if (!is_list(shape, "workflows") || !is_list(shape, "steps") || !is_list(shape, "checks")) return wrong();
  plan::Plan plan;
  plan.name = shape["name"];
  for (const Json& one : shape["workflows"]) {
    if (!is_named(one) || !is_below(one, "start_ns", std::size_t{1} << 62)) return wrong();
    plan::Workflow workflow;
    workflow.name = one["name"];
    workflow.start_time = Duration::nanos(one["start_ns"].get<int64_t>());
    plan.workflows.push_back(std::move(workflow));
  }
  for (const Json& one : shape["steps"]) {
    const bool sound = is_named(one) && is_below(one, "workflow", plan.workflows.size()) &&
                       is_below(one, "index", kMaxShapeEntries) && is_flag(one, "measured");
    if (!sound) return wrong();
    plan.steps.push_back({.workflow = one["workflow"].get<uint16_t>(),
                          .index = one["index"].get<uint16_t>(),
                          .name = one["name"],
                          .measured = one["measured"]});
  }
  for (const Json& one : shape["checks"]) {
    if (!is_named(one) || !is_below(one, "step", plan.steps.size())) return wrong();
    plan.checks.push_back({.step = one["step"].get<plan::StepId>(), .name = one["name"]});
  }
  if (!shape.contains("metrics")) return plan;  // of an earlier version
  if (!is_list(shape, "metrics") || !is_list(shape, "series")) return wrong();
  for (const Json& one : shape["metrics"]) {
    if (!is_named(one) || !is_below(one, "kind", kMetricKinds) || !one.contains("unit") || !one["unit"].is_string()) {
      return wrong();
    }
    plan.metrics.push_back({one["name"], static_cast<plan::MetricKind>(one["kind"].get<int>()), one["unit"]});
  }
  for (const Json& one : shape["series"]) {
    if (!is_below(one, "metric", plan.metrics.size()) || !is_below(one, "step", plan.steps.size())) return wrong();
    plan.series.push_back({one["metric"].get<uint16_t>(), one["step"].get<uint16_t>()});
  }
  return plan;
}

Result<plan::Plan> kept_plan(Database& database, const std::string& run) {
  Statement select(database, "SELECT shape FROM runs WHERE id = ?");
  BW_TRY(const auto found, select.text(run).row());
  return decode_shape(found ? select.bytes(0) : "");
}

Status put_stretch(Database& database, const std::string& run, const Interval& interval) {
  Statement insert(database, "INSERT INTO intervals(run, first, span, covered, window) VALUES(?, ?, ?, ?, ?)");
  insert.text(run).number(static_cast<int64_t>(interval.first)).number(static_cast<int64_t>(interval.span));
  return insert.number(interval.covered.ns()).blob(interval.window).done();
}

Status fold_stretches(Database& database, const std::string& run, const ingest::Shape& shape,
                      const metrics::Fold& fold) {
  Statement select(database,
                   "SELECT window, covered FROM intervals WHERE run = ? AND first >= ? AND first < ? ORDER BY first");
  select.text(run).number(static_cast<int64_t>(fold.first)).number(static_cast<int64_t>(fold.end));
  std::optional<metrics::Window> sum;
  for (;;) {
    BW_TRY(const auto more, select.row());
    if (!more) break;
    BW_TRY(auto one, ingest::decode_sum(select.bytes(0), shape));
    one.covered = Duration::nanos(select.integer(1));
    if (sum) {
      metrics::append(*sum, one);
    } else {
      sum = std::move(one);
    }
  }
  if (!sum) return {};
  Statement remove(database, "DELETE FROM intervals WHERE run = ? AND first >= ? AND first < ?");
  remove.text(run).number(static_cast<int64_t>(fold.first)).number(static_cast<int64_t>(fold.end));
  BW_RETURN_IF_ERROR(remove.done());
  const Duration covered = std::exchange(sum->covered, Duration::zero());
  return put_stretch(database, run, {fold.first, fold.end - fold.first, covered, ingest::encode_window(*sum)});
}

}  // namespace bellwether::results
