// Steps, and the scenario's own metrics, {orders: counter, total: {kind: trend, unit: EUR}}, with the steps' records of
// them.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/bytes.h"
#include "load/scenario/parse.h"
#include "load/scenario/section.h"

namespace bellwether::scenario {

namespace {

constexpr std::array<std::string_view, 4> kWorks{"http", "lua", "native", "action"};
constexpr std::array<std::string_view, 5> kAllWorks{"http", "lua", "native", "action", "metric"};
constexpr std::array<std::string_view, 2> kLanguages{"lua", "native"};

decltype(Step::work) parse_action(const Node& node, const std::string& where, Reading& reading) {
  const Section section(node, "'action' of " + where, reading, maps::kAction);
  const Node* set = section.find("set");
  if (node.is_map() && node.items.size() > 1) {
    report_wrong(node, section.where(), "one of http, lua, native, set", reading);
  }
  if (const Node* request = section.find("http")) {
    Http http = parse_http(*request, "'http' of " + section.where(), reading);
    http.measured = false;
    return http;
  }
  for (const std::string_view key : kLanguages) {
    const Node* code = section.find(key);
    if (code == nullptr) continue;
    Code out = parse_code(*code, section.where(), reading);
    out.sends = false;
    if (!out.requests.empty()) {
      reading.diagnostics.add(out.requests.front().mark,
                              {.message = "'requests' names requests to measure",
                               .found = section.where() + ", which measures none",
                               .hint = "take 'requests' away, or make a step of the action"});
    }
    return out;
  }
  std::vector<Pair> out;
  if (set != nullptr && !set->is_map()) report_wrong(*set, section.what(*set), "a map of names and texts", reading);
  if (set != nullptr && set->is_map()) {
    for (const Node& item : set->items) {
      auto value = read_text(item, fmt::format("{} in {}", in_quotes(item.key), section.what(*set)), reading);
      if (value) out.push_back({{item.key, item.key_mark}, std::move(*value)});
    }
  }
  if (node.is_map() && node.items.empty()) report_wrong(node, section.where(), "set: {NAME: VALUE}", reading);
  return out;
}

void parse_work(const Section& section, Step& step) {
  Reading& reading = section.reading();
  const Node* http = section.find("http");
  const Node* action = section.find("action");
  const Node* first = nullptr;
  for (const std::string_view key : kWorks) {
    const Node* work = section.find(key);
    if (work == nullptr) continue;
    if (first != nullptr) {
      reading.diagnostics.add(work->place(), {.message = fmt::format("{} has both {} and {}", section.where(),
                                                                     in_quotes(first->key), in_quotes(work->key)),
                                              .hint = "make two steps of it"});
      return;
    }
    first = work;
  }
  if (http != nullptr) {
    step.work = parse_http(*http, "'http' of " + section.where(), reading);
    return;
  }
  if (first != nullptr && first != action) {
    step.work = parse_code(*first, section.where(), reading);
    return;
  }
  if (action != nullptr) {
    step.work = parse_action(*action, section.where(), reading);
  } else if (section.find("metric") != nullptr) {
    step.work = std::vector<Pair>();
  } else {
    if (section.has_later()) return;
    reading.diagnostics.add(step.name.mark,
                            {.message = section.where() + " does nothing", .expected = scenario::one_of(kAllWorks)});
    return;
  }
  if (std::holds_alternative<Http>(step.work)) return;
  const std::string_view kind = action != nullptr ? "an action" : "a step without a request";
  for (const std::string_view key : {"check", "extract"}) {
    if (const Node* node = section.find(key)) {
      reading.diagnostics.add(
          node->place(), {.message = fmt::format("{} needs a response, and {} has none", section.what(*node), kind)});
    }
  }
}

constexpr std::size_t kNameMax = 200;

void parse_arguments(const Section& section, Code& out) {
  Reading& reading = section.reading();
  const Node* arguments = section.find("args");
  if (arguments == nullptr) return;
  if (!arguments->is_map() || arguments->items.size() > kArgumentsMax) {
    report_wrong(*arguments, section.what(*arguments),
                 fmt::format("a map of at most {} names and texts", kArgumentsMax), reading);
    return;
  }
  for (const Node& item : arguments->items) {
    if (!is_value_name(item.key)) {
      reading.diagnostics.add(item.place(), {.message = in_quotes(item.key) + " cannot be the name of an argument",
                                             .expected = "letters, digits and _"});
      continue;
    }
    auto value = read_text(item, section.what(item), reading);
    if (value) out.arguments.push_back({{item.key, item.key_mark}, std::move(*value)});
  }
}

// A list of different names.
std::vector<Text> parse_names(const Section& section, std::string_view key) {
  Reading& reading = section.reading();
  const Node* node = section.find(key);
  if (node == nullptr) return {};
  std::vector<Text> names = read_texts(*node, section.what(*node), reading);
  if (names.size() > kArgumentsMax) {
    report_wrong(*node, section.what(*node), fmt::format("at most {} names", kArgumentsMax), reading);
    names.resize(kArgumentsMax);
  }
  for (auto name = names.begin(); name != names.end(); ++name) {
    const bool again = std::any_of(names.begin(), name, [&](const Text& other) { return other.text == name->text; });
    if (name->text.empty() || name->text.size() > kNameMax) {
      reading.diagnostics.add(name->mark, {.message = section.what(*node) + " has a name that cannot be one",
                                           .found = in_quotes(name->text),
                                           .expected = fmt::format("1 to {} bytes", kNameMax)});
    } else if (again) {
      reading.diagnostics.add(
          name->mark, {.message = fmt::format("{} is there twice in {}", in_quotes(name->text), section.what(*node))});
    }
  }
  return names;
}

std::optional<Metric> parse_metric(const Node& node, Reading& reading) {
  const std::string where = "metric " + in_quotes(node.key);
  if (!is_value_name(node.key) || node.key.size() > kMetricNameMax) {
    reading.diagnostics.add(node.place(),
                            {.message = in_quotes(node.key) + " cannot be the name of a metric",
                             .expected = fmt::format("letters, digits and _, at most {}", kMetricNameMax)});
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
                   fmt::format("at most {} bytes", kUnitMax), reading);
    }
  }
  return out;
}

constexpr std::size_t kValueMax = 200;
// The existing tags of steps in thresholds.
constexpr std::array<std::string_view, 5> kTaken{"step", "workflow", "scenario", "check", "group"};

void report_value(const Text& value, const std::string& what, Reading& reading) {
  reading.diagnostics.add(
      value.mark,
      {.message = "wrong " + what,
       .found = in_quotes(value.text),
       .expected = fmt::format("1 to {} bytes, none of , {{ and }}: a threshold could not name it", kValueMax)});
}

// Each error in a member goes to its node.
class LawReader {
 public:
  LawReader(const Node& node, const std::string& what, Reading& reading, const Map& map)
      : section_(node, fmt::format("{} of {}", in_quotes(node.key), what), reading, map), reading_(reading) {}

  bool is_map() const { return section_.node().is_map(); }
  bool wrong() const { return wrong_; }

  Duration required(std::string_view key) {
    if (section_.find(key) == nullptr) missing(key, "a duration such as 250ms, 30s or 1h30m");
    return section_.find(key) == nullptr ? Duration::zero() : read(key, Duration::zero());
  }
  Duration positive(std::string_view key) {
    const Duration span = required(key);
    if (!wrong_ && span <= Duration::zero()) refuse(key, "a duration longer than 0");
    return span;
  }
  Duration optional(std::string_view key, Duration otherwise) {
    return section_.find(key) == nullptr ? otherwise : read(key, otherwise);
  }
  double sigma() {
    const Node* node = section_.find("sigma");
    if (node == nullptr) {
      missing("sigma", "a number such as 0.5");
      return 0;
    }
    const auto text = read_constant(*node, section_.what(*node), reading_);
    const auto number = text ? parse_double(text->text) : std::nullopt;
    if (number && *number > 0 && *number <= static_cast<double>(kSigmaMax)) return *number;
    wrong_ = true;
    if (text) refuse("sigma", "a number above 0 and up to 10, such as 0.5");
    return 0;
  }
  // The centre must be where it can be drawn.
  void check_order(std::string_view centre, const Delay& delay) {
    if (wrong_ || (delay.low <= delay.centre && delay.centre <= delay.high)) return;
    const bool is_low = delay.centre < delay.low;
    refuse(is_low ? "min" : "max", fmt::format("{} the {}", is_low ? "at most" : "at least", centre));
  }
  void check_bounds(const Delay& delay) {
    if (!wrong_ && delay.low > delay.high) refuse("max", "a duration that is not shorter than 'min'");
  }

 private:
  Duration read(std::string_view key, Duration otherwise) {
    const auto span = section_.duration(key);
    wrong_ = wrong_ || !span;
    return span.value_or(otherwise);
  }
  void missing(std::string_view key, std::string expected) {
    wrong_ = true;
    section_.report_missing(fmt::format("{} is missing in {}", in_quotes(key), section_.where()), std::move(expected));
  }
  void refuse(std::string_view key, std::string expected) {
    wrong_ = true;
    const Node* node = section_.find(key);
    report_wrong(*node, section_.what(*node), std::move(expected), reading_);
  }

  Section section_;
  Reading& reading_;
  bool wrong_ = false;
};

std::optional<Delay> parse_law(Delay::Law law, const Node& node, const std::string& what, Reading& reading) {
  LawReader reader(node, what, reading, *maps::kDelay.keys[static_cast<std::size_t>(law)].values[0].map);
  if (!reader.is_map()) return std::nullopt;
  Delay out;
  out.law = law;
  out.high = kLongestDuration;
  switch (law) {
    case Delay::Law::kUniform:
      out.low = reader.required("min");
      out.high = reader.required("max");
      reader.check_bounds(out);
      break;
    case Delay::Law::kNormal:
      out.centre = reader.required("mean");
      out.spread = reader.required("stddev").seconds_f();
      out.low = reader.optional("min", out.low);
      out.high = reader.optional("max", out.high);
      reader.check_bounds(out);
      reader.check_order("mean", out);
      break;
    case Delay::Law::kExponential:
      out.centre = reader.positive("mean");
      out.high = reader.optional("max", out.high);
      reader.check_order("mean", out);
      break;
    case Delay::Law::kLognormal:
      out.centre = reader.positive("median");
      out.spread = reader.sigma();
      out.high = reader.optional("max", out.high);
      reader.check_order("median", out);
      break;
  }
  return reader.wrong() ? std::nullopt : std::optional(out);
}

// "200ms" or "200ms..1s".
std::optional<Delay> parse_span(const Node& node, const std::string& what, Reading& reading) {
  const std::size_t dots = node.text.find("..");
  if (dots == std::string::npos) {
    const auto span = read_duration(node, what, reading);
    return span ? std::optional(Delay::of(*span)) : std::nullopt;
  }
  Node low = node;
  Node high = node;
  low.text = node.text.substr(0, dots);
  high.text = node.text.substr(dots + 2);
  const auto from = read_duration(low, what, reading);
  const auto to = read_duration(high, what, reading);
  if (!from || !to) return std::nullopt;
  if (*from > *to) {
    report_wrong(node, what, "the shorter time first, such as 200ms..1s", reading);
    return std::nullopt;
  }
  Delay out;
  out.low = *from;
  out.high = *to;
  return out;
}

}  // namespace

bool is_test_step(const Step& step) {
  if (const auto* http = std::get_if<Http>(&step.work)) return http->measured;
  if (const auto* code = std::get_if<Code>(&step.work)) return code->sends;
  return std::holds_alternative<std::monostate>(step.work);  // wrong, and probably intended as one
}

Step parse_step(const Node& node, const std::string& workflow, Reading& reading) {
  Step step;
  step.name = {node.key, node.key_mark};
  const Section section(node, "step " + in_quotes(fmt::format("{}.{}", workflow, node.key)), reading, maps::kStep);
  if (!is_step_name(node.key)) {
    reading.diagnostics.add(node.place(), {.message = in_quotes(node.key) + " cannot be the name of a step",
                                           .expected = "1 to 100 letters, digits, _ and -"});
  } else if (is_taken_prefix(node.key)) {
    reading.diagnostics.add(node.place(),
                            {.message = in_quotes(node.key) + " cannot be the name of a step",
                             .expected = fmt::format("another name: ${{{}.…}} is a made-up value", node.key)});
  }
  if (!node.is_map()) return step;
  if (const Node* after = section.find("after")) step.after = read_texts(*after, section.what(*after), reading);
  parse_work(section, step);
  if (const Node* check = section.find("check")) step.checks = parse_checks(*check, section.where(), reading);
  if (const Node* extract = section.find("extract")) step.extracts = parse_extracts(*extract, section.where(), reading);
  if (const Node* think = section.find("think")) step.think = parse_delay(*think, section.what(*think), reading);
  if (const auto choice = section.choice("on_error")) step.on_error = static_cast<OnError>(*choice);
  step.tags = parse_tags(section, true);
  if (const Node* metric = section.find("metric"))
    step.records = parse_records(*metric, section.what(*metric), reading);
  return step;
}

Code parse_code(const Node& node, const std::string& where, Reading& reading) {
  const Section section(node, fmt::format("{} of {}", in_quotes(node.key), where), reading, maps::kCode);
  Code out;
  if (node.key == "native") out.language = Code::Language::kNative;
  if (!node.is_map()) return out;
  for (const auto& [key, text] : {std::pair<std::string_view, Text*>{"file", &out.file}, {"call", &out.function}}) {
    if (section.find(key) == nullptr) {
      section.report_missing(fmt::format("{} is missing in {}", in_quotes(key), section.where()),
                             key == "file" ? "the file of the program" : "the name of a function of the program");
    } else if (auto value = section.constant(key)) {
      *text = std::move(*value);
    }
  }
  parse_arguments(section, out);
  out.sets = parse_names(section, "sets");
  out.checks = parse_names(section, "checks");
  out.requests = parse_names(section, "requests");
  return out;
}

std::vector<Metric> parse_metrics(const Node& node, Reading& reading) {
  std::vector<Metric> out;
  if (!node.is_map() || node.items.size() > kMetricsMax) {
    report_wrong(node, "'metrics'", fmt::format("a map of at most {} names and kinds", kMetricsMax), reading,
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
    report_wrong(node, what, fmt::format("a map of at most {} metrics and values", kMetricsMax), reading,
                 "such as {orders: 1}");
    return out;
  }
  for (const Node& item : node.items) {
    auto value = read_text(item, fmt::format("{} in {}", in_quotes(item.key), what), reading);
    if (value) out.push_back({{item.key, item.key_mark}, std::move(*value)});
  }
  return out;
}

bool is_tag_name(std::string_view text) {
  return is_value_name(text) && std::find(kTaken.begin(), kTaken.end(), text) == kTaken.end();
}

bool is_tag_value(std::string_view text) {
  return !text.empty() && text.size() <= kValueMax && text.find_first_of(",{}") == std::string_view::npos;
}

std::vector<Pair> parse_tags(const Section& section, bool with_group) {
  Reading& reading = section.reading();
  std::vector<Pair> out;
  if (const Node* tags = section.find("tags")) {
    if (!tags->is_map() || tags->items.size() > kTagsMax) {
      report_wrong(*tags, section.what(*tags),
                   fmt::format("a map of at most {} names and texts: {{page: checkout}}", kTagsMax), reading);
      return out;
    }
    for (const Node& item : tags->items) {
      const std::string what = fmt::format("tag {} of {}", in_quotes(item.key), section.where());
      auto value = read_constant(item, what, reading);
      if (!is_tag_name(item.key)) {
        reading.diagnostics.add(item.place(), {.message = in_quotes(item.key) + " cannot be the name of a tag",
                                               .expected = "letters, digits and _, and none of " + join(kTaken)});
      } else if (value && !is_tag_value(value->text)) {
        report_value(*value, what, reading);
      } else if (value) {
        out.push_back({{item.key, item.key_mark}, std::move(*value)});
      }
    }
  }
  const Node* group = with_group ? section.find("group") : nullptr;
  if (group == nullptr) return out;
  auto name = section.constant("group");
  if (name && !is_tag_value(name->text)) {
    report_value(*name, "'group' of " + section.where(), reading);
  } else if (name) {
    out.push_back({{"group", group->key_mark}, std::move(*name)});
  }
  return out;
}

std::optional<Delay> parse_delay(const Node& node, const std::string& what, Reading& reading) {
  if (node.is_scalar()) return parse_span(node, what, reading);
  if (!node.is_map()) {
    report_wrong(node, what,
                 "a duration such as 250ms, a range such as 200ms..1s, or a distribution: "
                 "{normal: {mean: 1s, stddev: 200ms}}",
                 reading);
    return std::nullopt;
  }
  const Names laws = maps::kDelay.exactly_one;
  const Section section(node, what, reading, maps::kDelay);
  if (node.items.size() != 1) {
    if (node.items.empty()) report_wrong(node, what, one_of(laws), reading);
    if (node.items.size() > 1) {
      reading.diagnostics.add(node.items[1].place(),
                              {.message = what + " has more than one distribution", .expected = one_of(laws)});
    }
    return std::nullopt;
  }
  for (std::size_t i = 0; i < laws.size(); ++i) {
    if (const Node* law = section.find(laws[i])) return parse_law(static_cast<Delay::Law>(i), *law, what, reading);
  }
  return std::nullopt;
}

}  // namespace bellwether::scenario
