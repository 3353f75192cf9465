// The conditions on a response (`check`) and the values taken from it (`extract`).
#include <cmath>

#include "core/base/bytes.h"
#include "core/base/enum_names.h"
#include "load/scenario/parse.h"

namespace bellwether::scenario {
namespace {

// The last two are written in other ways, and no key has their names.
constexpr EnumNames<Comparison> kOperators("equals", "not", "lt", "lte", "gt", "gte", "contains", "matches", "exists",
                                           "absent", "valid");

const Map& operators_of(const Condition& condition) {
  if (condition.counts) return maps::kCountCheck;
  switch (condition.subject) {
    case Subject::kStatus: return maps::kStatusCheck;
    case Subject::kSize: return maps::kSizeCheck;
    case Subject::kBody:
    case Subject::kUrl: return maps::kBodyCheck;
    case Subject::kDuration: return maps::kDurationCheck;
    case Subject::kJson: return maps::kJsonCheck;
    case Subject::kCss: return maps::kCssCheck;
    case Subject::kXpath: return maps::kXpathCheck;
    case Subject::kValue: return maps::kCondition;
    case Subject::kHeader: break;
  }
  return maps::kHeaderCheck;
}

// A scalar as YAML means it: unquoted numbers, true, false and null are values, everything else is a text. What a JSON
// value equals has the type that the text of a constant means, as the values of other templates do.
Literal literal_of(const Node& node, const Condition& condition, std::string text) {
  const bool compares = condition.op == Comparison::kEqual || condition.op == Comparison::kNotEqual;
  if (condition.subject == Subject::kJson && compares && node.text.find("${") != std::string::npos) {
    if (text == "true" || text == "false") return text == "true";
    if (text == "null") return nullptr;
  }
  if (node.is_null()) return nullptr;
  if (!node.is_quoted) {
    if (text == "true") return true;
    if (text == "false") return false;
    if (const auto number = parse_double(text); number && std::isfinite(*number)) return *number;
  }
  return text;
}

// Whether it mentions a value that is no constant.
bool is_template(const Node& node, const Reading& reading) {
  return node.is_scalar() && node.text.find("${") != std::string::npos && split_template(node.text) &&
         !reading.environment.fold(node.text);
}

std::optional<Literal> read_literal(const Node& node, const Condition& condition, const std::string& what,
                                    Reading& reading) {
  if (is_template(node, reading)) return Text{node.text, node.place()};
  const auto number = [](auto value) {
    return value ? std::optional<Literal>(static_cast<double>(*value)) : std::nullopt;
  };
  if (condition.counts) return number(read_whole(node, what, {.low = 0, .high = kMaxCount}, reading));
  switch (condition.subject) {
    case Subject::kStatus: return number(read_whole(node, what, {.low = 100, .high = 999}, reading));
    case Subject::kSize: return number(read_size(node, what, reading));
    case Subject::kDuration: {
      const auto span = read_duration(node, what, reading);
      return span ? std::optional<Literal>(span->millis_f()) : std::nullopt;
    }
    case Subject::kBody:
    case Subject::kUrl:
    case Subject::kHeader: {
      auto text = read_constant(node, what, reading);
      return text ? std::optional<Literal>(std::move(text->text)) : std::nullopt;
    }
    case Subject::kCss:
    case Subject::kXpath:
    case Subject::kValue:
    case Subject::kJson: {
      if (node.is_null() && (condition.subject == Subject::kJson || condition.subject == Subject::kValue))
        return nullptr;
      auto text = read_constant(node, what, reading);
      return text ? std::optional<Literal>(literal_of(node, condition, std::move(text->text))) : std::nullopt;
    }
  }
  return std::nullopt;
}

// One value, or a list of which one must hold.
std::vector<Literal> read_literals(const Node& node, const Condition& condition, const std::string& what,
                                   Reading& reading) {
  std::vector<Literal> out;
  const auto read = [&](const Node& item) {
    if (auto literal = read_literal(item, condition, what, reading)) out.push_back(std::move(*literal));
  };
  if (!node.is_list()) {
    read(node);
    return out;
  }
  if (node.items.empty()) report_wrong(node, what, "a value, or a list with at least one", reading);
  for (const Node& item : node.items) read(item);
  return out;
}

class ConditionReader {
 public:
  ConditionReader(Reading& reading, std::vector<Condition>& out) : reading_(reading), out_(out) {}

  // `node` is a bare value, a list of values, or a map of operators, all of which must hold. `condition` says of what.
  void read(const Node& node, Condition condition, const std::string& what) {
    condition.mark = node.place();
    if (!node.is_map()) {
      if (condition.subject == Subject::kDuration) {
        report_wrong(node, what, "a comparison such as {lt: 200ms}", reading_);
        return;
      }
      condition.any_of = read_literals(node, condition, what, reading_);
      if (!condition.any_of.empty()) out_.push_back(std::move(condition));
      return;
    }
    const Map& operators = operators_of(condition);
    const Section section(node, what, reading_, operators);
    const bool has_attribute = find_key(operators, kAttribute) != nullptr && section.find(kAttribute) != nullptr;
    if (has_attribute) condition.attribute = section.constant(kAttribute);
    if (node.items.size() == (has_attribute ? 1 : 0)) {
      std::vector<std::string_view> names;
      for (const Key& key : operators.keys) {
        if (key.name != kAttribute) names.push_back(key.name);
      }
      report_wrong(node, what, "at least one of " + join(names), reading_);
    }
    for (const Node& item : node.items) {
      // An unknown key was reported by the section.
      if (find_key(operators, item.key) != nullptr && item.key != kAttribute) read_operator(item, section, condition);
    }
  }

 private:
  static constexpr std::string_view kAttribute = "attribute";

  void read_operator(const Node& item, const Section& section, Condition condition) {
    if (item.key == "count") {
      condition.counts = true;
      return read(item, std::move(condition), section.what(item));
    }
    condition.op = *kOperators.find(item.key);
    condition.mark = item.place();
    if (condition.op == Comparison::kExists) {
      const auto wanted = read_bool(item, section.what(item), reading_);
      condition.op = wanted.value_or(true) ? Comparison::kExists : Comparison::kAbsent;
      out_.push_back(std::move(condition));
      return;
    }
    std::vector<Literal> literals = read_literals(item, condition, section.what(item), reading_);
    if (condition.op != Comparison::kNotEqual) {
      condition.any_of = std::move(literals);
      if (!condition.any_of.empty()) out_.push_back(std::move(condition));
      return;
    }
    for (Literal& literal : literals) {  // `not: [a, b]` is neither a nor b: one condition each
      condition.any_of = {std::move(literal)};
      out_.push_back(condition);
    }
  }

  Reading& reading_;
  std::vector<Condition>& out_;
};

// A map of these that a check names.
std::string_view example_of(Subject subject) {
  switch (subject) {
    case Subject::kJson: return "valid, or a map such as {$.token: {exists: true}}";
    case Subject::kHeader: return "a map such as {Content-Type: text/html}";
    case Subject::kCss: return "a map such as {h1: Welcome}";
    case Subject::kXpath: return "a map such as {//h1: Welcome}";
    default: return {};  // it has no names
  }
}

}  // namespace

std::vector<Condition> parse_checks(const Node& node, const std::string& step, Reading& reading) {
  std::vector<Condition> out;
  const Section section(node, "'check' of " + step, reading, maps::kCheck);
  if (!node.is_map()) return out;
  ConditionReader reader(reading, out);
  for (const Node& item : node.items) {
    const Key* known = find_key(maps::kCheck, item.key);
    if (known == nullptr) continue;
    const auto subject = static_cast<Subject>(known - maps::kCheck.keys.data());
    const std::string_view example = example_of(subject);
    if (example.empty()) {
      reader.read(item, {.subject = subject}, section.what(item));
      continue;
    }
    if (subject == Subject::kJson && item.is_scalar() && item.text == "valid") {
      out.push_back({.mark = item.place(), .subject = subject, .op = Comparison::kValid});
      continue;
    }
    if (!item.is_map()) {
      report_wrong(item, section.what(item), std::string(example), reading);
      continue;
    }
    for (const Node& entry : item.items) {
      reader.read(entry, {.subject = subject, .argument = {entry.key, entry.key_mark}},
                  fmt::format("{} in {}", in_quotes(entry.key), section.what(item)));
    }
  }
  return out;
}

std::vector<Condition> parse_conditions(const Node& node, const std::string& step, Reading& reading) {
  std::vector<Condition> out;
  const std::string where = "'if' of " + step;
  if (!node.is_map() || node.items.empty() || node.items.size() > kMaxConditions) {
    report_wrong(node, where, fmt::format("a map of at most {} values and what they must be", kMaxConditions), reading,
                 R"(such as {"${token}": {exists: true}})");
    return out;
  }
  ConditionReader reader(reading, out);
  for (const Node& item : node.items) {
    if (item.key.find("${") == std::string::npos) {
      reading.diagnostics.add(item.place(),
                              {.message = fmt::format("{} in {} mentions no value", in_quotes(item.key), where),
                               .expected = R"(a template such as "${token}")"});
      continue;
    }
    reader.read(item, {.subject = Subject::kValue, .argument = {item.key, item.key_mark}},
                fmt::format("{} in {}", in_quotes(item.key), where));
  }
  return out;
}

std::vector<Extraction> parse_extracts(const Node& node, const std::string& step, Reading& reading) {
  const Names sources_known = maps::kExtraction.exactly_one;  // in the order of ExtractSource
  std::vector<Extraction> out;
  const std::string where = "'extract' of " + step;
  if (!node.is_map()) {
    report_wrong(node, where, "a map such as {token: {json: $.token}}", reading);
    return out;
  }
  for (const Node& item : node.items) {
    const Section section(item, fmt::format("{} in {}", in_quotes(item.key), where), reading, maps::kExtraction);
    if (!item.is_map()) continue;
    Extraction extraction;
    extraction.name = {item.key, item.key_mark};
    int sources = 0;
    for (std::size_t i = 0; i < sources_known.size(); ++i) {
      const Node* source = section.find(sources_known[i]);
      if (source == nullptr) continue;
      ++sources;
      extraction.source = static_cast<ExtractSource>(i);
      if (extraction.source == ExtractSource::kBody || extraction.source == ExtractSource::kStatus ||
          extraction.source == ExtractSource::kUrl) {
        const auto wanted = read_bool(*source, section.what(*source), reading);
        if (wanted == false) report_wrong(*source, section.what(*source), "true", reading);
      } else if (auto argument = read_text(*source, section.what(*source), reading)) {
        extraction.argument = std::move(*argument);
      }
    }
    if (sources > 1) {
      reading.diagnostics.add(
          item.place(), {.message = section.where() + " has more than one source", .expected = one_of(sources_known)});
    } else if (sources == 0) {
      section.report_missing(section.where() + " has no source", one_of(sources_known));
    }
    extraction.group = section.whole("group");
    if (extraction.group && extraction.source != ExtractSource::kRegex) {
      reading.diagnostics.add(section.find("group")->place(), {.message = "'group' is for 'regex' only"});
    }
    extraction.attribute = section.constant("attribute");
    if (extraction.attribute && extraction.source != ExtractSource::kCss) {
      reading.diagnostics.add(section.find("attribute")->place(),
                              {.message = "'attribute' is for 'css' only", .hint = "in 'xpath' write //a/@href"});
    }
    extraction.take = static_cast<Take>(section.choice("pick").value_or(0));
    if (section.find("pick") != nullptr && extraction.source != ExtractSource::kJson &&
        extraction.source != ExtractSource::kCss && extraction.source != ExtractSource::kXpath &&
        extraction.source != ExtractSource::kHeader) {
      reading.diagnostics.add(section.find("pick")->place(),
                              {.message = "'pick' is for 'json', 'css', 'xpath' and 'header' only"});
    }
    if (auto fallback = section.constant("default")) extraction.fallback = std::move(fallback->text);
    out.push_back(std::move(extraction));
  }
  return out;
}

}  // namespace bellwether::scenario
