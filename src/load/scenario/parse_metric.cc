// The scenario's own metrics, {orders: counter, total: {kind: trend, unit: EUR}}, and what steps record of them.
#include "load/scenario/names.h"
#include "load/scenario/parse.h"

namespace bellwether::scenario {
namespace {

std::optional<Metric> parse_metric(const Node& node, Reading& reading) {
  const std::string where = "metric " + in_quotes(node.key);
  if (!is_value_name(node.key) || node.key.size() > kMetricNameMax) {
    reading.diagnostics.add(node.place(),
                            {.message = in_quotes(node.key) + " cannot be the name of a metric",
                             .expected = "letters, digits and _, at most " + std::to_string(kMetricNameMax)});
    return std::nullopt;
  }
  Metric out;
  out.name = {node.key, node.key_mark};
  if (!node.is_map()) {
    const auto kind =
        read_choice(node, where, find_value(*find_key(maps::kMetric, "kind"), Form::kChoice)->choices, reading);
    if (!kind) return std::nullopt;
    out.kind = static_cast<MetricKind>(*kind);
    return out;
  }
  const Section section(node, where, reading, maps::kMetric);
  if (section.find("kind") == nullptr) {
    section.report_missing("'kind' is missing in " + where, "one of counter, gauge, rate, trend");
  }
  if (const auto kind = section.choice("kind")) out.kind = static_cast<MetricKind>(*kind);
  if (const auto unit = section.constant("unit")) {
    out.unit = unit->text;
    if (out.unit.size() > kUnitMax) {
      report_wrong(*section.find("unit"), section.what(*section.find("unit")),
                   "at most " + std::to_string(kUnitMax) + " bytes", reading);
    }
  }
  return out;
}

}  // namespace

std::vector<Metric> parse_metrics(const Node& node, Reading& reading) {
  std::vector<Metric> out;
  if (!node.is_map() || node.items.size() > kMetricsMax) {
    report_wrong(node, "'metrics'", "a map of at most " + std::to_string(kMetricsMax) + " names and kinds", reading,
                 "such as {orders: counter}");
    return out;
  }
  for (const Node& item : node.items) {
    if (auto metric = parse_metric(item, reading)) out.push_back(std::move(*metric));
  }
  return out;
}

std::vector<Pair> parse_records(const Node& node, const std::string& what, Reading& reading) {
  std::vector<Pair> out;
  if (!node.is_map() || node.items.empty() || node.items.size() > kMetricsMax) {
    report_wrong(node, what, "a map of at most " + std::to_string(kMetricsMax) + " metrics and values", reading,
                 "such as {orders: 1}");
    return out;
  }
  for (const Node& item : node.items) {
    auto value = read_text(item, in_quotes(item.key) + " in " + what, reading);
    if (value) out.push_back({{item.key, item.key_mark}, std::move(*value)});
  }
  return out;
}

}  // namespace bellwether::scenario
