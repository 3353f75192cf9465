#include "router/script.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/base/units.h"

namespace bellwether::router {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    line = trim(line);
    if (line.empty()) return words;
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

Result<double> parse_assignment(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const std::optional<double> number = parse_double(text);
  const double ratio = number.value_or(-1) / (percent ? 100 : 1);
  if (ratio >= 0 && ratio <= 1) return ratio;
  return fail(Errc::kInvalid, "a ratio is 0 to 1, or 0% to 100%, not '" + std::string(text) + "'");
}

Status set_span(Duration& span, std::string_view value) {
  BW_TRY(span, parse_duration(value));
  return {};
}

Status set_assignment(double& ratio, std::string_view value) {
  BW_TRY(ratio, parse_assignment(value));
  return {};
}

Status set_one(Faults& faults, std::string_view name, std::string_view value) {
  if (name == "delay") return set_span(faults.delay, value);
  if (name == "jitter") return set_span(faults.jitter, value);
  if (name == "reorder_by") return set_span(faults.reorder_by, value);
  if (name == "loss") return set_assignment(faults.loss, value);
  if (name == "duplicate") return set_assignment(faults.duplicate, value);
  if (name == "reorder") return set_assignment(faults.reorder, value);
  if (name == "rate" || name == "queue") {
    BW_TRY(const auto number, value == "none" ? Result<uint64_t>(0) : parse_size(value));
    (name == "rate" ? faults.bytes_per_s : faults.queue) = number;
    return {};
  }
  return fail(Errc::kInvalid, "there is no setting '" + std::string(name) + "'");
}

}  // namespace

Result<NewNode> Script::parse_node(std::string_view line) {
  const auto words = words_of(line);
  if (words.size() < 4 || words[0] != "node") return fail(Errc::kInvalid, "node NAME NETNS ADDRESS…");
  NewNode node{std::string(words[1]), std::string(words[2]), {}};
  if (node.name.find_first_of(",*<>") != std::string::npos) {
    return fail(Errc::kInvalid, "a name has none of , * < >: '" + node.name + "'");
  }
  for (std::size_t i = 3; i < words.size(); ++i) node.addresses.emplace_back(words[i]);
  return node;
}

std::size_t Script::add_node(std::string name) {
  check(!knows(name), "each node has a name of its own");
  names_.push_back(std::move(name));
  return links_.add_node();
}

bool Script::knows(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

Result<std::vector<std::size_t>> Script::numbers(std::string_view names) const {
  std::vector<std::size_t> found;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    const auto at = std::find(names_.begin(), names_.end(), name);
    if (name != "*" && at == names_.end()) return fail(Errc::kNotFound, "there is no node '" + std::string(name) + "'");
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (name == "*" || names_[i] == name) found.push_back(i);
    }
  }
  return found;
}

Result<std::vector<Script::Direction>> Script::directions(std::string_view from, std::string_view arrow,
                                                          std::string_view to) const {
  if (arrow != ">" && arrow != "<>") return fail(Errc::kInvalid, "between the nodes stands > or <>");
  BW_TRY(const auto sources, numbers(from));
  BW_TRY(const auto targets, numbers(to));
  std::vector<Direction> all;
  for (const std::size_t a : sources) {
    for (const std::size_t b : targets) {
      if (a == b) continue;
      all.push_back({a, b});
      if (arrow == "<>") all.push_back({b, a});
    }
  }
  return all;
}

Result<std::string> Script::run(std::string_view line) {
  const auto words = words_of(line);
  if (words.size() == 1 && words[0] == "show") return show();
  if (words.size() < 4) return fail(Errc::kInvalid, "set, cut, heal or clear FROM > TO …, node …, or show");
  BW_TRY(const auto all, directions(words[1], words[2], words[3]));
  if (words[0] == "set") {
    const Status done = set(all, words);
    return done ? Result<std::string>() : tl::unexpected(done.error());
  }
  if (words.size() > 4) return fail(Errc::kInvalid, "'" + std::string(words[4]) + "' is one word too many");
  for (const auto [from, to] : all) {
    if (words[0] == "cut" || words[0] == "heal") {
      links_.link(from, to).faults.cut = words[0] == "cut";
    } else if (words[0] == "clear") {
      links_.change(from, to, Faults{});
    } else {
      return fail(Errc::kInvalid, "there is no command '" + std::string(words[0]) + "'");
    }
  }
  return std::string();
}

Status Script::set(const std::vector<Direction>& directions, const std::vector<std::string_view>& words) {
  if (words.size() % 2 != 0 || words.size() < 6) return fail(Errc::kInvalid, "each setting has one value");
  for (const bool for_good : {false, true}) {
    for (const auto [from, to] : directions) {
      Faults faults = links_.link(from, to).faults;
      for (std::size_t i = 4; i < words.size(); i += 2) {
        BW_RETURN_IF_ERROR(set_one(faults, words[i], words[i + 1]));
      }
      if (for_good) links_.change(from, to, faults);
    }
  }
  return {};
}

std::string Script::show() {
  std::string text;
  for (std::size_t from = 0; from < names_.size(); ++from) {
    for (std::size_t to = 0; to < names_.size(); ++to) {
      const Counters& c = links_.link(from, to).counters;
      if (c.packets == 0) continue;
      text += names_[from] + " > " + names_[to];
      const std::pair<const char*, uint64_t> values[] = {
          {"packets", c.packets}, {"bytes", c.bytes},       {"delivered", c.delivered},   {"cut", c.cut},
          {"lost", c.lost},       {"overflow", c.overflow}, {"duplicated", c.duplicated}, {"reordered", c.reordered}};
      for (const auto& [name, value] : values) text += std::string(" ") + name + " " + std::to_string(value);
      text += '\n';
    }
  }
  return text;
}

}  // namespace bellwether::router
