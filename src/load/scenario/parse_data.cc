// The files whose rows iterations take: {users: {csv: users.csv, pick: unique-per-vu}}.
#include <algorithm>
#include <array>

#include "load/scenario/names.h"
#include "load/scenario/parse.h"

namespace bellwether::scenario {
namespace {

constexpr std::array<std::string_view, 3> kFormats{"csv", "json", "jsonl"};  // as in DataFormat

void read_path(const Section& section, Feeder& feeder) {
  Reading& reading = section.reading();
  const Node* given = nullptr;
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    const Node* node = section.find(kFormats[i]);
    if (node == nullptr) continue;
    if (given != nullptr) {
      reading.diagnostics.add(node->place(), {.message = section.what(*node) + " contradicts " + in_quotes(given->key),
                                              .hint = "data comes from one file: remove one of them"});
      return;
    }
    given = node;
    feeder.format = static_cast<DataFormat>(i);
    if (auto path = section.constant(kFormats[i])) feeder.path = std::move(*path);
  }
  if (given == nullptr) {
    section.report_missing(section.where() + " names no file", "csv: FILE, json: FILE or jsonl: FILE");
  } else if (given->is_scalar() && given->text.empty()) {
    report_wrong(*given, section.what(*given), "the path of a file", reading);
  }
}

void read_delimiter(const Section& section, Feeder& feeder) {
  const Node* node = section.find("delimiter");
  if (node == nullptr) return;
  Reading& reading = section.reading();
  const auto text = section.constant("delimiter");
  if (!text) return;
  if (feeder.format != DataFormat::kCsv) {
    reading.diagnostics.add(node->place(), {.message = section.what(*node) + " has no effect: it is for 'csv'"});
    return;
  }
  const std::string delimiter = text->text == "tab" ? "\t" : text->text;
  const char c = delimiter.size() == 1 ? delimiter.front() : '\0';
  if ((c < 0x20 && c != '\t') || c == '"' || c == 0x7f) {
    report_wrong(*node, section.what(*node), "one character of ASCII such as \";\", and no quote, or tab", reading);
    return;
  }
  feeder.delimiter = c;
}

Feeder parse_feeder(const Node& node, Reading& reading) {
  Feeder feeder;
  feeder.name = {node.key, node.key_mark};
  const Section section(node, "the data " + in_quotes(node.key), reading, maps::kData);
  if (!node.is_map()) return feeder;
  read_path(section, feeder);
  read_delimiter(section, feeder);
  if (const auto choice = section.choice("pick")) feeder.pick = static_cast<RowPick>(*choice);
  feeder.wrap = section.boolean("wrap").value_or(false);
  if (feeder.wrap && feeder.pick != RowPick::kUniquePerVu) {
    const Node& wrap = *section.find("wrap");
    reading.diagnostics.add(wrap.place(),
                            {.message = section.what(wrap) + " has no effect: it is for 'pick: unique-per-vu'"});
  }
  return feeder;
}

}  // namespace

std::vector<Feeder> parse_data(const Node& node, Reading& reading) {
  std::vector<Feeder> out;
  if (!node.is_map()) {
    report_wrong(node, "'data'", "a map of names and files: {users: {csv: users.csv}}", reading);
    return out;
  }
  for (const Node& item : node.items) {
    if (out.size() == kFeedersMax) {
      report_wrong(node, "'data'", "at most " + std::to_string(kFeedersMax) + " files", reading);
      break;
    }
    const auto is = [&item](std::string_view name) { return name == item.key; };
    if (!is_value_name(item.key) || std::any_of(kBuiltinNames.begin(), kBuiltinNames.end(), is)) {
      reading.diagnostics.add(item.place(), {.message = in_quotes(item.key) + " cannot be the name of data",
                                             .expected = "letters, digits and _, and none of " + join(kBuiltinNames)});
    } else if (reading.environment.declares(item.key)) {
      reading.diagnostics.add(
          item.place(),
          {.message = in_quotes(item.key) + " is already the name of a value in 'env'", .hint = "choose another name"});
    }
    out.push_back(parse_feeder(item, reading));
  }
  return out;
}

}  // namespace bellwether::scenario
