#include <algorithm>
#include <array>

#include "load/scenario/names.h"
#include "load/scenario/parse.h"

namespace bellwether::scenario {
namespace {

constexpr std::size_t kValueMax = 200;
// What thresholds call steps by already.
constexpr std::array<std::string_view, 5> kTaken{"step", "workflow", "scenario", "check", "group"};

bool is_value(std::string_view text) {
  return !text.empty() && text.size() <= kValueMax && text.find_first_of(",{}") == std::string_view::npos;
}

void report_value(const Text& value, const std::string& what, Reading& reading) {
  reading.diagnostics.add(value.mark, {.message = "wrong " + what,
                                       .found = in_quotes(value.text),
                                       .expected = "1 to " + std::to_string(kValueMax) +
                                                   " bytes, none of , { and }: a threshold could not name it"});
}

}  // namespace

std::vector<Pair> parse_tags(const Section& section, bool with_group) {
  Reading& reading = section.reading();
  std::vector<Pair> out;
  if (const Node* tags = section.find("tags")) {
    if (!tags->is_map() || tags->items.size() > kTagsMax) {
      report_wrong(*tags, section.what(*tags),
                   "a map of at most " + std::to_string(kTagsMax) + " names and texts: {page: checkout}", reading);
      return out;
    }
    for (const Node& item : tags->items) {
      const std::string what = "tag " + in_quotes(item.key) + " of " + section.where();
      auto value = read_constant(item, what, reading);
      if (!is_value_name(item.key) || std::find(kTaken.begin(), kTaken.end(), item.key) != kTaken.end()) {
        reading.diagnostics.add(item.place(), {.message = in_quotes(item.key) + " cannot be the name of a tag",
                                               .expected = "letters, digits and _, and none of " + join(kTaken)});
      } else if (value && !is_value(value->text)) {
        report_value(*value, what, reading);
      } else if (value) {
        out.push_back({{item.key, item.key_mark}, std::move(*value)});
      }
    }
  }
  const Node* group = with_group ? section.find("group") : nullptr;
  if (group == nullptr) return out;
  auto name = section.constant("group");
  if (name && !is_value(name->text)) {
    report_value(*name, "'group' of " + section.where(), reading);
  } else if (name) {
    out.push_back({{"group", group->key_mark}, std::move(*name)});
  }
  return out;
}

}  // namespace bellwether::scenario
