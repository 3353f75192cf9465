// Pauses: durations, ranges of them, and distributions.
#include "core/base/bytes.h"
#include "load/scenario/parse.h"
#include "load/scenario/section.h"

namespace bellwether::scenario {

namespace {

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
    if (number && *number > 0 && *number <= static_cast<double>(kMaxSigma)) return *number;
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
    section_.need(key, std::move(expected));
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
    const auto span = read_duration(node, what, reading, "a duration such as 250ms, or a range such as 200ms..1s");
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
