#include "load/plan/json_path.h"

#include "core/base/bytes.h"

namespace bellwether::plan {
namespace {

constexpr std::size_t kStepsMax = 64;

tl::unexpected<Error> bad(std::string_view whole, std::string_view rest, std::string_view what) {
  return fail(Errc::kInvalid, std::string(what) + " at character " + std::to_string(whole.size() - rest.size() + 1));
}

// Takes ['name'] or [12] off the front of `rest`.
Result<JsonPath::Step> take_bracket(std::string_view whole, std::string_view& rest) {
  JsonPath::Step step;
  const std::string_view at = rest;
  rest.remove_prefix(1);
  const char quote = rest.empty() ? '\0' : rest.front();
  if (quote == '\'' || quote == '"') {
    const std::size_t end = rest.find(quote, 1);
    if (end == std::string_view::npos || end + 1 >= rest.size() || rest[end + 1] != ']') {
      return bad(whole, at, "a name in brackets is not closed");
    }
    step.key = rest.substr(1, end - 1);
    rest.remove_prefix(end + 2);
    return step;
  }
  const std::size_t end = rest.find(']');
  if (end == std::string_view::npos) return bad(whole, at, "']' is missing for '['");
  std::string_view digits = rest.substr(0, end);
  const bool is_negative = digits.starts_with('-');
  if (is_negative) digits.remove_prefix(1);
  const auto index = parse_u64(digits);
  if (!index || *index > INT32_MAX) return bad(whole, at, "only an index or a quoted name may stand in brackets");
  step.is_index = true;
  step.index = is_negative ? -static_cast<int64_t>(*index) : static_cast<int64_t>(*index);
  rest.remove_prefix(end + 1);
  return step;
}

}  // namespace

Result<JsonPath> parse_json_path(std::string_view text) {
  JsonPath path;
  path.text = text;
  std::string_view rest = text;
  if (!rest.starts_with('$')) return fail(Errc::kInvalid, "a JSON path begins with $");
  rest.remove_prefix(1);
  while (!rest.empty()) {
    if (path.steps.size() == kStepsMax) return bad(text, rest, "a JSON path has at most 64 steps: too many");
    if (rest.front() == '[') {
      BW_TRY(auto step, take_bracket(text, rest));
      path.steps.push_back(std::move(step));
      continue;
    }
    if (rest.front() != '.') return bad(text, rest, "'.' or '[' is missing");
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find_first_of(".["), rest.size());
    const std::string_view name = rest.substr(0, end);
    if (name.empty() || name == "*") return bad(text, rest, "the name of one member is missing");
    path.steps.push_back({.key = std::string(name), .index = 0, .is_index = false});
    rest.remove_prefix(end);
  }
  return path;
}

}  // namespace bellwether::plan
